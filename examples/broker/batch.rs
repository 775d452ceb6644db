//! Record batches of format 2: what a produce request may store, and where its records are.
//!
//! The batch is the unit that the broker stores, indexes and returns. Its bytes stay what the producer sent, but for the
//! base offset and the leader epoch, which are outside of its checksum so that a broker can set them.

use bytes::{Buf, Bytes, BytesMut};
use kafka_coordination::ErrorCode;
use kafka_coordination::producer::EndMarker;
use kafka_coordination::wire::producer::{BatchError, BatchHeader, encode_marker};
use std::borrow::Cow;
use std::fmt::Display;

/// Kafka's `message.max.bytes`.
const MAX_BYTES: usize = 1_048_588;

const ZSTD: i16 = 4;

/// A batch that may be appended.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) header: BatchHeader,
    bytes: BytesMut,
}

/// Why a batch is refused: the code and the text that go into the answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) text: Cow<'static, str>,
}

impl Refusal {
    pub(crate) const fn new(code: ErrorCode, text: &'static str) -> Self {
        Self { code, text: Cow::Borrowed(text) }
    }

    /// A refusal of the crate's, in its words.
    pub(crate) fn of(code: ErrorCode, error: &impl Display) -> Self {
        Self { code, text: Cow::Owned(error.to_string()) }
    }
}

impl Batch {
    /// Checks the records of one partition of a produce request of the given version.
    pub(crate) fn parse(records: &[u8], version: i16) -> Result<Self, Refusal> {
        let refuse = |code, text| Err(Refusal::new(code, text));
        let invalid = |text| refuse(ErrorCode::InvalidRecord, text);
        let corrupt = |text| refuse(ErrorCode::CorruptMessage, text);
        if records.is_empty() {
            return invalid("a produce request must hold one record batch for each partition");
        }
        if records.len() > MAX_BYTES {
            return refuse(ErrorCode::MessageTooLarge, "the record batch is too large");
        }
        let header = match BatchHeader::read(records) {
            Ok(header) => header,
            Err(BatchError::Magic { .. }) => {
                return invalid("only record batches of format 2 are taken");
            }
            Err(_) => return corrupt("the record batch's header is not whole"),
        };
        match header.check(records) {
            Ok(batch) if batch.len() == records.len() => {}
            Ok(_) => {
                return invalid("a produce request must hold one record batch for each partition");
            }
            Err(_) => {
                return corrupt("the record batch's length or checksum does not fit its bytes");
            }
        }
        if header.is_control() {
            return invalid("control batches are not taken");
        }
        if header.compression() > ZSTD {
            return invalid("the record batch's compression is unknown");
        }
        if header.compression() == ZSTD && version < 7 {
            let text = "zstd needs version 7 of the produce request";
            return refuse(ErrorCode::UnsupportedCompressionType, text);
        }
        if header.has_append_time() {
            return refuse(ErrorCode::InvalidTimestamp, "producers may not set the append time");
        }
        if header.base_offset != 0 {
            return invalid("the record batch's base offset is not 0");
        }
        let count = header.record_count;
        if count < 1 || header.last_offset_delta != count - 1 {
            return invalid("the record batch's count and last offset differ");
        }
        if header.compression() == 0 {
            check_records(records, count)?;
        }
        // A copy: what else the request has brought must not stay in memory for as long as the log does.
        Ok(Self { header, bytes: BytesMut::from(records) })
    }

    /// The control batch that ends a producer's transaction.
    pub(crate) fn marker(
        producer_id: i64,
        producer_epoch: i16,
        marker: EndMarker,
    ) -> Result<Self, BatchError> {
        let bytes = encode_marker(0, 0, producer_id, producer_epoch, marker);
        let header = BatchHeader::read(&bytes)?;
        Ok(Self { header, bytes: BytesMut::from(bytes.as_slice()) })
    }

    /// How many records there are.
    pub(crate) fn record_count(&self) -> usize {
        usize::try_from(self.header.record_count).unwrap_or(0)
    }

    /// The batch as it is stored when its first record gets `base_offset`.
    pub(crate) fn place(mut self, base_offset: i64, leader_epoch: i32) -> (BatchHeader, Bytes) {
        for (field, value) in [
            (0..8, base_offset.to_be_bytes().as_slice()),
            (12..16, leader_epoch.to_be_bytes().as_slice()),
        ] {
            if let Some(bytes) = self.bytes.get_mut(field) {
                bytes.copy_from_slice(value);
            }
        }
        (BatchHeader { base_offset, leader_epoch, ..self.header }, self.bytes.freeze())
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
    let mut rest = batch.get(BatchHeader::SIZE..).unwrap_or_default();
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
    let malformed = Refusal::new(ErrorCode::InvalidRecord, "the batch's records are malformed");
    let mut rest = batch.get(BatchHeader::SIZE..).unwrap_or_default();
    for expected in 0..i64::from(count) {
        match next_record(&mut rest) {
            Some(record) if record.offset_delta == expected => {}
            _ => return Err(malformed),
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(malformed) }
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
