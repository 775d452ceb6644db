//! The control batches at both ends of a snapshot file.

use alloc::vec::Vec;

use thiserror::Error;

use super::batch::{Batch, BatchError, Batches, encode_control_batch};
use super::control_record::{ControlMessage, ControlRecord, InvalidControlRecord};
use super::error::EncodeError;
use super::snapshot_header::SnapshotHeader;
use crate::time::Timestamp;

/// Appends to `out` the first batch of the snapshot whose id has this epoch. Returns the offset at
/// which the next batch starts: offsets in a snapshot count from 0 and say nothing of the log.
///
/// # Errors
/// [`EncodeError`]. Nothing is appended then.
pub fn encode_snapshot_header(
    header: &SnapshotHeader,
    epoch: i32,
    now: Timestamp,
    out: &mut Vec<u8>,
) -> Result<i64, EncodeError> {
    let records = header.to_records()?;
    encode_control_batch(0, epoch, now, &records, out)?;
    i64::try_from(records.len()).map_err(|_| EncodeError::TooLarge { length: records.len() })
}

/// Appends to `out` the last batch of the snapshot whose id has this epoch; `base_offset` is where
/// the batch before ended.
///
/// # Errors
/// None, for any offset from 0 on.
pub fn encode_snapshot_footer(
    base_offset: i64,
    epoch: i32,
    now: Timestamp,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    encode_control_batch(base_offset, epoch, now, &[ControlRecord::SnapshotFooter], out)
}

/// Reads the batches of a snapshot file, the first and the last included. Kafka:
/// `RecordsSnapshotReader`.
#[derive(Clone, Debug)]
pub struct SnapshotReader<'a> {
    last_contained_log_timestamp: Timestamp,
    batches: Batches<'a>,
}

impl<'a> SnapshotReader<'a> {
    /// Checks that a snapshot starts with its header.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn open(bytes: &'a [u8]) -> Result<Self, SnapshotError> {
        let batches = Batches::new(bytes);
        let first = batches.clone().next().ok_or(SnapshotError::Empty)??;
        match first.control_records.as_deref() {
            Some([ControlMessage::SnapshotHeader(header), ..]) => {
                let last_contained_log_timestamp = header.last_contained_log_timestamp;
                Ok(Self { last_contained_log_timestamp, batches })
            }
            _ => Err(SnapshotError::NoHeader),
        }
    }

    /// The timestamp of the last record of the log that the snapshot stands for.
    pub const fn last_contained_log_timestamp(&self) -> Timestamp {
        self.last_contained_log_timestamp
    }

    /// Reads on to the end: what all the control records say. Data is passed over, but its checksums are
    /// verified.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn control_records(self) -> Result<Vec<ControlRecord>, SnapshotError> {
        let mut records = Vec::new();
        for batch in self {
            for message in batch?.control_records.iter().flatten() {
                records.push(message.to_record()?);
            }
        }
        Ok(records)
    }
}

impl<'a> Iterator for SnapshotReader<'a> {
    type Item = Result<Batch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}

/// Why bytes are not a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// There is no whole batch.
    #[error("a snapshot without a batch")]
    Empty,
    /// It does not start with the header.
    #[error("a snapshot that does not start with its header")]
    NoHeader,
    /// A batch cannot be read.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A control record makes no sense.
    #[error(transparent)]
    Record(#[from] InvalidControlRecord),
}
