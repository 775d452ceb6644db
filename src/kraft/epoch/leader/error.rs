//! Why a leader's books refuse a call.

use thiserror::Error;

use crate::error_code::ErrorCode;
use crate::kraft::voters::ReplicaKey;

/// Why a [`Leader`](super::Leader) refuses a call; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LeaderError {
    /// A replica without directory id cannot lead.
    #[error("replica {id} has no directory id")]
    NoDirectoryId {
        /// The replica.
        id: i32,
    },
    /// Who is elected is a voter.
    #[error("{key} is not a voter")]
    NotAVoter {
        /// The replica.
        key: ReplicaKey,
    },
    /// From level 1 of `kraft.version` on, the voters come from a checkpoint or the log.
    #[error("kraft.version is {level}, and neither log nor snapshot holds voters")]
    NoVotersInLog {
        /// The level.
        level: i16,
    },
    /// The leader's own log does not get shorter.
    #[error("the leader's log goes back from {from} to {to}")]
    EndOffsetWentBack {
        /// Where it ended.
        from: i64,
        /// Where it is said to end.
        to: i64,
    },
    /// More is said to be flushed than was appended.
    #[error("{offset} is beyond the end of the leader's log, {end}")]
    BeyondEnd {
        /// The offset.
        offset: i64,
        /// Where the log ends; -1: not known.
        end: i64,
    },
    /// An offset is negative.
    #[error("offset {offset} is negative")]
    NegativeOffset {
        /// The offset.
        offset: i64,
    },
    /// The leader does not fetch from itself.
    #[error("replica {id} is the leader")]
    IsLeader {
        /// The id.
        id: i32,
    },
}

impl LeaderError {
    /// What Kafka answers a fetch that fails so: `UNKNOWN_SERVER_ERROR`, and `INVALID_REQUEST` for a
    /// negative offset.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NegativeOffset { .. } => ErrorCode::InvalidRequest,
            _ => ErrorCode::UnknownServerError,
        }
    }
}
