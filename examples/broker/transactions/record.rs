//! Transactions as records of a journal. The last record of an id is what is true of it.

use super::transaction::{Producer, State, Transaction};
use kafka_coordination::producer::MarkerKind;
use kafka_coordination::{Timestamp, TopicId};
use serde_json::{Value, json};
use std::io;

const STATES: [(State, &str); 6] = [
    (State::Empty, "Empty"),
    (State::Ongoing, "Ongoing"),
    (State::Ending(MarkerKind::Commit), "PrepareCommit"),
    (State::Ending(MarkerKind::Abort), "PrepareAbort"),
    (State::Ended(MarkerKind::Commit), "CompleteCommit"),
    (State::Ended(MarkerKind::Abort), "CompleteAbort"),
];

pub(super) fn write(id: &str, transaction: &Transaction) -> Value {
    let Transaction { producer, previous, timeout_ms, state, partitions, started } = transaction;
    let partitions: Vec<_> =
        partitions.iter().map(|(topic, partition)| json!([topic.to_string(), partition])).collect();
    json!({
        "transactional_id": id,
        "producer": [producer.id, producer.epoch],
        "previous": [previous.id, previous.epoch],
        "timeout_ms": timeout_ms,
        "state": STATES.iter().find(|(one, _)| one == state).map(|(_, name)| name),
        "partitions": partitions,
        "started_ms": started.as_millis(),
    })
}

pub(super) fn read(record: &Value) -> io::Result<(String, Transaction)> {
    fields(record).ok_or_else(|| {
        let text = format!("no transaction: {record}");
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

fn fields(record: &Value) -> Option<(String, Transaction)> {
    let state = record.get("state")?.as_str()?;
    let (state, _) = STATES.into_iter().find(|(_, name)| *name == state)?;
    let partitions = record.get("partitions")?.as_array()?.iter().map(partition);
    let transaction = Transaction {
        producer: producer(record.get("producer")?)?,
        previous: producer(record.get("previous")?)?,
        timeout_ms: record.get("timeout_ms")?.as_i64()?.try_into().ok()?,
        state,
        partitions: partitions.collect::<Option<_>>()?,
        started: Timestamp::from_millis(record.get("started_ms")?.as_i64()?),
    };
    Some((record.get("transactional_id")?.as_str()?.to_owned(), transaction))
}

fn producer(value: &Value) -> Option<Producer> {
    let (id, epoch) = (value.get(0)?.as_i64()?, value.get(1)?.as_i64()?);
    Some(Producer { id, epoch: epoch.try_into().ok()? })
}

fn partition(value: &Value) -> Option<(TopicId, i32)> {
    let topic = value.get(0)?.as_str()?.parse().ok()?;
    Some((topic, value.get(1)?.as_i64()?.try_into().ok()?))
}
