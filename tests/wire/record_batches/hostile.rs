//! Batches that lie about what they hold.

use super::{altered, bytes, kafka, marker_record, read, seal, with_record};
use kafka_coordination::wire::producer::{RecordBatch, RecordBatchError as Error};

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
