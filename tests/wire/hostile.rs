//! Requests that lie about their lengths: each API at each version, damaged at each byte.

use crate::{filled, responses};
use bytes::{Bytes, BytesMut};
use kafka_coordination::wire::fetch::ResponseBuilder;
use kafka_coordination::wire::{
    MAX_AMPLIFICATION, Preamble, WireError, decode_fetch_response, decode_request,
};
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::{ApiKey, RequestKind};
use kafka_protocol::protocol::Encodable;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Decodes and checks that this does not take more memory than promised.
fn decode(bytes: &[u8]) -> Result<(), WireError> {
    let request = Bytes::copy_from_slice(bytes);
    let mut result = Ok(());
    let memory = allocation_counter::measure(|| result = decode_request(request).map(drop));
    let bound = bytes.len() * MAX_AMPLIFICATION + 16 * 1024;
    assert!(memory.bytes_max <= u64::try_from(bound).unwrap(), "{memory:?} for {bytes:02x?}");
    result
}

#[test]
fn every_api_and_version_decodes_to_what_was_encoded() {
    let mut count = 0;
    for (key, version) in filled::apis() {
        let (header, body) = filled::request(key, version);
        let bytes = filled::encode(&header, &body);
        let decoded = decode_request(bytes);
        assert_eq!(decoded, Ok((header, body)), "{key:?} v{version}");
        count += 1;
    }
    assert_eq!(count, 191);
}

#[test]
fn records_are_shared_with_the_request() {
    for version in 3..=13 {
        let (header, body) = filled::request(ApiKey::Produce, version);
        let bytes = filled::encode(&header, &body);
        let range = bytes.as_ptr_range();
        let Ok((_, RequestKind::Produce(produce))) = decode_request(bytes.clone()) else {
            panic!("v{version} does not decode");
        };
        let records = produce.topic_data[0].partition_data[0].records.as_ref();
        let records = records.unwrap();
        assert_eq!(records, "some records");
        assert!(range.contains(&records.as_ptr()));
    }
}

#[test]
fn a_request_cut_short_anywhere_is_refused() {
    for (key, version) in filled::apis() {
        let (header, body) = filled::request(key, version);
        let bytes = filled::encode(&header, &body);
        for length in 0..bytes.len() {
            let decoded = decode(&bytes[..length]);
            assert!(
                matches!(
                    decoded,
                    Err(WireError::Truncated { .. } | WireError::CountTooLarge { .. })
                ),
                "{key:?} v{version} cut at {length}: {decoded:?}"
            );
        }
    }
}

#[test]
fn a_request_that_something_follows_is_refused() {
    for (key, version) in filled::apis() {
        let (header, body) = filled::request(key, version);
        let bytes = filled::encode(&header, &body);
        let long = [bytes.as_ref(), &[0, 0]].concat();
        assert_eq!(
            decode(&long),
            Err(WireError::TrailingBytes { offset: bytes.len(), count: 2 }),
            "{key:?} v{version}"
        );
    }
}

#[test]
fn damage_at_any_byte_takes_no_more_memory_than_promised() {
    const DAMAGE: &[&[u8]] = &[
        &[0x7f, 0xff, 0xff, 0xff],
        &[0xff, 0xff, 0xff, 0xff],
        &[0x80, 0x00, 0x00, 0x00],
        &[0x00, 0x10, 0x00, 0x00],
        &[0xff, 0xff, 0xff, 0xff, 0x07],
        &[0xff, 0xff, 0xff, 0xff, 0x0f],
        &[0xff, 0xff, 0xff, 0xff, 0x7f],
        &[0x80, 0x80, 0x80, 0x80, 0x80],
        &[0x80, 0x80, 0x80, 0x08],
        &[0x7f, 0xff],
        &[0x00],
        &[0x01],
        &[0x7f],
    ];
    const RANDOM_BYTES: usize = 4;
    let mut random = Pcg64Mcg::new(0x5eed);
    let (mut refused, mut decoded) = (0, 0);
    for (key, version) in filled::apis() {
        let (header, body) = filled::request(key, version);
        let bytes = filled::encode(&header, &body);
        for offset in 0..bytes.len() {
            let noise: [[u8; RANDOM_BYTES]; 2] = core::array::from_fn(|_| {
                let mut noise = [0; RANDOM_BYTES];
                random.fill_bytes(&mut noise);
                noise
            });
            let noise = noise.iter().flat_map(|noise| [&noise[..1], &noise[..]]);
            for damage in DAMAGE.iter().copied().chain(noise) {
                let mut damaged = bytes.to_vec();
                let end = bytes.len().min(offset + damage.len());
                damaged[offset..end].copy_from_slice(&damage[..end - offset]);
                match decode(&damaged) {
                    Ok(()) => decoded += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 50_000 && decoded > 50_000, "{refused} {decoded}");
}

#[test]
fn the_smallest_request_that_made_decoders_ask_for_two_hundred_gigabytes() {
    // Fetch version 4, no client id, 2147483647 topics.
    let header = [0, 1, 0, 4, 0, 0, 0, 7, 0xff, 0xff];
    let fields = [0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0xf4, 0, 0, 0, 1, 0, 16, 0, 0, 0];
    let count = [0x7f, 0xff, 0xff, 0xff];
    let bytes = [&header[..], &fields[..], &count[..]].concat();
    assert_eq!(
        decode(&bytes),
        Err(WireError::CountTooLarge {
            field: "topics",
            offset: 27,
            count: 2_147_483_647,
            element: 6,
            remaining: 0
        })
    );
}

#[test]
fn what_is_not_supported_says_so_and_can_still_be_answered() {
    let future = [0, 18, 0, 99, 0, 0, 0, 7, 1, 2, 3];
    assert_eq!(
        decode(&future),
        Err(WireError::UnsupportedVersion { api_key: 18, version: 99, first: 0, last: 4 })
    );
    assert_eq!(decode(&future).unwrap_err().code(), ErrorCode::UnsupportedVersion);
    let preamble = Preamble::read(&future).unwrap();
    assert_eq!(preamble.api_key, 18);
    assert_eq!(preamble.api_version, 99);
    assert_eq!(preamble.correlation_id, 7);
    assert_eq!(
        decode(&[0x7f, 0, 0, 0, 0, 0, 0, 0]),
        Err(WireError::UnsupportedApi { api_key: 0x7f00 })
    );
    assert_eq!(decode(&[]).unwrap_err().code(), ErrorCode::InvalidRequest);
    assert_eq!(
        decode(&[0, 18, 0]),
        Err(WireError::Truncated { field: "header", offset: 0, needed: 8, remaining: 3 })
    );
}

#[test]
fn values_that_fit_but_make_no_sense_are_malformed() {
    // Heartbeat version 0: the group id is not UTF-8, then null.
    let header = [0, 12, 0, 0, 0, 0, 0, 7, 0xff, 0xff];
    let not_text = [&header[..], &[0, 1, 0xfe, 0, 0, 0, 1, 0, 0]].concat();
    let null = [&header[..], &[0xff, 0xff, 0, 0, 0, 1, 0, 0]].concat();
    for bytes in [not_text, null] {
        assert!(
            matches!(
                decode(&bytes),
                Err(WireError::Malformed { api_key: 12, version: 0, ref reason }) if !reason.is_empty()
            ),
            "{:?}",
            decode(&bytes)
        );
    }
}

/// `DescribeCluster` version 0 with the given section of tagged fields, in the header.
fn with_header_tags(tags: &[u8]) -> Result<(), WireError> {
    let header = [0, 60, 0, 0, 0, 0, 0, 7, 0xff, 0xff];
    decode(&[&header[..], tags, &[1, 0]].concat())
}

#[test]
fn tagged_fields_must_ascend_and_fit() {
    assert_eq!(with_header_tags(&[2, 4, 1, 0xaa, 5, 0]), Ok(()));
    for tags in [[2, 5, 1, 0xaa, 4, 0], [2, 5, 1, 0xaa, 5, 0]] {
        assert_eq!(
            with_header_tags(&tags),
            Err(WireError::TagOrder {
                field: "header",
                offset: 14,
                tag: u32::from(tags[4]),
                previous: 5
            })
        );
    }
    assert_eq!(
        with_header_tags(&[1, 4, 9, 0xaa]),
        Err(WireError::Truncated { field: "header", offset: 13, needed: 9, remaining: 3 })
    );
    assert_eq!(
        with_header_tags(&[0x80, 0x80, 0x80, 0x80, 0x10]),
        Err(WireError::VarintTooLong { field: "header", offset: 10 })
    );
}

/// `bytes` with one more byte in the tagged field that is encoded as `field`.
fn with_longer_tag(bytes: &[u8], field: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(field.len())
        .position(|window| window == field)
        .unwrap_or_else(|| panic!("no {field:02x?} in {bytes:02x?}"));
    let mut longer = bytes.to_vec();
    longer[at + 1] += 1;
    longer.insert(at + field.len(), 0);
    longer
}

fn claims_one_byte_more(name: &'static str, size: usize, decoded: &Result<(), WireError>) -> bool {
    matches!(
        decoded,
        Err(WireError::TagSize { field, size: claimed, used, .. })
            if *field == name && *claimed == size + 1 && *used == size
    )
}

#[test]
fn a_known_tagged_field_of_a_request_must_have_the_size_it_claims() {
    let state = [1, 13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0];
    let directory = [&[0, 16], filled::ID.as_bytes().as_slice()].concat();
    let watermark = [1, 8, 0, 0, 0, 0, 0, 0, 0, 9];
    let fields: [(&str, i16, &[u8]); 4] = [
        ("cluster_id", 12, b"\0\x08\x08cluster"),
        ("replica_state", 15, &state),
        ("replica_directory_id", 17, &directory),
        ("high_watermark", 18, &watermark),
    ];
    for (name, since, field) in fields {
        for version in since..=18 {
            let (header, body) = filled::request(ApiKey::Fetch, version);
            let bytes = filled::encode(&header, &body);
            let decoded = decode(&with_longer_tag(&bytes, field));
            assert!(
                claims_one_byte_more(name, field.len() - 2, &decoded),
                "{name} v{version}: {decoded:?}"
            );
        }
    }
}

#[test]
fn a_known_tagged_field_of_a_response_must_have_the_size_it_claims() {
    let diverging = [0, 13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0];
    let leader = [1, 9, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff, 0];
    let snapshot = [2, 13, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0];
    let endpoints = b"\0\x10\x02\0\0\0\x04\x05host\0\0\x23\x84\0\0";
    let fields: [(&str, i16, &[u8]); 4] = [
        ("diverging_epoch", 12, &diverging),
        ("current_leader", 12, &leader),
        ("snapshot_id", 12, &snapshot),
        ("node_endpoints", 16, endpoints),
    ];
    for (name, since, field) in fields {
        for version in since..=18 {
            let mut response = ResponseBuilder::new(version, ErrorCode::None, 0, 0);
            let partition = responses::full(0, &Bytes::new());
            response.push(TopicId::from_u128(1), "foo", partition);
            response.endpoint(4, "host", 9092, None);
            let mut bytes = BytesMut::from([0, 0, 0, 7, 0].as_slice());
            response.finish().encode(&mut bytes, version).unwrap();
            let decode = |bytes| decode_fetch_response(bytes, version).map(drop);
            let longer = with_longer_tag(&bytes, field);
            let decoded = decode(Bytes::from(longer));
            assert!(
                claims_one_byte_more(name, field.len() - 2, &decoded),
                "{name} v{version}: {decoded:?}"
            );
            assert_eq!(decode(bytes.freeze()), Ok(()));
        }
    }
}
