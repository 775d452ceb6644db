//! From one state of an epoch to another: what is allowed, what the new state takes along, what is persisted.

use super::{LogVoters, QuorumState};
use crate::kraft::election::ElectionState;
use crate::kraft::epoch::{
    Candidate, Election, EpochState, EpochStateKind, Follower, Leader, Prospective, Resigned,
    Unattached, Verdict, VoteTally,
};
use crate::kraft::timer::Timer;
use crate::kraft::voters::{Endpoints, KRaftVersion, ReplicaKey};
use crate::random::Random;
use crate::time::Monotonic;
use alloc::vec::Vec;
use thiserror::Error;

/// What has to be durable before a transition may take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persist {
    /// The new state.
    pub election: ElectionState,
    /// The `kraft.version` that chooses the form of the file.
    pub version: KRaftVersion,
}

/// A transition that was decided and not made yet. Dropping it changes nothing.
#[derive(Debug)]
#[must_use = "the transition is not made until it is committed"]
pub struct Transition {
    persist: Option<Persist>,
    next: EpochState,
    generation: u64,
}

impl Transition {
    /// What has to be durable first; none if nothing is new.
    pub const fn persist(&self) -> Option<&Persist> {
        self.persist.as_ref()
    }

    /// The state that is entered.
    pub const fn next(&self) -> &EpochState {
        &self.next
    }
}

/// A transition was decided in another state than the one it is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the transition was decided {behind} transitions ago")]
pub struct StaleTransition {
    /// Transitions made since then.
    pub behind: u64,
}

/// A transition that must not be made. A replica that follows the protocol never asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// Epochs only grow.
    #[error("epoch {new} is not above {current}")]
    Epoch {
        /// The replica's epoch.
        current: i32,
        /// The epoch asked for.
        new: i32,
    },
    /// There is no epoch after the largest.
    #[error("there is no epoch after {}", i32::MAX)]
    LastEpoch,
    /// The state allows no such transition.
    #[error("not allowed in the state {0:?}")]
    State(EpochStateKind),
    /// The replica is no voter, or stops to be one.
    #[error("the replica is not a voter")]
    NotVoter,
    /// The replica has no node id.
    #[error("the replica has no node id")]
    NoNodeId,
    /// The replica cannot follow itself, nor give itself a vote that it has been asked for.
    #[error("{id} is the replica itself")]
    Itself {
        /// Its id.
        id: i32,
    },
    /// The replica has voted in this epoch.
    #[error("the replica has voted in epoch {epoch}")]
    HasVoted {
        /// The epoch.
        epoch: i32,
    },
    /// A leader cannot be followed if nobody knows where it is.
    #[error("leader {leader_id} has no endpoints")]
    NoEndpoints {
        /// The leader.
        leader_id: i32,
    },
    /// The follower knows as many endpoints of its leader already.
    #[error("{known} endpoints of the leader are known already")]
    NoMoreEndpoints {
        /// How many.
        known: usize,
    },
    /// No majority has granted its vote.
    #[error("no majority has granted its vote")]
    NotElected,
}

impl QuorumState {
    /// Makes a transition whose [`persist`](Transition::persist) is durable. Gives the state that was left.
    ///
    /// # Errors
    ///
    /// Another transition was made since it was decided; nothing changes.
    pub fn commit(&mut self, transition: Transition) -> Result<EpochState, StaleTransition> {
        let behind = self.generation.wrapping_sub(transition.generation);
        if behind != 0 {
            return Err(StaleTransition { behind });
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(core::mem::replace(&mut self.state, transition.next))
    }

    fn durable(&self, next: EpochState, log: LogVoters<'_>) -> Transition {
        let persist = Some(Persist { election: next.election(), version: log.kraft_version });
        Transition { persist, next, generation: self.generation }
    }

    const fn in_memory(&self, next: EpochState) -> Transition {
        Transition { persist: None, next, generation: self.generation }
    }

    const fn wrong_state(&self) -> TransitionError {
        TransitionError::State(self.state.kind())
    }

    /// The vote, if `epoch` is still the one that it was given in.
    fn vote_in(&self, epoch: i32) -> Option<ReplicaKey> {
        self.state.voted_key().filter(|_| epoch == self.epoch())
    }

    fn local_voter(&self, log: LogVoters<'_>) -> Result<ReplicaKey, TransitionError> {
        self.config
            .local_key()
            .filter(|key| log.voters.is_voter(key))
            .ok_or(TransitionError::NotVoter)
    }

    /// To [`Unattached`] in a higher epoch; a [`Prospective`] replica also in its own, when its election is lost.
    ///
    /// A running election time-out goes on, so that messages of ever higher epochs do not put an election off for ever;
    /// a follower, a leader and a rejected prospective replica draw a new one.
    ///
    /// # Errors
    ///
    /// The epoch is too low.
    pub fn to_unattached(
        &self,
        epoch: i32,
        leader_id: Option<i32>,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        let current = self.epoch();
        let stays = epoch == current && matches!(self.state, EpochState::Prospective(_));
        if epoch <= current && !stays {
            return Err(TransitionError::Epoch { current, new: epoch });
        }
        let running = match &self.state {
            _ if self.is_observer(log) => Some(i64::MAX),
            EpochState::Candidate(state) => Some(state.remaining_election_ms(now)),
            EpochState::Unattached(state) => Some(state.remaining_election_ms(now)),
            EpochState::Prospective(state) if !state.tally().is_rejected() => {
                Some(state.remaining_election_ms(now))
            }
            EpochState::Resigned(state) => Some(state.remaining_election_ms(now)),
            EpochState::Prospective(_) | EpochState::Follower(_) | EpochState::Leader(_) => None,
        };
        let election_timeout_ms =
            running.unwrap_or_else(|| self.config.draw_election_timeout(random));
        Ok(self.durable(
            EpochState::Unattached(Unattached {
                epoch,
                leader_id,
                voted_key: self.vote_in(epoch),
                voters: log.voters.ids().collect(),
                high_watermark: self.state.high_watermark(),
                election_timeout_ms,
                election_timer: Timer::new(election_timeout_ms, now),
            }),
            log,
        ))
    }

    /// To [`Unattached`] in the same epoch, whose leader becomes known by its id alone: it cannot be followed yet. The vote
    /// and the running election time-out are kept.
    ///
    /// `Deviation:` Kafka's process ends on a leader that nobody knows where to find.
    ///
    /// # Errors
    ///
    /// A leader is known, or the new one is the replica itself.
    pub fn learn_leader(
        &self,
        leader_id: i32,
        log: LogVoters<'_>,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        if Some(leader_id) == self.config.local_id {
            return Err(TransitionError::Itself { id: leader_id });
        }
        let election_timeout_ms = match &self.state {
            _ if self.state.leader_id().is_some() => return Err(self.wrong_state()),
            _ if self.is_observer(log) => i64::MAX,
            EpochState::Unattached(state) => state.remaining_election_ms(now),
            EpochState::Prospective(state) => state.remaining_election_ms(now),
            EpochState::Candidate(state) => state.remaining_election_ms(now),
            EpochState::Follower(_) | EpochState::Leader(_) | EpochState::Resigned(_) => {
                return Err(self.wrong_state());
            }
        };
        let unattached = Unattached {
            epoch: self.epoch(),
            leader_id: Some(leader_id),
            voted_key: self.state.voted_key(),
            voters: log.voters.ids().collect(),
            high_watermark: self.state.high_watermark(),
            election_timeout_ms,
            election_timer: Timer::new(election_timeout_ms, now),
        };
        Ok(self.durable(EpochState::Unattached(unattached), log))
    }

    /// Gives the vote of the current epoch to `key`, as [`can_grant_vote`](Self::can_grant_vote) allowed: an
    /// [`Unattached`] or [`Prospective`] replica stays what it is, with a new election time-out.
    ///
    /// # Errors
    ///
    /// The replica has voted, is in another epoch or state, has no id, or would answer itself.
    pub fn add_vote(
        &self,
        epoch: i32,
        key: ReplicaKey,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        if !matches!(self.state, EpochState::Unattached(_) | EpochState::Prospective(_)) {
            return Err(self.wrong_state());
        }
        let local_id = self.config.local_id.ok_or(TransitionError::NoNodeId)?;
        if key.id == local_id {
            return Err(TransitionError::Itself { id: local_id });
        }
        if epoch != self.epoch() {
            return Err(TransitionError::Epoch { current: self.epoch(), new: epoch });
        }
        if self.state.voted_key().is_some() {
            return Err(TransitionError::HasVoted { epoch });
        }
        let timeout_ms = self.config.draw_election_timeout(random);
        let election_timer = Timer::new(timeout_ms, now);
        let next = match &self.state {
            EpochState::Prospective(state) => EpochState::Prospective(Prospective {
                tally: self.own_tally(log)?,
                voted_key: Some(key),
                election_timer,
                ..state.clone()
            }),
            state => EpochState::Unattached(Unattached {
                epoch,
                leader_id: state.leader_id(),
                voted_key: Some(key),
                voters: log.voters.ids().collect(),
                high_watermark: state.high_watermark(),
                election_timeout_ms: timeout_ms,
                election_timer,
            }),
        };
        Ok(self.durable(next, log))
    }

    fn own_tally(&self, log: LogVoters<'_>) -> Result<VoteTally, TransitionError> {
        Ok(VoteTally::of_nominee(log.voters, self.local_voter(log)?.id))
    }

    /// To [`Prospective`] in the same epoch: a voter asks whether it would be elected. The epoch's leader and the vote
    /// are kept, and nothing is persisted.
    ///
    /// # Errors
    ///
    /// The replica is no voter, or a leader or prospective already.
    pub fn to_prospective(
        &self,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        let local_key = self.local_voter(log)?;
        if matches!(self.state, EpochState::Leader(_) | EpochState::Prospective(_)) {
            return Err(self.wrong_state());
        }
        Ok(self.in_memory(EpochState::Prospective(Prospective {
            epoch: self.epoch(),
            local_id: local_key.id,
            leader_id: self.state.leader_id(),
            leader_endpoints: self
                .state
                .leader_endpoints()
                .cloned()
                .unwrap_or_else(Endpoints::empty),
            voted_key: self.state.voted_key(),
            tally: VoteTally::of_nominee(log.voters, local_key.id),
            high_watermark: self.state.high_watermark(),
            election_timer: Timer::new(self.config.draw_election_timeout(random), now),
        })))
    }

    /// To [`Candidate`] in the next epoch: the replica votes for itself.
    ///
    /// # Errors
    ///
    /// The replica is no voter or not prospective, or there is no next epoch.
    pub fn to_candidate(
        &self,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        let local_key = self.local_voter(log)?;
        if !matches!(self.state, EpochState::Prospective(_)) {
            return Err(self.wrong_state());
        }
        let candidate = Candidate {
            epoch: self.epoch().checked_add(1).ok_or(TransitionError::LastEpoch)?,
            local_key,
            tally: VoteTally::of_nominee(log.voters, local_key.id),
            high_watermark: self.state.high_watermark(),
            election_timer: Timer::new(self.config.draw_election_timeout(random), now),
        };
        Ok(self.durable(EpochState::Candidate(candidate), log))
    }

    /// To [`Leader`] of the same epoch: the replica's log ends at `epoch_start_offset`, where the epoch's first record
    /// goes.
    ///
    /// # Errors
    ///
    /// The replica is no voter, no candidate, or not elected.
    pub fn to_leader(
        &self,
        epoch_start_offset: i64,
        log: LogVoters<'_>,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        self.local_voter(log)?;
        let EpochState::Candidate(candidate) = &self.state else { return Err(self.wrong_state()) };
        if !candidate.tally().is_granted() {
            return Err(TransitionError::NotElected);
        }
        let election = Election {
            local: self.config.local_node().ok_or(TransitionError::NoNodeId)?,
            epoch: candidate.epoch,
            epoch_start_offset,
            voters: log.voters.clone(),
            kraft_version: log.kraft_version,
            granting_voters: candidate.tally().voters(Verdict::Granted).map(|key| key.id).collect(),
            fetch_timeout_ms: self.config.fetch_timeout_ms,
        };
        let leader = Leader::new(election, now).map_err(|_| TransitionError::NotVoter)?;
        Ok(self.durable(EpochState::Leader(leader), log))
    }

    /// To [`Follower`] of `leader_id`: in a higher epoch, in the same one if no leader is known or, for a follower, if
    /// the leader turns out to have more endpoints than are known (KAFKA-16927).
    ///
    /// Which leader an epoch has is not checked here: a host that hears of two has to stop.
    ///
    /// # Errors
    ///
    /// The epoch is too low, the endpoints are none or no news, or the leader is the replica itself.
    pub fn to_follower(
        &self,
        epoch: i32,
        leader_id: i32,
        leader_endpoints: Endpoints,
        log: LogVoters<'_>,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        let current = self.epoch();
        if leader_endpoints.is_empty() {
            return Err(TransitionError::NoEndpoints { leader_id });
        }
        if Some(leader_id) == self.config.local_id {
            return Err(TransitionError::Itself { id: leader_id });
        }
        if epoch < current {
            return Err(TransitionError::Epoch { current, new: epoch });
        }
        if epoch == current {
            match &self.state {
                EpochState::Leader(_) => return Err(self.wrong_state()),
                EpochState::Follower(state)
                    if state.leader_endpoints().len() >= leader_endpoints.len() =>
                {
                    return Err(TransitionError::NoMoreEndpoints {
                        known: state.leader_endpoints().len(),
                    });
                }
                _ => {}
            }
        }
        let follower = Follower::new(
            epoch,
            leader_id,
            leader_endpoints,
            self.vote_in(epoch),
            log.voters.ids().collect(),
            self.state.high_watermark(),
            i64::from(self.config.fetch_timeout_ms),
            now,
        );
        Ok(self.durable(EpochState::Follower(follower), log))
    }

    /// To [`Resigned`] in the same epoch. Nothing is persisted: the replica stays the epoch's leader on disk.
    ///
    /// A leader that is no voter any more may resign too (KAFKA-17332).
    ///
    /// # Errors
    ///
    /// The replica does not lead.
    pub fn to_resigned(
        &self,
        preferred_successors: Vec<ReplicaKey>,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) -> Result<Transition, TransitionError> {
        let EpochState::Leader(leader) = &self.state else { return Err(self.wrong_state()) };
        Ok(self.in_memory(EpochState::Resigned(Resigned::new(
            self.epoch(),
            leader.id(),
            self.config.local_endpoints.clone(),
            log.voters.ids().collect(),
            preferred_successors,
            Timer::new(self.config.draw_election_timeout(random), now),
        ))))
    }
}
