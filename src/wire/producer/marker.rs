//! The control record that ends a transaction.

use super::RecordBatchError;
use super::header::{CHECKED_FROM, CHECKSUM, CONTROL, HEADER, LEAST_LENGTH, MAGIC, TRANSACTIONAL};
use super::record::{Reader, Record};
use crate::producer::{EndMarker, MarkerKind, NO_SEQUENCE};

const KEY: &str = "control record key";
const VALUE: &str = "end transaction marker";

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// The version of key and value that is written.
const VERSION: i16 = 0;

/// The bytes of the record: its length, attributes, timestamp and offset deltas, a key of 4 bytes, a
/// value of 6, each behind its length, and no headers.
const RECORD: u8 = 17;

/// The bytes of a control batch that ends a transaction.
const MARKER: usize = HEADER + RECORD as usize;

/// The control batch that ends a transaction of that producer, equal to what Kafka's coordinator
/// appends to a log at this offset.
///
/// ```
/// use kafka_coordination::Timestamp;
/// use kafka_coordination::producer::{Content, EndMarker, MarkerKind};
/// use kafka_coordination::wire::producer::{RecordBatch, RecordBatchError, encode_marker};
///
/// let timestamp = Timestamp::from_millis(1_000);
/// let marker = EndMarker { kind: MarkerKind::Commit, coordinator_epoch: 3, timestamp };
/// let bytes = encode_marker(100, 0, 7, 2, marker);
/// let batch = RecordBatch::read(&bytes)?.producer_batch()?;
/// assert_eq!((batch.producer_id, batch.base_offset), (7, 100));
/// assert_eq!(batch.content, Content::Marker(marker));
/// # Ok::<(), RecordBatchError>(())
/// ```
pub fn encode_marker(
    base_offset: i64,
    partition_leader_epoch: i32,
    producer_id: i64,
    producer_epoch: i16,
    marker: EndMarker,
) -> [u8; MARKER] {
    let control_type = match marker.kind {
        MarkerKind::Abort => ABORT,
        MarkerKind::Commit => COMMIT,
    };
    let timestamp = marker.timestamp.as_millis().to_be_bytes();
    let fields: [&[u8]; 20] = [
        &base_offset.to_be_bytes(),
        &(LEAST_LENGTH + i32::from(RECORD)).to_be_bytes(),
        &partition_leader_epoch.to_be_bytes(),
        &MAGIC.to_be_bytes(),
        &[0; 4], // checksum
        &(TRANSACTIONAL | CONTROL).to_be_bytes(),
        &[0; 4], // last offset delta
        &timestamp,
        &timestamp,
        &producer_id.to_be_bytes(),
        &producer_epoch.to_be_bytes(),
        &NO_SEQUENCE.to_be_bytes(),
        &1_i32.to_be_bytes(), // records count
        &[varint(RECORD - 1), 0, 0, 0, varint(4)],
        &VERSION.to_be_bytes(),
        &control_type.to_be_bytes(),
        &[varint(6)],
        &VERSION.to_be_bytes(),
        &marker.coordinator_epoch.to_be_bytes(),
        &[0], // headers count
    ];
    let mut bytes = [0; MARKER];
    for (place, &byte) in bytes.iter_mut().zip(fields.iter().copied().flatten()) {
        *place = byte;
    }
    let checksum = crc32c::crc32c(&bytes[CHECKED_FROM..]);
    bytes[CHECKSUM..CHECKED_FROM].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// A length below 64 as a varint.
const fn varint(length: u8) -> u8 {
    length << 1
}

/// The end of a transaction that a control record of a producer tells: Kafka's
/// `EndTransactionMarker`.
///
/// Key: version 0, type. Value: version 0, coordinator epoch. Later versions add to them at their end:
/// what follows is not looked at.
pub(super) fn end_marker(record: &Record<'_>) -> Result<EndMarker, RecordBatchError> {
    let mut key = versioned(record.key, KEY)?;
    let kind = match key.int16(KEY)? {
        ABORT => MarkerKind::Abort,
        COMMIT => MarkerKind::Commit,
        control_type => return Err(RecordBatchError::ControlType { control_type }),
    };
    let mut value = versioned(record.value, VALUE)?;
    let coordinator_epoch = value.int32(VALUE)?;
    Ok(EndMarker { kind, coordinator_epoch, timestamp: record.timestamp })
}

/// What follows the version.
fn versioned<'a>(
    bytes: Option<&'a [u8]>,
    field: &'static str,
) -> Result<Reader<'a>, RecordBatchError> {
    let mut reader = Reader(bytes.ok_or(RecordBatchError::Missing { field })?);
    let version = reader.int16(field)?;
    if version < 0 {
        return Err(RecordBatchError::ControlVersion { field, version });
    }
    Ok(reader)
}
