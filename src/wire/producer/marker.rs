//! The record of a control batch that ends a transaction.

use super::header::BatchHeader;
use crate::producer::{EndMarker, MarkerKind};
use crate::time::Timestamp;
use alloc::vec::Vec;
use bytes::{Buf, BufMut};

/// The versions of key and value that are written; higher ones start with the same fields.
const VERSION: i16 = 0;
const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// The record: attributes, timestamp and offset of the batch, a key of 4 bytes (version and kind),
/// a value of 6 (version and coordinator epoch), no headers. Lengths are zigzag varints.
const RECORD_SIZE: u8 = 16;
/// What the batch's length counts: the rest of its header, and the record with its own length.
const LENGTH: u32 = 49 + 1 + RECORD_SIZE as u32;

/// The bytes of the control batch that ends a transaction, as a coordinator appends them to a log
/// at this offset: equal to those that Kafka writes.
pub fn encode_marker(
    base_offset: i64,
    leader_epoch: i32,
    producer_id: i64,
    producer_epoch: i16,
    marker: EndMarker,
) -> Vec<u8> {
    let timestamp = marker.timestamp.as_millis();
    let mut checked = Vec::new();
    checked.put_i16(BatchHeader::TRANSACTIONAL | BatchHeader::CONTROL);
    checked.put_i32(0); // last offset delta
    checked.put_i64(timestamp);
    checked.put_i64(timestamp);
    checked.put_i64(producer_id);
    checked.put_i16(producer_epoch);
    checked.put_i32(-1); // base sequence
    checked.put_i32(1); // records
    checked.put_slice(&[zigzag(RECORD_SIZE), 0, 0, 0, zigzag(4)]);
    checked.put_i16(VERSION);
    checked.put_i16(match marker.kind {
        MarkerKind::Abort => ABORT,
        MarkerKind::Commit => COMMIT,
    });
    checked.put_u8(zigzag(6));
    checked.put_i16(VERSION);
    checked.put_i32(marker.coordinator_epoch);
    checked.put_u8(0); // headers

    let mut batch = Vec::new();
    batch.put_i64(base_offset);
    batch.put_u32(LENGTH);
    batch.put_i32(leader_epoch);
    batch.put_i8(BatchHeader::MAGIC);
    batch.put_u32(crc32c::crc32c(&checked));
    batch.append(&mut checked);
    batch
}

/// A length below 64 as a varint of one byte.
const fn zigzag(length: u8) -> u8 {
    length << 1
}

/// Reads the marker of a control batch from its records.
pub(super) fn read_marker(header: &BatchHeader, mut records: &[u8]) -> Option<EndMarker> {
    if header.compression() != 0 {
        return None;
    }
    let len = usize::try_from(varint(&mut records)?).ok()?;
    let mut record = records.get(..len)?;
    let _attributes = record.try_get_u8().ok()?;
    let timestamp_delta = varint(&mut record)?;
    let _offset_delta = varint(&mut record)?;
    let mut key = take_bytes(&mut record)?;
    let mut value = take_bytes(&mut record)?;
    let (key_version, kind) = (key.try_get_i16().ok()?, key.try_get_i16().ok()?);
    let (value_version, coordinator_epoch) = (value.try_get_i16().ok()?, value.try_get_i32().ok()?);
    if key_version < VERSION || value_version < VERSION || coordinator_epoch < -1 {
        return None;
    }
    let timestamp = if header.has_append_time() {
        header.max_timestamp
    } else {
        header.base_timestamp.saturating_add(timestamp_delta)
    };
    Some(EndMarker {
        kind: match kind {
            ABORT => MarkerKind::Abort,
            COMMIT => MarkerKind::Commit,
            _ => return None,
        },
        coordinator_epoch,
        timestamp: Timestamp::from_millis(timestamp),
    })
}

fn take_bytes<'a>(record: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(varint(record)?).ok()?;
    let (taken, rest) = record.split_at_checked(len)?;
    *record = rest;
    Some(taken)
}

/// Takes a zigzag varint of up to ten bytes off `bytes`.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}
