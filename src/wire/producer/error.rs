//! Why bytes are not a record batch.

/// Why bytes are not a record batch of format 2.
///
/// In a log, a batch that is not whole or has a wrong checksum is where the log was torn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// There are fewer bytes than the batch has, or any has.
    #[error("{actual} bytes, of at least {expected}")]
    Truncated {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        actual: usize,
    },
    /// The format is another one.
    #[error("format {magic}")]
    Magic {
        /// The number of the format.
        magic: i8,
    },
    /// The length is negative, or shorter than a header.
    #[error("length {length}")]
    Length {
        /// The length, which counts from byte 12 on.
        length: i32,
    },
    /// The checksum is wrong.
    #[error("checksum {expected:08x}, but the bytes have {actual:08x}")]
    Checksum {
        /// What the header says.
        expected: u32,
        /// What the bytes have.
        actual: u32,
    },
    /// The offsets are not possible: negative, or beyond the largest one.
    #[error("offsets from {base_offset} on, to {last_offset_delta} behind it")]
    Offsets {
        /// The offset of the first record.
        base_offset: i64,
        /// What the last record's offset is above it.
        last_offset_delta: i32,
    },
    /// A control batch of a producer does not hold a marker.
    #[error("a control batch of producer {producer_id} that is no end of a transaction")]
    Marker {
        /// The producer.
        producer_id: i64,
    },
}
