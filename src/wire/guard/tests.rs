//! Every array of every message at every version, filled with the smallest elements there are and
//! with counts that lie. The messages are made along the same tables, so a new API is covered as
//! soon as it has its table, and a table that differs from `kafka-protocol` fails here.

use super::messages::{REQUESTS, RESPONSES};
use super::schema::{Field, Kind, Message, placed};
use super::walk::{Header, check};
use super::{check_request, check_response, find, supported_response_versions, supported_versions};
use crate::wire::{MAX_AMPLIFICATION, WireError, decode_request, decode_response};
use alloc::vec::Vec;
use alloc::{format, vec};
use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, AddRaftVoterRequest, ApiVersionsRequest,
    BeginQuorumEpochRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest,
    DescribeGroupsRequest, DescribeProducersRequest, DescribeQuorumRequest, EndQuorumEpochRequest,
    EndTxnRequest, FetchRequest, FetchSnapshotRequest, FindCoordinatorRequest, HeartbeatRequest,
    InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest,
    ListOffsetsRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest, ProduceRequest,
    RemoveRaftVoterRequest, SyncGroupRequest, TxnOffsetCommitRequest, UpdateFeaturesRequest,
    UpdateRaftVoterRequest, VoteRequest, WriteTxnMarkersRequest,
};
use kafka_protocol::protocol::{HeaderVersion, Message as Versioned, Request, VersionRange};

/// What [`MAX_AMPLIFICATION`] leaves for each message.
const SLACK: u64 = 16 * 1024;

/// A message with as little in it as possible, but for one array.
struct Sparse {
    version: i16,
    flexible: bool,
    bytes: Vec<u8>,
    /// Number of the next array, in the order of the schema.
    next: usize,
    target: Option<(usize, Fill)>,
}

#[derive(Clone, Copy)]
enum Fill {
    /// This many elements.
    Elements(usize),
    /// A count, and nothing behind it but the rest of the message.
    Claim(u32),
}

fn arrays(fields: &[Field]) -> usize {
    fields.iter().map(|field| arrays_in(&field.kind)).sum()
}

fn arrays_in(kind: &Kind) -> usize {
    match kind {
        Kind::Array(element) => 1 + arrays_in(element),
        Kind::Struct(fields) => arrays(fields),
        _ => 0,
    }
}

impl Sparse {
    fn message(
        header: Header,
        message: &'static Message,
        version: i16,
        target: Option<(usize, Fill)>,
    ) -> Vec<u8> {
        let mut sparse = Self {
            version,
            flexible: message.is_flexible(version),
            bytes: Vec::new(),
            next: 0,
            target,
        };
        if matches!(header, Header::Request) {
            sparse.bytes.extend(message.api_key.to_be_bytes());
            sparse.bytes.extend(version.to_be_bytes());
            sparse.bytes.extend([0, 0, 0, 7, 0xff, 0xff]);
        } else {
            sparse.bytes.extend([0, 0, 0, 7]);
        }
        let has_tags = !matches!(header, Header::ApiVersionsResponse);
        sparse.bytes.extend((sparse.flexible && has_tags).then_some(0));
        sparse.structure(message.fields);
        sparse.bytes
    }

    fn structure(&mut self, fields: &'static [Field]) {
        let mut tagged = Vec::new();
        for field in fields {
            let first = self.next;
            if placed(fields, self.version).any(|placed| core::ptr::eq(placed, field)) {
                self.value(&field.kind);
            } else if (0..8).any(|tag| self.has_tag(fields, tag, field)) && self.aims_at(field) {
                let outer = core::mem::take(&mut self.bytes);
                self.value(&field.kind);
                tagged.push((field, core::mem::replace(&mut self.bytes, outer)));
            }
            self.next = first + arrays_in(&field.kind);
        }
        if self.flexible {
            self.varint(tagged.len());
            for (field, value) in tagged {
                let tag = (0..8).find(|tag| self.has_tag(fields, *tag, field));
                self.varint(usize::try_from(tag.unwrap()).unwrap());
                self.varint(value.len());
                self.bytes.extend(value);
            }
        }
    }

    fn has_tag(&self, fields: &'static [Field], tag: u32, field: &Field) -> bool {
        super::schema::with_tag(fields, self.version, tag)
            .is_some_and(|tagged| core::ptr::eq(tagged, field))
    }

    fn aims_at(&self, field: &Field) -> bool {
        let numbers = self.next..self.next + arrays_in(&field.kind);
        self.target.is_some_and(|(target, _)| numbers.contains(&target))
    }

    fn value(&mut self, kind: &'static Kind) {
        match kind {
            Kind::Fixed(size) => self.bytes.extend(vec![0; *size]),
            Kind::String if self.flexible => self.bytes.push(1),
            Kind::String => self.bytes.extend([0, 0]),
            Kind::Bytes => self.count(0),
            Kind::Struct(fields) => self.structure(fields),
            Kind::Array(element) => self.array(element),
        }
    }

    fn array(&mut self, element: &'static Kind) {
        let number = self.next;
        let inner = number + 1..number + 1 + arrays_in(element);
        self.next += 1;
        match self.target {
            Some((target, Fill::Elements(count))) if target == number => {
                self.count(u32::try_from(count).unwrap());
                for _ in 0..count {
                    self.next = inner.start;
                    self.value(element);
                }
            }
            Some((target, Fill::Claim(count))) if target == number => self.count(count),
            Some((target, _)) if inner.contains(&target) => {
                self.count(1);
                self.value(element);
            }
            _ => self.count(0),
        }
        self.next = inner.end;
    }

    fn count(&mut self, count: u32) {
        if self.flexible {
            self.varint(usize::try_from(count).unwrap() + 1);
        } else {
            self.bytes.extend(count.to_be_bytes());
        }
    }

    fn varint(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        self.bytes.push(u8::try_from(value).unwrap());
    }
}

/// Calls `then` with each message, at each version, with the header it has.
fn for_each_message(mut then: impl FnMut(Header, &'static Message, i16)) {
    for message in REQUESTS {
        for version in message.first_version..=message.last_version {
            then(Header::Request, message, version);
        }
    }
    for message in RESPONSES {
        for version in message.first_version..=message.last_version {
            then(Header::response(message.api_key), message, version);
        }
    }
}

fn decode(
    header: Header,
    bytes: Vec<u8>,
    message: &Message,
    version: i16,
) -> Result<(), WireError> {
    let bytes = Bytes::from(bytes);
    match header {
        Header::Request => decode_request(bytes).map(drop),
        Header::Response | Header::ApiVersionsResponse => {
            decode_response(bytes, message.api_key, version).map(drop)
        }
    }
}

/// The key, the versions that `kafka-protocol` decodes, and the header's version at a version.
type Api = (i16, VersionRange, fn(i16) -> i16);

const fn api<R: Request>() -> Api {
    (R::KEY, R::VERSIONS, R::header_version)
}

/// The same of a request's response.
const fn response<R: Request>() -> Api {
    (R::KEY, R::Response::VERSIONS, R::Response::header_version)
}

const APIS: &[Api] = &[
    api::<ProduceRequest>(),
    api::<FetchRequest>(),
    api::<ListOffsetsRequest>(),
    api::<MetadataRequest>(),
    api::<OffsetCommitRequest>(),
    api::<OffsetFetchRequest>(),
    api::<FindCoordinatorRequest>(),
    api::<JoinGroupRequest>(),
    api::<HeartbeatRequest>(),
    api::<LeaveGroupRequest>(),
    api::<SyncGroupRequest>(),
    api::<DescribeGroupsRequest>(),
    api::<ListGroupsRequest>(),
    api::<ApiVersionsRequest>(),
    api::<CreateTopicsRequest>(),
    api::<DeleteTopicsRequest>(),
    api::<InitProducerIdRequest>(),
    api::<AddPartitionsToTxnRequest>(),
    api::<AddOffsetsToTxnRequest>(),
    api::<EndTxnRequest>(),
    api::<WriteTxnMarkersRequest>(),
    api::<TxnOffsetCommitRequest>(),
    api::<CreatePartitionsRequest>(),
    api::<VoteRequest>(),
    api::<BeginQuorumEpochRequest>(),
    api::<EndQuorumEpochRequest>(),
    api::<DescribeQuorumRequest>(),
    api::<UpdateFeaturesRequest>(),
    api::<FetchSnapshotRequest>(),
    api::<DescribeClusterRequest>(),
    api::<DescribeProducersRequest>(),
    api::<ConsumerGroupHeartbeatRequest>(),
    api::<ConsumerGroupDescribeRequest>(),
    api::<AddRaftVoterRequest>(),
    api::<RemoveRaftVoterRequest>(),
    api::<UpdateRaftVoterRequest>(),
];

const ANSWERS: &[Api] = &[
    response::<FetchRequest>(),
    response::<ApiVersionsRequest>(),
    response::<VoteRequest>(),
    response::<BeginQuorumEpochRequest>(),
    response::<EndQuorumEpochRequest>(),
    response::<FetchSnapshotRequest>(),
    response::<AddRaftVoterRequest>(),
    response::<RemoveRaftVoterRequest>(),
    response::<UpdateRaftVoterRequest>(),
];

#[test]
fn apis_are_in_order_and_have_the_versions_and_headers_of_kafka_protocol() {
    assert!(REQUESTS.is_sorted_by(|a, b| a.api_key < b.api_key));
    assert_eq!(REQUESTS.len(), APIS.len());
    for (key, versions, header_version) in APIS {
        assert_eq!(supported_versions(*key), Some(versions.min..=versions.max), "api key {key}");
        for version in versions.min..=versions.max {
            let header = if find(REQUESTS, *key).unwrap().is_flexible(version) { 2 } else { 1 };
            assert_eq!(header_version(version), header, "api key {key} v{version}");
        }
    }
    assert_eq!(supported_versions(4), None);
    assert_eq!(supported_versions(-1), None);
}

#[test]
fn responses_are_in_order_and_have_the_versions_and_headers_of_kafka_protocol() {
    assert!(RESPONSES.is_sorted_by(|a, b| a.api_key < b.api_key));
    assert_eq!(RESPONSES.len(), ANSWERS.len());
    for (key, versions, header_version) in ANSWERS {
        let decoded = versions.min..=versions.max;
        assert_eq!(supported_response_versions(*key), Some(decoded), "api key {key}");
        for version in versions.min..=versions.max {
            let is_flexible = find(RESPONSES, *key).unwrap().is_flexible(version);
            let is_tagged = is_flexible && matches!(Header::response(*key), Header::Response);
            assert_eq!(header_version(version), i16::from(is_tagged), "api key {key} v{version}");
        }
    }
    assert_eq!(supported_response_versions(3), None);
}

#[test]
fn the_smallest_elements_decode_within_the_bound() {
    let mut arrays_filled = 0;
    let mut worst = 0;
    for_each_message(|header, message, version| {
        for number in 0..arrays(message.fields) {
            let fill = Some((number, Fill::Elements(2_000)));
            let bytes = Sparse::message(header, message, version, fill);
            let length = u64::try_from(bytes.len()).unwrap();
            if length < 2_000 {
                continue; // this version lacks the array
            }
            let mut decoded = Ok(());
            let memory =
                allocation_counter::measure(|| decoded = decode(header, bytes, message, version));
            let context = format!("{} v{version} array {number}", message.api_key);
            decoded.unwrap_or_else(|error| panic!("{context}: {error}"));
            let bound = length * u64::try_from(MAX_AMPLIFICATION).unwrap() + SLACK;
            assert!(memory.bytes_max <= bound, "{context}: {memory:?} for {length} bytes");
            worst = worst.max(memory.bytes_max / length);
            arrays_filled += 1;
        }
    });
    assert!(arrays_filled > 200, "{arrays_filled}");
    assert!(worst >= 30, "the bound says {MAX_AMPLIFICATION}, the worst is {worst}");
}

#[test]
fn counts_that_lie_are_refused_without_allocating() {
    for_each_message(|header, message, version| {
        for number in 0..arrays(message.fields) {
            let honest =
                Sparse::message(header, message, version, Some((number, Fill::Elements(1))));
            let empty =
                Sparse::message(header, message, version, Some((number, Fill::Elements(0))));
            if honest == empty {
                continue; // this version lacks the array
            }
            // Just more elements than the whole message could hold.
            let element = honest.len() - empty.len();
            let too_many = u32::try_from(empty.len() / element + 1).unwrap();
            for claim in [too_many, 1 << 20, i32::MAX.cast_unsigned()] {
                let fill = Some((number, Fill::Claim(claim)));
                let bytes = Bytes::from(Sparse::message(header, message, version, fill));
                let mut refused = Ok(());
                let memory = allocation_counter::measure(|| {
                    refused = match header {
                        Header::Request => check_request(&bytes, message.api_key, version),
                        Header::Response | Header::ApiVersionsResponse => {
                            check_response(&bytes, message.api_key, version)
                        }
                    };
                });
                let context = format!("{} v{version} array {number}", message.api_key);
                assert!(
                    matches!(refused, Err(WireError::CountTooLarge { count, .. }) if count == claim),
                    "{context}: {refused:?}"
                );
                assert_eq!(memory.count_total, 0, "{context}");
                assert_eq!(decode(header, bytes.to_vec(), message, version), refused, "{context}");
            }
        }
    });
}

#[test]
fn unknown_tagged_fields_are_bounded_by_the_length() {
    for_each_message(|header, message, version| {
        if !message.is_flexible(version) {
            return;
        }
        // The section of tagged fields of the body comes last: make it one of 99 fields of no bytes.
        let tags = |count: u8| {
            let mut bytes = Sparse::message(header, message, version, None);
            assert_eq!(bytes.pop(), Some(0));
            bytes.push(count);
            bytes.extend((10..10 + count).flat_map(|tag| [tag, 0]));
            bytes
        };
        let few = tags(16);
        let length = u64::try_from(few.len()).unwrap();
        let mut decoded = Ok(());
        let memory =
            allocation_counter::measure(|| decoded = decode(header, few, message, version));
        assert_eq!(decoded, Ok(()));
        assert!(memory.bytes_max <= length * u64::try_from(MAX_AMPLIFICATION).unwrap() + SLACK);
        let many = check(&tags(99), header, message, version);
        assert!(
            matches!(many, Err(WireError::TooManyUnknownTags { limit: 16..=32, .. })),
            "{many:?}"
        );
    });
}

#[test]
fn the_walk_allocates_nothing() {
    for_each_message(|header, message, version| {
        let bytes = Sparse::message(header, message, version, Some((0, Fill::Elements(100))));
        let memory = allocation_counter::measure(|| {
            check(&bytes, header, message, version).unwrap();
        });
        assert_eq!(memory.count_total, 0);
    });
}
