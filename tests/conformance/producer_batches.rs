//! Batches of producers, and the transactions that they end, as the vectors write them.

use crate::fields::{Fields, integer, same};
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    Batch, CompletedTransaction, Content, EndMarker, MarkerKind, Position,
};
use serde_json::Value;

/// The batches of a step.
pub(crate) struct Batches(pub(crate) Vec<Batch>);

impl Batches {
    /// Reads the batches of an append or replay, or the one that a marker is.
    pub(crate) fn of(op: &str, step: &Fields<'_>) -> Result<Self, String> {
        if op == "marker" {
            let offset = step.integer("offset")?;
            return Ok(Self(vec![Batch {
                producer_id: step.integer("producer_id")?,
                producer_epoch: step.integer("producer_epoch")?,
                base_offset: offset,
                last_offset: offset,
                content: Content::Marker(marker(step)?.ok_or("a marker without type")?),
                position: None,
            }]));
        }
        let segment_base_offset = step.find("segment_base_offset").map(integer).transpose()?;
        let batches = step.list("batches")?.iter().map(|value| {
            let fields = Fields::of(value)?;
            let batch = batch(&fields, segment_base_offset)?;
            fields.all_read()?;
            Ok(batch)
        });
        batches.collect::<Result<_, String>>().map(Self)
    }
}

fn batch(fields: &Fields<'_>, segment_base_offset: Option<i64>) -> Result<Batch, String> {
    let base_offset = fields.integer("base_offset")?;
    fields.find("records");
    let byte = fields.find("position").map(integer).transpose()?;
    let position = segment_base_offset.zip(byte);
    let position =
        position.map(|(segment_base_offset, byte)| Position { segment_base_offset, byte });
    let content = match fields.find("control") {
        Some(control) => {
            let control = Fields::of(control)?;
            let content = match marker(&control)? {
                Some(marker) => Content::Marker(marker),
                None => Content::EmptiedMarker { max_timestamp: timestamp(&control, "timestamp")? },
            };
            control.all_read()?;
            content
        }
        None => Content::Data {
            base_sequence: fields.integer("base_sequence")?,
            max_timestamp: timestamp(fields, "max_timestamp")?,
            is_transactional: { fields.find("is_transactional") }
                .is_some_and(|it| it.as_bool() == Some(true)),
        },
    };
    Ok(Batch {
        producer_id: fields.integer("producer_id")?,
        producer_epoch: fields.integer("producer_epoch")?,
        base_offset,
        last_offset: fields.find("last_offset").map_or(Ok(base_offset), integer)?,
        content,
        position,
    })
}

/// The marker of an object with its members; `None` if its record was removed.
fn marker(fields: &Fields<'_>) -> Result<Option<EndMarker>, String> {
    let kind = match fields.value("type")?.as_str() {
        Some("COMMIT") => MarkerKind::Commit,
        Some("ABORT") => MarkerKind::Abort,
        Some(kind) => return Err(format!("unknown marker type {kind}")),
        None => return Ok(None),
    };
    let coordinator_epoch = fields.integer("coordinator_epoch")?;
    Ok(Some(EndMarker { kind, coordinator_epoch, timestamp: timestamp(fields, "timestamp")? }))
}

fn timestamp(fields: &Fields<'_>, key: &str) -> Result<Timestamp, String> {
    fields.integer(key).map(Timestamp::from_millis)
}

/// Compares the transactions that an append ended, with the last stable offset of each, with those
/// that `expect` lists; answers whether one of the offsets is not what Kafka stores.
pub(crate) fn completed(
    expect: &Fields<'_>,
    ended: &[(CompletedTransaction, i64)],
    op: &str,
) -> Result<bool, String> {
    let expected: &[Value] = match expect.find("completed") {
        None => &[],
        Some(Value::Array(list)) => list,
        Some(one) => std::slice::from_ref(one),
    };
    same("number of ended transactions", &expected.len(), &ended.len())?;
    let mut deviated = false;
    for (expected, &(completed, last_stable_offset)) in expected.iter().zip(ended) {
        let expected = Fields::of(expected)?;
        let transaction = CompletedTransaction {
            producer_id: expected.integer("producer_id")?,
            first_offset: expected.integer("first_offset")?,
            last_offset: expected.integer("last_offset")?,
            is_aborted: expected.boolean("is_aborted")?,
        };
        same("ended transaction", &transaction, &completed)?;
        let of_kafka = expected.find("last_stable_offset");
        let right = expected.find("last_stable_offset_one_by_one");
        deviated |= right.is_some();
        if let Some(right) = right.or(of_kafka).filter(|_| op != "replay") {
            same("last stable offset", &integer(right)?, &last_stable_offset)?;
        }
        expected.all_read()?;
    }
    Ok(deviated)
}
