//! In which state of its epoch a replica is, and which it may enter next.

mod start;
mod transition;

use super::change::LogVoters;
use super::election::ElectionState;
use super::epoch::EpochState;
use super::timer::Timer;
use super::voters::{DirectoryId, Endpoints, ReplicaKey, SupportedVersions, VoterNode};
use crate::random::Random;
use crate::time::Monotonic;
use core::num::NonZeroU32;
pub use start::{StartError, Started};
pub use transition::{Persist, StaleTransition, Transition, TransitionError};

/// Who a replica is and how patient it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumConfig {
    /// The replica's node id, at least 0; a tool that only observes has none.
    pub local_id: Option<i32>,
    /// The id of the directory that holds the replica's log.
    pub local_directory_id: DirectoryId,
    /// Where the replica listens.
    pub local_endpoints: Endpoints,
    /// The levels of `kraft.version` that the replica supports.
    pub supported_versions: SupportedVersions,
    /// Milliseconds after which an election starts or is given up, at least; a random part of up to as much again is
    /// added (`controller.quorum.election.timeout.ms`).
    pub election_timeout_ms: u32,
    /// Milliseconds without an answer to a fetch after which a follower gives its leader up
    /// (`controller.quorum.fetch.timeout.ms`).
    pub fetch_timeout_ms: u32,
}

impl QuorumConfig {
    /// The replica's key, if it has a node id.
    pub fn local_key(&self) -> Option<ReplicaKey> {
        self.local_id.map(|id| ReplicaKey::new(id, self.local_directory_id))
    }

    /// The replica as a voter: what it tells others of itself. None if it has no node id.
    pub fn local_node(&self) -> Option<VoterNode> {
        let key = self.local_key()?;
        let endpoints = self.local_endpoints.clone();
        Some(VoterNode { key, endpoints, supported_versions: self.supported_versions })
    }

    /// A time-out of one to two election time-outs. One draw, none if the time-out is 0.
    fn draw_election_timeout(&self, random: &mut impl Random) -> i64 {
        NonZeroU32::new(self.election_timeout_ms)
            .map_or(0, |timeout| i64::from(timeout.get()) + i64::from(random.below(timeout)))
    }
}

/// The state machine of one replica's epochs: [`EpochState`] and the transitions between them (KIP-595, KIP-853, KIP-996).
///
/// A transition is decided first, then committed: [`Transition`] says what has to be durable before
/// [`commit`](Self::commit) makes it happen, and dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct QuorumState {
    config: QuorumConfig,
    state: EpochState,
    /// Counts commits, so that a transition is not made from a state that it was not decided in.
    generation: u64,
}

impl QuorumState {
    /// Who the replica is.
    pub const fn config(&self) -> &QuorumConfig {
        &self.config
    }

    /// The state.
    pub const fn state(&self) -> &EpochState {
        &self.state
    }

    /// The state, to tell it of votes, fetches and offsets. None of that changes what is persisted.
    pub const fn state_mut(&mut self) -> &mut EpochState {
        &mut self.state
    }

    /// A number that changes with every committed transition: what was sent in one state is not for another.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The epoch.
    pub const fn epoch(&self) -> i32 {
        self.state.epoch()
    }

    /// The state as it is or would be persisted.
    pub fn election(&self) -> ElectionState {
        self.state.election()
    }

    /// Whether the replica is no voter of the latest voter set.
    pub fn is_observer(&self, log: LogVoters<'_>) -> bool {
        !self.config.local_key().is_some_and(|key| log.voters.is_voter(&key))
    }

    /// Whether the replica is the only voter.
    pub fn is_only_voter(&self, log: LogVoters<'_>) -> bool {
        self.config.local_key().is_some_and(|key| log.voters.is_only_voter(&key))
    }

    /// The log was cut, or replaced by a snapshot, and its voters may be others. An observer that follows nobody and is
    /// a voter now stands for election after a time-out, as if it had been one from the first. One draw then.
    pub(super) fn log_replaced(
        &mut self,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) {
        let is_observer = self.is_observer(log);
        let EpochState::Unattached(state) = &mut self.state else { return };
        if !is_observer && state.election_timeout_ms == i64::MAX {
            let timeout_ms = self.config.draw_election_timeout(random);
            state.election_timeout_ms = timeout_ms;
            state.election_timer = Timer::new(timeout_ms, now);
        }
    }

    /// Whether another replica is known to lead the epoch.
    pub fn has_remote_leader(&self) -> bool {
        self.state.leader_id().is_some_and(|leader| Some(leader) != self.config.local_id)
    }

    /// Whether `key` may have the replica's vote, for real or as a pre-vote, given whether its log is at least as
    /// complete as the local one. Changes nothing.
    pub fn can_grant_vote(
        &self,
        key: ReplicaKey,
        is_log_up_to_date: bool,
        is_pre_vote: bool,
    ) -> bool {
        self.state.can_grant_vote(key, is_log_up_to_date, is_pre_vote)
    }
}
