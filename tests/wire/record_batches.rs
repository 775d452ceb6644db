//! Record batches: the bytes that Kafka's own classes write, the batches of another encoder, and bytes that lie.

use bytes::{Bytes, BytesMut};
use kafka_coordination::producer::{Batch, Content, EndMarker, MarkerKind};
use kafka_coordination::wire::producer::{
    Compression, RecordBatch, RecordBatchError as Error, TimestampType, encode_marker,
};
use kafka_coordination::{ErrorCode, Timestamp};
use kafka_protocol::records::{
    Compression as Algorithm, Record, RecordBatchEncoder, RecordEncodeOptions,
    TimestampType as Type,
};
use proptest::prelude::*;

/// Written by `MemoryRecords` of kafka-clients 4.4.0.
mod kafka {
    pub(super) const COMMIT: &str = "00000000000000280000004200000007024042a0660030000000000000018bcfe5687b0000018bcfe5687b0000000000000fa10003ffffffff000000012000000008000000010c00000000000f00";
    pub(super) const ABORT: &str = "000000000000002900000042ffffffff02b645ee100030000000000000018bcfe5687c0000018bcfe5687c0000000218711a007fffffffffff000000012000000008000000000c00007fffffff00";
    pub(super) const IDEMPOTENT: &str = "00000000000000640000004c0000000502a34d785e00000000000200000000000003e800000000000007d0000000000000004d00027ffffffe0000000310000000026b0276001000d00f02010277001000e8070402780100";
    pub(super) const TRANSACTIONAL: &str = "000000000000000000000058ffffffff02612235af00110000000100000000000000050000000000000006000000000000004e000000000000000000021f8b08000000000000ff8b60606060f449240a30f8313031313a2511020c009635e85155000000";
    pub(super) const PLAIN: &str = "00000000000000000000003dffffffff0289a95c9200000000000000000000000000090000000000000009ffffffffffffffffffffffffffff0000000116000000010a76616c756500";
    pub(super) const EMPTIED_MARKER: &str = "00000000000000c800000031000000030247614c8c003000000000ffffffffffffffff00000000000004d20000000000000fa10004ffffffff00000000";
    pub(super) const EMPTIED_DATA: &str = "00000000000000c8000000310000000302a39c70fe001000000009ffffffffffffffff00000000000004d20000000000000fa100040000000a00000000";
    pub(super) const LEADER_CHANGE: &str = "000000000000000c000000450000000202ffffc24f00200000000000000000000000630000000000000063ffffffffffffffffffffffffffff000000012600000008000000021200000000000101010000";
    pub(super) const APPEND_TIME: &str = "0000000000000007000000410000000002facdac540008000000000000000000000001000000000001e2400000000000000005000100000000000000011e000000026b02760402680276026e01";
    pub(super) const ALL: [&str; 9] = [
        COMMIT,
        ABORT,
        IDEMPOTENT,
        TRANSACTIONAL,
        PLAIN,
        EMPTIED_MARKER,
        EMPTIED_DATA,
        LEADER_CHANGE,
        APPEND_TIME,
    ];
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Reads a batch as far as its producer concerns, and checks on the way that nothing is allocated.
fn read(bytes: &[u8]) -> Result<Batch, Error> {
    let mut result = None;
    let memory = allocation_counter::measure(|| {
        result = Some(RecordBatch::read(bytes).and_then(|batch| {
            batch.check_checksum()?;
            let batch_of_producer = batch.producer_batch()?;
            if batch.header().compression == Compression::None {
                batch.records()?.try_for_each(|record| record.map(drop))?;
            }
            Ok(batch_of_producer)
        }));
    });
    assert_eq!(memory.count_total, 0);
    result.unwrap()
}

/// The batch with other bytes at a place, and the checksum made right.
fn altered(hex: &str, at: usize, other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes(hex);
    bytes[at..at + other.len()].copy_from_slice(other);
    seal(bytes)
}

/// Makes length and checksum right.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// A commit of producer 4001 whose record is this.
fn with_record(record: &[u8]) -> Vec<u8> {
    seal([&bytes(kafka::COMMIT)[..61], record].concat())
}

/// The record of a marker with that key and value.
fn marker_record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let short = |len: usize| u8::try_from(2 * len).unwrap();
    let body = [&[0, 0, 0, short(key.len())], key, &[short(value.len())], value, &[0]].concat();
    [&[short(body.len())], body.as_slice()].concat()
}

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
fn a_batch_cut_short_anywhere_is_refused() {
    for hex in kafka::ALL {
        let bytes = bytes(hex);
        for length in 0..bytes.len() {
            let result = read(&bytes[..length]);
            assert!(
                matches!(result, Err(Error::Incomplete { available, .. }) if available == length),
                "{hex} at {length}: {result:?}"
            );
            // With the length field made to fit, the records end too early.
            if (61..bytes.len()).contains(&length) {
                let result = read(&seal(bytes[..length].to_vec()));
                let is_compressed = hex == kafka::TRANSACTIONAL && length > 61;
                assert_eq!(result.is_err(), !is_compressed, "{hex} at {length}: {result:?}");
            }
        }
    }
}

#[test]
fn any_flipped_bit_that_the_checksum_covers_is_found() {
    for hex in kafka::ALL {
        let good = bytes(hex);
        for bit in 21 * 8..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes).is_err(), "{hex}: bit {bit}");
        }
    }
}

#[test]
fn damage_under_a_right_checksum_neither_panics_nor_allocates() {
    const DAMAGE: [&[u8]; 9] = [
        &[0xff],
        &[0x7f],
        &[0x80],
        &[0x00],
        &[0x7f, 0xff, 0xff, 0xff],
        &[0x80, 0x00, 0x00, 0x00],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    ];
    let (mut refused, mut taken) = (0, 0);
    for hex in kafka::ALL {
        let length = hex.len() / 2;
        for damage in DAMAGE {
            for at in 0..=length - damage.len() {
                match read(&altered(hex, at, damage)) {
                    Ok(batch) => {
                        assert!(0 <= batch.base_offset && batch.base_offset <= batch.last_offset);
                        assert!(batch.last_offset < i64::MAX);
                        taken += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 1000 && taken > 1000, "{refused} refused, {taken} taken");
}

/// What a header claims, where it stands, and what is said of it.
#[test]
fn claims_of_the_header_are_checked() {
    let offsets =
        |base_offset, last_offset_delta| Error::Offsets { base_offset, last_offset_delta };
    let count = |count| Error::Count { count, last_offset_delta: 2, bytes: 27 };
    let cases: [(usize, &[u8], Error); 10] = [
        (0, &(-1_i64).to_be_bytes(), offsets(-1, 2)),
        (0, &(i64::MAX - 1).to_be_bytes(), offsets(i64::MAX - 1, 2)),
        (0, &(i64::MAX - 2).to_be_bytes(), offsets(i64::MAX - 2, 2)),
        (16, &[1], Error::Magic { magic: 1 }),
        (16, &[0xff], Error::Magic { magic: -1 }),
        (21, &[0, 5], Error::UnknownCompression { attributes: 5 }),
        (23, &(-1_i32).to_be_bytes(), offsets(100, -1)),
        (57, &(-1_i32).to_be_bytes(), count(-1)),
        (57, &0_i32.to_be_bytes(), count(0)),
        (57, &4_i32.to_be_bytes(), count(4)),
    ];
    for (at, other, error) in cases {
        assert_eq!(read(&altered(kafka::IDEMPOTENT, at, other)), Err(error));
    }
    let mut short = bytes(kafka::IDEMPOTENT);
    short[8..12].copy_from_slice(&48_u32.to_be_bytes());
    assert_eq!(read(&short), Err(Error::BatchLength { length: 48 }));
    short[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(read(&short), Err(Error::BatchLength { length: -1 }));
    // As many records as there are offsets, but not bytes.
    let many = altered(kafka::PLAIN, 23, &(i32::MAX - 1).to_be_bytes());
    let many = seal([&many[..57], &i32::MAX.to_be_bytes(), &many[61..]].concat());
    assert!(matches!(read(&many), Err(Error::Count { count: i32::MAX, bytes: 12, .. })));
}

#[test]
fn the_offset_that_a_log_gives_is_checked_too() {
    let bytes = bytes(kafka::IDEMPOTENT);
    let batch = RecordBatch::read(&bytes).unwrap();
    assert_eq!(batch.producer_batch_at(i64::MAX - 3).map(|it| it.last_offset), Ok(i64::MAX - 1));
    for base_offset in [-1, i64::MIN, i64::MAX - 2, i64::MAX] {
        let error = Error::Offsets { base_offset, last_offset_delta: 2 };
        assert_eq!(batch.producer_batch_at(base_offset), Err(error));
    }
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
fn markers_that_say_nothing_are_refused() {
    const COMMIT: &[u8] = &[0, 0, 0, 1];
    const VALUE: &[u8] = &[0, 0, 0, 0, 0, 15];
    let key = |needed, remaining| {
        let field = "control record key";
        Error::Truncated { field, needed, remaining }
    };
    let value = |needed, remaining| {
        let field = "end transaction marker";
        Error::Truncated { field, needed, remaining }
    };
    let version = |field| Error::ControlVersion { field, version: -1 };
    let cases: [(&[u8], &[u8], Error); 8] = [
        (&[], VALUE, key(2, 0)),
        (&[0, 0, 0], VALUE, key(2, 1)),
        (&[0xff, 0xff, 0, 1], VALUE, version("control record key")),
        (&[0, 0, 0, 2], VALUE, Error::ControlType { control_type: 2 }),
        (&[0, 0, 0xff, 0xff], VALUE, Error::ControlType { control_type: -1 }),
        (COMMIT, &[], value(2, 0)),
        (COMMIT, &[0, 0, 0, 0, 0], value(4, 3)),
        (COMMIT, &[0xff, 0xff, 0, 0, 0, 15], version("end transaction marker")),
    ];
    for (key, value, error) in cases {
        assert_eq!(read(&with_record(&marker_record(key, value))), Err(error));
    }
    let without = |record: &[u8]| read(&with_record(record));
    let missing = |field| Err(Error::Missing { field });
    assert_eq!(without(&[12, 0, 0, 0, 1, 0, 0]), missing("control record key"));
    assert_eq!(without(&[20, 0, 0, 0, 8, 0, 0, 0, 1, 1, 0]), missing("end transaction marker"));
    let compressed = altered(kafka::COMMIT, 21, &[0, 0x31]);
    assert_eq!(read(&compressed), Err(Error::Compressed));
    let two = altered(kafka::COMMIT, 23, &1_i32.to_be_bytes());
    let two = seal([&two[..57], &2_i32.to_be_bytes(), &two[61..], &two[61..]].concat());
    assert_eq!(read(&two), Err(Error::Count { count: 2, last_offset_delta: 1, bytes: 34 }));
}

#[test]
fn records_that_lie_about_their_lengths_are_refused() {
    let good = marker_record(&[0, 0, 0, 1], &[0, 0, 0, 0, 0, 15]);
    let longer = [&good[..], &[0]].concat();
    assert_eq!(read(&with_record(&longer)), Err(Error::Trailing { field: "records", count: 1 }));
    let inside = [&[good[0] + 2], &good[1..], &[0]].concat();
    assert_eq!(read(&with_record(&inside)), Err(Error::Trailing { field: "record", count: 1 }));
    // Length, attributes, timestamp delta, offset delta, key and value of length -2, more headers than bytes.
    let least = |field, length, least| Err(Error::Length { field, length, least });
    assert_eq!(read(&with_record(&[1; 7])), least("record length", -1, 0));
    assert_eq!(read(&with_record(&[12, 0, 0, 0, 3, 0, 0])), least("key length", -2, -1));
    let headers = [12, 0, 0, 0, 1, 1, 1];
    assert_eq!(read(&with_record(&headers)), least("headers count", -1, 0));
    let headers = [12, 0, 0, 0, 1, 1, 4];
    let error = Error::Truncated { field: "header key length", needed: 1, remaining: 0 };
    assert_eq!(read(&with_record(&headers)), Err(error));
    for length in [4, 5, 9] {
        let mut long = vec![0x80; length];
        long.extend([0x7f, 0, 0, 0, 0, 0, 0]);
        let error = Error::VarintTooLong { field: "record length" };
        assert_eq!(read(&with_record(&long)), Err(error));
    }
}

#[test]
fn a_record_before_or_after_all_time_is_refused() {
    let mut bytes = bytes(kafka::IDEMPOTENT);
    bytes[27..35].copy_from_slice(&(i64::MAX - 499).to_be_bytes());
    let error = Error::Timestamp { base_timestamp: i64::MAX - 499, delta: 1000 };
    assert_eq!(read(&seal(bytes)), Err(error));
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

/// Records for one batch, as another encoder wants them.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let content = || prop::option::of(prop::collection::vec(any::<u8>(), 0..200));
    let record = (content(), content(), -1_i64..i64::MAX / 2);
    let producer = prop_oneof![Just((-1, -1, -1)), (0..i64::MAX, 0..i16::MAX, 0..i32::MAX - 40)];
    let batch = (0..i64::MAX - 40, producer, any::<bool>(), any::<i32>());
    (batch, prop::collection::vec(record, 1..40)).prop_map(|(batch, contents)| {
        let (base_offset, (producer_id, producer_epoch, base_sequence), transactional, epoch) =
            batch;
        let records =
            contents.into_iter().zip(0..).map(|((key, value, timestamp), number)| Record {
                transactional,
                control: false,
                delete_horizon: false,
                partition_leader_epoch: epoch,
                producer_id,
                producer_epoch,
                timestamp_type: Type::Creation,
                offset: base_offset + i64::from(number),
                sequence: if base_sequence < 0 { -1 } else { base_sequence + number },
                timestamp,
                key: key.map(Bytes::from),
                value: value.map(Bytes::from),
                headers: [
                    ("header".into(), Some(Bytes::from_static(b"value"))),
                    ("null".into(), None),
                ]
                .into_iter()
                .take(usize::try_from(number).unwrap() % 3)
                .collect(),
            });
        records.collect()
    })
}

proptest! {
    #[test]
    fn batches_of_another_encoder_are_read(records in records()) {
        let first = &records[0];
        // The encoder joins records whose sequences go up with their offsets only.
        prop_assume!(first.producer_id >= 0 || records.len() == 1);
        let mut bytes = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: Algorithm::None };
        RecordBatchEncoder::encode(&mut bytes, &records, &options).unwrap();
        let batch = RecordBatch::read(&bytes).unwrap();
        batch.check_checksum().unwrap();
        let expected = Batch {
            producer_id: first.producer_id,
            producer_epoch: first.producer_epoch,
            base_offset: first.offset,
            last_offset: records.last().unwrap().offset,
            content: Content::Data {
                base_sequence: first.sequence,
                max_timestamp: Timestamp::from_millis(records.iter().map(|it| it.timestamp).max().unwrap()),
                is_transactional: first.transactional,
            },
            position: None,
        };
        prop_assert_eq!(batch.producer_batch(), Ok(expected));
        prop_assert_eq!(batch.header().partition_leader_epoch, first.partition_leader_epoch);
        let read: Result<Vec<_>, _> = batch.records().unwrap().collect();
        let read = read.unwrap();
        prop_assert_eq!(read.len(), records.len());
        for (read, record) in read.iter().zip(&records) {
            prop_assert_eq!(first.offset + i64::from(read.offset_delta), record.offset);
            prop_assert_eq!(read.timestamp.as_millis(), record.timestamp);
            prop_assert_eq!((read.key, read.value), (record.key.as_deref(), record.value.as_deref()));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        header in prop::collection::vec(any::<u8>(), 40),
        count in -1_i32..4,
        records in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = [&[0; 16][..], &[2, 0, 0, 0, 0], &header[..36], &count.to_be_bytes(), &records].concat();
        bytes[23..26].fill(0);
        let _ = read(&seal(bytes));
    }
}
