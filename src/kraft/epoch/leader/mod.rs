//! What the leader of an epoch keeps of its replicas.

mod describe;
mod epoch_start;
mod error;
mod high_watermark;
mod observers;
mod quorum_timers;
mod replica;
mod replicas;
mod successors;
mod upgrade;

use alloc::vec::Vec;

pub use describe::{DescribeVersion, NodeDescription, QuorumDescription, ReplicaDescription};
pub use epoch_start::EpochStart;
pub use error::LeaderError;
pub use high_watermark::majority_end_offset;
pub use observers::{OBSERVER_SESSION_MS, OBSERVERS_MAX};
pub use replica::ReplicaState;
pub use successors::end_quorum_backoff_ms;
pub use upgrade::Upgrade;

use high_watermark::HighWatermark;
use quorum_timers::{BeginQuorum, CheckQuorum};
use replicas::{Replicas, Voter};

use crate::kraft::voters::{KRaftVersion, ReplicaKey, VoterNode, VoterSet};
use crate::time::Monotonic;

/// How recently a replica must have fetched to be added, in milliseconds: an hour.
pub const CAUGHT_UP_WITHIN_MS: i64 = 3_600_000;

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
    /// Where they are: -1 is the bootstrap checkpoint; `None`: the static ones, which are not in the
    /// log.
    pub voters_offset: Option<i64>,
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
///         voters_offset: Some(2),
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    local: VoterNode,
    epoch: i32,
    epoch_start_offset: i64,
    granting_voters: Vec<i32>,
    voters_at_start: VoterSet,
    voters_offset_at_start: Option<i64>,
    kraft_version_at_start: KRaftVersion,
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
            voters_at_start: voters.clone(),
            voters_offset_at_start: election.voters_offset,
            kraft_version_at_start: election.kraft_version,
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

    /// The end of the committed part of the log, exclusive; `None` until a record of the leader's own
    /// epoch is committed, with which all before it are. It never goes back.
    pub const fn high_watermark(&self) -> Option<i64> {
        self.high_watermark.offset()
    }

    /// The leader's own log ends at `end_offset` after an append, which may have changed the voters:
    /// `voters` are the last ones in it. Returns the high watermark if it moved.
    ///
    /// `voters` is compared with what is known: cheaply, if it is a clone of it. O(1) if the voters stay the same, O(voters²) otherwise.
    ///
    /// # Errors
    /// - [`LeaderError::EndOffsetWentBack`]: a leader's log does not get shorter.
    pub fn appended(
        &mut self,
        end_offset: i64,
        voters: &VoterSet,
    ) -> Result<Option<i64>, LeaderError> {
        let known = self.end_offset();
        if let Some(from) = known.filter(|&from| end_offset < from) {
            return Err(LeaderError::EndOffsetWentBack { from, to: end_offset });
        }
        if end_offset < 0 {
            return Err(LeaderError::NegativeOffset { offset: end_offset });
        }
        self.replicas.known_or_new(self.local.key).end_offset = Some(end_offset);
        if self.replicas.set_voters(voters) {
            return Ok(self.advance_high_watermark());
        }
        Ok(None)
    }

    /// The leader's own log is on disk up to `end_offset`, exclusive, and counts so far for commits.
    /// Returns the high watermark if it moved. O(voters).
    ///
    /// Deviation: Kafka counts what is appended, before it is flushed, so that what a single voter
    /// has told as committed may be lost.
    ///
    /// # Errors
    /// - [`LeaderError::EndOffsetWentBack`]: less than was flushed.
    /// - [`LeaderError::BeyondEnd`]: more than was appended.
    pub fn flushed(&mut self, end_offset: i64) -> Result<Option<i64>, LeaderError> {
        if let Some(from) = self.flushed.filter(|&from| end_offset < from) {
            return Err(LeaderError::EndOffsetWentBack { from, to: end_offset });
        }
        let end = self.end_offset().unwrap_or(-1);
        if end_offset > end {
            return Err(LeaderError::BeyondEnd { offset: end_offset, end });
        }
        self.flushed = Some(end_offset);
        Ok(self.advance_high_watermark())
    }

    /// A replica fetched from `offset`, validly: neither did its log diverge nor was it sent to a
    /// snapshot. Returns the high watermark if it moved.
    ///
    /// A negative id is no replica and leaves no trace. An offset below that of an earlier fetch is
    /// taken: the replica has lost its disk. O(voters), or O(log observers); no allocation but for an
    /// observer that is new.
    ///
    /// # Errors
    /// - [`LeaderError::IsLeader`]: the leader does not fetch from itself.
    /// - [`LeaderError::NegativeOffset`].
    pub fn fetched(
        &mut self,
        replica: ReplicaKey,
        offset: i64,
        now: Monotonic,
    ) -> Result<Option<i64>, LeaderError> {
        if replica.id < 0 {
            return Ok(None);
        }
        if replica.id == self.id() {
            return Err(LeaderError::IsLeader { id: replica.id });
        }
        if offset < 0 {
            return Err(LeaderError::NegativeOffset { offset });
        }
        let leader_end = self.end_offset();
        let Some(voter) = self.replicas.voter_of(&replica) else {
            self.replicas.observers.fetching(replica, now).fetched(offset, leader_end, now);
            self.restart_check_quorum(now);
            return Ok(None);
        };
        voter.state.fetched(offset, leader_end, now);
        voter.has_fetched = true;
        self.restart_check_quorum(now);
        // Who is not past the high watermark does not move it.
        if self.high_watermark().is_some_and(|mark| offset <= mark) {
            return Ok(None);
        }
        Ok(self.advance_high_watermark())
    }

    /// A replica was heard of otherwise than by a fetch of records: it fetched a snapshot, or updated
    /// its entry among the voters. If it is a voter that counts for check-quorum. O(voters).
    ///
    /// # Errors
    /// - [`LeaderError::IsLeader`].
    pub fn heard_from(&mut self, replica: ReplicaKey, now: Monotonic) -> Result<(), LeaderError> {
        if replica.id == self.id() {
            return Err(LeaderError::IsLeader { id: replica.id });
        }
        if let Some(voter) = self.replicas.voter_mut(replica.id) {
            voter.has_fetched |= voter.state.key.matches(&replica);
        }
        self.restart_check_quorum(now);
        Ok(())
    }

    /// The voter with this id answered `BeginQuorumEpoch`.
    ///
    /// Deviation: an id that is not a voter, as one that was removed meanwhile, is ignored; it ends
    /// Kafka's process.
    pub fn acknowledged(&mut self, voter_id: i32) {
        if let Some(voter) = self.replicas.voter_mut(voter_id) {
            voter.state.has_acknowledged = true;
        }
    }

    /// Whether a replica may be added to the voters: it is an observer, was once known to have all
    /// that the leader had, and fetched within [`CAUGHT_UP_WITHIN_MS`].
    ///
    /// Deviation: Kafka takes times up to 0 of its clock for "never".
    pub fn is_caught_up(&self, replica: &ReplicaKey, now: Monotonic) -> bool {
        let Some(state) = self.replicas.observers.get(replica) else { return false };
        state.last_caught_up.is_some() && !state.is_silent_for(CAUGHT_UP_WITHIN_MS, now)
    }

    /// The ids of the voters that were heard of in the running interval of check-quorum.
    pub fn fetched_voters(&self) -> impl Iterator<Item = i32> {
        let fetched = self.replicas.voters.iter().filter(|voter| voter.has_fetched);
        fetched.map(|voter| voter.state.key.id)
    }

    /// Milliseconds until the leader must resign, because no majority fetched for one and a half fetch
    /// time-outs; 0: it must. [`i64::MAX`] if it is the only voter.
    ///
    /// Deviation: in Kafka a leader with one voter never has to, even if that is another replica.
    pub fn check_quorum_remaining_ms(&mut self, now: Monotonic) -> i64 {
        if self.is_only_voter() { i64::MAX } else { self.check_quorum.remaining(now) }
    }

    /// Milliseconds until `BeginQuorumEpoch` is due; 0: it is.
    pub fn begin_quorum_remaining_ms(&mut self, now: Monotonic) -> i64 {
        self.begin_quorum.remaining(now)
    }

    /// The voters to which `BeginQuorumEpoch` is sent when it is due: those that did not fetch for half
    /// a fetch time-out, and so may not know who leads (KAFKA-16926).
    pub fn begin_quorum_targets(&self, now: Monotonic) -> impl Iterator<Item = &ReplicaState> {
        let period = self.begin_quorum.period_ms();
        self.voter_states()
            .filter(move |state| state.key.id != self.id() && state.is_silent_for(period, now))
    }

    /// `BeginQuorumEpoch` was sent, and is due again after half a fetch time-out.
    pub fn restart_begin_quorum(&mut self, now: Monotonic) {
        self.begin_quorum.restart(now);
    }

    /// When one of the two is due next; `None` if the leader is the only voter.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        let due = self.check_quorum.deadline().min(self.begin_quorum.deadline());
        (!self.is_only_voter()).then_some(due)
    }

    /// The leader is to resign: it is asked to, or it does not vote any more.
    pub fn request_resignation(&mut self) {
        self.is_resign_requested = true;
    }

    /// Whether it is to resign.
    pub const fn is_resignation_requested(&self) -> bool {
        self.is_resign_requested
    }

    /// Where the leader's own log ends.
    pub fn end_offset(&self) -> Option<i64> {
        self.replicas.get(&self.local.key)?.end_offset
    }

    fn is_only_voter(&self) -> bool {
        matches!(self.replicas.voters.as_slice(), [Voter { state, .. }] if state.key.id == self.id())
    }

    /// Begins the interval anew if enough voters were heard of; the leader, if it votes, is one.
    fn restart_check_quorum(&mut self, now: Monotonic) {
        let voters = &mut self.replicas.voters;
        let heard_of = voters.iter().filter(|voter| voter.has_fetched).count();
        let leader = self.local.key.id;
        let itself = usize::from(voters.iter().any(|voter| voter.state.key.id == leader));
        if heard_of + itself > voters.len() / 2 {
            for voter in voters {
                voter.has_fetched = false;
            }
            self.check_quorum.restart(now);
        }
    }

    fn advance_high_watermark(&mut self) -> Option<i64> {
        let (leader, flushed) = (self.local.key, self.flushed);
        let ends = self.replicas.voters.iter().map(|voter| {
            let is_leader = voter.state.key.matches(&leader);
            (if is_leader { flushed } else { voter.state.end_offset }).unwrap_or(-1)
        });
        self.high_watermark.advance(ends)
    }
}
