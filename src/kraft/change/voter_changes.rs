//! The changes of voters that a leader makes, one at a time.

use alloc::collections::VecDeque;

use super::admission::{Receiver, ReceiverRole};
use super::config::ChangeConfig;
use super::decision::{LogVoters, PendingChange, Situation};
use super::effect::{AppendId, ChangeEffect, CurrentLeader, ProbeId};
use super::error::ChangeError;
use super::pending::{Pending, Probed, Stage};
use super::request::{Acknowledge, RequestId};
use crate::kraft::epoch::Leader;
use crate::kraft::records::ControlRecord;
use crate::kraft::timer::Timer;
use crate::kraft::voters::{Endpoint, KRaftVersion, ListenerName, VoterSet};
use crate::time::Monotonic;

/// The changes of voters in one leader's epoch. Kafka: `AddVoterHandler`, `RemoveVoterHandler`,
/// `UpdateVoterHandler`, `ChangeVoterHandlerState`.
///
/// Inputs are requests, outcomes of effects, the high watermark and time; after each the host carries
/// out what [`poll_effect`](Self::poll_effect) hands out, in that order. What is decided on, the
/// [`Leader`] and the last voters of its log, is an argument: it is to be up to date, with every append
/// told to the leader before the next call.
///
/// | | a request | the voter answers | its outcome is no answer | committed | the time is over | stepping down |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | no change | the checks | | | | | |
/// | adding or updating, the voter is asked | 7 | written, or 7, 42, 127 | 7 | | 7 | 6 |
/// | added or removed, written | 7 | | | success | 7 | 6 |
/// | updated, written and answered | 7 | | | over | over | over |
///
/// Numbers are codes of [`ErrorCode`](crate::ErrorCode); but for those to a new request they answer the
/// request of the change, unless it was answered, and end the change. A record that was written stays
/// in the log.
///
/// ```
/// use kafka_coordination::Monotonic;
/// use kafka_coordination::kraft::{
///     Acknowledge, AddVoter, ChangeConfig, ChangeEffect, ControlRecord, Election, Endpoint,
///     Endpoints, KRaftVersion, Leader, LeaderError, ListenerName, LogVoters, ProbeOutcome,
///     ReplicaKey, RequestId, SupportedVersions, VoterChanges, VoterNode, VoterSet,
/// };
///
/// let listener = ListenerName::new("CONTROLLER");
/// let endpoints = Endpoints::new([Endpoint::new(listener.clone(), "localhost", 9093)]);
/// let voter = |id: i32| VoterNode {
///     key: ReplicaKey::from_wire(id, 7),
///     endpoints: endpoints.clone(),
///     supported_versions: SupportedVersions::ALL,
/// };
/// let (now, one) = (Monotonic::from_millis(1_000), VoterSet::new([voter(1)]));
/// let election = Election {
///     local: voter(1),
///     epoch: 1,
///     epoch_start_offset: 3,
///     voters: one.clone(),
///     kraft_version: KRaftVersion::V1,
///     granting_voters: vec![1],
///     fetch_timeout_ms: 2_000,
/// };
/// let mut leader = Leader::new(election, now)?;
/// leader.appended(4, &one)?;
/// leader.flushed(4)?;
/// leader.fetched(voter(2).key, 4, now)?;
///
/// // Replica 2 has caught up, and is to vote.
/// let mut changes = VoterChanges::new(ChangeConfig::new("cluster", listener));
/// let log = LogVoters { voters: &one, offset: Some(2), kraft_version: KRaftVersion::V1 };
/// let add = AddVoter {
///     cluster_id: None,
///     voter: voter(2).key,
///     endpoints: endpoints.clone(),
///     acknowledge: Acknowledge::Committed,
/// };
/// changes.add_voter(RequestId(1), &add, &leader, log, now);
///
/// // It is asked what it supports.
/// let Some(ChangeEffect::Probe { id, .. }) = changes.poll_effect() else { panic!() };
/// let supports = ProbeOutcome::Supports(Some(SupportedVersions::ALL));
/// let _ = changes.probed(id, supports, &mut leader, log, now);
///
/// // The new voters are queued for the log, and appended.
/// let Some(ChangeEffect::Append { id, records }) = changes.poll_effect() else { panic!() };
/// let [ControlRecord::Voters(two)] = records.as_slice() else { panic!() };
/// changes.appended(id, 4, &leader);
/// leader.appended(5, two)?;
/// leader.flushed(5)?;
/// assert_eq!(changes.poll_effect(), None);
///
/// // Both have the record: it is committed, and the request is answered.
/// assert_eq!(leader.fetched(voter(2).key, 5, now)?, Some(5));
/// let log = LogVoters { voters: two, offset: Some(4), kraft_version: KRaftVersion::V1 };
/// changes.high_watermark_moved(&mut leader, log);
/// let answer = ChangeEffect::Answer { request: RequestId(1), result: Ok(()), leader: None };
/// assert_eq!(changes.poll_effect(), Some(answer));
/// # Ok::<(), LeaderError>(())
/// ```
///
/// # What holds
///
/// After each call, whatever is asked in which order:
///
/// - KC-1: one change is under way at most, and voters are written only over voters that are committed.
/// - KC-2: each request is answered once.
/// - KC-3: voters that follow each other in the log differ in one, and each majority of the one set has
///   a replica in common with each majority of the other.
/// - KC-4: a leader that the last committed voters leave out is to resign.
/// - KC-5: a change is over when its time is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoterChanges {
    pub(super) config: ChangeConfig,
    is_shutting_down: bool,
    pub(super) pending: Option<Pending>,
    written: Written,
    effects: VecDeque<ChangeEffect>,
    next_id: u64,
}

/// The voters record that this leader wrote last, until it is committed.
///
/// It outlives the change that it belongs to: the record of a change that is given up may still be on
/// its way to the log, whose voters do not tell of it then.
///
/// Deviation: Kafka forgets it, and may write voters over it that differ in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Written {
    Nothing,
    Asked(AppendId),
    At(i64),
}

impl VoterChanges {
    /// No change, at the start of an epoch.
    pub const fn new(config: ChangeConfig) -> Self {
        Self {
            config,
            is_shutting_down: false,
            pending: None,
            written: Written::Nothing,
            effects: VecDeque::new(),
            next_id: 0,
        }
    }

    /// The next effect to carry out.
    pub fn poll_effect(&mut self) -> Option<ChangeEffect> {
        self.effects.pop_front()
    }

    /// Whether a change is under way: Kafka's metric `uncommitted-voter-change`.
    pub const fn pending(&self) -> PendingChange {
        if self.pending.is_some() { PendingChange::Yes } else { PendingChange::No }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        self.pending.as_ref().map(|pending| pending.timer.deadline())
    }

    /// Gives up the change whose time is over; harmless at any time. Its record, if it was written,
    /// stays in the log.
    pub fn handle_timeout(&mut self, leader: &Leader, now: Monotonic) {
        if self.pending.as_mut().is_some_and(|pending| pending.timer.remaining(now) == 0) {
            self.finish(Err(ChangeError::TimedOut), leader);
        }
    }

    /// The leader is about to shut down and takes no more requests.
    pub fn shut_down(&mut self) {
        self.is_shutting_down = true;
    }

    /// A voters record was queued, and its offset is known.
    ///
    /// An outcome of another append is ignored.
    pub fn appended(&mut self, id: AppendId, offset: i64, leader: &Leader) {
        if self.written != Written::Asked(id) {
            return;
        }
        self.written = Written::At(offset);
        let stage = self.pending.as_ref().map(|pending| &pending.stage);
        if stage == Some(&Stage::Writing(Acknowledge::Appended)) {
            self.answer_pending(Ok(()), leader);
        }
    }

    /// The high watermark has moved; to be called before fetches that wait for it are answered.
    ///
    /// A leader that finds itself outside of the committed voters is to resign.
    /// Deviation: in Kafka that happens only when a removal that has not timed out is committed, and
    /// the leader of a late one goes on for ever.
    pub fn high_watermark_moved(&mut self, leader: &mut Leader, log: LogVoters<'_>) {
        let Some(high_watermark) = leader.high_watermark() else { return };
        if matches!(self.written, Written::At(offset) if offset < high_watermark) {
            self.written = Written::Nothing;
            let is_writing = |pending: &Pending| matches!(pending.stage, Stage::Writing(_));
            if self.pending.as_ref().is_some_and(is_writing) {
                self.finish(Ok(()), leader);
            }
        }
        let is_committed = log.offset.is_some_and(|offset| offset < high_watermark);
        if is_committed && !log.voters.is_voter(&leader.local().key) {
            leader.request_resignation();
        }
    }

    /// The leader steps down: the change under way is given up. A record that was queued and not
    /// appended is to be dropped.
    pub fn close(&mut self, leader: &Leader) {
        self.finish(Err(ChangeError::LeadershipLost), leader);
    }

    pub(super) fn receiver(&self, leader: &Leader) -> Receiver<'_> {
        let role = if self.is_shutting_down {
            ReceiverRole::LeaderShuttingDown
        } else {
            ReceiverRole::Leader
        };
        Receiver {
            cluster_id: &self.config.cluster_id,
            default_listener: &self.config.default_listener,
            epoch: leader.epoch(),
            role,
        }
    }

    /// What a request is decided on.
    pub(super) fn situation<'a>(&self, leader: &Leader, log: LogVoters<'a>) -> Situation<'a> {
        let pending = match self.written {
            Written::Asked(_) => PendingChange::Yes,
            _ => self.pending(),
        };
        Situation { pending, high_watermark: leader.high_watermark(), log: self.with_written(log) }
    }

    /// The log's voters as if the last record were in the log.
    pub(super) fn with_written<'a>(&self, log: LogVoters<'a>) -> LogVoters<'a> {
        match self.written {
            Written::At(offset) => LogVoters { offset: log.offset.max(Some(offset)), ..log },
            _ => log,
        }
    }

    /// Takes up a change, whose voter is first asked at this endpoint what it supports.
    pub(super) fn probe(
        &mut self,
        request: RequestId,
        listener: Option<ListenerName>,
        probed: Probed,
        endpoint: Endpoint,
        now: Monotonic,
    ) {
        let id = ProbeId(self.new_id());
        let voter_id = probed.voter_id();
        self.begin(request, listener, Stage::Probing(id, probed), now);
        self.effects.push_back(ChangeEffect::Probe { id, voter_id, endpoint });
    }

    /// Takes up a change.
    pub(super) fn begin(
        &mut self,
        request: RequestId,
        listener: Option<ListenerName>,
        stage: Stage,
        now: Monotonic,
    ) {
        let timer = Timer::new(i64::from(self.config.request_timeout_ms), now);
        self.pending = Some(Pending { request: Some(request), listener, timer, stage });
    }

    /// Has the voters of the change under way written.
    pub(super) fn write(&mut self, voters: VoterSet, acknowledge: Acknowledge) {
        if let Some(pending) = &mut self.pending {
            pending.stage = Stage::Writing(acknowledge);
        }
        self.append(None, Some(voters));
    }

    /// Has a batch written.
    pub(super) fn append(&mut self, kraft_version: Option<KRaftVersion>, voters: Option<VoterSet>) {
        let id = AppendId(self.new_id());
        if voters.is_some() {
            self.written = Written::Asked(id);
        }
        let level = kraft_version.map(ControlRecord::KRaftVersion);
        let records = level.into_iter().chain(voters.map(ControlRecord::Voters)).collect();
        self.effects.push_back(ChangeEffect::Append { id, records });
    }

    /// The change under way is over.
    pub(super) fn finish(&mut self, result: Result<(), ChangeError>, leader: &Leader) {
        self.answer_pending(result, leader);
        self.pending = None;
    }

    /// Answers the change under way, if it was not.
    fn answer_pending(&mut self, result: Result<(), ChangeError>, leader: &Leader) {
        let Some(pending) = &mut self.pending else { return };
        let Some(request) = pending.request.take() else { return };
        let current = pending.listener.as_ref().map(|listener| current_leader(leader, listener));
        self.effects.push_back(ChangeEffect::Answer { request, result, leader: current });
    }

    /// Answers a request that is not taken up, or is done at once.
    pub(super) fn answer(
        &mut self,
        request: RequestId,
        result: Result<(), ChangeError>,
        leader: Option<CurrentLeader>,
    ) {
        self.effects.push_back(ChangeEffect::Answer { request, result, leader });
    }

    fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        id
    }
}

/// The leader, for who asked at this listener.
pub(super) fn current_leader(leader: &Leader, listener: &ListenerName) -> CurrentLeader {
    CurrentLeader {
        id: leader.local().key.id,
        epoch: leader.epoch(),
        endpoint: leader.local().endpoints.get(listener).cloned(),
    }
}
