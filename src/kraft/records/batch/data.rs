//! Writing batches of data.

use alloc::vec::Vec;

use super::encoder::Encoder;
use crate::kraft::records::error::EncodeError;
use crate::kraft::records::writer;
use crate::time::Timestamp;

/// The attributes of a batch of data that is not compressed.
const DATA: i16 = 0;

/// Appends to `out` the batch of these records of the state machine, one a value, without keys, at offsets from
/// `base_offset` on, in an epoch and at a time; equal to what Kafka writes, uncompressed. O(bytes).
///
/// # Errors
/// [`EncodeError`]: also for no records at all. Nothing is appended then.
pub fn encode_data_batch<V: AsRef<[u8]>>(
    base_offset: i64,
    epoch: i32,
    timestamp: Timestamp,
    values: impl IntoIterator<Item = V>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    writer::whole_or_nothing(out, |out| {
        let mut batch = Encoder::new(base_offset, epoch, timestamp, DATA, out);
        for value in values {
            batch.push(None, value.as_ref())?;
        }
        batch.finish()
    })
}
