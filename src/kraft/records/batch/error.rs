//! Why bytes are not a batch.

use thiserror::Error;

use super::MAGIC;
use crate::kraft::records::error::RecordError;

/// Why bytes are not a batch that the quorum's log may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The length is less than that of any batch.
    #[error("a batch of length {length}")]
    Length {
        /// The length.
        length: i32,
    },
    /// The record format is not the one with magic number 2.
    #[error("a batch of magic {magic}")]
    Magic {
        /// The magic number.
        magic: i8,
    },
    /// The checksum is wrong.
    #[error("checksum {expected:08x}, but the bytes have {actual:08x}")]
    Checksum {
        /// What the batch says.
        expected: u32,
        /// What its bytes have.
        actual: u32,
    },
    /// A control batch without records.
    #[error("{count} control records")]
    Count {
        /// The number.
        count: i32,
    },
    /// The offsets go back or beyond the highest there is.
    #[error("a batch from offset {base_offset} on, which spans {delta} more")]
    Offsets {
        /// The first offset.
        base_offset: i64,
        /// How far the last one is from it.
        delta: i32,
    },
    /// A record, its key or its value is not there, or empty.
    #[error("a record, key or value of size {size}")]
    RecordSize {
        /// The size.
        size: i32,
    },
    /// A control record has a timestamp of its own.
    #[error("a control record with timestamp delta {delta}")]
    TimestampDelta {
        /// How far it is from the batch's.
        delta: i32,
    },
    /// A control record has headers.
    #[error("a control record with {headers} headers")]
    Headers {
        /// How many.
        headers: i32,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl BatchError {
    /// Whether the bytes were damaged, rather than written so: what Kafka answers `CORRUPT_MESSAGE` to.
    pub const fn is_corrupt(&self) -> bool {
        matches!(self, Self::Length { .. } | Self::Checksum { .. })
            || matches!(self, Self::Magic { magic } if *magic < 0 || *magic > MAGIC)
    }
}
