//! Record batches, as far as producers are concerned.
//!
//! [`RecordBatch`] reads a batch from its bytes and makes of it the [`Batch`](crate::producer::Batch)
//! that [`crate::producer`] decides on, without decompressing and without allocating. All that the bytes
//! claim is checked before it is believed. [`encode_marker`] writes the ends of transactions.

mod error;
mod header;
mod marker;
mod record;
mod record_batch;

pub use error::RecordBatchError;
pub use header::{BatchHeader, Compression, TimestampType};
pub use marker::encode_marker;
pub use record::{Record, Records};
pub use record_batch::RecordBatch;
