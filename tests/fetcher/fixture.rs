//! Short ways to say what a fetcher wants, plans and hears.

use kafka_coordination::fetch::{
    AnsweredTopic, FetchMetadata, FetchParams, FetchPlan, FetcherSession, ForgottenPartition,
    PartitionRequest, ResponseHead, Verdict,
};
use kafka_coordination::{ErrorCode, TopicId};

/// The last version with names, and the newest.
pub(crate) const VERSIONS: [i16; 2] = [12, 18];

/// Two ids and none.
pub(crate) const X: TopicId = TopicId::from_u128(0x1111);
pub(crate) const Y: TopicId = TopicId::from_u128(0x2222);
pub(crate) const NO_ID: TopicId = TopicId::ZERO;

/// A partition: topic id, topic name, index.
pub(crate) type Key = (TopicId, String, i32);

/// What a fetcher wants of a partition.
pub(crate) type Wish<'a> = (TopicId, &'a str, i32, FetchParams);

pub(crate) fn key(id: TopicId, topic: &str, partition: i32) -> Key {
    (id, topic.to_owned(), partition)
}

pub(crate) fn at(fetch_offset: i64) -> FetchParams {
    FetchParams {
        fetch_offset,
        log_start_offset: 0,
        max_bytes: 200,
        leader_epoch: None,
        last_fetched_epoch: None,
    }
}

/// The id that the topic has at a version: none below 13.
pub(crate) fn id_at(version: i16, topic: &str) -> TopicId {
    match topic {
        _ if version < 13 => NO_ID,
        "foo" => X,
        _ => Y,
    }
}

/// Builds the plan of a request for these partitions.
pub(crate) fn plan<'a>(session: &'a mut FetcherSession, wishes: &[Wish<'_>]) -> FetchPlan<'a> {
    let mut list = session.wish();
    for &(id, topic, partition, params) in wishes {
        list.add(id, topic, &PartitionRequest { partition, params });
    }
    list.build()
}

pub(crate) fn sent(plan: FetchPlan<'_>) -> Vec<Key> {
    let sent = plan.to_send();
    sent.map(|sent| (sent.id, sent.topic.to_string(), sent.partition)).collect()
}

pub(crate) fn held(plan: FetchPlan<'_>) -> Vec<Key> {
    let held = plan.partitions();
    held.map(|held| (held.id, held.topic.to_string(), held.partition)).collect()
}

pub(crate) fn keys<'a>(dropped: impl Iterator<Item = ForgottenPartition<'a>>) -> Vec<Key> {
    dropped.map(|dropped| (dropped.id, dropped.topic.to_string(), dropped.partition)).collect()
}

pub(crate) fn metadata(session_id: i32, epoch: i32) -> FetchMetadata {
    FetchMetadata { session_id, epoch }
}

/// Hears a response without error that names these partitions.
pub(crate) fn hear(
    session: &mut FetcherSession,
    version: i16,
    session_id: i32,
    partitions: &[Key],
) -> Verdict {
    let head = ResponseHead { version, error: ErrorCode::None, session_id, throttle_time_ms: 0 };
    hear_head(session, head, partitions)
}

/// Hears a response with a top-level error.
pub(crate) fn hear_error(session: &mut FetcherSession, version: i16, error: ErrorCode) -> Verdict {
    let head = ResponseHead { version, error, session_id: 0, throttle_time_ms: 0 };
    hear_head(session, head, &[])
}

/// Hears a response; below version 13 it carries names, from there on ids.
pub(crate) fn hear_head(
    session: &mut FetcherSession,
    head: ResponseHead,
    partitions: &[Key],
) -> Verdict {
    let by_id = head.version >= 13;
    let topics = partitions.iter().map(|(id, name, partition)| AnsweredTopic {
        id: if by_id { *id } else { NO_ID },
        name: if by_id { "" } else { name.as_str() },
        partitions: [*partition],
    });
    session.handle_response(head, topics)
}
