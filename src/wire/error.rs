//! Why bytes were refused.

use crate::error_code::ErrorCode;
use crate::kraft::{BatchError, InvalidControlRecord};
use alloc::string::String;

/// Why a message was refused before, or while, it was decoded.
///
/// Offsets count bytes from the first byte of the header, behind the frame's length prefix; a
/// `field` has its name of Kafka's protocol guide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The API is not among those that can be checked, see
    /// [`supported_versions`](crate::wire::supported_versions).
    #[error("api key {api_key} is not supported")]
    UnsupportedApi {
        /// The API key received.
        api_key: i16,
    },
    /// The API is supported, but not at this version.
    #[error("version {version} of api key {api_key} is not supported, {first} to {last} are")]
    UnsupportedVersion {
        /// The API key received.
        api_key: i16,
        /// The version received.
        version: i16,
        /// The first version supported.
        first: i16,
        /// The last version supported.
        last: i16,
    },
    /// A value or its claimed length reaches past the end.
    #[error("{field} at byte {offset} needs {needed} bytes, {remaining} are left")]
    Truncated {
        /// The field.
        field: &'static str,
        /// Where the value starts, behind its length if it has one.
        offset: usize,
        /// The value's length in bytes.
        needed: usize,
        /// The bytes that are left.
        remaining: usize,
    },
    /// A length or count is below -1, which stands for null.
    #[error("{field} at byte {offset} has the length {length}")]
    NegativeLength {
        /// The field.
        field: &'static str,
        /// Where the length is.
        offset: usize,
        /// The length received.
        length: i32,
    },
    /// A count claims more elements than the bytes that are left can hold.
    #[error(
        "{field} at byte {offset} claims {count} elements of at least {element} bytes, {remaining} bytes are left"
    )]
    CountTooLarge {
        /// The field.
        field: &'static str,
        /// Where the count is.
        offset: usize,
        /// The count received.
        count: u32,
        /// The least number of bytes an element takes.
        element: usize,
        /// The bytes that are left behind the count.
        remaining: usize,
    },
    /// A varint does not fit 32 bits.
    #[error("{field} at byte {offset} is a varint of more than 32 bits")]
    VarintTooLong {
        /// The field.
        field: &'static str,
        /// Where the varint starts.
        offset: usize,
    },
    /// A tag is not above the one before it (KIP-482 wants them ascending, each once).
    #[error("tag {tag} of {field} at byte {offset} follows tag {previous}")]
    TagOrder {
        /// The structure that the tag is in.
        field: &'static str,
        /// Where the tag is.
        offset: usize,
        /// The tag received.
        tag: u32,
        /// The tag before it.
        previous: u32,
    },
    /// A tagged field does not have the size that it claims.
    #[error("{field} at byte {offset} claims {size} bytes and has {used}")]
    TagSize {
        /// The tagged field.
        field: &'static str,
        /// Where its value starts.
        offset: usize,
        /// The size received.
        size: usize,
        /// The bytes that the value takes.
        used: usize,
    },
    /// There are more unknown tagged fields than the message's length allows.
    #[error("the unknown tagged field at byte {offset} is one more than the {limit} allowed")]
    TooManyUnknownTags {
        /// Where the first one too many is.
        offset: usize,
        /// How many are allowed in a message of this length.
        limit: usize,
    },
    /// The message ends before the bytes do.
    #[error("{count} bytes follow the end of the message at byte {offset}")]
    TrailingBytes {
        /// Where the message ends.
        offset: usize,
        /// How many bytes follow.
        count: usize,
    },
    /// The answer is not that to the request.
    #[error("the answer to request {received}, not to {expected}")]
    Correlation {
        /// The number that the request had.
        expected: i32,
        /// The number that the answer has.
        received: i32,
    },
    /// The records of a fetch are no batches that the quorum's log may hold.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A control record of a fetch can be read, and makes no sense.
    #[error(transparent)]
    ControlRecord(#[from] InvalidControlRecord),
    /// The lengths fit, but `kafka-protocol` cannot make sense of a value: text that is not UTF-8,
    /// null where it is not allowed, a tag that this version does not have.
    #[error("version {version} of api key {api_key} does not decode: {reason}")]
    Malformed {
        /// The API key received.
        api_key: i16,
        /// The version received.
        version: i16,
        /// What `kafka-protocol` said.
        reason: String,
    },
}

impl WireError {
    /// What a client can be told, if the answer to its request has a place for an error.
    ///
    /// Kafka's brokers close the connection instead, but for an `ApiVersions` request of an unknown
    /// version.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::UnsupportedVersion { .. } => ErrorCode::UnsupportedVersion,
            _ => ErrorCode::InvalidRequest,
        }
    }
}
