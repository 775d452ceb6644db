//! `ListOffsets`: offsets by timestamp, and the ends of the log.

use crate::broker::{Broker, lock};
use crate::log::{Isolation, LEADER_EPOCH, Log};
use crate::topics::Topics;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::list_offsets_request::ListOffsetsPartition;
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};
use std::collections::HashSet;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;

/// The first version that carries leader epochs.
const FIRST_WITH_EPOCH: i16 = 4;

/// No such record: neither timestamp nor offset.
const NOTHING: (i64, i64) = (-1, -1);

pub(super) fn answer(
    broker: &Broker,
    version: i16,
    request: ListOffsetsRequest,
) -> ListOffsetsResponse {
    let topics = broker.topics();
    let isolation = Isolation::from(request.isolation_level);
    let mut seen = HashSet::new();
    let answered = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|wanted| {
            // A search takes long enough not to be repeated for a few bytes.
            let is_new = seen.insert((topic.name.clone(), wanted.partition_index));
            let found = if is_new {
                find(&topics, &topic.name, wanted, isolation)
            } else {
                Err(ErrorCode::InvalidRequest)
            };
            answer_partition(version, wanted.partition_index, found)
        });
        ListOffsetsTopicResponse::default()
            .with_partitions(partitions.collect())
            .with_name(topic.name)
    });
    ListOffsetsResponse::default().with_topics(answered.collect())
}

fn answer_partition(
    version: i16,
    index: i32,
    found: Result<(i64, i64), ErrorCode>,
) -> ListOffsetsPartitionResponse {
    let response = ListOffsetsPartitionResponse::default().with_partition_index(index);
    match found {
        Ok((timestamp, offset)) => {
            response.with_timestamp(timestamp).with_offset(offset).with_leader_epoch(
                if offset < 0 || version < FIRST_WITH_EPOCH { -1 } else { LEADER_EPOCH },
            )
        }
        Err(error) => response
            .with_error_code(error.code())
            .with_timestamp(-1)
            .with_offset(-1)
            .with_leader_epoch(-1),
    }
}

fn find(
    topics: &Topics,
    name: &str,
    wanted: &ListOffsetsPartition,
    isolation: Isolation,
) -> Result<(i64, i64), ErrorCode> {
    let log = topics.by_name(name).and_then(|topic| topic.log(wanted.partition_index));
    let log = lock(log.ok_or(ErrorCode::UnknownTopicOrPartition)?);
    if wanted.current_leader_epoch > LEADER_EPOCH {
        return Err(ErrorCode::UnknownLeaderEpoch);
    }
    by_timestamp(&log, wanted.timestamp, isolation)
}

fn by_timestamp(log: &Log, timestamp: i64, isolation: Isolation) -> Result<(i64, i64), ErrorCode> {
    let until = log.readable_until(isolation);
    let found = match timestamp {
        LATEST => return Ok((-1, until)),
        EARLIEST | EARLIEST_LOCAL => return Ok((-1, log.start())),
        MAX_TIMESTAMP => log.find_max_timestamp(),
        LATEST_TIERED => None,
        0.. => log.find_timestamp(timestamp),
        _ => return Err(ErrorCode::UnsupportedVersion),
    };
    // What is not stable yet is not there for a reader of committed records.
    Ok(found.filter(|(_, offset)| *offset < until).unwrap_or(NOTHING))
}
