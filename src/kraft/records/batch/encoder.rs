//! A batch of any records, as it is written.

use alloc::vec::Vec;

use super::{CHECKED_FROM, MAGIC, OVERHEAD};
use crate::kraft::records::error::EncodeError;
use crate::kraft::records::writer;
use crate::time::Timestamp;

/// The quorum's batches have no producer, which is written as bytes of this.
const NONE: u8 = 0xff;

/// The length of what is null.
const NULL: i32 = -1;

/// A batch that is being written at the end of a buffer. All its records have its timestamp, and no headers.
#[derive(Debug)]
pub(super) struct Encoder<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    base_offset: i64,
    count: i32,
    record: Vec<u8>,
}

impl<'o> Encoder<'o> {
    pub(super) fn new(
        base_offset: i64,
        epoch: i32,
        timestamp: Timestamp,
        attributes: i16,
        out: &'o mut Vec<u8>,
    ) -> Self {
        let start = out.len();
        let timestamp = timestamp.as_millis().to_be_bytes();
        out.extend_from_slice(&base_offset.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&epoch.to_be_bytes());
        out.extend_from_slice(&MAGIC.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&attributes.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&timestamp);
        out.extend_from_slice(&timestamp);
        // Producer id, epoch and sequence: each -1.
        out.extend_from_slice(&[NONE; 8 + 2 + 4]);
        out.extend_from_slice(&[0; 4]);
        Self { out, start, base_offset, count: 0, record: Vec::new() }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`], [`EncodeError::Offsets`]. The batch is as it was.
    pub(super) fn push(&mut self, key: Option<&[u8]>, value: &[u8]) -> Result<(), EncodeError> {
        let too_large = |_| EncodeError::TooLarge { length: value.len() };
        let count = usize::try_from(self.count).unwrap_or_default();
        let past = EncodeError::Offsets { base_offset: self.base_offset, count: count + 1 };
        self.base_offset.checked_add(self.count.into()).ok_or(past)?;

        let record = &mut self.record;
        record.clear();
        // No attributes, and the batch's timestamp.
        record.extend_from_slice(&[0, 0]);
        writer::zigzag(self.count, record);
        match key {
            Some(key) => {
                writer::zigzag(i32::try_from(key.len()).map_err(too_large)?, record);
                record.extend_from_slice(key);
            }
            None => writer::zigzag(NULL, record),
        }
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
    /// remains at the end of the buffer.
    pub(super) fn finish(self) -> Result<(), EncodeError> {
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
