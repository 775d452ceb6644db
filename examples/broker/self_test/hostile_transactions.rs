//! Requests about transactions, to be distorted.

use super::client::encode;
use super::hostile::{Sample, name};
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, DescribeProducersRequest, EndTxnRequest, WriteTxnMarkersRequest,
};
use std::ops::RangeInclusive;

pub(super) fn samples() -> [(&'static str, RangeInclusive<i16>, Sample); 4] {
    [
        ("AddPartitionsToTxn", 0..=3, |version| {
            let topic = AddPartitionsToTxnTopic::default()
                .with_name(name().into())
                .with_partitions(vec![0]);
            let request = AddPartitionsToTxnRequest::default()
                .with_v3_and_below_transactional_id(name().into())
                .with_v3_and_below_topics(vec![topic]);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("EndTxn", 0..=4, |version| {
            let request = EndTxnRequest::default().with_transactional_id(name().into());
            Ok(encode(version, 1, &request)?.into())
        }),
        ("WriteTxnMarkers", 1..=1, |version| {
            let topic = WritableTxnMarkerTopic::default()
                .with_name(name().into())
                .with_partition_indexes(vec![0]);
            let marker = WritableTxnMarker::default().with_topics(vec![topic]);
            let request = WriteTxnMarkersRequest::default().with_markers(vec![marker]);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("DescribeProducers", 0..=0, |version| {
            let topic =
                TopicRequest::default().with_name(name().into()).with_partition_indexes(vec![0]);
            let request = DescribeProducersRequest::default().with_topics(vec![topic]);
            Ok(encode(version, 1, &request)?.into())
        }),
    ]
}
