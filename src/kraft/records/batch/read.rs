//! Reading batches.

use alloc::vec::Vec;

use super::error::BatchError;
use super::{CONTROL, MAGIC, OVERHEAD};
use crate::kraft::records::control_record::ControlMessage;
use crate::kraft::records::reader::Reader;
use crate::time::Timestamp;

/// The bytes up to the magic number, included.
const THROUGH_MAGIC: usize = 17;

/// The bytes before the first record.
const HEADER: usize = 61;

/// The least that the length of a batch of any format may say.
const LEAST_LENGTH: i32 = 14;

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
