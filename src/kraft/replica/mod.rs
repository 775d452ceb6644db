//! The replica: it takes part in elections, replicates the log, and knows what is committed.

mod append;
mod application;
mod begin_end;
mod change;
mod connect;
mod feature;
mod fetch_answer;
mod fetch_serve;
mod parked;
mod poll;
mod respond;
mod role;
mod shutdown;
mod snapshot;
mod start;
mod vote;

use super::accumulator::Accumulator;
use super::change::{LogVoters, ProbeId, RequestId, VoterChanges};
use super::config::ReplicaConfig;
use super::control_log::ControlLog;
use super::effect::Effect;
use super::log_index::LogIndex;
use super::quorum::QuorumState;
use super::requests::{Connections, Correlation};
use super::voters::ListenerName;
use crate::random::Random;
use crate::time::Monotonic;
use alloc::collections::VecDeque;
use application::Application;
use parked::ParkedFetches;
use shutdown::Shutdown;
use snapshot::Download;
use thiserror::Error;

pub use shutdown::ResignError;
pub use start::{StartReplicaError, Storage};

/// What the replica can go no further from: its own log or its peers contradict what it knows. It answers nothing and
/// does nothing from then on; the host ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fatal {
    /// The leader's log parts from the committed part of this one.
    #[error(
        "the leader's log parts from this one at {offset}, below the high watermark {high_watermark}"
    )]
    Diverged {
        /// Where.
        offset: i64,
        /// Up to where this log is committed.
        high_watermark: i64,
    },
    /// The replica may not talk to the cluster.
    #[error("the replica is not authorised")]
    Unauthorised,
    /// A batch does not continue the log.
    #[error("a batch at {base_offset} does not continue a log that ends at {end_offset}")]
    Gap {
        /// The batch's first offset.
        base_offset: i64,
        /// Where the log ends.
        end_offset: i64,
    },
    /// The state machine needs records that the log has no more, and there is no snapshot.
    #[error("offset {offset} is gone, and there is no snapshot")]
    SnapshotMissing {
        /// The offset.
        offset: i64,
    },
    /// A transition was not possible that the protocol demands.
    #[error("a transition is not possible: {0}")]
    Transition(#[from] super::quorum::TransitionError),
    /// The records that start an epoch cannot be made.
    #[error("the epoch cannot be started: {0}")]
    EpochStart(#[from] super::control_log::EpochStartError),
}

/// What a request says beside its own matter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of a request")]
pub struct RequestHeader<'a> {
    /// The cluster that the sender means; none: any. Empty text is a cluster id, and a wrong one.
    pub cluster_id: Option<&'a str>,
    /// Whether it names one topic, the metadata topic, and of it partition 0 and nothing else. `Fetch` names it by id, the others by name.
    pub is_metadata_partition: bool,
    /// The version of the request.
    pub version: i16,
    /// The listener by which it came.
    pub listener: ListenerName,
}

/// The time and the randomness of one call.
struct Context<'a> {
    now: Monotonic,
    random: &'a mut dyn Random,
}

/// One replica of the metadata quorum. Kafka: `KafkaRaftClient`.
///
/// Inputs are requests, responses, time, and what became of I/O; after each the host carries out, in order, what
/// [`poll_effect`](Self::poll_effect) hands out. [`next_deadline`](Self::next_deadline) says when to call
/// [`handle_timeout`](Self::handle_timeout); calling it early or twice is harmless. What has come by then is handed in
/// first: a time-out that is due takes effect even if an answer waits that would have prevented it.
///
/// # A host
///
/// This one has a voter by itself and a vector for a log. With the feature `wire`, `wire::kraft` has the bytes of the
/// messages that go to and fro; the repository's `examples/controller` is a host with sockets and files.
///
/// ```
/// # use core::num::NonZeroU32;
/// use kafka_coordination::kraft::{
///     ControlLog, DirectoryId, Effect, Endpoints, ListenerName, LogBatch, LogIndex, NextRead,
///     QuorumConfig, Replica, ReplicaConfig, StaticVoters, Storage, SupportedVersions,
/// };
/// use kafka_coordination::{Monotonic, Random};
///
/// #[derive(Default)]
/// struct Disk {
///     log: Vec<LogBatch>,
/// }
///
/// /// Carries out what the replica asks for, each effect before the next one. A call may bring more of them.
/// fn carry_out(replica: &mut Replica, disk: &mut Disk, random: &mut dyn Random, now: Monotonic) {
///     while let Some(effect) = replica.poll_effect() {
///         match effect {
///             Effect::Persist(_state) => {} // To the disk, with an fsync, before anything else.
///             Effect::Append(batch) => disk.log.push(batch), // `encode_log_batch` has its bytes.
///             Effect::Flush { end_offset } => replica.flushed(end_offset, random, now), // After an fsync.
///             Effect::Deliver { from: _, to } => replica.applied(to, random, now), // To the state machine.
///             Effect::Send { .. } => {} // Its outcome goes to `handle_response`, a failure, too.
///             Effect::Reply { .. } => {} // To who sent the request of that id.
///             _ => {} // Truncations and snapshots.
///         }
///     }
/// }
///
/// /// What a host's loop does between two inputs: requests, responses, and the deadline once it has come.
/// fn run_due(replica: &mut Replica, disk: &mut Disk, random: &mut dyn Random, now: Monotonic) {
///     carry_out(replica, disk, random, now);
///     while replica.next_deadline().is_some_and(|deadline| deadline <= now) {
///         replica.handle_timeout(random, now);
///         carry_out(replica, disk, random, now);
///     }
/// }
///
/// # struct Least;
/// # impl Random for Least {
/// #     fn below(&mut self, _: NonZeroU32) -> u32 { 0 }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let random = &mut Least;
/// let listener = ListenerName::new("CONTROLLER");
/// let voters = "1@localhost:9093".parse::<StaticVoters>()?.to_voter_set(&listener)?;
/// let quorum = QuorumConfig {
///     local_id: Some(1),
///     local_directory_id: "AAAAAAAAAAcAAAAAAAAAZQ".parse::<DirectoryId>()?,
///     local_endpoints: voters.get(1).map(|voter| voter.endpoints.clone()).unwrap_or_default(),
///     supported_versions: SupportedVersions::ALL,
///     election_timeout_ms: 1_000,
///     fetch_timeout_ms: 2_000,
/// };
/// let config = ReplicaConfig::new(quorum, "cluster", listener);
///
/// // What the disk holds: nothing yet.
/// let mut control = ControlLog::new(voters);
/// assert_eq!(control.next_read(None, 0, 0), NextRead::Nothing);
/// let storage = Storage { election: None, log: LogIndex::new(), control };
///
/// let (mut disk, now) = (Disk::default(), Monotonic::from_millis(0));
/// let mut replica = Replica::start(config, storage, random, now)?;
/// run_due(&mut replica, &mut disk, random, now);
/// let epoch = replica.quorum().epoch();
/// let last_offset = replica.prepare_append(epoch, vec!["a record".into()], now)?;
/// replica.schedule_append(now)?;
/// let now = now.saturating_add(25); // Records wait for company: `append_linger_ms`.
/// run_due(&mut replica, &mut disk, random, now);
/// assert_eq!(disk.log.len(), 2, "the leader's first batch, and the record");
/// assert_eq!(replica.log().high_watermark(), last_offset + 1, "committed");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Replica {
    config: ReplicaConfig,
    quorum: QuorumState,
    log: LogIndex,
    /// How much of the log is durable.
    flushed: i64,
    /// A truncation or an install whose outcome the host owes.
    is_log_busy: bool,
    control: ControlLog,
    connections: Connections,
    accumulator: Option<Accumulator>,
    changes: Option<VoterChanges>,
    probe: Option<(Correlation, ProbeId)>,
    download: Option<Download>,
    parked: ParkedFetches,
    application: Application,
    shutdown: Option<Shutdown>,
    /// When there is something to do; none: when somebody says so.
    wake: Option<Monotonic>,
    effects: VecDeque<Effect>,
    fatal: Option<Fatal>,
}

impl Replica {
    /// The next effect to carry out.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due; a time that has passed: now. Never, if the replica has
    /// stopped.
    pub const fn next_deadline(&self) -> Option<Monotonic> {
        if self.fatal.is_some() { None } else { self.wake }
    }

    /// Why the replica has stopped, if it has.
    pub const fn fatal(&self) -> Option<&Fatal> {
        self.fatal.as_ref()
    }

    /// The state of its epoch.
    pub const fn quorum(&self) -> &QuorumState {
        &self.quorum
    }

    /// What it knows of its log.
    pub const fn log(&self) -> &LogIndex {
        &self.log
    }

    /// What the control records of its log say.
    pub const fn control_log(&self) -> &ControlLog {
        &self.control
    }

    /// How it is set up.
    pub const fn config(&self) -> &ReplicaConfig {
        &self.config
    }

    /// Whether it is no voter of the latest voters in its log, committed or not.
    ///
    /// An observer does not stand for election. If a leader crashes after it wrote its own removal, and before enough of
    /// the others have it, they cannot be elected without its vote, which it gives to no shorter log: nothing is lost,
    /// and nobody leads, as with Kafka. So a leader is better stopped by [`shut_down`](Self::shut_down), or removed once
    /// another one leads. Nor does an observer grant pre-votes once it has fetched from its leader (KIP-996), also if a leader
    /// that is gone for good had made it a voter and it does not know.
    pub fn is_observer(&self) -> bool {
        self.quorum.is_observer(self.latest_voters())
    }

    /// What its log says of the voters, committed or not.
    pub fn latest_voters(&self) -> LogVoters<'_> {
        LogVoters::from(&self.control)
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    fn reply(&mut self, request: RequestId, reply: super::effect::Reply) {
        self.effect(Effect::Reply { request, reply });
    }

    /// Runs a handler, unless the replica has stopped; stops it if the handler says so. What the handler has decided
    /// before that stands.
    fn run(
        &mut self,
        now: Monotonic,
        random: &mut dyn Random,
        handler: impl FnOnce(&mut Self, &mut Context<'_>) -> Result<(), Fatal>,
    ) {
        if self.fatal.is_some() {
            return;
        }
        let mut context = Context { now, random };
        if let Err(fatal) = handler(self, &mut context) {
            tracing::error!(%fatal, "the replica stops");
            self.fatal = Some(fatal);
        }
    }
}
