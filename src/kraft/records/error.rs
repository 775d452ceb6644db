//! Why control records cannot be read or written.

use thiserror::Error;

/// Why bytes are not the control record that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes end too early.
    #[error("{field} needs {needed} bytes, of which {remaining} are there")]
    Truncated {
        /// What was to be read.
        field: &'static str,
        /// How many bytes it needs.
        needed: usize,
        /// How many are left.
        remaining: usize,
    },
    /// More elements than the bytes left can hold.
    #[error("{count} elements of {field} in {remaining} bytes")]
    Count {
        /// The list.
        field: &'static str,
        /// How many elements it claims.
        count: u32,
        /// How many bytes are left.
        remaining: usize,
    },
    /// A number of variable length has more than five bytes, or says more than 32 bits.
    #[error("{field} has too many bytes for a number")]
    VarintTooLong {
        /// What was to be read.
        field: &'static str,
    },
    /// A text or list that must be there is null.
    #[error("{field} is null")]
    Null {
        /// What was to be read.
        field: &'static str,
    },
    /// A text is longer than any may be: 32767 bytes.
    #[error("{field} of {length} bytes")]
    StringTooLong {
        /// What was to be read.
        field: &'static str,
        /// How many bytes it claims.
        length: usize,
    },
    /// A text is not UTF-8.
    ///
    /// Deviation: Kafka puts U+FFFD into its place, and so cannot write the record back as it was.
    #[error("{field} is not UTF-8")]
    NotUtf8 {
        /// What was to be read.
        field: &'static str,
    },
    /// The message has no such version.
    #[error("version {version} of the message")]
    Version {
        /// The version.
        version: i16,
    },
    /// A control record's key has less than four bytes.
    #[error("a control record's key of {length} bytes")]
    Key {
        /// How many bytes it has.
        length: usize,
    },
    /// The version of a control record's key is negative.
    #[error("a control record's key of version {version}")]
    KeyVersion {
        /// The version.
        version: i16,
    },
    /// The quorum's log has no such control records: they end transactions, or are of a type that this
    /// crate does not know.
    #[error("control record of type {type_id}")]
    Type {
        /// The number of the type.
        type_id: i16,
    },
}

/// Why a control record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A text has more than 32767 bytes.
    #[error("a text of {length} bytes")]
    StringTooLong {
        /// How many bytes it has.
        length: usize,
    },
    /// More elements, or more bytes, than the format can count.
    #[error("too much for one record or batch: {length}")]
    TooLarge {
        /// How many there are.
        length: usize,
    },
    /// The message has no such version.
    #[error("version {version} of the message")]
    Version {
        /// The version.
        version: i16,
    },
    /// The version of the message has no place for a directory id.
    #[error("version 0 of the message has no place for the directory id of {id}")]
    DirectoryId {
        /// The voter.
        id: i32,
    },
    /// An offset of the batch is above the highest there is.
    #[error("{count} records from offset {base_offset} on")]
    Offsets {
        /// The first offset.
        base_offset: i64,
        /// How many records there are.
        count: usize,
    },
    /// A snapshot has voters only from `kraft.version` 1 on.
    #[error("voters in a snapshot at kraft.version 0")]
    VotersAtLevelZero,
}
