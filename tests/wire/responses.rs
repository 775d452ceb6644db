//! From answers to fetch messages.

use crate::filled;
use bytes::{Bytes, BytesMut};
use kafka_coordination::wire::fetch::{ResponseBuilder, error_response};
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, LeaderIdAndEpoch, PartitionData, SnapshotId,
};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use kafka_protocol::protocol::{Decodable, Encodable};

const FOO: TopicId = TopicId::from_u128(1);
const FOO_RECREATED: TopicId = TopicId::from_u128(2);

/// A partition's data as a broker answers it to a fetcher of uncommitted records.
pub(crate) fn error_free(partition: i32, high_watermark: i64) -> PartitionData {
    PartitionData::default()
        .with_partition_index(partition)
        .with_high_watermark(high_watermark)
        .with_last_stable_offset(high_watermark)
        .with_log_start_offset(0)
        .with_aborted_transactions(None)
}

/// A partition with everything that a response can carry.
pub(crate) fn full(partition: i32, records: &Bytes) -> PartitionData {
    error_free(partition, 20)
        .with_records(Some(records.clone()))
        .with_preferred_read_replica(3.into())
        .with_diverging_epoch(EpochEndOffset::default().with_epoch(1).with_end_offset(2))
        .with_current_leader(LeaderIdAndEpoch::default().with_leader_id(4.into()))
        .with_snapshot_id(SnapshotId::default().with_end_offset(5).with_epoch(6))
        .with_aborted_transactions(Some(vec![AbortedTransaction::default(); 3]))
}

fn encode(response: &FetchResponse, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    response.encode(&mut bytes, version).unwrap_or_else(|error| panic!("v{version}: {error:#}"));
    assert_eq!(response.compute_size(version).unwrap(), bytes.len());
    bytes.freeze()
}

fn layout(response: &FetchResponse) -> Vec<(u128, &str, Vec<i32>)> {
    response
        .responses
        .iter()
        .map(|topic| {
            let partitions = topic.partitions.iter().map(|p| p.partition_index);
            (topic.topic_id.as_u128(), topic.topic.as_str(), partitions.collect())
        })
        .collect()
}

#[test]
fn partitions_side_by_side_share_a_topic_and_the_order_stays() {
    for version in 4..=18 {
        let mut response = ResponseBuilder::new(version, ErrorCode::None, 0, 0);
        for (id, name, partition) in [
            (FOO, "foo", 5),
            (FOO, "foo", 1),
            (FOO_RECREATED, "foo", 0),
            (TopicId::from_u128(3), "bar", 0),
            (FOO, "foo", 2),
        ] {
            response.push(id, name, error_free(partition, 1));
        }
        let response = response.finish();
        encode(&response, version);
        let expected = if version >= 13 {
            vec![(1, "", vec![5, 1]), (2, "", vec![0]), (3, "", vec![0]), (1, "", vec![2])]
        } else {
            vec![(0, "foo", vec![5, 1, 0]), (0, "bar", vec![0]), (0, "foo", vec![2])]
        };
        assert_eq!(layout(&response), expected, "v{version}");
    }
}

#[test]
fn partitions_under_the_all_zero_id_are_grouped_by_it() {
    let mut response = ResponseBuilder::new(13, ErrorCode::None, 0, 0);
    response.push(TopicId::ZERO, "", error_free(0, -1));
    response.push(TopicId::ZERO, "", error_free(1, -1));
    assert_eq!(layout(&response.finish()), [(0, "", vec![0, 1])]);
}

#[test]
fn what_a_version_does_not_carry_is_left_out() {
    let records = Bytes::from_static(b"records");
    for version in 4..=18 {
        let mut response =
            ResponseBuilder::new(version, ErrorCode::InvalidFetchSessionEpoch, 77, 5);
        response.push(FOO, "foo", full(0, &records));
        response.endpoint(4, "host", 9092, Some("rack"));
        let response = response.finish();
        let mut bytes = encode(&response, version);
        let decoded = FetchResponse::decode(&mut bytes, version).unwrap();
        assert_eq!(decoded.throttle_time_ms, 5);
        let session = if version >= 7 { (71, 77) } else { (0, 0) };
        assert_eq!((decoded.error_code, decoded.session_id), session);
        let partition = &decoded.responses[0].partitions[0];
        assert_eq!(*partition.preferred_read_replica == 3, version >= 11);
        assert_eq!(partition.diverging_epoch.epoch == 1, version >= 12);
        assert_eq!(*partition.current_leader.leader_id == 4, version >= 12);
        assert_eq!(partition.snapshot_id.epoch == 6, version >= 12);
        assert_eq!(decoded.node_endpoints.len(), usize::from(version >= 16));
        if version >= 5 {
            assert_eq!(decoded, response, "v{version}");
        }
    }
}

#[test]
fn records_are_moved_and_null_is_sent_as_empty() {
    let records = Bytes::from(vec![1; 1_000]);
    let mut response = ResponseBuilder::new(18, ErrorCode::None, 0, 0);
    response.push(FOO, "foo", error_free(0, 1).with_records(None));
    response.push(FOO, "foo", error_free(1, 1).with_records(Some(records.clone())));
    let response = response.finish();
    let [empty, moved] = response.responses[0].partitions.as_slice() else {
        panic!("{response:?}");
    };
    assert_eq!(empty.records, Some(Bytes::new()));
    assert_eq!(moved.records.as_ref().unwrap().as_ptr(), records.as_ptr());
}

/// The size of a response by arithmetic, independent of any encoder.
fn size(response: &FetchResponse, v: i16) -> usize {
    let flexible = v >= 12;
    let uv = |value: usize| 1 + [7, 14, 21, 28].iter().filter(|s| value >> **s > 0).count();
    let count = |n: usize| if flexible { uv(n + 1) } else { 4 };
    let since = |first: i16, size: usize| if v >= first { size } else { 0 };
    let mut size = 4 + since(7, 6) + count(response.responses.len());
    for topic in &response.responses {
        let name = topic.topic.len();
        size += match v {
            ..12 => 2 + name,
            12 => uv(name + 1) + name,
            13.. => 16,
        };
        size += count(topic.partitions.len()) + since(12, 1);
        for partition in &topic.partitions {
            size += 14 + 8 + since(5, 8) + since(11, 4) + since(12, 1);
            size += match (&partition.aborted_transactions, flexible) {
                (None, true) => 1,
                (None, false) => 4,
                (Some(list), true) => uv(list.len() + 1) + 17 * list.len(),
                (Some(list), false) => 4 + 16 * list.len(),
            };
            let records = partition.records.as_ref().map_or(0, Bytes::len);
            size += count(records) + records;
            if partition.diverging_epoch != EpochEndOffset::default() {
                size += 15;
            }
            if partition.current_leader != LeaderIdAndEpoch::default() {
                size += 11;
            }
            if partition.snapshot_id != SnapshotId::default() {
                size += 15;
            }
        }
    }
    size += since(12, 1);
    if !response.node_endpoints.is_empty() {
        let endpoints: usize = response
            .node_endpoints
            .iter()
            .map(|endpoint| {
                let host = endpoint.host.len();
                let rack = endpoint.rack.as_ref().map(|rack| rack.len());
                let rack = rack.map_or(1, |rack| uv(rack + 1) + rack);
                4 + uv(host + 1) + host + 4 + rack + 1
            })
            .sum();
        let value = uv(response.node_endpoints.len() + 1) + endpoints;
        size += 1 + uv(value) + value;
    }
    size
}

#[test]
fn a_response_encodes_to_the_size_that_arithmetic_says() {
    for version in 4..=18 {
        for topics in [0, 1, 3, 127, 130] {
            for length in [0, 1, 126, 127, 20_000] {
                let records = Bytes::from(vec![7; length]);
                let mut response = ResponseBuilder::new(version, ErrorCode::None, 9, 0);
                for topic in 0..topics {
                    let name = "x".repeat(100 + topic);
                    let id = TopicId::from_u128(1 + topic as u128);
                    response.push(id, &name, error_free(0, 3));
                    response.push(id, &name, full(1, &records));
                }
                for rack in [None, Some("rack")].iter().take(topics) {
                    response.endpoint(1, "a.host.of.some.length", 9092, *rack);
                }
                let response = response.finish();
                assert_eq!(
                    encode(&response, version).len(),
                    size(&response, version),
                    "v{version}, {topics} topics, {length} bytes"
                );
            }
        }
    }
}

#[test]
fn a_request_that_failed_as_a_whole_is_answered_for_each_partition_below_ids() {
    for version in 4..=18 {
        let request: FetchRequest = filled::fetch(version);
        let code = ErrorCode::FetchSessionTopicIdError;
        let response = error_response(&request, version, code, 8);
        encode(&response, version);
        assert_eq!(response.throttle_time_ms, 8);
        let session = if version >= 7 { (106, 123) } else { (0, 0) };
        assert_eq!((response.error_code, response.session_id), session);
        if version >= 13 {
            assert_eq!(response.responses, []);
            continue;
        }
        assert_eq!(layout(&response), [(0, "foo", vec![0, 1]), (0, "bar", vec![2])]);
        for topic in &response.responses {
            for partition in &topic.partitions {
                assert_eq!(partition.error_code, 106);
                assert_eq!(partition.high_watermark, -1);
                assert_eq!(partition.records, Some(Bytes::new()));
            }
        }
    }
}
