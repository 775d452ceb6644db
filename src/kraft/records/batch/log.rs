//! Writing what a replica appends to its log.

use alloc::vec::Vec;

use super::data::encode_data_batch;
use super::write::encode_control_batch;
use crate::kraft::records::error::EncodeError;
use crate::kraft::rpc::{BatchContent, LogBatch};
use crate::time::Timestamp;

/// Appends to `out` the bytes of a batch of the quorum's log: values and control records as Kafka's leaders write them at
/// this time, without compression; a batch that came from a leader as it is. O(bytes).
///
/// # Errors
/// [`EncodeError`]: of what is too large, has no records, or does not have as many as there are offsets. Nothing is
/// appended then.
pub fn encode_log_batch(
    batch: &LogBatch,
    timestamp: Timestamp,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let &LogBatch { base_offset, epoch, .. } = batch;
    match &batch.content {
        BatchContent::Encoded { bytes, .. } => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        BatchContent::Control(records) => {
            check_offsets(batch, records.len())?;
            encode_control_batch(base_offset, epoch, timestamp, records, out)
        }
        BatchContent::Records(values) => {
            check_offsets(batch, values.len())?;
            encode_data_batch(base_offset, epoch, timestamp, values, out)
        }
    }
}

fn check_offsets(batch: &LogBatch, count: usize) -> Result<(), EncodeError> {
    let &LogBatch { base_offset, last_offset, .. } = batch;
    let offsets = last_offset.checked_sub(base_offset).and_then(|delta| delta.checked_add(1));
    if i64::try_from(count).ok() == offsets {
        return Ok(());
    }
    Err(EncodeError::Offsets { base_offset, count })
}
