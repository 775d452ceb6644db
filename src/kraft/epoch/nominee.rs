//! Replicas that seek votes: first without consequences, then for real.

use super::tally::{UnknownVoter, Verdict, VoteTally};
use crate::kraft::election::ElectionState;
use crate::kraft::timer::Timer;
use crate::kraft::voters::{Endpoints, ReplicaKey};
use crate::time::Monotonic;
use thiserror::Error;

/// A vote that cannot be taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordVoteError {
    /// The replica seeks no votes.
    #[error("the replica seeks no votes")]
    NotNominee,
    /// The vote's giver has none.
    #[error(transparent)]
    UnknownVoter(#[from] UnknownVoter),
    /// A candidate was told before that the voter grants its vote, and is now told that it does not, or the reverse.
    #[error("voter {id} has answered otherwise before")]
    Contradiction {
        /// The voter's id.
        id: i32,
    },
    /// The replica would refuse its own vote.
    #[error("a nominee does not refuse its own vote")]
    OwnVote,
}

/// A voter that asks whether it would be elected (KIP-996). Nothing of this is persisted, and the epoch stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prospective {
    pub(in crate::kraft) epoch: i32,
    pub(in crate::kraft) local_id: i32,
    pub(in crate::kraft) leader_id: Option<i32>,
    pub(in crate::kraft) leader_endpoints: Endpoints,
    pub(in crate::kraft) voted_key: Option<ReplicaKey>,
    pub(in crate::kraft) tally: VoteTally,
    pub(in crate::kraft) high_watermark: Option<i64>,
    pub(in crate::kraft) election_timer: Timer,
}

impl Prospective {
    /// The votes so far.
    pub const fn tally(&self) -> &VoteTally {
        &self.tally
    }

    /// Milliseconds until the election is given up.
    pub fn remaining_election_ms(&self, now: Monotonic) -> i64 {
        self.election_timer.remaining_ms(now)
    }

    /// Takes an answer down. A voter may change its mind: a pre-vote binds nobody.
    pub(super) fn record_vote(&mut self, id: i32, granted: bool) -> Result<bool, RecordVoteError> {
        if id == self.local_id && !granted {
            return Err(RecordVoteError::OwnVote);
        }
        Ok(self.tally.record(id, granted)?)
    }

    pub(super) fn election(&self) -> ElectionState {
        let voters = self.tally.votes().map(|(key, _)| key.id);
        ElectionState::new(self.epoch, self.leader_id, self.voted_key, voters)
    }
}

/// A voter that has voted for itself in a new epoch and asks the others for their votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub(in crate::kraft) epoch: i32,
    pub(in crate::kraft) local_key: ReplicaKey,
    pub(in crate::kraft) tally: VoteTally,
    pub(in crate::kraft) high_watermark: Option<i64>,
    pub(in crate::kraft) election_timer: Timer,
}

impl Candidate {
    /// The votes so far.
    pub const fn tally(&self) -> &VoteTally {
        &self.tally
    }

    /// Milliseconds until the candidacy is given up.
    pub fn remaining_election_ms(&self, now: Monotonic) -> i64 {
        self.election_timer.remaining_ms(now)
    }

    /// Takes an answer down. A voter has one vote an epoch, so a second answer that differs is an error.
    pub(super) fn record_vote(&mut self, id: i32, granted: bool) -> Result<bool, RecordVoteError> {
        let opposite = if granted { Verdict::Rejected } else { Verdict::Granted };
        if self.tally.verdict(id)? == opposite {
            return Err(if id == self.local_key.id {
                RecordVoteError::OwnVote
            } else {
                RecordVoteError::Contradiction { id }
            });
        }
        Ok(self.tally.record(id, granted)?)
    }

    pub(super) fn election(&self) -> ElectionState {
        let voters = self.tally.votes().map(|(key, _)| key.id);
        ElectionState::new(self.epoch, None, Some(self.local_key), voters)
    }
}
