//! The hashes of topics and of groups, over images.

use crate::fields::{Fields, integer, same};
use crate::image::{Image, Topic, replicas, topic_id};
use crate::runner::{Outcome, Subject};
use kafka_coordination::group::{MetadataHash, Subscriptions, TopicHash, TopicHasher};
use kafka_coordination::metadata::MetadataImage;
use serde_json::Value;
use std::collections::BTreeMap;

/// Vectors of images.
pub(crate) const SUBJECT: Subject = Subject { folder: "topic_hash", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let image = image(scenario)?;
    let expect = scenario.object("expect")?;
    let mut outcome = Outcome::AsKafka;
    let mut hasher = TopicHasher::new();
    for value in expect.list("topics")? {
        let expect = Fields::of(value)?;
        if topic(&image, &mut hasher, &expect)? {
            outcome = Outcome::Deviated;
        }
        expect.all_read()?;
    }
    for value in expect.list("groups")? {
        let expect = Fields::of(value)?;
        group(&image, &mut hasher, &expect)?;
        expect.all_read()?;
    }
    expect.all_read()?;
    Ok(outcome)
}

fn image(scenario: &Fields<'_>) -> Result<Image, String> {
    let mut image = Image::default();
    for broker in scenario.list("brokers")? {
        let broker = Fields::of(broker)?;
        image.register(&broker)?;
        broker.boolean("in_controlled_shutdown")?;
        broker.all_read()?;
    }
    for topic in scenario.list("topics")? {
        let topic = Fields::of(topic)?;
        let mut of_partition = BTreeMap::new();
        for partition in topic.list("partitions")? {
            let partition = Fields::of(partition)?;
            of_partition
                .insert(partition.integer("partition")?, replicas(partition.value("replicas")?)?);
            partition.all_read()?;
        }
        let id = topic_id(topic.text("id")?)?;
        let of_name = Topic { id, replicas: of_partition };
        image.topics.insert(topic.text("name")?.to_owned(), of_name);
        topic.all_read()?;
    }
    Ok(image)
}

/// Compares a topic; answers whether the crate deviates, as it may where Kafka fails.
fn topic(image: &Image, hasher: &mut TopicHasher, expect: &Fields<'_>) -> Result<bool, String> {
    let name = expect.text("name")?;
    let topic = image.topic_by_name(name);
    same("exists", &expect.boolean("exists")?, &topic.is_some())?;
    let error = expect.text("error")?;
    let hash = expect.value("topic_hash")?;
    let without_racks = expect.value("topic_hash_missing_partition_as_no_racks")?;
    let racks = expect.value("partition_racks")?;
    let Some(topic) = topic else {
        same("error", &error, &"NONE")?;
        same("racks", racks, &Value::Null)?;
        same("hash of Kafka", &0, &integer(hash)?)?;
        same("hash", &None, &TopicHash::of(image, name))?;
        return Ok(false);
    };
    let of_partition = |partition| {
        let replicas = topic.replicas(partition)?;
        Some(replicas.iter().filter_map(|&broker| image.rack(broker)).collect::<Vec<_>>())
    };
    let actual: Vec<_> = (0..topic.partition_count()).map(of_partition).collect();
    same("racks", racks, &serde_json::json!(actual))?;
    let is_deviation = error != "NONE";
    let expected: i64 = integer(if is_deviation { without_racks } else { hash })?;
    same("hash", &expected, &hasher.topic_hash(image, topic).as_i64())?;
    same("hash by name", &Some(TopicHash::from_i64(expected)), &TopicHash::of(image, name))?;
    Ok(is_deviation)
}

fn group(image: &Image, hasher: &mut TopicHasher, expect: &Fields<'_>) -> Result<(), String> {
    let names = expect.list("subscribed_topic_names")?.iter();
    let names: Vec<_> = names.filter_map(Value::as_str).collect();
    let expected = integer(expect.value("metadata_hash")?)?;
    let before = cache(&expect.object("topic_hash_cache_before")?)?;
    let after = cache(&expect.object("topic_hash_cache_after")?)?;

    // A cache of the host's.
    let mut known = before.clone();
    let mut existing = Vec::new();
    for &name in &names {
        if let Some(topic) = image.topic_by_name(name) {
            let compute = || hasher.topic_hash(image, topic);
            existing.push((name, *known.entry(name.to_owned()).or_insert_with(compute)));
        }
    }
    same("hash", &expected, &MetadataHash::of(existing).as_i64())?;
    same("cache", &after, &known)?;

    // The crate's, which holds none but hashes of existing topics, that it computed.
    if before.is_empty() {
        let mut subscriptions = Subscriptions::new(1);
        subscriptions.subscribe("group", &names);
        let hash = subscriptions.metadata_hash("group", image);
        same("hash of the subscription", &expected, &hash.as_i64())?;
        let known = subscriptions.topic_hashes().map(|(name, hash)| (name.to_string(), hash));
        same("hashes of the subscription", &after, &known.collect())?;
    }
    Ok(())
}

/// Topic hashes by name.
pub(crate) fn cache(entries: &Fields<'_>) -> Result<BTreeMap<String, TopicHash>, String> {
    let hashes = entries.entries();
    hashes.map(|(name, hash)| Ok((name.to_owned(), TopicHash::from_i64(integer(hash)?)))).collect()
}
