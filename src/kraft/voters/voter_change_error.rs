//! Why a voter set cannot change so.

use core::fmt;

use thiserror::Error;

use super::replica_key::ReplicaKey;
use crate::error_code::ErrorCode;

/// Why a voter set cannot change so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VoterChangeError {
    /// The id of the new voter is in the set.
    #[error("voter {key} cannot be added beside {voter}")]
    Duplicate {
        /// The new voter.
        key: ReplicaKey,
        /// The voter of the set.
        voter: ReplicaKey,
    },
    /// The voter is not in the set.
    #[error("{key} is not a voter{}", Beside(*.voter))]
    NotFound {
        /// Who is not there.
        key: ReplicaKey,
        /// The voter with the same id, if there is one.
        voter: Option<ReplicaKey>,
    },
    /// The voter is the only one.
    #[error("{key} is the only voter")]
    OnlyVoter {
        /// The voter.
        key: ReplicaKey,
    },
}

impl VoterChangeError {
    /// What Kafka answers: `DUPLICATE_VOTER` or `VOTER_NOT_FOUND`.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } => ErrorCode::DuplicateVoter,
            Self::NotFound { .. } | Self::OnlyVoter { .. } => ErrorCode::VoterNotFound,
        }
    }
}

/// Tells of a voter with the same id.
struct Beside(Option<ReplicaKey>);

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |voter| write!(f, ", but {voter} is"))
    }
}
