//! A leader with its log, which carries out the effects of voter changes.

use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ChangeConfig, ChangeEffect, ChangeError, Connection, ControlLog,
    ControlRecord, CurrentLeader, Election, Endpoint, Endpoints, KRaftVersion, Leader,
    ListenerName, LogVoters, PendingChange, ProbeId, ProbeOutcome, RemoveVoter, ReplicaKey,
    RequestId, SupportedVersions, UpdateVoter, VoterChanges, VoterNode, VoterSet,
};
use kafka_coordination::{ErrorCode, Monotonic};
use std::collections::BTreeMap;

pub(crate) const CLUSTER: &str = "cluster";
pub(crate) const EPOCH: i32 = 5;
pub(crate) const FETCH_TIMEOUT_MS: u32 = 2_000;
pub(crate) const REQUEST_TIMEOUT_MS: u32 = 5_000;
/// The leader in all of these tests.
pub(crate) const LEADER: i32 = 1;

pub(crate) fn listener() -> ListenerName {
    ListenerName::new("CONTROLLER")
}

/// The key of a replica on its first disk.
pub(crate) fn key(id: i32) -> ReplicaKey {
    on_disk(id, 1)
}

/// The key of a replica on its `disk`th disk.
pub(crate) fn on_disk(id: i32, disk: u32) -> ReplicaKey {
    ReplicaKey::from_wire(id, (u128::from(disk) << 64) + u128::try_from(id).unwrap())
}

pub(crate) fn endpoints(id: i32) -> Endpoints {
    let port = u16::try_from(9_000 + id).unwrap();
    Endpoints::new([Endpoint::new(listener(), format!("host-{id}"), port)])
}

/// A voter with a directory id, which supports both levels.
pub(crate) fn voter(id: i32) -> VoterNode {
    VoterNode { key: key(id), endpoints: endpoints(id), supported_versions: SupportedVersions::ALL }
}

pub(crate) fn voters(ids: impl IntoIterator<Item = i32>) -> VoterSet {
    ids.into_iter().map(voter).collect()
}

/// Voters as a configuration has them.
pub(crate) fn static_voters(ids: impl IntoIterator<Item = i32>) -> VoterSet {
    let addresses = ids.into_iter().map(|id| {
        let endpoint = endpoints(id).get(&listener()).unwrap().clone();
        (id, endpoint.host, endpoint.port)
    });
    VoterSet::from_addresses(&listener(), addresses)
}

/// A question to a voter that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) id: ProbeId,
    pub(crate) voter_id: i32,
    pub(crate) endpoint: Endpoint,
}

/// A control batch that is queued for the log.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) base_offset: i64,
    pub(crate) records: Vec<ControlRecord>,
}

/// How a request was answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) result: Result<(), ChangeError>,
    pub(crate) leader: Option<CurrentLeader>,
}

/// The leader of a quorum, its log and its clock.
pub(crate) struct Quorum {
    pub(crate) leader: Leader,
    pub(crate) changes: VoterChanges,
    pub(crate) now: Monotonic,
    pub(crate) log: ControlLog,
    /// Where the log ends.
    pub(crate) end: i64,
    /// Where the next record goes that is queued.
    next_offset: i64,
    pub(crate) queued: Vec<Queued>,
    pub(crate) probes: Vec<Probe>,
    /// Whether what is queued stays so until [`append`](Self::append) is called.
    pub(crate) holds_back: bool,
    answers: BTreeMap<u64, Answer>,
    requests: u64,
}

impl Quorum {
    /// A leader at level 1 whose log holds these voters at offset 2, committed; its epoch starts at 3.
    pub(crate) fn new(ids: impl IntoIterator<Item = i32>) -> Self {
        Self::elected(voter(LEADER), log(&[(2, voters(ids))]))
    }

    /// A leader at level 0 whose voters are the configured ones; its epoch starts at 0.
    pub(crate) fn of_static(ids: impl IntoIterator<Item = i32>) -> Self {
        let mut log = ControlLog::new(static_voters(ids));
        log.next_read(None, 0, 0);
        Self::elected(voter(LEADER), log)
    }

    /// A leader that is elected with this log, and has written the start of its epoch.
    pub(crate) fn elected(local: VoterNode, log: ControlLog) -> Self {
        let now = Monotonic::from_millis(1_000_000);
        let election = Election {
            local,
            epoch: EPOCH,
            epoch_start_offset: log.next_offset(),
            voters: log.voters().clone(),
            kraft_version: log.kraft_version(),
            granting_voters: log.voters().ids().collect(),
            fetch_timeout_ms: FETCH_TIMEOUT_MS,
        };
        let leader = Leader::new(election, now).unwrap();
        let granting = leader.granting_voters().to_vec();
        let start = log.epoch_start(leader.local(), granting).unwrap();
        let config =
            ChangeConfig::new(CLUSTER, listener()).with_request_timeout_ms(REQUEST_TIMEOUT_MS);
        let mut quorum = Self {
            changes: VoterChanges::new(config),
            now,
            end: log.next_offset(),
            next_offset: log.next_offset(),
            queued: Vec::new(),
            probes: Vec::new(),
            holds_back: false,
            answers: BTreeMap::new(),
            requests: 0,
            log,
            leader,
        };
        quorum.queue(start);
        quorum.append();
        quorum
    }

    /// As [`new`](Self::new), and all voters have fetched all.
    pub(crate) fn fenced(ids: impl IntoIterator<Item = i32>) -> Self {
        let mut quorum = Self::new(ids);
        quorum.everyone_fetches();
        quorum
    }

    /// As [`of_static`](Self::of_static), and all voters have fetched all.
    pub(crate) fn static_fenced(ids: impl IntoIterator<Item = i32>) -> Self {
        let mut quorum = Self::of_static(ids);
        quorum.everyone_fetches();
        quorum
    }

    pub(crate) fn everyone_fetches(&mut self) {
        let others: Vec<_> = self.leader.voters().keys().filter(|key| key.id != LEADER).collect();
        for other in others {
            self.fetch(other, self.end);
        }
    }

    /// A replica fetches from `offset`.
    pub(crate) fn fetch(&mut self, replica: ReplicaKey, offset: i64) {
        if self.leader.fetched(replica, offset, self.now).unwrap().is_some() {
            self.on_high_watermark();
        }
    }

    /// A replica fetches from the end of the log.
    pub(crate) fn catch_up(&mut self, replica: ReplicaKey) {
        self.fetch(replica, self.end);
    }

    pub(crate) fn add(&mut self, add: &AddVoter<'_>) -> RequestId {
        let request = self.new_request();
        let log = LogVoters::from(&self.log);
        self.changes.add_voter(request, add, &self.leader, log, self.now);
        self.run();
        request
    }

    pub(crate) fn add_key(&mut self, replica: ReplicaKey) -> RequestId {
        self.add(&add_voter(replica))
    }

    pub(crate) fn remove(&mut self, remove: &RemoveVoter<'_>) -> RequestId {
        let request = self.new_request();
        let log = LogVoters::from(&self.log);
        self.changes.remove_voter(request, remove, &self.leader, log, self.now);
        self.run();
        request
    }

    pub(crate) fn remove_key(&mut self, replica: ReplicaKey) -> RequestId {
        self.remove(&RemoveVoter { cluster_id: Some(CLUSTER), voter: replica })
    }

    pub(crate) fn update(&mut self, update: &UpdateVoter<'_>) -> RequestId {
        let request = self.new_request();
        let log = LogVoters::from(&self.log);
        self.changes.update_voter(request, update, &self.leader, log, self.now);
        self.run();
        request
    }

    /// The one probe that is open comes back so.
    pub(crate) fn probed(&mut self, outcome: ProbeOutcome) -> Connection {
        let probe = self.probes.pop().expect("a probe is open");
        self.probed_late(probe.id, outcome)
    }

    pub(crate) fn probed_late(&mut self, id: ProbeId, outcome: ProbeOutcome) -> Connection {
        let log = LogVoters::from(&self.log);
        let connection = self.changes.probed(id, outcome, &mut self.leader, log, self.now);
        self.run();
        connection
    }

    /// Time goes by.
    pub(crate) fn advance(&mut self, ms: i64) {
        self.now = self.now.saturating_add(ms);
        self.changes.handle_timeout(&self.leader, self.now);
        self.run();
    }

    /// The leader steps down.
    pub(crate) fn step_down(&mut self) {
        self.changes.close(&self.leader);
        self.queued.clear();
        self.carry_out();
    }

    /// Carries out what is to be done, the append too.
    fn run(&mut self) {
        self.carry_out();
        if !self.holds_back {
            self.append();
        }
    }

    /// Carries out what is to be done; what is to be appended is only queued.
    pub(crate) fn carry_out(&mut self) {
        while let Some(effect) = self.changes.poll_effect() {
            match effect {
                ChangeEffect::Probe { id, voter_id, endpoint } => {
                    self.probes.push(Probe { id, voter_id, endpoint });
                }
                ChangeEffect::Append { id, records } => {
                    self.queue(records);
                    self.changes.appended(id, self.next_offset - 1, &self.leader);
                }
                ChangeEffect::Answer { request, result, leader } => {
                    let before = self.answers.insert(request.0, Answer { result, leader });
                    assert_eq!(before, None, "{request:?} was answered before");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn queue(&mut self, records: Vec<ControlRecord>) {
        let queued = Queued { base_offset: self.next_offset, records };
        self.next_offset += i64::try_from(queued.records.len()).unwrap();
        self.queued.push(queued);
    }

    /// Appends what is queued, and flushes it.
    pub(crate) fn append(&mut self) {
        for queued in std::mem::take(&mut self.queued) {
            self.log.on_control_batch(queued.base_offset, &queued.records).unwrap();
        }
        self.appended();
    }

    /// Appends a record of data, and flushes it.
    pub(crate) fn append_data(&mut self) {
        assert!(self.queued.is_empty());
        self.log.on_data(self.end, self.end).unwrap();
        self.next_offset += 1;
        self.appended();
    }

    fn appended(&mut self) {
        self.end = self.log.next_offset();
        let appended = self.leader.appended(self.end, self.log.voters()).unwrap();
        let flushed = self.leader.flushed(self.end).unwrap();
        if appended.or(flushed).is_some() {
            self.on_high_watermark();
        }
    }

    fn on_high_watermark(&mut self) {
        let log = LogVoters::from(&self.log);
        self.changes.high_watermark_moved(&mut self.leader, log);
        self.carry_out();
    }

    /// The code with which a request was answered; `None`: it waits.
    pub(crate) fn code(&self, request: RequestId) -> Option<ErrorCode> {
        let answer = self.answers.get(&request.0)?;
        Some(answer.result.as_ref().err().map_or(ErrorCode::None, ChangeError::code))
    }

    pub(crate) fn answer(&self, request: RequestId) -> &Answer {
        &self.answers[&request.0]
    }

    /// The ids of the last voters in the log.
    pub(crate) fn voter_ids(&self) -> Vec<i32> {
        self.log.voters().ids().collect()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.changes.pending() == PendingChange::Yes
    }

    fn new_request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }
}

/// What a log says that holds the level 1 at offset 0 and voters at these offsets, the last one at its
/// end; offset -1 is the bootstrap checkpoint.
pub(crate) fn log(sets: &[(i64, VoterSet)]) -> ControlLog {
    let mut log = ControlLog::new(VoterSet::empty());
    let level = ControlRecord::KRaftVersion(KRaftVersion::V1);
    if let [(-1, set)] = sets {
        log.load_snapshot(0, [level, ControlRecord::Voters(set.clone())]).unwrap();
        return log;
    }
    log.next_read(None, 0, 0);
    log.on_control_batch(0, &[level]).unwrap();
    for (offset, set) in sets {
        log.on_data(log.next_offset(), offset - 1).unwrap();
        log.on_control_batch(*offset, &[ControlRecord::Voters(set.clone())]).unwrap();
    }
    log
}

/// A request to add a replica at its usual endpoint, answered when it is committed.
pub(crate) fn add_voter(replica: ReplicaKey) -> AddVoter<'static> {
    AddVoter {
        cluster_id: Some(CLUSTER),
        voter: replica,
        endpoints: endpoints(replica.id),
        acknowledge: Acknowledge::Committed,
    }
}

/// A request of a replica at its usual endpoint that supports both levels.
pub(crate) fn update_voter(replica: ReplicaKey) -> UpdateVoter<'static> {
    UpdateVoter {
        cluster_id: Some(CLUSTER),
        leader_epoch: EPOCH,
        voter: replica,
        endpoints: endpoints(replica.id),
        min_version: 0,
        max_version: 1,
        listener: listener(),
    }
}

/// A voter that answers a probe with both levels.
pub(crate) const SUPPORTED: ProbeOutcome = ProbeOutcome::Supports(Some(SupportedVersions::ALL));
