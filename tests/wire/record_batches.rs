//! Headers of record batches, and the markers that end transactions.

use bytes::{Bytes, BytesMut};
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{Batch, Content, EndMarker, MarkerKind};
use kafka_coordination::wire::producer::{BatchError, BatchHeader, encode_marker};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::records::{
    Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use proptest::prelude::*;

fn marker(kind: MarkerKind, coordinator_epoch: i32) -> EndMarker {
    EndMarker { kind, coordinator_epoch, timestamp: Timestamp::from_millis(1_234_567) }
}

/// One record as `kafka-protocol` encodes it.
fn encoded(record: Record) -> Vec<u8> {
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    let mut bytes = BytesMut::new();
    RecordBatchEncoder::encode(&mut bytes, [&record], &options).unwrap();
    bytes.to_vec()
}

fn record(control: bool, key: Option<&'static [u8]>, value: &'static [u8]) -> Record {
    Record {
        transactional: true,
        control,
        partition_leader_epoch: 4,
        producer_id: 7,
        producer_epoch: 2,
        delete_horizon: false,
        timestamp_type: TimestampType::Creation,
        offset: 100,
        sequence: -1,
        timestamp: 1_234_567,
        key: key.map(Bytes::from_static),
        value: Some(Bytes::from_static(value)),
        headers: IndexMap::new(),
    }
}

/// The batch of `bytes`, whole and with the right checksum.
fn read(bytes: &[u8]) -> Result<Batch, BatchError> {
    let header = BatchHeader::read(bytes)?;
    header.producer_batch(header.check(bytes)?)
}

fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn a_marker_has_the_bytes_that_kafka_protocol_writes() {
    for (kind, key) in [(MarkerKind::Abort, &[0, 0, 0, 0]), (MarkerKind::Commit, &[0_u8, 0, 0, 1])]
    {
        let bytes = encode_marker(100, 4, 7, 2, marker(kind, 9));
        assert_eq!(bytes, encoded(record(true, Some(key), &[0, 0, 0, 0, 0, 9])));
    }
}

#[test]
fn a_data_batch_is_read_without_its_records() {
    let mut batch = record(false, None, b"value");
    batch.sequence = 41;
    let mut bytes = encoded(batch);
    bytes.truncate(BatchHeader::SIZE);
    let header = BatchHeader::read(&bytes).unwrap();
    assert!(header.is_transactional() && !header.is_control() && !header.has_append_time());
    assert_eq!((header.leader_epoch, header.record_count, header.compression()), (4, 1, 0));
    let expected = Batch {
        producer_id: 7,
        producer_epoch: 2,
        base_offset: 100,
        last_offset: 100,
        content: Content::Data {
            base_sequence: 41,
            max_timestamp: Timestamp::from_millis(1_234_567),
            is_transactional: true,
        },
        position: None,
    };
    assert_eq!(header.producer_batch(&bytes), Ok(expected));
}

#[test]
fn control_batches_of_no_producer_and_emptied_ones_are_no_markers() {
    let mut leader_change = record(true, Some(&[0, 0, 0, 2]), &[]);
    leader_change.producer_id = -1;
    let batch = read(&encoded(leader_change)).unwrap();
    assert_eq!(batch.producer_id, -1);

    let mut emptied = encode_marker(100, 4, 7, 2, marker(MarkerKind::Commit, 0));
    emptied.truncate(BatchHeader::SIZE);
    emptied[8..12].copy_from_slice(&49_i32.to_be_bytes());
    emptied[57..61].copy_from_slice(&0_i32.to_be_bytes());
    let max_timestamp = Timestamp::from_millis(1_234_567);
    let content = read(&resealed(emptied)).unwrap().content;
    assert_eq!(content, Content::EmptiedMarker { max_timestamp });
}

#[test]
fn a_control_batch_of_a_producer_that_is_no_marker_is_refused() {
    let bad = Err(BatchError::Marker { producer_id: 7 });
    for (key, value) in [
        (Some(&[0_u8, 0, 0, 2][..]), &[0_u8, 0, 0, 0, 0, 9][..]), // another kind
        (Some(&[0xff, 0xff, 0, 1][..]), &[0, 0, 0, 0, 0, 9][..]), // a version below 0
        (Some(&[0, 0, 0, 1][..]), &[0, 0, 0xff, 0xff, 0, 9][..]), // a coordinator epoch below -1
        (Some(&[0, 0, 0][..]), &[0, 0, 0, 0, 0, 9][..]),          // cut
        (Some(&[0, 0, 0, 1][..]), &[0, 0, 0][..]),                // cut
        (None, &[0, 0, 0, 0, 0, 9][..]),
    ] {
        assert_eq!(read(&encoded(record(true, key, value))), bad, "{key:?} {value:?}");
    }
    // Later versions may say more.
    let later = record(true, Some(&[0, 1, 0, 1, 9]), &[0, 1, 0, 0, 0, 9, 9]);
    let expected = Content::Marker(marker(MarkerKind::Commit, 9));
    assert_eq!(read(&encoded(later)).unwrap().content, expected);
}

#[test]
fn offsets_that_no_log_has_are_refused() {
    for (base_offset, last_offset_delta) in
        [(-1_i64, 0_i32), (0, -1), (i64::MAX, 1), (i64::MIN, i32::MIN)]
    {
        let mut bytes = encoded(record(false, None, b"value"));
        bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
        bytes[23..27].copy_from_slice(&last_offset_delta.to_be_bytes());
        let refused = Err(BatchError::Offsets { base_offset, last_offset_delta });
        assert_eq!(read(&resealed(bytes)), refused);
    }
}

#[test]
fn a_torn_batch_is_found_wherever_it_is_cut_and_whatever_bit_is_wrong() {
    let whole = encode_marker(100, 4, 7, 2, marker(MarkerKind::Abort, 9));
    for len in 0..whole.len() {
        assert!(
            matches!(read(&whole[..len]), Err(BatchError::Truncated { actual, .. }) if actual == len),
            "{len}"
        );
    }
    // The base offset and the leader epoch are a broker's to set, and not covered.
    for bit in (8 * 8..12 * 8).chain(16 * 8..whole.len() * 8) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&bytes).is_err(), "bit {bit}");
    }
    let mut behind = whole.clone();
    behind.extend([1, 2, 3]);
    assert_eq!(read(&behind), read(&whole), "what follows is not looked at");
}

proptest! {
    #[test]
    fn what_was_encoded_is_read(
        base_offset in 0..i64::MAX,
        producer_id in 0..i64::MAX,
        producer_epoch in 0..i16::MAX,
        coordinator_epoch in 0..i32::MAX,
        timestamp in any::<i64>(),
        commits in any::<bool>(),
    ) {
        let kind = if commits { MarkerKind::Commit } else { MarkerKind::Abort };
        let timestamp = Timestamp::from_millis(timestamp);
        let marker = EndMarker { kind, coordinator_epoch, timestamp };
        let bytes = encode_marker(base_offset, 0, producer_id, producer_epoch, marker);
        let batch = read(&bytes).unwrap();
        let expected = Batch {
            producer_id,
            producer_epoch,
            base_offset,
            last_offset: base_offset,
            content: Content::Marker(marker),
            position: None,
        };
        prop_assert_eq!(batch, expected);
    }

    #[test]
    fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = bytes;
        let _ = read(&bytes);
        if bytes.len() >= BatchHeader::SIZE {
            // As a control batch of a producer with a right checksum.
            let length = i32::try_from(bytes.len() - 12).unwrap();
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            bytes[16] = 2;
            bytes[21..23].copy_from_slice(&0x30_i16.to_be_bytes());
            let _ = read(&resealed(bytes));
        }
    }
}
