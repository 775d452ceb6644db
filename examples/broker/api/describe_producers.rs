//! `DescribeProducers`: what the machine knows of the producers of partitions.

use crate::broker::{Broker, lock};
use crate::topics::Topics;
use kafka_coordination::ErrorCode;
use kafka_coordination::producer::ProducerEntry;
use kafka_protocol::messages::describe_producers_response::{
    PartitionResponse, ProducerState, TopicResponse,
};
use kafka_protocol::messages::{DescribeProducersRequest, DescribeProducersResponse};
use std::collections::HashSet;

pub(super) fn answer(
    broker: &Broker,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse {
    let topics = broker.topics();
    // A description is longer than its mention, so each is given once.
    let mut seen = HashSet::new();
    let answered = request.topics.into_iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|&partition| {
            let described = if seen.insert((topic.name.clone(), partition)) {
                describe(&topics, &topic.name, partition)
            } else {
                Err(ErrorCode::InvalidRequest)
            };
            let response = PartitionResponse::default().with_partition_index(partition);
            match described {
                Ok(producers) => response.with_active_producers(producers),
                Err(error) => response.with_error_code(error.code()),
            }
        });
        TopicResponse::default().with_partitions(partitions.collect()).with_name(topic.name)
    });
    DescribeProducersResponse::default().with_topics(answered.collect())
}

fn describe(topics: &Topics, name: &str, partition: i32) -> Result<Vec<ProducerState>, ErrorCode> {
    let log = topics.by_name(name).and_then(|topic| topic.log(partition));
    let log = lock(log.ok_or(ErrorCode::UnknownTopicOrPartition)?);
    Ok(log.producers().producers().map(|(id, entry)| state(id, entry)).collect())
}

fn state(producer_id: i64, entry: &ProducerEntry) -> ProducerState {
    let newest = entry.window().newest();
    ProducerState::default()
        .with_producer_id(producer_id.into())
        .with_producer_epoch(entry.epoch().into())
        .with_last_sequence(newest.map_or(-1, |batch| batch.last_sequence))
        .with_last_timestamp(entry.last_timestamp().as_millis())
        .with_coordinator_epoch(entry.coordinator_epoch())
        .with_current_txn_start_offset(entry.current_transaction().unwrap_or(-1))
}
