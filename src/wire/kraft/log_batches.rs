//! The batches that an answer to `Fetch` carries.

use alloc::vec::Vec;
use bytes::Bytes;

use crate::kraft::{Batch, BatchContent, Batches, ControlMessage, LogBatch};
use crate::wire::WireError;

/// The batches in bytes of the quorum's log: each as it is, checksum verified, with its control records beside it if it
/// is a control batch. What is compressed, which only data can be, is not looked into.
///
/// A last batch that is cut is passed over. The batches share `records`. O(bytes).
///
/// # Errors
/// [`WireError::Batch`], [`WireError::ControlRecord`].
pub fn log_batches(records: &Bytes) -> Result<Vec<LogBatch>, WireError> {
    Batches::new(records).map(|batch| log_batch(records, batch?)).collect()
}

fn log_batch(records: &Bytes, batch: Batch<'_>) -> Result<LogBatch, WireError> {
    let Batch { base_offset, last_offset, epoch, control_records, bytes, .. } = batch;
    let control = control_records
        .map(|messages| messages.iter().map(ControlMessage::to_record).collect())
        .transpose()?;
    let bytes = records.slice_ref(bytes);
    Ok(LogBatch {
        base_offset,
        last_offset,
        epoch,
        content: BatchContent::Encoded { bytes, control },
    })
}
