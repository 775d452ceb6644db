//! What is read of a batch that says the truth, and what is written.

use super::{altered, bytes, kafka, marker_record, read, seal, with_record};
use kafka_coordination::producer::{Batch, Content, EndMarker, MarkerKind};
use kafka_coordination::wire::producer::{
    Compression, RecordBatch, RecordBatchError as Error, TimestampType, encode_marker,
};
use kafka_coordination::{ErrorCode, Timestamp};

#[test]
fn markers_are_read() {
    let commit = Batch {
        producer_id: 4001,
        producer_epoch: 3,
        base_offset: 40,
        last_offset: 40,
        content: Content::Marker(EndMarker {
            kind: MarkerKind::Commit,
            coordinator_epoch: 15,
            timestamp: Timestamp::from_millis(1_700_000_000_123),
        }),
        position: None,
    };
    assert_eq!(read(&bytes(kafka::COMMIT)), Ok(commit));
    let abort = Batch {
        producer_id: 9_000_000_000,
        producer_epoch: 32767,
        base_offset: 41,
        last_offset: 41,
        content: Content::Marker(EndMarker {
            kind: MarkerKind::Abort,
            coordinator_epoch: i32::MAX,
            timestamp: Timestamp::from_millis(1_700_000_000_124),
        }),
        position: None,
    };
    assert_eq!(read(&bytes(kafka::ABORT)), Ok(abort));
}

#[test]
fn markers_are_written_as_kafka_writes_them() {
    for (hex, leader_epoch) in [(kafka::COMMIT, 7), (kafka::ABORT, -1)] {
        let Batch { base_offset, producer_id, producer_epoch, content, .. } =
            read(&bytes(hex)).unwrap();
        let Content::Marker(marker) = content else { panic!("{content:?}") };
        let written = encode_marker(base_offset, leader_epoch, producer_id, producer_epoch, marker);
        assert_eq!(written.as_slice(), bytes(hex));
    }
}

#[test]
fn data_is_read_whether_compressed_or_not() {
    let idempotent = Batch {
        producer_id: 77,
        producer_epoch: 2,
        base_offset: 100,
        last_offset: 102,
        content: Content::Data {
            base_sequence: i32::MAX - 1,
            max_timestamp: Timestamp::from_millis(2_000),
            is_transactional: false,
        },
        position: None,
    };
    assert_eq!(read(&bytes(kafka::IDEMPOTENT)), Ok(idempotent));
    assert_eq!(idempotent.last_sequence(), 0);

    let transactional = bytes(kafka::TRANSACTIONAL);
    let batch = RecordBatch::read(&transactional).unwrap();
    assert_eq!(batch.header().compression, Compression::Gzip);
    assert_eq!(batch.records().err(), Some(Error::Compressed));
    let placed = batch.producer_batch_at(500).unwrap();
    assert_eq!((placed.base_offset, placed.last_offset), (500, 501));
    assert_eq!((placed.producer_id, placed.is_transactional()), (78, true));

    let plain = read(&bytes(kafka::PLAIN)).unwrap();
    assert_eq!((plain.producer_id, plain.producer_epoch, plain.last_sequence()), (-1, -1, -1));
}

#[test]
fn what_the_cleaner_leaves_is_read() {
    let marker = read(&bytes(kafka::EMPTIED_MARKER)).unwrap();
    let max_timestamp = Timestamp::from_millis(1234);
    assert_eq!(marker.content, Content::EmptiedMarker { max_timestamp });
    assert_eq!((marker.producer_id, marker.producer_epoch), (4001, 4));
    let data = read(&bytes(kafka::EMPTIED_DATA)).unwrap();
    assert_eq!((data.base_offset, data.last_offset, data.last_sequence()), (200, 209, 19));
}

#[test]
fn records_of_the_metadata_quorum_concern_no_producer() {
    let batch = read(&bytes(kafka::LEADER_CHANGE)).unwrap();
    assert_eq!((batch.producer_id, batch.is_marker()), (-1, false));
}

#[test]
fn the_time_of_append_stands_for_that_of_each_record() {
    let bytes = bytes(kafka::APPEND_TIME);
    let batch = RecordBatch::read(&bytes).unwrap();
    assert_eq!(batch.header().timestamp_type, TimestampType::LogAppendTime);
    let record = batch.records().unwrap().next().unwrap().unwrap();
    assert_eq!(record.timestamp, Timestamp::from_millis(123_456));
    assert_eq!((record.key, record.value), (Some(&b"k"[..]), Some(&b"v"[..])));
}

#[test]
fn batches_follow_one_another() {
    let all: Vec<u8> = kafka::ALL.iter().flat_map(|hex| bytes(hex)).collect();
    let mut rest = all.as_slice();
    let mut read = 0;
    while !rest.is_empty() {
        let (batch, behind) = RecordBatch::read_first(rest).unwrap();
        assert_eq!(batch.bytes(), bytes(kafka::ALL[read]));
        rest = behind;
        read += 1;
    }
    assert_eq!(read, kafka::ALL.len());
    let first = bytes(kafka::COMMIT);
    assert_eq!(
        RecordBatch::read(&all).err(),
        Some(Error::Trailing { field: "batch", count: all.len() - first.len() })
    );
}

#[test]
fn clients_start_at_offset_0_and_leave_no_gaps() {
    let check = |bytes: &[u8]| RecordBatch::read(bytes).unwrap().check_from_client();
    assert_eq!(check(&bytes(kafka::TRANSACTIONAL)), Ok(()));
    let error = Error::ClientBaseOffset { base_offset: 100 };
    assert_eq!(check(&bytes(kafka::IDEMPOTENT)), Err(error));
    let gap = altered(kafka::TRANSACTIONAL, 23, &2_i32.to_be_bytes());
    assert_eq!(check(&gap), Err(Error::ClientCount { count: 2, last_offset_delta: 2 }));
    let empty = altered(kafka::EMPTIED_DATA, 0, &0_i64.to_be_bytes());
    assert_eq!(check(&empty), Err(Error::ClientCount { count: 0, last_offset_delta: 9 }));
}

#[test]
fn later_versions_of_a_marker_are_read_as_the_known_one() {
    let record = marker_record(&[0, 9, 0, 1, 7, 7], &[0, 9, 0, 0, 0, 15, 1, 2, 3]);
    let expected = read(&bytes(kafka::COMMIT)).unwrap();
    assert_eq!(read(&with_record(&record)), Ok(expected));
}

#[test]
fn codes_are_kafkas() {
    let code = |hex, at, other: &[u8]| read(&altered(hex, at, other)).unwrap_err().code();
    assert_eq!(code(kafka::IDEMPOTENT, 16, &[1]), ErrorCode::InvalidRecord);
    assert_eq!(code(kafka::COMMIT, 69, &[5]), ErrorCode::UnknownServerError);
    let mut corrupt = bytes(kafka::COMMIT);
    corrupt[70] ^= 1;
    assert_eq!(read(&corrupt).unwrap_err().code(), ErrorCode::CorruptMessage);
    assert_eq!(read(&corrupt[..50]).unwrap_err().code(), ErrorCode::CorruptMessage);
    assert_eq!(read(&corrupt[..77]).unwrap_err().code(), ErrorCode::CorruptMessage);
    let two = [bytes(kafka::COMMIT), bytes(kafka::COMMIT)].concat();
    assert_eq!(read(&two).unwrap_err().code(), ErrorCode::InvalidRecord);
    let cut = seal(bytes(kafka::COMMIT)[..77].to_vec());
    assert_eq!(read(&cut).unwrap_err().code(), ErrorCode::InvalidRecord);
    // Of an old format, whose batches may be shorter than a header.
    let mut old = bytes(kafka::COMMIT)[..40].to_vec();
    old[16] = 1;
    assert_eq!(read(&old), Err(Error::Magic { magic: 1 }));
}
