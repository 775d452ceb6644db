//! Bodies of fetch requests and responses, byte for byte. Topic `foo` has the id
//! 00112233-4455-6677-8899-aabbccddeeff.

use crate::responses::error_free;
use bytes::{Bytes, BytesMut};
use core::ops::RangeInclusive;
use kafka_coordination::fetch::{FetchMetadata, FetchParams, PartitionRequest};
use kafka_coordination::wire::fetch::{RequestBuilder, ResponseBuilder};
use kafka_coordination::wire::{decode_fetch_response, decode_request};
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::fetch_response::{EpochEndOffset, LeaderIdAndEpoch};
use kafka_protocol::messages::{ApiKey, FetchRequest, FetchResponse, RequestHeader, RequestKind};
use kafka_protocol::protocol::Encodable;

const FOO: TopicId = TopicId::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The message encodes to these bytes, and they decode to it.
fn request(versions: RangeInclusive<i16>, hex: &str, length: usize, make: fn(i16) -> FetchRequest) {
    for version in versions {
        let expected = bytes_of(hex);
        assert_eq!(expected.len(), length);
        let message = make(version);
        let mut body = BytesMut::new();
        message.encode(&mut body, version).unwrap();
        assert_eq!(body, expected, "v{version}");

        let header = RequestHeader::default()
            .with_request_api_key(ApiKey::Fetch as i16)
            .with_request_api_version(version)
            .with_client_id(None);
        let mut bytes = BytesMut::new();
        let header_version = ApiKey::Fetch.request_header_version(version);
        header.encode(&mut bytes, header_version).unwrap();
        bytes.extend(expected);
        let decoded = decode_request(bytes.freeze());
        assert_eq!(decoded, Ok((header, RequestKind::Fetch(message))));
    }
}

/// The message encodes to these bytes, and they decode to it.
fn response(
    versions: RangeInclusive<i16>,
    hex: &str,
    length: usize,
    make: fn(i16) -> FetchResponse,
) {
    for version in versions {
        let expected = bytes_of(hex);
        assert_eq!(expected.len(), length);
        let message = make(version);
        let mut body = BytesMut::new();
        message.encode(&mut body, version).unwrap();
        assert_eq!(body, expected, "v{version}");

        let mut bytes = vec![0, 0, 0, 7];
        bytes.extend((version >= 12).then_some(0));
        bytes.extend(expected);
        let (header, decoded) = decode_fetch_response(Bytes::from(bytes), version).unwrap();
        assert_eq!(header.correlation_id, 7);
        assert_eq!(decoded, message, "v{version}");
    }
}

fn session_error(version: i16) -> FetchResponse {
    ResponseBuilder::new(version, ErrorCode::FetchSessionIdNotFound, 0, 0).finish()
}

#[test]
fn an_error_without_a_session() {
    let hex = "0000000000460000000000000000";
    response(7..=11, hex, 14, session_error);
    let hex = "000000000046000000000100";
    response(12..=18, hex, 12, session_error);
}

fn one_partition(version: i16) -> FetchResponse {
    let mut response = ResponseBuilder::new(version, ErrorCode::None, 123, 0);
    response.push(FOO, "foo", error_free(0, 10).with_records(None));
    response.finish()
}

#[test]
fn a_partition_without_records() {
    let hex = "0000000000000000007b000000010003666f6f00000001000000000000000000000000000a\
               000000000000000a0000000000000000ffffffff00000000";
    response(7..=7, hex, 61, one_partition);
    let hex = "0000000000000000007b000000010003666f6f00000001000000000000000000000000000a\
               000000000000000a0000000000000000ffffffffffffffff00000000";
    response(11..=11, hex, 65, one_partition);
    let hex = "0000000000000000007b0204666f6f02000000000000000000000000000a\
               000000000000000a000000000000000000ffffffff01000000";
    response(12..=12, hex, 55, one_partition);
    let hex = "0000000000000000007b0200112233445566778899aabbccddeeff02000000000000000000000000000a\
               000000000000000a000000000000000000ffffffff01000000";
    response(13..=18, hex, 67, one_partition);
}

#[test]
fn a_partition_that_diverges() {
    let hex = "0000000000000000007b0200112233445566778899aabbccddeeff020000000000000000000000000069\
               0000000000000069000000000000000000ffffffff0101000d00000003000000000000005a000000";
    response(13..=18, hex, 82, |version| {
        let mut response = ResponseBuilder::new(version, ErrorCode::None, 123, 0);
        let epoch = EpochEndOffset::default().with_epoch(3).with_end_offset(90);
        let partition = error_free(0, 105).with_diverging_epoch(epoch);
        response.push(FOO, "", partition);
        response.finish()
    });
}

#[test]
fn a_partition_whose_leader_is_elsewhere() {
    let hex = "0000000000000000007b0200112233445566778899aabbccddeeff02000000000006\
               ffffffffffffffffffffffffffffffffffffffffffffffff00ffffffff01010109000000020000000500\
               0001001302000000020862726f6b657232000023840000";
    response(16..=18, hex, 99, |version| {
        let mut response = ResponseBuilder::new(version, ErrorCode::None, 123, 0);
        let leader = LeaderIdAndEpoch::default().with_leader_id(2.into()).with_leader_epoch(5);
        let partition = error_free(0, -1)
            .with_error_code(6)
            .with_log_start_offset(-1)
            .with_current_leader(leader);
        response.push(FOO, "foo", partition);
        response.endpoint(2, "broker2", 9092, None);
        response.finish()
    });
}

/// A consumer's request: wait 500 ms, 1 byte at least, 1 MiB at most.
fn consumer(version: i16, metadata: FetchMetadata) -> RequestBuilder {
    let message =
        FetchRequest::default().with_max_wait_ms(500).with_min_bytes(1).with_max_bytes(1_048_576);
    RequestBuilder::new(version, metadata, message)
}

fn session(epoch: i32) -> FetchMetadata {
    FetchMetadata { session_id: 123, epoch }
}

#[test]
fn a_request_that_changes_nothing() {
    let make = |version| consumer(version, session(1)).finish();
    let hex = "ffffffff000001f40000000100100000000000007b000000010000000000000000";
    request(7..=7, hex, 33, make);
    let hex = "ffffffff000001f40000000100100000000000007b0000000101010100";
    request(12..=14, hex, 29, make);
    let hex = "000001f40000000100100000000000007b0000000101010100";
    request(15..=18, hex, 25, make);
}

fn fetch_foo(builder: &mut RequestBuilder) {
    let params = FetchParams {
        fetch_offset: 10,
        log_start_offset: 0,
        max_bytes: 1_000,
        leader_epoch: Some(5),
        last_fetched_epoch: Some(4),
    };
    let partition = PartitionRequest { partition: 0, params };
    builder.fetch(FOO, "foo", [partition]);
}

#[test]
fn a_request_for_a_partition() {
    let hex = "ffffffff000001f400000001001000000000000000000000000200112233445566778899aabbccddeeff\
               020000000000000005000000000000000a000000040000000000000000000003e80000010100";
    request(13..=14, hex, 80, |version| {
        let mut builder = consumer(version, FetchMetadata::INITIAL);
        fetch_foo(&mut builder);
        builder.finish()
    });
}

#[test]
fn a_replicas_request_for_a_partition() {
    let hex = "000001f400000001001000000000000000000000000200112233445566778899aabbccddeeff\
               020000000000000005000000000000000a000000040000000000000000000003e8000001\
               0101010d00000001000000000000000700";
    request(15..=18, hex, 91, |version| {
        let mut builder = consumer(version, FetchMetadata::INITIAL).replica(1, 7);
        fetch_foo(&mut builder);
        builder.finish()
    });
}

#[test]
fn a_request_that_forgets() {
    let make = |version| {
        let mut builder = consumer(version, session(2));
        builder.forget(FOO, "foo", [0, 1]);
        builder.finish()
    };
    let hex = "ffffffff000001f40000000100100000000000007b00000002010204666f6f03\
               0000000000000001000100";
    request(12..=12, hex, 43, make);
    let hex = "000001f40000000100100000000000007b00000002010200112233445566778899aabbccddeeff03\
               0000000000000001000100";
    request(15..=18, hex, 51, make);
}
