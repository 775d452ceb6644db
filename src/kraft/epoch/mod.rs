//! The states that a replica can be in during an epoch, each with what it knows and waits for (KIP-595, KIP-996).

mod follower;
mod leader;
mod nominee;
mod resigned;
mod tally;
mod unattached;

use super::election::ElectionState;
use super::voters::{Endpoints, ReplicaKey};
pub use follower::{Follower, HighWatermarkRegression};
pub use leader::{
    CAUGHT_UP_WITHIN_MS, DescribeVersion, Election, Leader, LeaderError, NodeDescription,
    OBSERVER_SESSION_MS, OBSERVERS_MAX, QuorumDescription, ReplicaDescription, ReplicaState,
    Upgrade, end_quorum_backoff_ms, majority_end_offset,
};
pub use nominee::{Candidate, Prospective, RecordVoteError};
pub use resigned::Resigned;
pub use tally::{UnknownVoter, Verdict, VoteTally};
pub use unattached::Unattached;

/// The state of a replica in its epoch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EpochState {
    /// It follows nobody and seeks no votes.
    Unattached(Unattached),
    /// It asks whether it would be elected.
    Prospective(Prospective),
    /// It asks for votes.
    Candidate(Candidate),
    /// It fetches from the leader.
    Follower(Follower),
    /// It leads.
    Leader(Leader),
    /// It has given up the leadership of its epoch.
    Resigned(Resigned),
}

/// The name of an [`EpochState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EpochStateKind {
    /// [`EpochState::Unattached`]
    Unattached,
    /// [`EpochState::Prospective`]
    Prospective,
    /// [`EpochState::Candidate`]
    Candidate,
    /// [`EpochState::Follower`]
    Follower,
    /// [`EpochState::Leader`]
    Leader,
    /// [`EpochState::Resigned`]
    Resigned,
}

impl EpochState {
    /// The state's name.
    pub const fn kind(&self) -> EpochStateKind {
        match self {
            Self::Unattached(_) => EpochStateKind::Unattached,
            Self::Prospective(_) => EpochStateKind::Prospective,
            Self::Candidate(_) => EpochStateKind::Candidate,
            Self::Follower(_) => EpochStateKind::Follower,
            Self::Leader(_) => EpochStateKind::Leader,
            Self::Resigned(_) => EpochStateKind::Resigned,
        }
    }

    /// The epoch.
    pub const fn epoch(&self) -> i32 {
        match self {
            Self::Unattached(state) => state.epoch,
            Self::Prospective(state) => state.epoch,
            Self::Candidate(state) => state.epoch,
            Self::Follower(state) => state.epoch,
            Self::Leader(state) => state.epoch(),
            Self::Resigned(state) => state.epoch,
        }
    }

    /// The epoch's leader, if it is known.
    pub const fn leader_id(&self) -> Option<i32> {
        match self {
            Self::Unattached(state) => state.leader_id,
            Self::Prospective(state) => state.leader_id,
            Self::Candidate(_) => None,
            Self::Follower(state) => Some(state.leader_id),
            Self::Leader(state) => Some(state.id()),
            Self::Resigned(state) => Some(state.local_id),
        }
    }

    /// Where the leader listens, if anybody has said so.
    pub const fn leader_endpoints(&self) -> Option<&Endpoints> {
        match self {
            Self::Unattached(_) | Self::Candidate(_) => None,
            Self::Prospective(state) => Some(&state.leader_endpoints),
            Self::Follower(state) => Some(&state.leader_endpoints),
            Self::Leader(state) => Some(&state.local().endpoints),
            Self::Resigned(state) => Some(&state.local_endpoints),
        }
    }

    /// Whom the replica has voted for in this epoch. A leader's vote for itself is not remembered: that it leads says
    /// the same.
    pub const fn voted_key(&self) -> Option<ReplicaKey> {
        match self {
            Self::Unattached(state) => state.voted_key,
            Self::Prospective(state) => state.voted_key,
            Self::Candidate(state) => Some(state.local_key),
            Self::Follower(state) => state.voted_key,
            Self::Leader(_) | Self::Resigned(_) => None,
        }
    }

    /// The offset below which records are committed, as far as is known in this state.
    pub const fn high_watermark(&self) -> Option<i64> {
        match self {
            Self::Unattached(state) => state.high_watermark,
            Self::Prospective(state) => state.high_watermark,
            Self::Candidate(state) => state.high_watermark,
            Self::Follower(state) => state.high_watermark,
            Self::Leader(state) => state.high_watermark(),
            Self::Resigned(_) => None,
        }
    }

    /// The state as it is or would be persisted.
    pub fn election(&self) -> ElectionState {
        match self {
            Self::Unattached(state) => state.election(),
            Self::Prospective(state) => state.election(),
            Self::Candidate(state) => state.election(),
            Self::Follower(state) => state.election(),
            Self::Leader(state) => {
                ElectionState::new(state.epoch(), Some(state.id()), None, state.voters().ids())
            }
            Self::Resigned(state) => state.election(),
        }
    }

    /// Takes down what a voter has answered to a request for its vote. Gives whether it is the voter's first answer.
    ///
    /// # Errors
    ///
    /// The replica is no nominee, the id no voter's, or the answer contradicts an earlier one of a binding vote.
    pub fn record_vote(&mut self, id: i32, granted: bool) -> Result<bool, RecordVoteError> {
        match self {
            Self::Prospective(state) => state.record_vote(id, granted),
            Self::Candidate(state) => state.record_vote(id, granted),
            Self::Unattached(_) | Self::Follower(_) | Self::Leader(_) | Self::Resigned(_) => {
                Err(RecordVoteError::NotNominee)
            }
        }
    }

    /// Whether a replica in this state may give its vote, or its pre-vote, to `key`, given whether the log of `key` is
    /// at least as complete as its own.
    ///
    /// The receiver needs to be no voter, nor the asker: each may be one in a voter set that the other does not know.
    pub fn can_grant_vote(
        &self,
        key: ReplicaKey,
        is_log_up_to_date: bool,
        is_pre_vote: bool,
    ) -> bool {
        match self {
            Self::Leader(_) => false,
            // A follower defends its leader if it has got through to it, and the leader has not resigned (KAFKA-20895).
            Self::Follower(state) => {
                let defends = state.has_fetched_from_leader && !state.has_leader_resigned;
                is_pre_vote && is_log_up_to_date && !defends
            }
            Self::Candidate(_) | Self::Resigned(_) => is_pre_vote && is_log_up_to_date,
            Self::Unattached(_) | Self::Prospective(_) if is_pre_vote => is_log_up_to_date,
            Self::Unattached(_) | Self::Prospective(_) => {
                match (self.voted_key(), self.leader_id()) {
                    (Some(voted), _) => voted.matches(&key),
                    (None, Some(_)) => false,
                    (None, None) => is_log_up_to_date,
                }
            }
        }
    }
}
