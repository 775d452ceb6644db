//! The records of a batch that is not compressed.

use super::RecordBatchError;
use super::header::{BatchHeader, TimestampType};
use crate::time::Timestamp;

/// The bytes of a record without key, value and headers.
pub(super) const LEAST_RECORD: usize = 7;

/// A record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Record<'a> {
    /// Its offset less the batch's first, as it says.
    pub offset_delta: i32,
    /// Its timestamp: the producer's, or that of the whole batch if the broker set it.
    pub timestamp: Timestamp,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: Option<&'a [u8]>,
}

/// The records of a batch, in its order. Ends after the first one that cannot be read.
///
/// Bytes that follow the last record are an error in its place.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: Reader<'a>,
    left: i32,
    base_timestamp: Timestamp,
    append_time: Option<Timestamp>,
}

impl<'a> Records<'a> {
    /// The records of a batch with that header, which are not compressed.
    pub(super) fn new(header: &BatchHeader, bytes: &'a [u8]) -> Self {
        let append_time = match header.timestamp_type {
            TimestampType::CreateTime => None,
            TimestampType::LogAppendTime => Some(header.max_timestamp),
        };
        let base_timestamp = header.base_timestamp;
        Self { rest: Reader(bytes), left: header.count, base_timestamp, append_time }
    }

    fn read(&mut self) -> Result<Record<'a>, RecordBatchError> {
        let mut rest = Reader(self.rest.sized("record length")?);
        let [_attributes] = rest.array("record attributes")?;
        let delta = rest.varint::<64>("timestamp delta")?;
        let offset_delta = rest.varint32("offset delta")?;
        let record = Record {
            offset_delta,
            timestamp: match self.append_time {
                Some(timestamp) => timestamp,
                None => self.timestamp(delta)?,
            },
            key: rest.nullable("key length")?,
            value: rest.nullable("value length")?,
        };
        for _ in 0..rest.length("headers count", 0)? {
            rest.sized("header key length")?;
            rest.nullable("header value length")?;
        }
        rest.end("record")?;
        Ok(record)
    }

    fn timestamp(&self, delta: i64) -> Result<Timestamp, RecordBatchError> {
        let base_timestamp = self.base_timestamp.as_millis();
        let timestamp = base_timestamp.checked_add(delta).map(Timestamp::from_millis);
        timestamp.ok_or(RecordBatchError::Timestamp { base_timestamp, delta })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordBatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.left {
            0 => self.rest.end("records").err().map(Err),
            _ => Some(self.read()),
        };
        self.left = self.left.saturating_sub(1);
        if !matches!(next, Some(Ok(_))) {
            (self.left, self.rest) = (0, Reader(&[]));
        }
        next
    }
}

/// Bytes that nobody vouches for, read from the front.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], RecordBatchError> {
        let truncated = RecordBatchError::Truncated { field, needed: N, remaining: self.0.len() };
        let (value, rest) = self.0.split_first_chunk().ok_or(truncated)?;
        self.0 = rest;
        Ok(*value)
    }

    pub(super) fn int16(&mut self, field: &'static str) -> Result<i16, RecordBatchError> {
        self.array(field).map(i16::from_be_bytes)
    }

    pub(super) fn int32(&mut self, field: &'static str) -> Result<i32, RecordBatchError> {
        self.array(field).map(i32::from_be_bytes)
    }

    pub(super) fn int64(&mut self, field: &'static str) -> Result<i64, RecordBatchError> {
        self.array(field).map(i64::from_be_bytes)
    }

    /// A zigzag varint of at most that many bits.
    fn varint<const BITS: u32>(&mut self, field: &'static str) -> Result<i64, RecordBatchError> {
        let too_long = RecordBatchError::VarintTooLong { field };
        let mut value = 0_u64;
        for shift in (0..BITS).step_by(7) {
            let [byte] = self.array(field)?;
            let bits = u64::from(byte & 0x7f);
            if BITS - shift < 7 && bits >> (BITS - shift) != 0 {
                return Err(too_long);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(too_long)
    }

    fn varint32(&mut self, field: &'static str) -> Result<i32, RecordBatchError> {
        let value = self.varint::<32>(field)?;
        i32::try_from(value).map_err(|_| RecordBatchError::VarintTooLong { field })
    }

    /// A varint that is a length of at least `least`.
    fn length(&mut self, field: &'static str, least: i32) -> Result<i32, RecordBatchError> {
        let length = self.varint32(field)?;
        if length < least {
            return Err(RecordBatchError::Length { field, length, least });
        }
        Ok(length)
    }

    /// A varint and as many bytes.
    fn sized(&mut self, field: &'static str) -> Result<&'a [u8], RecordBatchError> {
        let length = self.length(field, 0)?;
        self.take(field, length)
    }

    /// A varint and as many bytes, or -1 and none.
    fn nullable(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, RecordBatchError> {
        match self.length(field, -1)? {
            -1 => Ok(None),
            length => self.take(field, length).map(Some),
        }
    }

    fn take(&mut self, field: &'static str, length: i32) -> Result<&'a [u8], RecordBatchError> {
        let needed = usize::try_from(length).unwrap_or(usize::MAX);
        let truncated = RecordBatchError::Truncated { field, needed, remaining: self.0.len() };
        let (value, rest) = self.0.split_at_checked(needed).ok_or(truncated)?;
        self.0 = rest;
        Ok(value)
    }

    fn end(&self, field: &'static str) -> Result<(), RecordBatchError> {
        match self.0.len() {
            0 => Ok(()),
            count => Err(RecordBatchError::Trailing { field, count }),
        }
    }
}
