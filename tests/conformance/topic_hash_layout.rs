//! What is fed into the hash.

use crate::fields::{Fields, integer, same};
use crate::image::{Image, Topic, topic_id};
use crate::runner::{Outcome, Subject};
use crate::value::columns;
use kafka_coordination::group::{MetadataHash, TopicHash};
use std::collections::BTreeMap;

/// Vectors of layouts.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "topic_hash_layout", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let expected: i64 = integer(scenario.value("hash")?)?;
    let actual = match scenario.text("kind")? {
        "topic" => topic(scenario)?.as_i64(),
        "group" => group(scenario)?.as_i64(),
        kind => return Err(format!("unknown kind {kind}")),
    };
    // The crate does not show the bytes that it hashes; equal hashes say that they are these.
    scenario.integer::<i64>("preimage_len")?;
    scenario.find("preimage");
    same("hash", &expected, &actual)?;
    Ok(Outcome::AsKafka)
}

/// The hash of a topic in an image with a broker for each rack.
fn topic(scenario: &Fields<'_>) -> Result<TopicHash, String> {
    let mut image = Image::default();
    let mut replicas = BTreeMap::new();
    for (partition, racks) in (0..).zip(scenario.list("partitions")?) {
        let racks = racks.as_array().ok_or_else(|| format!("not racks: {racks}"))?;
        // The order of replicas must not matter: the first rack gets the last broker.
        let brokers: Vec<i32> = (0..).map(|at| partition * 100 + at).take(racks.len()).collect();
        for (rack, &broker) in racks.iter().zip(brokers.iter().rev()) {
            image.brokers.insert(broker, rack.as_str().map(str::to_owned));
        }
        replicas.insert(partition, brokers);
    }
    let topic = Topic { id: topic_id(scenario.text("id")?)?, replicas };
    let name = scenario.text("name")?;
    image.topics.insert(name.to_owned(), topic);
    TopicHash::of(&image, name).ok_or_else(|| String::from("no hash"))
}

fn group(scenario: &Fields<'_>) -> Result<MetadataHash, String> {
    let topics = scenario.list("topics")?.iter().map(|topic| {
        let [name, hash] = columns::<2>(topic)?;
        let name = name.as_str().ok_or_else(|| format!("not a name: {name}"))?;
        Ok((name, TopicHash::from_i64(integer(hash)?)))
    });
    let mut topics: Vec<(&str, TopicHash)> = topics.collect::<Result<_, String>>()?;
    let hash = MetadataHash::of(topics.iter().copied());
    topics.reverse();
    same("hash in another order", &hash, &MetadataHash::of(topics))?;
    Ok(hash)
}
