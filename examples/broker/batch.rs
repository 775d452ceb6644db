//! Record batches of format 2: what a produce request may store, and where its records are.
//!
//! The batch is the unit that the broker stores, indexes and returns. Its bytes stay what the producer sent, but for the
//! base offset and the leader epoch, which are outside of its checksum so that a broker can set them.

use bytes::{Buf, Bytes, BytesMut};
use kafka_coordination::ErrorCode;

/// Bytes before the first record.
const HEADER: usize = 61;
/// Where the field of the batch's length ends; the length counts from here.
const LENGTH_END: usize = 12;
/// Where the checksummed part begins.
const CHECKED_FROM: usize = 21;
/// Kafka's `message.max.bytes`.
const MAX_BYTES: usize = 1_048_588;

const COMPRESSION: i16 = 0b111;
const ZSTD: i16 = 4;
const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// A batch that may be appended.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: BytesMut,
    /// Offsets that the batch takes.
    pub(crate) len: i64,
    /// The largest timestamp of its records.
    pub(crate) max_timestamp: i64,
}

/// Why a batch is refused: the code and the text that go into the answer.
pub(crate) type Refusal = (ErrorCode, &'static str);

impl Batch {
    /// Checks the records of one partition of a produce request of the given version.
    pub(crate) fn parse(records: &[u8], version: i16) -> Result<Self, Refusal> {
        let invalid = |text| Err((ErrorCode::InvalidRecord, text));
        let corrupt = |text| Err((ErrorCode::CorruptMessage, text));
        if records.is_empty() {
            return invalid("a produce request must hold one record batch for each partition");
        }
        if records.len() > MAX_BYTES {
            return Err((ErrorCode::MessageTooLarge, "the record batch is too large"));
        }
        let Some(mut fields) = records.get(..HEADER) else {
            return corrupt("the record batch is shorter than its header");
        };
        let _base_offset = fields.get_i64();
        let length = usize::try_from(fields.get_i32()).unwrap_or(0);
        let _leader_epoch = fields.get_i32();
        let magic = fields.get_i8();
        let checksum = fields.get_u32();
        let attributes = fields.get_i16();
        let last_offset_delta = fields.get_i32();
        let _base_timestamp = fields.get_i64();
        let max_timestamp = fields.get_i64();
        let _producer_id = fields.get_i64();
        let _producer_epoch = fields.get_i16();
        let _base_sequence = fields.get_i32();
        let count = fields.get_i32();

        if magic != 2 {
            return invalid("only record batches of format 2 are taken");
        }
        let total = length.saturating_add(LENGTH_END);
        if total < HEADER || total > records.len() {
            return corrupt("the record batch's length does not fit its bytes");
        }
        if total < records.len() {
            return invalid("a produce request must hold one record batch for each partition");
        }
        if crc32c::crc32c(records.get(CHECKED_FROM..).unwrap_or_default()) != checksum {
            return corrupt("the record batch's checksum does not fit its bytes");
        }
        if attributes & (CONTROL | TRANSACTIONAL) != 0 {
            return invalid("control and transactional batches are not taken");
        }
        if attributes & COMPRESSION > ZSTD {
            return invalid("the record batch's compression is unknown");
        }
        if attributes & COMPRESSION == ZSTD && version < 7 {
            let text = "zstd needs version 7 of the produce request";
            return Err((ErrorCode::UnsupportedCompressionType, text));
        }
        if attributes & LOG_APPEND_TIME != 0 {
            let text = "producers may not set the append time";
            return Err((ErrorCode::InvalidTimestamp, text));
        }
        if count < 1 || last_offset_delta != count - 1 {
            return invalid("the record batch's count and last offset differ");
        }
        if attributes & COMPRESSION == 0 {
            check_records(records, count)?;
        }
        let len = i64::from(count);
        // A copy: what else the request has brought must not stay in memory for as long as the log does.
        let bytes = BytesMut::from(records);
        Ok(Self { bytes, len, max_timestamp })
    }

    /// The batch's bytes as they are stored when its first record gets `base_offset`.
    pub(crate) fn place(mut self, base_offset: i64, leader_epoch: i32) -> Bytes {
        for (field, value) in [
            (0..8, base_offset.to_be_bytes().as_slice()),
            (12..16, leader_epoch.to_be_bytes().as_slice()),
        ] {
            if let Some(bytes) = self.bytes.get_mut(field) {
                bytes.copy_from_slice(value);
            }
        }
        self.bytes.freeze()
    }
}

/// Where a record is: what it adds to its batch's base offset, and its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) offset_delta: i64,
    pub(crate) timestamp: i64,
}

/// The stamps of a stored batch's records. Those of a compressed one are inside of its compression: it gives one stamp,
/// its first offset with its largest timestamp.
pub(crate) fn stamps(batch: &[u8]) -> impl Iterator<Item = Stamp> {
    let field = |at: usize, len: usize| batch.get(at..at + len).unwrap_or_default();
    let compressed = field(22, 1).first().is_none_or(|low| low & 0b111 != 0);
    let base_timestamp = Buf::try_get_i64(&mut field(27, 8)).unwrap_or(0);
    let max_timestamp = Buf::try_get_i64(&mut field(35, 8)).unwrap_or(0);
    let whole = compressed.then_some(Stamp { offset_delta: 0, timestamp: max_timestamp });
    let mut rest = batch.get(HEADER..).unwrap_or_default();
    let each = std::iter::from_fn(move || {
        let record = next_record(&mut rest)?;
        Some(Stamp {
            offset_delta: record.offset_delta,
            timestamp: base_timestamp.wrapping_add(record.timestamp),
        })
    });
    whole.into_iter().chain(each.filter(move |_| !compressed))
}

/// Whether an uncompressed batch holds `count` whole records with rising offsets, and nothing else.
fn check_records(batch: &[u8], count: i32) -> Result<(), Refusal> {
    let refused = Err((ErrorCode::InvalidRecord, "the batch's records are malformed"));
    let mut rest = batch.get(HEADER..).unwrap_or_default();
    for expected in 0..i64::from(count) {
        match next_record(&mut rest) {
            Some(record) if record.offset_delta == expected => {}
            _ => return refused,
        }
    }
    if rest.is_empty() { Ok(()) } else { refused }
}

/// Takes the next record off `rest`: its length, attributes, timestamp delta, offset delta and content.
fn next_record(rest: &mut &[u8]) -> Option<Stamp> {
    let len = usize::try_from(varint(rest)?).ok()?;
    let (mut record, after) = rest.split_at_checked(len)?;
    *rest = after;
    let _attributes = record.try_get_u8().ok()?;
    let timestamp = varint(&mut record)?;
    let offset_delta = varint(&mut record)?;
    Some(Stamp { offset_delta, timestamp })
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
