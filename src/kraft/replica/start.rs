//! A replica's start.

use super::application::Application;
use super::parked::ParkedFetches;
use super::{Context, Replica};
use crate::kraft::change::LogVoters;
use crate::kraft::config::ReplicaConfig;
use crate::kraft::control_log::ControlLog;
use crate::kraft::effect::Effect;
use crate::kraft::election::ElectionState;
use crate::kraft::epoch::EpochState;
use crate::kraft::log_index::LogIndex;
use crate::kraft::quorum::{QuorumState, StartError};
use crate::kraft::requests::Connections;
use crate::kraft::rpc::Node;
use crate::random::Random;
use crate::time::Monotonic;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use thiserror::Error;

/// What a replica finds on its disk.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "an argument list with names")]
pub struct Storage {
    /// What was persisted of elections; none if nothing ever was.
    pub election: Option<ElectionState>,
    /// The log, all of which is durable.
    pub log: LogIndex,
    /// What the control records of the latest snapshot and of the log say, up to the log's end; with the static voters of the
    /// configuration.
    pub control: ControlLog,
}

/// A replica cannot start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StartReplicaError {
    /// Its epoch cannot be entered.
    #[error(transparent)]
    Quorum(#[from] StartError),
    /// There are neither bootstrap servers nor static voters to ask for the leader.
    #[error("there is nobody to ask for the leader")]
    NobodyToAsk,
    /// The control records were not read up to the log's end.
    #[error("control records are read up to {read}, and the log ends at {end_offset}")]
    ControlLog {
        /// Up to where.
        read: i64,
        /// Where the log ends.
        end_offset: i64,
    },
}

impl Replica {
    /// A replica that starts, with effects to carry out. One that is the only voter leads at once.
    ///
    /// # Errors
    ///
    /// It cannot start with this configuration on this disk.
    pub fn start(
        config: ReplicaConfig,
        storage: Storage,
        mut random: &mut dyn Random,
        now: Monotonic,
    ) -> Result<Self, StartReplicaError> {
        let Storage { election, log, control } = storage;
        let (read, end_offset) = (control.next_offset(), log.end_offset());
        if read != end_offset {
            return Err(StartReplicaError::ControlLog { read, end_offset });
        }
        let bootstrap = if config.bootstrap.is_empty() {
            let voters = control.static_voters().iter();
            let nodes = voters.filter_map(|voter| {
                voter
                    .endpoints
                    .get(&config.listener)
                    .map(|endpoint| Node::at(voter.key.id, endpoint))
            });
            nodes.collect::<Vec<_>>()
        } else {
            config.bootstrap.clone()
        };
        if bootstrap.is_empty() {
            return Err(StartReplicaError::NobodyToAsk);
        }
        let latest = LogVoters::from(&control);
        let epoch = log.last_fetched_epoch();
        let started =
            QuorumState::start(config.quorum.clone(), election, epoch, latest, &mut random, now)?;

        let connections =
            Connections::new(bootstrap, config.retry_backoff_ms, config.request_timeout_ms);
        let mut replica = Self {
            config,
            quorum: started.quorum,
            flushed: end_offset,
            log,
            is_log_busy: false,
            control,
            connections,
            accumulator: None,
            changes: None,
            probe: None,
            download: None,
            parked: ParkedFetches::default(),
            application: Application::new(),
            shutdown: None,
            wake: Some(now),
            effects: VecDeque::from([Effect::Persist(started.persist)]),
            fatal: None,
        };
        replica.run(now, random, |replica, context: &mut Context<'_>| {
            let state = replica.quorum.state();
            let is_idle = matches!(
                state,
                EpochState::Unattached(_) | EpochState::Follower(_) | EpochState::Resigned(_)
            );
            if replica.quorum.is_only_voter(replica.latest_voters()) && is_idle {
                return replica.become_prospective(context);
            }
            replica.count_votes(context)
        });
        Ok(replica)
    }
}
