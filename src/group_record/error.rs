//! Why bytes are not a group's record, or cannot be.

use thiserror::Error;

/// Why bytes are not a group's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroupRecordError {
    /// The bytes end within a field.
    #[error("the record ends too early")]
    Truncated,
    /// Bytes follow the last field.
    #[error("{bytes} bytes follow the record")]
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// The value has a version that does not exist.
    #[error("version {version} of a group's record")]
    Version {
        /// The version.
        version: i16,
    },
    /// The key is that of another record.
    #[error("key type {key_type} is not of a group's metadata")]
    KeyType {
        /// The number of its type.
        key_type: i16,
    },
    /// A number of variable length has more than 32 bits.
    #[error("a number of variable length has more than 32 bits")]
    Overlong,
    /// A length is negative, or there is none where there must be one.
    #[error("a text or list without length")]
    Length,
    /// Text is not UTF-8.
    #[error("text that is not UTF-8")]
    Text,
    /// A tag is not greater than the one before it.
    #[error("tag {tag} out of order")]
    TagOrder {
        /// The tag.
        tag: u32,
    },
    /// A tagged field is longer or shorter than its value.
    #[error("tag {tag} has {size} bytes")]
    TagSize {
        /// The tag.
        tag: u32,
        /// How many bytes it says to have.
        size: u32,
    },
}

/// A group id has more than 32767 bytes, which no key can hold. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a group id of {bytes} bytes")]
#[non_exhaustive]
pub struct GroupIdTooLong {
    /// How many.
    pub bytes: usize,
}
