//! The fetcher's side of a session: Kafka's `FetchSessionHandler`.

use crate::fields::{Fields, each_step, integer, same};
use crate::runner::{Outcome, Subject};
use crate::value::{TopicIds, columns, error_code, optional_text, params};
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{
    AnsweredTopic, FetchMetadata, FetchParams, FetcherSession, ForgottenPartition,
    PartitionRequest, ResponseHead, SessionPartition,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Vectors of the fetcher's side.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "fetch_session_handler", documentation: &[], replay };

const HASH_SEED: u64 = 1;

/// A topic id, a topic's name and a partition.
type Identity = (TopicId, String, i32);

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let ids = TopicIds::of(scenario)?;
    let mut session = FetcherSession::new(HASH_SEED);
    each_step(scenario, |op, step, expect| match op {
        "build" => build(&mut session, &ids, step, expect),
        "response" => {
            let processable = respond(&mut session, &ids, step)?;
            same("processable", &expect.boolean("processable")?, &processable)?;
            same_next(&session, expect)
        }
        "handle_error" => {
            session.handle_error();
            same_next(&session, expect)
        }
        "notify_close" => {
            session.notify_close();
            same_next(&session, expect)
        }
        "set_next" => {
            session = with_next(&session, metadata(step, "session_id", "session_epoch")?)?;
            same_next(&session, expect)
        }
        _ => Err(format!("unknown op {op}")),
    })?;
    Ok(Outcome::AsKafka)
}

fn build(
    session: &mut FetcherSession,
    ids: &TopicIds<'_>,
    step: &Fields<'_>,
    expect: &Fields<'_>,
) -> Result<(), String> {
    let mut wish = session.wish();
    for tuple in step.list("add")? {
        let ((id, name, partition), params) = parameters(ids, tuple)?;
        wish.add(id, &name, &PartitionRequest { partition, params });
    }
    let plan = wish.build();

    let expected = metadata(expect, "session_id", "session_epoch")?;
    same("metadata", &expected, &plan.metadata())?;
    let expected = read_list(expect, "to_send", |tuple| parameters(ids, tuple))?;
    let actual: Vec<_> = plan.to_send().map(|sent| (identity_of(&sent), sent.params)).collect();
    same("to_send", &expected, &actual)?;
    let expected = read_list(expect, "to_forget", |tuple| identity(ids, tuple))?;
    let actual: Vec<_> = plan.to_forget().map(identity_of_forgotten).collect();
    same("to_forget", &expected, &actual)?;
    let expected = read_list(expect, "to_replace", |tuple| identity(ids, tuple))?;
    let actual: Vec<_> = plan.to_replace().map(identity_of_forgotten).collect();
    same("to_replace", &expected, &actual)?;
    let expected = read_list(expect, "session_partitions", topic_partition)?;
    let all = plan.partitions();
    let actual: Vec<_> = all.map(|held| (held.topic.to_string(), held.partition)).collect();
    same("session_partitions", &expected, &actual)?;
    let expected = expect.boolean("can_use_topic_ids")?;
    same("can_use_topic_ids", &expected, &plan.can_use_topic_ids())?;

    let mut expected = BTreeMap::new();
    for (alias, name) in expect.object("session_topic_names")?.entries() {
        expected.insert(ids.by_alias(alias)?, optional_text(name)?.unwrap_or_default().to_owned());
    }
    let listed: Vec<_> = plan.topic_names().collect();
    let actual: BTreeMap<_, _> = listed.iter().map(|(id, name)| (*id, name.to_string())).collect();
    same("session_topic_names", &expected, &actual)?;
    same("number of session_topic_names", &expected.len(), &listed.len())
}

fn respond(
    session: &mut FetcherSession,
    ids: &TopicIds<'_>,
    step: &Fields<'_>,
) -> Result<bool, String> {
    let head = ResponseHead {
        version: step.integer("version")?,
        error: error_code(step.text("error")?)?,
        session_id: step.integer("session_id")?,
        throttle_time_ms: step.integer("throttle_time_ms")?,
    };
    let topics = read_list(step, "topics", |tuple| {
        let [id, name, partitions] = columns(tuple)?;
        let partitions = partitions.as_array().ok_or("partitions are not a list")?;
        Ok(AnsweredTopic {
            id: ids.id(id)?,
            name: optional_text(name)?.unwrap_or_default(),
            partitions: partitions.iter().map(integer).collect::<Result<Vec<i32>, String>>()?,
        })
    })?;
    Ok(session.handle_response(head, topics).is_processable())
}

/// The same session with other metadata for its next request.
fn with_next(session: &FetcherSession, next: FetchMetadata) -> Result<FetcherSession, String> {
    let restored =
        FetcherSession::restore(HASH_SEED, next, session.partitions(), session.topic_names());
    restored.map_err(|error| error.to_string())
}

fn same_next(session: &FetcherSession, expect: &Fields<'_>) -> Result<(), String> {
    let expected = metadata(expect, "next_session_id", "next_session_epoch")?;
    same("next metadata", &expected, &session.next_metadata())
}

fn metadata(fields: &Fields<'_>, session_id: &str, epoch: &str) -> Result<FetchMetadata, String> {
    Ok(FetchMetadata { session_id: fields.integer(session_id)?, epoch: fields.integer(epoch)? })
}

fn read_list<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    read: impl FnMut(&'a Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    fields.list(key)?.iter().map(read).collect()
}

fn parameters(ids: &TopicIds<'_>, tuple: &Value) -> Result<(Identity, FetchParams), String> {
    let columns = columns::<8>(tuple)?;
    let [id, topic, partition, ..] = columns;
    Ok((identity_from(ids, id, topic, partition)?, params(columns)?))
}

fn identity(ids: &TopicIds<'_>, tuple: &Value) -> Result<Identity, String> {
    let [id, topic, partition] = columns(tuple)?;
    identity_from(ids, id, topic, partition)
}

fn identity_from(
    ids: &TopicIds<'_>,
    id: &Value,
    topic: &Value,
    partition: &Value,
) -> Result<Identity, String> {
    let name = optional_text(topic)?.ok_or("a topic without a name")?;
    Ok((ids.id(id)?, name.to_owned(), integer(partition)?))
}

fn topic_partition(tuple: &Value) -> Result<(String, i32), String> {
    let [topic, partition] = columns(tuple)?;
    let name = optional_text(topic)?.ok_or("a topic without a name")?;
    Ok((name.to_owned(), integer(partition)?))
}

fn identity_of(held: &SessionPartition<'_>) -> Identity {
    (held.id, held.topic.to_string(), held.partition)
}

fn identity_of_forgotten(dropped: ForgottenPartition<'_>) -> Identity {
    (dropped.id, dropped.topic.to_string(), dropped.partition)
}
