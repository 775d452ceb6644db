//! Record batches of format 2, as the quorum's log holds them.

mod data;
mod encoder;
mod error;
mod log;
mod read;
mod write;

pub use data::encode_data_batch;
pub use error::BatchError;
pub use log::encode_log_batch;
pub use read::{Batch, Batches};
pub use write::{ControlBatch, encode_control_batch};

/// Base offset and length, which the length does not count.
const OVERHEAD: usize = 12;

/// Where the bytes start that the checksum covers.
const CHECKED_FROM: usize = 21;

/// The only magic number that is read and written.
const MAGIC: i8 = 2;

/// The attribute of batches of control records.
const CONTROL: i16 = 0x20;
