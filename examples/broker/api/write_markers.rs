//! `WriteTxnMarkers`: ends transactions in partitions, by the word of a coordinator elsewhere. Administrators end with it
//! what no coordinator knows of any more.

use crate::broker::Broker;
use crate::topics::Topics;
use crate::transactions::{Producer, write_marker};
use kafka_coordination::ErrorCode;
use kafka_coordination::producer::{EndMarker, MarkerKind};
use kafka_protocol::messages::write_txn_markers_request::WritableTxnMarker;
use kafka_protocol::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use kafka_protocol::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use std::collections::HashSet;

pub(super) fn answer(broker: &Broker, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse {
    let topics = broker.topics();
    let results = request.markers.into_iter().map(|wanted| write(broker, &topics, wanted));
    WriteTxnMarkersResponse::default().with_markers(results.collect())
}

fn write(broker: &Broker, topics: &Topics, wanted: WritableTxnMarker) -> WritableTxnMarkerResult {
    let producer = Producer { id: *wanted.producer_id, epoch: wanted.producer_epoch };
    let kind = if wanted.transaction_result { MarkerKind::Commit } else { MarkerKind::Abort };
    let timestamp = broker.timestamp();
    let marker = EndMarker { kind, coordinator_epoch: wanted.coordinator_epoch, timestamp };
    // A partition that is named again is written to once.
    let mut seen = HashSet::new();
    let mut write_one = |name: &str, partition: i32| {
        let topic = topics.by_name(name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        if !seen.insert((topic.id, partition)) {
            return Err(ErrorCode::InvalidRequest);
        }
        write_marker(broker, topic, partition, producer, marker)
    };
    let results = wanted.topics.into_iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|&partition| {
            let error = write_one(&topic.name, partition).err().unwrap_or(ErrorCode::None);
            WritableTxnMarkerPartitionResult::default()
                .with_partition_index(partition)
                .with_error_code(error.code())
        });
        WritableTxnMarkerTopicResult::default()
            .with_partitions(partitions.collect())
            .with_name(topic.name)
    });
    WritableTxnMarkerResult::default()
        .with_producer_id(wanted.producer_id)
        .with_topics(results.collect())
}
