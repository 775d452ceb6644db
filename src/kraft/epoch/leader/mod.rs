//! What the leader of an epoch keeps of its replicas.

mod describe;
mod error;
mod high_watermark;
mod observers;
mod progress;
mod quorum_timers;
mod replica;
mod replicas;
mod successors;
mod upgrade;

use alloc::vec::Vec;

pub use describe::{DescribeVersion, NodeDescription, QuorumDescription, ReplicaDescription};
pub use error::LeaderError;
pub use high_watermark::majority_end_offset;
pub use observers::{OBSERVER_SESSION_MS, OBSERVERS_MAX};
pub use progress::CAUGHT_UP_WITHIN_MS;
pub use replica::ReplicaState;
pub use successors::end_quorum_backoff_ms;
pub use upgrade::Upgrade;

use high_watermark::HighWatermark;
use quorum_timers::{BeginQuorum, CheckQuorum};
use replicas::Replicas;

use crate::kraft::voters::{KRaftVersion, ReplicaKey, VoterNode, VoterSet};
use crate::time::Monotonic;

/// What is known when a replica is elected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an argument list with names")]
pub struct Election {
    /// The replica itself, as it is configured.
    pub local: VoterNode,
    /// The epoch that it leads.
    pub epoch: i32,
    /// Where its log ends: the offset of the epoch's first record.
    pub epoch_start_offset: i64,
    /// The last voters in its log, or the static ones.
    pub voters: VoterSet,
    /// The last level of `kraft.version` in its log.
    pub kraft_version: KRaftVersion,
    /// The ids of who voted for it.
    pub granting_voters: Vec<i32>,
    /// `controller.quorum.fetch.timeout.ms`.
    pub fetch_timeout_ms: u32,
}

/// What a leader keeps from its election until it steps down: how far each replica's log goes, how
/// far the log is committed, and whether a majority still listens. Kafka: `LeaderState`.
///
/// The host tells it of appends and flushes of its own log and of valid fetches, and asks. Nothing
/// happens by itself: [`next_deadline`](Self::next_deadline) says when to look at
/// [`check_quorum_remaining_ms`](Self::check_quorum_remaining_ms) and
/// [`begin_quorum_remaining_ms`](Self::begin_quorum_remaining_ms).
///
/// ```
/// use kafka_coordination::Monotonic;
/// use kafka_coordination::kraft::{
///     Election, Endpoint, Endpoints, KRaftVersion, Leader, LeaderError, ReplicaKey,
///     SupportedVersions, VoterNode, VoterSet,
/// };
///
/// let voter = |id: i32| VoterNode {
///     key: ReplicaKey::from_wire(id, 0xd0 + id as u128),
///     endpoints: Endpoints::new([Endpoint::new("CONTROLLER", "localhost", 9093)]),
///     supported_versions: SupportedVersions::ALL,
/// };
/// let voters = VoterSet::new([voter(1), voter(2), voter(3)]);
/// let now = Monotonic::from_millis(0);
/// let mut leader = Leader::new(
///     Election {
///         local: voter(1),
///         epoch: 5,
///         epoch_start_offset: 10,
///         voters: voters.clone(),
///         kraft_version: KRaftVersion::V1,
///         granting_voters: vec![1, 2],
///         fetch_timeout_ms: 2_000,
///     },
///     now,
/// )?;
///
/// // The batch that starts the epoch is written at offset 10, and is on disk.
/// leader.appended(11, &voters)?;
/// leader.flushed(11)?;
/// assert_eq!(leader.high_watermark(), None);
/// // A follower that fetches from 10 has everything below; one that fetches from 11 has the batch.
/// assert_eq!(leader.fetched(voter(2).key, 10, now)?, None);
/// assert_eq!(leader.fetched(voter(2).key, 11, now)?, Some(11));
/// # Ok::<(), LeaderError>(())
/// ```
///
/// # What holds
///
/// After each call, whatever replicas do:
///
/// - KL-1: the high watermark never goes back; it lies above the start of the epoch and not above the
///   end of the log.
/// - KL-2: it is the highest that the middle one of the voters' end offsets, sorted from the highest
///   down, has been above the start of the epoch ([`majority_end_offset`]). The leader's own end offset
///   is what it has flushed, and counts only if the leader is a voter.
/// - KL-3: when a fetch moves it, a majority has all below it.
/// - KL-4: the voters are those of the last voter set in the log; no key is a voter and an observer.
/// - KL-5: the voters that were heard of in the running interval of check-quorum are voters, the leader
///   is not among them, and they are no majority with it.
/// - KL-6: the preferred successors are the voters without the leader, those farther on first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    local: VoterNode,
    epoch: i32,
    epoch_start_offset: i64,
    granting_voters: Vec<i32>,
    replicas: Replicas,
    /// How much of the leader's own log counts for commits.
    flushed: Option<i64>,
    high_watermark: HighWatermark,
    check_quorum: CheckQuorum,
    begin_quorum: BeginQuorum,
    is_resign_requested: bool,
    upgrade: Upgrade,
}

impl Leader {
    /// The leader that was just elected.
    ///
    /// # Errors
    /// - [`LeaderError::NoDirectoryId`]: the replica has none.
    /// - [`LeaderError::NotAVoter`]: it is not in the voter set.
    pub fn new(election: Election, now: Monotonic) -> Result<Self, LeaderError> {
        let local = election.local;
        let voters = election.voters;
        if local.key.directory_id.is_none() {
            return Err(LeaderError::NoDirectoryId { id: local.key.id });
        }
        if !voters.is_voter(&local.key) {
            return Err(LeaderError::NotAVoter { key: local.key });
        }
        Ok(Self {
            epoch: election.epoch,
            epoch_start_offset: election.epoch_start_offset,
            granting_voters: election.granting_voters,
            upgrade: Upgrade::new(election.kraft_version, &voters, &local),
            replicas: Replicas::new(voters, local.key, now),
            flushed: None,
            high_watermark: HighWatermark::new(election.epoch_start_offset),
            check_quorum: CheckQuorum::new(election.fetch_timeout_ms, now),
            begin_quorum: BeginQuorum::new(election.fetch_timeout_ms, now),
            is_resign_requested: false,
            local,
        })
    }

    /// The leader as it is configured; its endpoints are what it tells others of itself.
    pub const fn local(&self) -> &VoterNode {
        &self.local
    }

    pub(in crate::kraft) const fn id(&self) -> i32 {
        self.local.key.id
    }

    /// The epoch that it leads.
    pub const fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The offset of the epoch's first record.
    pub const fn epoch_start_offset(&self) -> i64 {
        self.epoch_start_offset
    }

    /// The ids of who voted for it.
    pub fn granting_voters(&self) -> &[i32] {
        &self.granting_voters
    }

    /// The voters that count: the last ones in the leader's log, committed or not.
    pub const fn voters(&self) -> &VoterSet {
        self.replicas.set()
    }

    /// What is known of the voters, by id.
    pub fn voter_states(&self) -> impl ExactSizeIterator<Item = &ReplicaState> {
        self.replicas.voters.iter().map(|voter| &voter.state)
    }

    /// What is known of the observers, by key.
    pub fn observer_states(&self) -> impl ExactSizeIterator<Item = &ReplicaState> {
        self.replicas.observers.iter()
    }

    /// What is known of the voter that `key` is, or of the observer with exactly that key.
    pub fn replica(&self, key: &ReplicaKey) -> Option<&ReplicaState> {
        self.replicas.get(key)
    }

    /// Where the leader's own log ends.
    pub fn end_offset(&self) -> Option<i64> {
        self.replicas.get(&self.local.key)?.end_offset
    }

    /// The end of the committed part of the log, exclusive; `None` until a record of the leader's own
    /// epoch is committed, with which all before it are. It never goes back.
    pub const fn high_watermark(&self) -> Option<i64> {
        self.high_watermark.offset()
    }

    /// The leader is to resign: it is asked to, or it does not vote any more.
    pub fn request_resignation(&mut self) {
        self.is_resign_requested = true;
    }

    /// Whether it is to resign.
    pub const fn is_resignation_requested(&self) -> bool {
        self.is_resign_requested
    }
}
