//! Record batches as [`crate::producer`] sees them: their headers, and the markers that end
//! transactions.
//!
//! ```
//! use kafka_coordination::Timestamp;
//! use kafka_coordination::producer::{Content, EndMarker, MarkerKind};
//! use kafka_coordination::wire::producer::{BatchHeader, encode_marker};
//!
//! let marker = EndMarker {
//!     kind: MarkerKind::Commit,
//!     coordinator_epoch: 3,
//!     timestamp: Timestamp::from_millis(1_000),
//! };
//! // What a broker appends to its log when producer 7 commits, and reads back after a restart.
//! let bytes = encode_marker(100, 0, 7, 2, marker);
//! let header = BatchHeader::read(&bytes)?;
//! let batch = header.producer_batch(&bytes)?;
//! assert_eq!((batch.producer_id, batch.base_offset), (7, 100));
//! assert_eq!(batch.content, Content::Marker(marker));
//! # Ok::<(), kafka_coordination::wire::producer::BatchError>(())
//! ```

mod error;
mod header;
mod marker;

pub use error::BatchError;
pub use header::BatchHeader;
pub use marker::encode_marker;
