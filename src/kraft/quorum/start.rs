//! The first state of a replica, from what it has persisted and what is in its log.

use super::{LogVoters, Persist, QuorumConfig, QuorumState};
use crate::kraft::election::ElectionState;
use crate::kraft::epoch::{Candidate, EpochState, Follower, Resigned, Unattached, VoteTally};
use crate::kraft::timer::Timer;
use crate::random::Random;
use crate::time::Monotonic;
use alloc::vec::Vec;
use thiserror::Error;

/// A replica cannot start from this.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The persisted state holds a vote, but a replica without a node id never votes.
    #[error("epoch {epoch} holds a vote of a replica that has no node id")]
    VoteWithoutId {
        /// The persisted epoch.
        epoch: i32,
    },
    /// The node id is negative.
    #[error("the local node id {id} is negative")]
    NegativeNodeId {
        /// The node id.
        id: i32,
    },
}

/// A replica in its first state, which counts once `persist` is durable.
#[derive(Debug)]
#[must_use]
pub struct Started {
    /// The replica.
    pub quorum: QuorumState,
    /// What has to be durable before anything else happens, even if it is what was persisted before.
    pub persist: Persist,
}

impl QuorumState {
    /// Enters the first state: `stored` is what was persisted (none: nothing ever was), `last_fetched_epoch` the epoch
    /// at the end of the log.
    ///
    /// A replica that led the persisted epoch comes up [`Resigned`]: it may have lost records that it had not flushed.
    ///
    /// `Deviation:` a known leader is looked at before the replica's own vote. Kafka looks at the vote first, so that a
    /// replica that voted for itself and then followed another forgets the epoch's leader, and does not start at all if
    /// it was removed from the voters meanwhile.
    ///
    /// # Errors
    ///
    /// The configuration is invalid, or the vote that is persisted cannot be this replica's.
    pub fn start(
        config: QuorumConfig,
        stored: Option<ElectionState>,
        last_fetched_epoch: i32,
        log: LogVoters<'_>,
        random: &mut impl Random,
        now: Monotonic,
    ) -> Result<Started, StartError> {
        if let Some(id) = config.local_id.filter(|id| *id < 0) {
            return Err(StartError::NegativeNodeId { id });
        }
        let stored =
            stored.unwrap_or_else(|| ElectionState::with_unknown_leader(0, log.voters.ids()));
        if stored.voted_key().is_some() && config.local_id.is_none() {
            return Err(StartError::VoteWithoutId { epoch: stored.epoch() });
        }

        let state = first_state(&config, &stored, last_fetched_epoch, log, random, now);
        let quorum = Self { config, state, generation: 0 };
        let persist = Persist { election: quorum.election(), version: log.kraft_version };
        Ok(Started { quorum, persist })
    }
}

fn first_state(
    config: &QuorumConfig,
    stored: &ElectionState,
    last_fetched_epoch: i32,
    log: LogVoters<'_>,
    random: &mut impl Random,
    now: Monotonic,
) -> EpochState {
    let ids: Vec<i32> = log.voters.ids().collect();
    let mut unattached = |epoch, leader_id, voted_key| {
        let election_timeout_ms = config.draw_election_timeout(random);
        EpochState::Unattached(Unattached {
            epoch,
            leader_id,
            voted_key,
            voters: log.voters.ids().collect(),
            high_watermark: None,
            election_timeout_ms,
            election_timer: Timer::new(election_timeout_ms, now),
        })
    };
    let epoch = stored.epoch();
    if epoch < last_fetched_epoch {
        return unattached(last_fetched_epoch, None, None);
    }
    match (stored.leader_id(), stored.voted_key()) {
        (Some(leader), _) if Some(leader) == config.local_id => {
            EpochState::Resigned(Resigned::new(
                epoch,
                leader,
                config.local_endpoints.clone(),
                ids,
                Vec::new(),
                Timer::new(config.draw_election_timeout(random), now),
            ))
        }
        (Some(leader), voted_key) => {
            let endpoints = log.voters.endpoints(leader);
            if endpoints.is_empty() {
                return unattached(epoch, Some(leader), voted_key);
            }
            let fetch_timeout_ms = i64::from(config.fetch_timeout_ms);
            EpochState::Follower(Follower::new(
                epoch,
                leader,
                endpoints,
                voted_key,
                ids,
                None,
                fetch_timeout_ms,
                now,
            ))
        }
        (None, Some(voted)) => match config.local_key().filter(|key| voted.matches(key)) {
            Some(local_key) if log.voters.is_voter(&local_key) => {
                EpochState::Candidate(Candidate {
                    epoch,
                    local_key,
                    tally: VoteTally::of_nominee(log.voters, local_key.id),
                    high_watermark: None,
                    election_timer: Timer::new(config.draw_election_timeout(random), now),
                })
            }
            _ => unattached(epoch, None, Some(voted)),
        },
        (None, None) => unattached(epoch, None, None),
    }
}
