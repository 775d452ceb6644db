//! Why a log cannot be read, or not be asked.

use thiserror::Error;

#[cfg(feature = "std")]
use crate::kraft::records::InvalidControlRecord;
use crate::kraft::voters::HistoryError;

/// Why a part of a log cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlLogError {
    /// A batch does not follow what is read, or has no records.
    #[error("a batch at {base_offset}, where one at {expected} is to be read")]
    Position {
        /// Where the log is to be read from.
        expected: i64,
        /// Where the batch starts.
        base_offset: i64,
    },
    /// A snapshot has two records of voters, or two of the level.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A record makes no sense.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Record(#[from] InvalidControlRecord),
}

/// The log is not read up to an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("offset {offset} is asked for, and the log is read up to {next_offset}")]
pub struct NotReadError {
    /// The offset.
    pub offset: i64,
    /// The first offset that is not read.
    pub next_offset: i64,
}
