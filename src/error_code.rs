//! Kafka's error codes.

/// An error code of the Kafka protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(i16)]
pub enum ErrorCode {
    /// No error.
    None = 0,
    /// The fetch session id is unknown.
    FetchSessionIdNotFound = 70,
    /// The fetch session epoch is not the expected one.
    InvalidFetchSessionEpoch = 71,
    /// The request's use of topic ids does not fit the session.
    FetchSessionTopicIdError = 106,
}
