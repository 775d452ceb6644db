//! The header of a record batch.

use super::error::BatchError;
use super::marker::read_marker;
use crate::producer::{Batch, Content};
use crate::time::Timestamp;
use bytes::Buf;

/// The header of a record batch of format 2, field by field. Nothing is decompressed to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of format 2")]
pub struct BatchHeader {
    /// The offset of the first record: 0 from a client, until the log assigns it.
    pub base_offset: i64,
    /// The bytes of the whole batch, 61 and above.
    pub size: usize,
    /// The epoch of the leader that appended the batch; -1 from a client.
    pub leader_epoch: i32,
    /// CRC-32C of the bytes from the attributes on.
    pub checksum: u32,
    /// Compression, timestamp type and flags, see the methods.
    pub attributes: i16,
    /// The offset of the last record, above that of the first.
    pub last_offset_delta: i32,
    /// The timestamp from which those of the records are counted, in ms.
    pub base_timestamp: i64,
    /// The highest timestamp, in ms; -1 if there is none.
    pub max_timestamp: i64,
    /// The producer's id; -1 if the batch has no producer.
    pub producer_id: i64,
    /// The producer's epoch; -1 if the batch has no producer.
    pub producer_epoch: i16,
    /// The sequence of the first record; -1 if there is none.
    pub base_sequence: i32,
    /// How many records there are; fewer than the offsets in a compacted log.
    pub record_count: i32,
}

impl BatchHeader {
    /// Bytes of a header.
    pub const SIZE: usize = 61;

    /// Bytes up to where the length counts from.
    pub(super) const LENGTH_END: usize = 12;
    /// Bytes up to where the checksum counts from.
    pub(super) const CHECKED_FROM: usize = 21;
    pub(super) const MAGIC: i8 = 2;

    const COMPRESSION: i16 = 0b111;
    const LOG_APPEND_TIME: i16 = 1 << 3;
    pub(super) const TRANSACTIONAL: i16 = 1 << 4;
    pub(super) const CONTROL: i16 = 1 << 5;

    /// Reads the header of the batch that `bytes` starts with. Whether the batch is whole, and its
    /// checksum right, is another question: [`check`](Self::check). O(1).
    ///
    /// # Errors
    /// [`BatchError::Truncated`], [`BatchError::Magic`], [`BatchError::Length`].
    pub fn read(bytes: &[u8]) -> Result<Self, BatchError> {
        let truncated = BatchError::Truncated { expected: Self::SIZE as u64, actual: bytes.len() };
        let mut fields = bytes.get(..Self::SIZE).ok_or(truncated)?;
        let base_offset = fields.get_i64();
        let length = fields.get_i32();
        let leader_epoch = fields.get_i32();
        let magic = fields.get_i8();
        if magic != Self::MAGIC {
            return Err(BatchError::Magic { magic });
        }
        let size = usize::try_from(length).ok().and_then(|len| len.checked_add(Self::LENGTH_END));
        let size = size.filter(|&size| size >= Self::SIZE).ok_or(BatchError::Length { length })?;
        Ok(Self {
            base_offset,
            size,
            leader_epoch,
            checksum: fields.get_u32(),
            attributes: fields.get_i16(),
            last_offset_delta: fields.get_i32(),
            base_timestamp: fields.get_i64(),
            max_timestamp: fields.get_i64(),
            producer_id: fields.get_i64(),
            producer_epoch: fields.get_i16(),
            base_sequence: fields.get_i32(),
            record_count: fields.get_i32(),
        })
    }

    /// The bytes of the batch, of which this is the header, out of those that start with it: if it
    /// is whole and its checksum right. O(size).
    ///
    /// # Errors
    /// [`BatchError::Truncated`], [`BatchError::Checksum`].
    pub fn check<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], BatchError> {
        let truncated = BatchError::Truncated { expected: self.size as u64, actual: bytes.len() };
        let batch = bytes.get(..self.size).ok_or(truncated)?;
        let actual = crc32c::crc32c(batch.get(Self::CHECKED_FROM..).unwrap_or_default());
        if actual != self.checksum {
            return Err(BatchError::Checksum { expected: self.checksum, actual });
        }
        Ok(batch)
    }

    /// The offset of the last record, if it is one.
    pub fn last_offset(&self) -> Option<i64> {
        self.base_offset.checked_add(self.last_offset_delta.into())
    }

    /// How the records are compressed: 0 not, 1 gzip, 2 snappy, 3 lz4, 4 zstd, 5 to 7 unknown.
    pub const fn compression(&self) -> i16 {
        self.attributes & Self::COMPRESSION
    }

    /// Whether the timestamps are those of the append.
    pub const fn has_append_time(&self) -> bool {
        self.attributes & Self::LOG_APPEND_TIME != 0
    }

    /// Whether it belongs to a transaction.
    pub const fn is_transactional(&self) -> bool {
        self.attributes & Self::TRANSACTIONAL != 0
    }

    /// Whether its record is for brokers and clients, not for consumers.
    pub const fn is_control(&self) -> bool {
        self.attributes & Self::CONTROL != 0
    }

    /// The batch as [`ProducerStates::push`](crate::producer::ProducerStates::push) takes it, at the
    /// base offset that stands here. `bytes` are the batch's; only of a control batch more than the
    /// header is looked at. O(1).
    ///
    /// # Errors
    /// [`BatchError::Offsets`], [`BatchError::Marker`].
    pub fn producer_batch(&self, bytes: &[u8]) -> Result<Batch, BatchError> {
        let &Self { base_offset, last_offset_delta, producer_id, .. } = self;
        let last_offset = self.last_offset().filter(|&last| (0..=last).contains(&base_offset));
        let impossible = BatchError::Offsets { base_offset, last_offset_delta };
        let max_timestamp = Timestamp::from_millis(self.max_timestamp);
        // Without a producer it is none of a transaction: those of Raft leaders are such.
        let content = if !self.is_control() || producer_id < 0 {
            let is_transactional = self.is_transactional();
            Content::Data { base_sequence: self.base_sequence, max_timestamp, is_transactional }
        } else if self.record_count == 0 {
            Content::EmptiedMarker { max_timestamp }
        } else {
            let marker = read_marker(self, bytes.get(Self::SIZE..).unwrap_or_default());
            Content::Marker(marker.ok_or(BatchError::Marker { producer_id })?)
        };
        Ok(Batch {
            producer_id,
            producer_epoch: self.producer_epoch,
            base_offset,
            last_offset: last_offset.ok_or(impossible)?,
            content,
            position: None,
        })
    }
}
