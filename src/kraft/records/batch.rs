//! Batches of control records: record batches of format 2, as the quorum's log holds them.

use alloc::vec::Vec;

use thiserror::Error;

use super::control_record::{ControlMessage, ControlRecord};
use super::control_type::ControlRecordType;
use super::error::{EncodeError, RecordError};
use super::reader::Reader;
use super::writer;
use crate::time::Timestamp;

/// Base offset and length, which the length does not count.
const OVERHEAD: usize = 12;

/// The bytes up to the magic number, included.
const THROUGH_MAGIC: usize = 17;

/// The bytes before the first record.
const HEADER: usize = 61;

/// Where the bytes start that the checksum covers.
const CHECKED_FROM: usize = 21;

/// The least that the length of a batch of any format may say.
const LEAST_LENGTH: i32 = 14;

/// The only magic number that is read and written.
const MAGIC: i8 = 2;

/// The attribute of batches of control records.
const CONTROL: i16 = 0x20;

/// The version of the record format has no such thing, so Kafka writes it as this.
const NONE: u8 = 0xff;

/// Appends to `out` the batch of these control records, at offsets from `base_offset` on, in an epoch
/// and at a time; equal to what Kafka writes. O(bytes).
///
/// # Errors
/// [`EncodeError`]. Nothing is appended then.
pub fn encode_control_batch(
    base_offset: i64,
    epoch: i32,
    timestamp: Timestamp,
    records: &[ControlRecord],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    writer::whole_or_nothing(out, |out| {
        let mut batch = ControlBatch::new(base_offset, epoch, timestamp, out);
        for record in records {
            batch.push(record)?;
        }
        batch.finish()
    })
}

/// A batch of control records that is being written.
#[derive(Debug)]
pub struct ControlBatch<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    base_offset: i64,
    count: i32,
    value: Vec<u8>,
    record: Vec<u8>,
}

impl<'o> ControlBatch<'o> {
    /// Starts a batch at the end of `out`.
    pub fn new(base_offset: i64, epoch: i32, timestamp: Timestamp, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        let timestamp = timestamp.as_millis().to_be_bytes();
        out.extend_from_slice(&base_offset.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&epoch.to_be_bytes());
        out.extend_from_slice(&MAGIC.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&CONTROL.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&timestamp);
        out.extend_from_slice(&timestamp);
        // No producer: id, epoch and sequence are -1.
        out.extend_from_slice(&[NONE; 8 + 2 + 4]);
        out.extend_from_slice(&[0; 4]);
        let (value, record) = (Vec::new(), Vec::new());
        Self { out, start, base_offset, count: 0, value, record }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// [`EncodeError`]. The batch is as it was.
    pub fn push(&mut self, record: &ControlRecord) -> Result<(), EncodeError> {
        let mut value = core::mem::take(&mut self.value);
        value.clear();
        let result = record.encode_value(&mut value);
        let result = result.and_then(|()| self.push_value(record.control_type(), &value));
        self.value = value;
        result
    }

    /// Writes a record whose value is encoded already.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`], [`EncodeError::Offsets`]. The batch is as it was.
    pub fn push_value(
        &mut self,
        control_type: ControlRecordType,
        value: &[u8],
    ) -> Result<(), EncodeError> {
        let too_large = |_| EncodeError::TooLarge { length: value.len() };
        let count = usize::try_from(self.count).unwrap_or_default();
        let past = EncodeError::Offsets { base_offset: self.base_offset, count: count + 1 };
        self.base_offset.checked_add(self.count.into()).ok_or(past)?;

        let record = &mut self.record;
        record.clear();
        // No attributes, and the batch's timestamp.
        record.extend_from_slice(&[0, 0]);
        writer::zigzag(self.count, record);
        let key = control_type.key();
        writer::zigzag(i32::try_from(key.len()).map_err(too_large)?, record);
        record.extend_from_slice(&key);
        writer::zigzag(i32::try_from(value.len()).map_err(too_large)?, record);
        record.extend_from_slice(value);
        // No headers.
        record.push(0);
        let length = i32::try_from(record.len()).map_err(too_large)?;
        writer::zigzag(length, self.out);
        self.out.extend_from_slice(record);
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Completes the batch.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`] if it has no record, or more bytes than a batch can. What was written
    /// remains at the end of `out`.
    pub fn finish(self) -> Result<(), EncodeError> {
        let Self { out, start, count, .. } = self;
        let batch = out.get_mut(start..).unwrap_or_default();
        let size = batch.len();
        let length = i32::try_from(size - OVERHEAD.min(size)).ok().filter(|_| count > 0);
        let length = length.ok_or(EncodeError::TooLarge { length: size })?;
        put(batch, 8, length);
        put(batch, 23, count - 1);
        put(batch, 57, count);
        let checksum = crc32c::crc32c(batch.get(CHECKED_FROM..).unwrap_or_default());
        put(batch, 17, checksum.cast_signed());
        Ok(())
    }
}

fn put(batch: &mut [u8], at: usize, value: i32) {
    if let Some(place) = batch.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = value.to_be_bytes();
    }
}

/// A batch of the quorum's log or of a snapshot, as it was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch<'a> {
    /// The offset of the first record.
    pub base_offset: i64,
    /// The offset of the last record.
    pub last_offset: i64,
    /// The epoch of the leader that appended it.
    pub epoch: i32,
    /// The highest timestamp of the records.
    pub append_timestamp: Timestamp,
    /// The control records, or `None` for a batch of data, which is not looked into.
    pub control_records: Option<Vec<ControlMessage<'a>>>,
    /// The batch's bytes.
    pub bytes: &'a [u8],
}

/// Reads batches off bytes of a log or a snapshot, up to the end or the first error.
///
/// The checksum of each is verified before anything in it is looked at. A batch that is cut off at
/// the end of the bytes is not there. Kafka: `RecordsIterator`.
///
/// What is allocated is bounded by the bytes; Kafka reserves what the count of records claims.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    rest: &'a [u8],
}

impl<'a> Batches<'a> {
    /// The batches in these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn read(&mut self) -> Result<Option<Batch<'a>>, BatchError> {
        let Some(length) = self.rest.get(8..OVERHEAD).and_then(|bytes| bytes.first_chunk()) else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        if length < LEAST_LENGTH {
            return Err(BatchError::Length { length });
        }
        let Some(&magic) = self.rest.get(THROUGH_MAGIC - 1) else { return Ok(None) };
        let magic = magic.cast_signed();
        if magic != MAGIC {
            return Err(BatchError::Magic { magic });
        }
        let size = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(OVERHEAD);
        let Some((bytes, rest)) = self.rest.split_at_checked(size) else { return Ok(None) };
        if size < HEADER {
            return Err(BatchError::Length { length });
        }
        let batch = parse(bytes)?;
        self.rest = rest;
        Ok(Some(batch))
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.read();
        if result.is_err() {
            self.rest = &[];
        }
        result.transpose()
    }
}

/// Reads a batch that is whole.
fn parse(bytes: &[u8]) -> Result<Batch<'_>, BatchError> {
    let mut header = Reader::new(bytes);
    let base_offset = header.int64("base offset")?;
    header.int32("length")?;
    let epoch = header.int32("epoch")?;
    header.bytes("magic", 1)?;
    let expected = header.int32("checksum")?.cast_unsigned();
    let actual = crc32c::crc32c(header.rest());
    if actual != expected {
        return Err(BatchError::Checksum { expected, actual });
    }
    let attributes = header.int16("attributes")?;
    let last_offset_delta = header.int32("last offset delta")?;
    header.int64("base timestamp")?;
    let append_timestamp = Timestamp::from_millis(header.int64("max timestamp")?);
    header.bytes("producer", 8 + 2 + 4)?;
    let count = header.int32("count")?;
    let (control_records, delta) = if attributes & CONTROL == 0 {
        (None, last_offset_delta)
    } else {
        if count <= 0 {
            return Err(BatchError::Count { count });
        }
        // Not the header's delta: that is what Kafka counts by.
        (Some(parse_records(header, count)?), count - 1)
    };
    let last_offset = base_offset
        .checked_add(delta.into())
        .filter(|&last| last >= base_offset)
        .ok_or(BatchError::Offsets { base_offset, delta })?;
    Ok(Batch { base_offset, last_offset, epoch, append_timestamp, control_records, bytes })
}

fn parse_records(
    mut reader: Reader<'_>,
    count: i32,
) -> Result<Vec<ControlMessage<'_>>, BatchError> {
    // Grows with what is read: nobody vouches for the count.
    let mut records = Vec::new();
    for _ in 0..count {
        let size = reader.zigzag("record size")?;
        let size = usize::try_from(size).map_err(|_| BatchError::RecordSize { size })?;
        records.push(parse_record(Reader::new(reader.bytes("record", size)?))?);
    }
    Ok(records)
}

fn parse_record(mut reader: Reader<'_>) -> Result<ControlMessage<'_>, BatchError> {
    reader.bytes("attributes", 1)?;
    let delta = reader.zigzag("timestamp delta")?;
    if delta != 0 {
        return Err(BatchError::TimestampDelta { delta });
    }
    reader.zigzag("offset delta")?;
    let key = sized(&mut reader, "key")?;
    let value = sized(&mut reader, "value")?;
    let headers = reader.zigzag("header count")?;
    if headers != 0 {
        return Err(BatchError::Headers { headers });
    }
    Ok(ControlMessage::decode(key, value)?)
}

/// A key or value, which must be there and not be empty.
fn sized<'a>(reader: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], BatchError> {
    let size = reader.zigzag(field)?;
    match usize::try_from(size) {
        Ok(length @ 1..) => Ok(reader.bytes(field, length)?),
        _ => Err(BatchError::RecordSize { size }),
    }
}

/// Why bytes are not a batch that the quorum's log may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The length is less than that of any batch.
    #[error("a batch of length {length}")]
    Length {
        /// The length.
        length: i32,
    },
    /// The record format is not the one with magic number 2.
    #[error("a batch of magic {magic}")]
    Magic {
        /// The magic number.
        magic: i8,
    },
    /// The checksum is wrong.
    #[error("checksum {expected:08x}, but the bytes have {actual:08x}")]
    Checksum {
        /// What the batch says.
        expected: u32,
        /// What its bytes have.
        actual: u32,
    },
    /// A control batch without records.
    #[error("{count} control records")]
    Count {
        /// The number.
        count: i32,
    },
    /// The offsets go back or beyond the highest there is.
    #[error("a batch from offset {base_offset} on, which spans {delta} more")]
    Offsets {
        /// The first offset.
        base_offset: i64,
        /// How far the last one is from it.
        delta: i32,
    },
    /// A record, its key or its value is not there, or empty.
    #[error("a record, key or value of size {size}")]
    RecordSize {
        /// The size.
        size: i32,
    },
    /// A control record has a timestamp of its own.
    #[error("a control record with timestamp delta {delta}")]
    TimestampDelta {
        /// How far it is from the batch's.
        delta: i32,
    },
    /// A control record has headers.
    #[error("a control record with {headers} headers")]
    Headers {
        /// How many.
        headers: i32,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl BatchError {
    /// Whether the bytes were damaged, rather than written so: what Kafka answers `CORRUPT_MESSAGE` to.
    pub const fn is_corrupt(&self) -> bool {
        matches!(self, Self::Length { .. } | Self::Checksum { .. })
            || matches!(self, Self::Magic { magic } if *magic < 0 || *magic > MAGIC)
    }
}
