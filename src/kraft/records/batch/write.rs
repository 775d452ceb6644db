//! Writing batches of control records.

use alloc::vec::Vec;

use super::CONTROL;
use super::encoder::Encoder;
use crate::kraft::records::control_record::ControlRecord;
use crate::kraft::records::control_type::ControlRecordType;
use crate::kraft::records::error::EncodeError;
use crate::kraft::records::writer;
use crate::time::Timestamp;

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
    encoder: Encoder<'o>,
    value: Vec<u8>,
}

impl<'o> ControlBatch<'o> {
    /// Starts a batch at the end of `out`.
    pub fn new(base_offset: i64, epoch: i32, timestamp: Timestamp, out: &'o mut Vec<u8>) -> Self {
        let encoder = Encoder::new(base_offset, epoch, timestamp, CONTROL, out);
        Self { encoder, value: Vec::new() }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// [`EncodeError`]. The batch is as it was.
    pub fn push(&mut self, record: &ControlRecord) -> Result<(), EncodeError> {
        self.value.clear();
        record.encode_value(&mut self.value)?;
        self.encoder.push(Some(&record.control_type().key()), &self.value)
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
        self.encoder.push(Some(&control_type.key()), value)
    }

    /// Completes the batch.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`] if it has no record, or more bytes than a batch can. What was written
    /// remains at the end of `out`.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.encoder.finish()
    }
}
