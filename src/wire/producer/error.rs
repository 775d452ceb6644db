//! Why bytes are not a record batch.

use crate::error_code::ErrorCode;

/// Why bytes are not a record batch, or not one that means anything to producers.
///
/// A `field` has its name of Kafka's documentation of the record batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordBatchError {
    /// Only the start of a batch is there.
    #[error("a batch of at least {needed} bytes, of which {available} are there")]
    Incomplete {
        /// How many bytes it takes, or any.
        needed: usize,
        /// How many there are.
        available: usize,
    },
    /// The length is less than a header takes.
    #[error("batch length {length}, less than 49")]
    BatchLength {
        /// The length, which counts from byte 12 on.
        length: i32,
    },
    /// A value of a record, or what its length claims, reaches past the end.
    #[error("{field} needs {needed} bytes, {remaining} are left")]
    Truncated {
        /// The field.
        field: &'static str,
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        remaining: usize,
    },
    /// Bytes follow the end of what there should be.
    #[error("{count} bytes follow the end of the {field}")]
    Trailing {
        /// What has ended.
        field: &'static str,
        /// How many bytes follow.
        count: usize,
    },
    /// A length in a record is below the least that it can be.
    #[error("{field} is {length}, less than {least}")]
    Length {
        /// The field.
        field: &'static str,
        /// The length.
        length: i32,
        /// The least legal one.
        least: i32,
    },
    /// A varint is longer than its type allows.
    #[error("{field} is a varint of more bits than its type has")]
    VarintTooLong {
        /// The field.
        field: &'static str,
    },
    /// The batch is not of format 2.
    #[error("the batch is of format {magic}, not 2")]
    Magic {
        /// The format.
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
    /// The attributes name a compression that there is not.
    #[error("attributes {attributes:#06x} have no known compression")]
    UnknownCompression {
        /// The attributes.
        attributes: i16,
    },
    /// The offsets are negative, or reach past the last one that there is.
    #[error("a batch at offset {base_offset} cannot span {last_offset_delta} more")]
    Offsets {
        /// The offset of the first record.
        base_offset: i64,
        /// The last record's offset less the first's.
        last_offset_delta: i32,
    },
    /// The number of records is not possible: negative, more than the batch has offsets or bytes, or
    /// of a control batch with a producer more than one.
    #[error("{count} records in {bytes} bytes with {last_offset_delta} as last offset delta")]
    Count {
        /// The number.
        count: i32,
        /// The last record's offset less the first's.
        last_offset_delta: i32,
        /// The bytes behind the header.
        bytes: usize,
    },
    /// A client's batch has gaps in its offsets, or no records.
    #[error("a client's batch has {count} records, and {last_offset_delta} as last offset delta")]
    ClientCount {
        /// The number of records.
        count: i32,
        /// The last record's offset less the first's.
        last_offset_delta: i32,
    },
    /// A client's batch does not start at offset 0.
    #[error("a client's batch starts at offset {base_offset}")]
    ClientBaseOffset {
        /// The offset.
        base_offset: i64,
    },
    /// The records are compressed, which this crate does not undo and no control batch is.
    #[error("the records are compressed")]
    Compressed,
    /// A record's timestamp is out of range.
    #[error("a record is {delta} ms after {base_timestamp}")]
    Timestamp {
        /// The batch's base timestamp.
        base_timestamp: i64,
        /// What the record adds.
        delta: i64,
    },
    /// A control record has no key or no value.
    #[error("a control record without {field}")]
    Missing {
        /// Which of them.
        field: &'static str,
    },
    /// The version of a control record's key or value is negative. Higher ones than are known are
    /// read as the highest known, as in Kafka.
    #[error("{field} has version {version}")]
    ControlVersion {
        /// The key or the value.
        field: &'static str,
        /// The version.
        version: i16,
    },
    /// A control record of a producer neither commits nor aborts.
    #[error("a control record of type {control_type} does not end a transaction")]
    ControlType {
        /// The type.
        control_type: i16,
    },
}

impl RecordBatchError {
    /// What Kafka answers: 2 for what is not whole, 87 for what is not legal, -1 for control records
    /// that no producer can have.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Incomplete { .. } | Self::BatchLength { .. } | Self::Checksum { .. } => {
                ErrorCode::CorruptMessage
            }
            Self::ControlType { .. } => ErrorCode::UnknownServerError,
            _ => ErrorCode::InvalidRecord,
        }
    }
}
