//! The header of a record batch.

use super::RecordBatchError;
use super::record::{LEAST_RECORD, Reader};
use crate::time::Timestamp;

/// The bytes of a header.
pub(super) const HEADER: usize = 61;

/// Where the field of the length ends. The length counts from here.
const LENGTH_END: usize = 12;

/// Where the format is told, in older formats too.
const MAGIC_AT: usize = 16;

/// Where the checksum is.
pub(super) const CHECKSUM: usize = 17;

/// Where the bytes start that the checksum covers: base offset and leader epoch are the broker's.
pub(super) const CHECKED_FROM: usize = 21;

/// The length of a batch that is a header alone.
pub(super) const LEAST_LENGTH: i32 = 49;

/// The only format that there is since Kafka 4.0 (KIP-98, KIP-724).
pub(super) const MAGIC: i8 = 2;

const COMPRESSION: i16 = 0b111;
const APPEND_TIME: i16 = 1 << 3;
pub(super) const TRANSACTIONAL: i16 = 1 << 4;
pub(super) const CONTROL: i16 = 1 << 5;

/// How the records of a batch are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// They are not.
    None,
    /// With gzip.
    Gzip,
    /// With snappy.
    Snappy,
    /// With LZ4.
    Lz4,
    /// With Zstandard (KIP-110).
    Zstd,
}

/// Whose timestamps the records of a batch have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "one bit")]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's: the batch's maximum stands for each of them.
    LogAppendTime,
}

/// The header of a record batch: its 61 bytes, the length and the checksum aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the fields of format 2")]
pub struct BatchHeader {
    /// The offset of the first record, even if compaction removed that record; 0 in a request.
    pub base_offset: i64,
    /// The epoch of the leader that appended it; -1 in a request.
    pub partition_leader_epoch: i32,
    /// How its records are compressed.
    pub compression: Compression,
    /// Whose timestamps its records have.
    pub timestamp_type: TimestampType,
    /// Whether it belongs to a transaction.
    pub is_transactional: bool,
    /// Whether its record is not a client's, but ends a transaction or is of the metadata quorum.
    pub is_control: bool,
    /// The last record's offset less the first's, 0 and above.
    pub last_offset_delta: i32,
    /// What the timestamps of its records count from.
    pub base_timestamp: Timestamp,
    /// The highest timestamp of its records; -1 if there is none.
    pub max_timestamp: Timestamp,
    /// The producer's id; below 0 if it has none.
    pub producer_id: i64,
    /// The producer's epoch; -1 if it has none.
    pub producer_epoch: i16,
    /// The sequence of the first record; -1 if it has none.
    pub base_sequence: i32,
    /// How many records there are: 0 if compaction has removed all.
    pub count: i32,
}

impl BatchHeader {
    /// The offset of the last record.
    pub const fn last_offset(&self) -> i64 {
        // No header is read whose offsets end elsewhere. `i64::from` is not const.
        self.base_offset.saturating_add(self.last_offset_delta as i64)
    }

    /// Reads the header of a batch, given by all bytes that are there, of which it may be the first
    /// of several; answers how many bytes the batch takes.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), RecordBatchError> {
        let incomplete = RecordBatchError::Incomplete { needed: HEADER, available: bytes.len() };
        // Of an older format, whose headers are shorter, this much is told.
        let magic = bytes.get(MAGIC_AT).ok_or(incomplete)?.cast_signed();
        if magic != MAGIC {
            return Err(RecordBatchError::Magic { magic });
        }
        let mut fields = Reader(bytes.get(..HEADER).ok_or(incomplete)?);
        let base_offset = fields.int64("base offset")?;
        let size = size(fields.int32("batch length")?, bytes.len())?;
        let partition_leader_epoch = fields.int32("partition leader epoch")?;
        let [_magic] = fields.array("magic")?;
        let _checksum = fields.int32("crc")?;
        let attributes = fields.int16("attributes")?;
        let header = Self {
            base_offset,
            partition_leader_epoch,
            compression: compression(attributes)?,
            timestamp_type: if attributes & APPEND_TIME == 0 {
                TimestampType::CreateTime
            } else {
                TimestampType::LogAppendTime
            },
            is_transactional: attributes & TRANSACTIONAL != 0,
            is_control: attributes & CONTROL != 0,
            last_offset_delta: fields.int32("last offset delta")?,
            base_timestamp: Timestamp::from_millis(fields.int64("base timestamp")?),
            max_timestamp: Timestamp::from_millis(fields.int64("max timestamp")?),
            producer_id: fields.int64("producer id")?,
            producer_epoch: fields.int16("producer epoch")?,
            base_sequence: fields.int32("base sequence")?,
            count: fields.int32("records count")?,
        };
        header.check_offsets(base_offset)?;
        header.check_count(size - HEADER)?;
        Ok((header, size))
    }

    /// Whether the batch can lie at that offset.
    pub(super) fn check_offsets(&self, base_offset: i64) -> Result<(), RecordBatchError> {
        let last_offset_delta = self.last_offset_delta;
        let end = base_offset.checked_add(last_offset_delta.into()).filter(|&end| end < i64::MAX);
        if base_offset < 0 || last_offset_delta < 0 || end.is_none() {
            return Err(RecordBatchError::Offsets { base_offset, last_offset_delta });
        }
        Ok(())
    }

    /// Whether its number of records fits its offsets, and the bytes that there are of them.
    fn check_count(&self, bytes: usize) -> Result<(), RecordBatchError> {
        let &Self { count, last_offset_delta, .. } = self;
        let possible = match (self.compression, bytes) {
            (_, 0) => 0..=0,
            (Compression::None, bytes) => 1..=bytes / LEAST_RECORD,
            _ => 1..=usize::MAX,
        };
        let has_offsets = i64::from(count) <= i64::from(last_offset_delta) + 1;
        if has_offsets && usize::try_from(count).is_ok_and(|count| possible.contains(&count)) {
            return Ok(());
        }
        Err(RecordBatchError::Count { count, last_offset_delta, bytes })
    }
}

/// The bytes of a batch of that length, all of which must be there.
fn size(length: i32, available: usize) -> Result<usize, RecordBatchError> {
    if length < LEAST_LENGTH {
        return Err(RecordBatchError::BatchLength { length });
    }
    let needed = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(LENGTH_END);
    if needed > available {
        return Err(RecordBatchError::Incomplete { needed, available });
    }
    Ok(needed)
}

const fn compression(attributes: i16) -> Result<Compression, RecordBatchError> {
    Ok(match attributes & COMPRESSION {
        0 => Compression::None,
        1 => Compression::Gzip,
        2 => Compression::Snappy,
        3 => Compression::Lz4,
        4 => Compression::Zstd,
        _ => return Err(RecordBatchError::UnknownCompression { attributes }),
    })
}
