//! Anything to one replica, made of any bytes: peers that answer what they like, a host that is slow, a clock that goes
//! back, crashes. What a replica promises then is what can be checked on it alone: nothing panics, what is said is
//! durable, nothing that was decided is taken back, the log is what its books say, every request is answered once, and
//! when nothing is to be done there is a time at which to look again.

use bytes::Bytes;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, Answer, BatchContent, BeginQuorumEpochRequest, ControlLog,
    ControlRecord, Correlation, DescribeVersion, DirectoryId, Effect, ElectionState,
    EndQuorumEpochRequest, Endpoint, Endpoints, EpochState, EpochStateKind, Fatal,
    FetchRecordsRequest, FetchSnapshotRequest, FetchedRecords, FetchedSnapshot, KRaftVersion,
    KnownHighWatermark, LeaderChange, ListenerName, LogBatch, LogIndex, Node, OffsetAndEpoch,
    PartitionAnswer, QuorumConfig, RemoveVoter, Replica, ReplicaConfig, ReplicaKey, Reply, Request,
    RequestHeader, RequestId, Response, Storage, SupportedVersions, TransitionError, UpdateVoter,
    UpgradeMode, VoteRequest, VoterNode, VoterSet,
};
use kafka_coordination::{ErrorCode, Monotonic, Random, Timestamp};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;

const LISTENER: &str = "CONTROLLER";

/// Calls in one moment that are enough for everything that is due.
const CALLS: usize = 20;

/// Numbers from the input; 0 when it is used up.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Below `bound`, which is small.
    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    fn is_rare(&mut self) -> bool {
        self.byte() > 240
    }

    fn is_odd(&mut self) -> bool {
        self.byte() > 215
    }

    /// Near `base` in most cases, or any.
    fn near(&mut self, base: i64) -> i64 {
        match self.byte() {
            255 => i64::from_be_bytes(std::array::from_fn(|_| self.byte())),
            254 => i64::MAX - i64::from(self.byte() % 4),
            253 => i64::from(i32::MAX) - i64::from(self.byte() % 4),
            252 => -i64::from(self.byte()),
            small if small < 160 => base,
            small => base.saturating_add(i64::from(small % 8) - 4),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "any number will do")]
    fn short(&mut self, base: i32) -> i32 {
        self.near(base.into()) as i32
    }

    fn id(&mut self) -> i32 {
        if self.is_rare() { self.short(-1) } else { 1 + i32::from(self.byte() % 4) }
    }

    fn directory(&mut self, id: i32) -> Option<DirectoryId> {
        let other = u128::from(self.is_rare()) << 64;
        let known = DirectoryId::from_u128(other + 0xd0 + u128::from(id.unsigned_abs()));
        known.filter(|_| !self.is_rare())
    }

    fn key(&mut self) -> ReplicaKey {
        let id = self.id();
        ReplicaKey { id, directory_id: self.directory(id) }
    }

    fn endpoints(&mut self, id: i32) -> Endpoints {
        if self.is_rare() {
            return Endpoints::empty();
        }
        let other = Endpoint::new("OTHER", "h", 9);
        let named = Endpoint::new(LISTENER, format!("h{id}"), 9_000);
        match self.byte() {
            0..200 => Endpoints::new([named]),
            200..230 => Endpoints::new([named, other]),
            _ => Endpoints::new([other]),
        }
    }

    fn voter(&mut self, id: i32) -> VoterNode {
        let key = ReplicaKey { id, directory_id: self.directory(id) };
        let endpoints = self.endpoints(id);
        VoterNode { key, endpoints, supported_versions: SupportedVersions::ALL }
    }

    fn voters(&mut self) -> VoterSet {
        let bits = if self.flag() { 0b111 } else { self.byte() };
        let ids = (1..=4).filter(|id| bits & (1 << (id - 1)) != 0);
        VoterSet::new(ids.map(|id| self.voter(id)).collect::<Vec<_>>())
    }

    fn control(&mut self) -> Vec<ControlRecord> {
        let count = self.below(4);
        let records = (0..count).map(|_| match self.below(4) {
            0 => ControlRecord::KRaftVersion(KRaftVersion::V1),
            1 => ControlRecord::Voters(self.voters()),
            2 => ControlRecord::SnapshotFooter,
            _ => ControlRecord::LeaderChange(LeaderChange {
                leader_id: 2,
                voters: vec![1, 2, 3],
                granting_voters: vec![2],
            }),
        });
        records.collect()
    }

    fn error(&mut self) -> ErrorCode {
        const CODES: [i16; 14] = [-1, 3, 6, 7, 8, 13, 35, 42, 74, 75, 98, 104, 125, 31];
        match self.byte() {
            0..180 => ErrorCode::None,
            other => ErrorCode::from_code(CODES[usize::from(other) % CODES.len()]).expect("known"),
        }
    }
}

impl Random for Input<'_> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        u32::from(self.byte()) % bound
    }
}

/// What a replica waits for.
#[derive(Debug)]
enum Outcome {
    Flushed(i64),
    Truncated(i64),
    Installed(OffsetAndEpoch),
    Applied(i64),
}

#[derive(Default)]
struct Disk {
    election: Option<ElectionState>,
    log: Vec<LogBatch>,
    /// Up to where it is durable.
    flushed: i64,
    snapshots: BTreeMap<OffsetAndEpoch, Vec<ControlRecord>>,
    start_offset: i64,
}

impl Disk {
    fn end_offset(&self) -> i64 {
        self.log.last().map_or(self.start_offset, |batch| batch.last_offset + 1)
    }

    fn truncate(&mut self, end_offset: i64) {
        self.log.retain(|batch| batch.last_offset < end_offset);
        self.flushed = self.flushed.min(self.end_offset());
    }

    fn delete_before(&mut self, snapshot: OffsetAndEpoch) {
        self.log.retain(|batch| batch.last_offset >= snapshot.offset);
        self.start_offset = snapshot.offset;
        self.snapshots.retain(|id, _| *id >= snapshot);
    }

    fn control_log(&self) -> ControlLog {
        let mut control = ControlLog::new(VoterSet::empty());
        let (id, records) = self.snapshots.last_key_value().expect("there is one");
        control.load_snapshot(id.offset, records.iter().cloned()).expect("it was read before");
        for batch in self.log.iter().filter(|batch| batch.base_offset >= id.offset) {
            let read = match control_of(batch) {
                Some(records) => control.on_control_batch(batch.base_offset, records),
                None => control.on_data(batch.base_offset, batch.last_offset),
            };
            read.expect("it was read before");
        }
        control
    }

    fn end(&self) -> OffsetAndEpoch {
        let epoch = self.log.last().map_or(0, |batch| batch.epoch);
        OffsetAndEpoch::new(self.end_offset(), epoch)
    }

    /// A log that ends before the latest snapshot starts at its end.
    fn open(&mut self) -> Storage {
        let latest = self.snapshots.last_key_value().map(|(id, _)| *id);
        if let Some(latest) = latest.filter(|latest| *latest > self.end()) {
            self.delete_before(latest);
            self.flushed = self.end_offset();
        }
        let mut log = LogIndex::new();
        if self.start_offset > 0 {
            let first = self.snapshots.keys().find(|id| id.offset == self.start_offset);
            log = LogIndex::after_snapshot(*first.expect("the log's start has a snapshot"));
        }
        self.snapshots.keys().for_each(|id| log.add_snapshot(*id));
        self.log.iter().for_each(|batch| log.append(batch.last_offset, batch.epoch));
        Storage { election: self.election.clone(), log, control: self.control_log() }
    }
}

fn control_of(batch: &LogBatch) -> Option<&[ControlRecord]> {
    match &batch.content {
        BatchContent::Control(records) | BatchContent::Encoded { control: Some(records), .. } => {
            Some(records)
        }
        _ => None,
    }
}

/// What does not go back.
struct Shown {
    epoch: i32,
    leader_id: Option<i32>,
    voted: Option<ReplicaKey>,
    high_watermark: i64,
    generation: u64,
}

/// A request of the replica, with when it was sent and the role in which.
type Sent = (Correlation, Request, Monotonic, u64);

struct Host<'a> {
    input: Input<'a>,
    config: ReplicaConfig,
    replica: Replica,
    now: Monotonic,
    disk: Disk,
    outcomes: VecDeque<Outcome>,
    sent: Vec<Sent>,
    /// Those that it does not wait for any more.
    late: Vec<Sent>,
    waiting: BTreeSet<RequestId>,
    next_request: u64,
    shown: Shown,
    applied: Option<i64>,
    told: i64,
    announced: i32,
    is_over: bool,
}

/// Lets a replica see what the bytes say, and then nothing more than time.
pub(crate) fn follow(bytes: &[u8]) {
    let mut host = Host::new(Input(bytes));
    host.carry_out();
    while !host.input.0.is_empty() && !host.is_over {
        host.step();
        host.carry_out();
        host.check();
    }
    host.settle();
}

fn show(replica: &Replica) -> Shown {
    let state = replica.quorum().state();
    Shown {
        epoch: state.epoch(),
        leader_id: state.leader_id(),
        voted: state.voted_key(),
        high_watermark: replica.log().high_watermark(),
        generation: replica.quorum().generation(),
    }
}

impl<'a> Host<'a> {
    fn new(mut input: Input<'a>) -> Self {
        let key = ReplicaKey::new(1, DirectoryId::from_u128(0xd1).expect("not zero"));
        let quorum = QuorumConfig {
            local_id: (!input.is_rare()).then_some(1),
            local_directory_id: key.directory_id.expect("it has one"),
            local_endpoints: Endpoints::new([Endpoint::new(LISTENER, "h1", 9_000)]),
            supported_versions: SupportedVersions::ALL,
            election_timeout_ms: [1_000, 1, 0, 50][input.below(4)],
            fetch_timeout_ms: [2_000, 1, 0, 100][input.below(4)],
        };
        let mut config = ReplicaConfig::new(quorum, "cluster", ListenerName::new(LISTENER));
        config.bootstrap =
            (1..4).map(|id| Node { id: -1 - id, host: "b".into(), port: 9 }).collect();
        config.append_linger_ms = [0, 10][input.below(2)];
        config.auto_join = input.flag();
        config.can_become_voter = !input.is_rare();
        config.max_batches = [2, 0, 10][input.below(3)];
        config.max_batch_bytes = [200, 8 << 20][input.below(2)];
        config.retry_backoff_ms = [20, 0][input.below(2)];
        let mut records = vec![ControlRecord::KRaftVersion(KRaftVersion::V1)];
        records.push(ControlRecord::Voters(input.voters()));
        let mut disk = Disk::default();
        disk.snapshots.insert(OffsetAndEpoch::BOOTSTRAP, records);
        let now = Monotonic::from_millis(1_000);
        let replica =
            Replica::start(config.clone(), disk.open(), &mut input, now).expect("it starts");
        Self {
            shown: show(&replica),
            input,
            config,
            replica,
            now,
            disk,
            outcomes: VecDeque::new(),
            sent: Vec::new(),
            late: Vec::new(),
            waiting: BTreeSet::new(),
            next_request: 0,
            applied: None,
            told: 0,
            announced: 0,
            is_over: false,
        }
    }

    fn epoch(&mut self) -> i32 {
        let epoch = self.replica.quorum().epoch();
        self.input.short(epoch)
    }

    fn log_end(&mut self) -> OffsetAndEpoch {
        let end = self.replica.log().end();
        OffsetAndEpoch::new(self.input.near(end.offset), self.input.short(end.epoch))
    }

    fn request(&mut self) -> RequestId {
        self.next_request += 1;
        self.waiting.insert(RequestId(self.next_request));
        RequestId(self.next_request)
    }

    fn step(&mut self) {
        match self.input.below(32) {
            0..6 => self.ask(),
            6..14 => self.respond(),
            14..18 => self.report(),
            18..20 => self.append(),
            20 => self.change(),
            21 => self.administer(),
            22 => self.snapshot(),
            23 if self.input.is_rare() => self.crash(),
            24 if self.input.is_rare() => {
                self.now = Monotonic::from_millis(self.input.near(self.now.as_millis()));
                self.replica.handle_timeout(&mut self.input, self.now);
            }
            _ => self.wait(),
        }
    }

    fn wait(&mut self) {
        let ms = match self.input.byte() {
            0..100 => 0,
            100..200 => self.replica.next_deadline().map_or(0, |at| at.millis_since(self.now)),
            other => i64::from(other) * i64::from(other),
        };
        self.now = self.now.saturating_add(ms.min(1 << 40));
        self.tick();
    }

    /// Does what is due, until there is nothing.
    fn tick(&mut self) {
        for call in 0.. {
            self.replica.handle_timeout(&mut self.input, self.now);
            self.carry_out();
            let next = self.replica.next_deadline();
            if next.is_none_or(|next| next > self.now) || self.now.as_millis() == i64::MAX {
                break;
            }
            assert!(call < CALLS, "it turns round and round: {:?}", self.replica.quorum().state());
        }
        // L20.
        let state = self.replica.quorum().state();
        let may_rest = self.replica.fatal().is_some()
            || self.is_over
            || self.replica.quorum().is_only_voter(self.replica.latest_voters())
            || self.outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Applied(_)));
        assert!(
            may_rest || self.replica.next_deadline().is_some(),
            "it sleeps for ever: {state:?}"
        );
    }

    fn ask(&mut self) {
        let id = self.request();
        let header = RequestHeader {
            cluster_id: if self.input.is_rare() { Some("other") } else { Some("cluster") },
            is_metadata_partition: !self.input.is_rare(),
            version: i16::from(self.input.byte() % 20),
            listener: ListenerName::new(if self.input.is_rare() { "X" } else { LISTENER }),
        };
        let (sender, meant, epoch) = (self.input.key(), self.input.key(), self.epoch());
        let voter = self.input.is_rare().then_some(meant);
        let leader_endpoints = self.input.endpoints(sender.id);
        match self.input.below(6) {
            0 | 1 => {
                let (log_end, is_pre_vote) = (self.log_end(), self.input.flag());
                let request = VoteRequest { voter, candidate: sender, epoch, log_end, is_pre_vote };
                self.replica.handle_vote(id, &header, &request, &mut self.input, self.now);
            }
            2 => {
                let leader_id = sender.id;
                let request = BeginQuorumEpochRequest { voter, leader_id, epoch, leader_endpoints };
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_begin_quorum_epoch(id, &header, &request, random, now);
            }
            3 => {
                let preferred_candidates =
                    (0..self.input.byte()).map(|_| self.input.key()).collect();
                let leader_id = sender.id;
                let request = EndQuorumEpochRequest {
                    leader_id,
                    epoch,
                    preferred_candidates,
                    leader_endpoints,
                };
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_end_quorum_epoch(id, &header, &request, random, now);
            }
            4 => {
                let log_end = self.log_end();
                let request = FetchRecordsRequest {
                    replica: sender,
                    leader_epoch: epoch,
                    log_end,
                    max_wait_ms: self.input.short(500),
                    max_bytes: self.input.short(1),
                    high_watermark: match self.input.below(3) {
                        0 => KnownHighWatermark::Unsupported,
                        1 => KnownHighWatermark::Unknown,
                        _ => KnownHighWatermark::At(self.input.near(self.shown.high_watermark)),
                    },
                };
                let holds = |batch: &&LogBatch| {
                    (batch.base_offset..=batch.last_offset).contains(&log_end.offset)
                };
                let batch = self.disk.log.iter().find(holds);
                let base = batch.map_or(log_end.offset, |batch| batch.base_offset);
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_fetch(id, &header, &request, base, random, now);
            }
            _ => {
                let known = self.replica.log().latest_snapshot();
                let request = FetchSnapshotRequest {
                    replica: sender,
                    leader_epoch: epoch,
                    snapshot: known.unwrap_or(OffsetAndEpoch::BOOTSTRAP),
                    position: self.input.near(0),
                    max_bytes: self.input.short(10),
                };
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_fetch_snapshot(id, &header, &request, Some(9), random, now);
            }
        }
    }

    fn answer<T>(&mut self, body: T) -> Answer<T> {
        let (epoch, error) = (self.epoch(), self.input.error());
        let known = self.replica.quorum().state().leader_id();
        let leader_id = match self.input.byte() {
            0..150 => known,
            150..200 => None,
            _ => Some(self.input.id()),
        };
        let node = |id| Node { id, host: "n".into(), port: 1 };
        let nodes = leader_id.filter(|_| self.input.flag()).map(node).into_iter().collect();
        let partition =
            (!self.input.is_rare()).then_some(PartitionAnswer { error, leader_id, epoch, body });
        let error = if self.input.is_rare() { self.input.error() } else { ErrorCode::None };
        Answer { error, partition, nodes }
    }

    fn respond(&mut self) {
        // Some are answered twice, or late.
        let is_late = self.input.is_rare();
        let (sent, late) = (&mut self.sent, &mut self.late);
        let from = if is_late { &mut *late } else { sent };
        if from.is_empty() {
            return;
        }
        let (correlation, request, ..) = from.remove(self.input.below(from.len()));
        late.push((correlation, request.clone(), self.now, 0));
        late.truncate(8);
        let response = match request {
            _ if self.input.is_rare() => Response::Failed(match self.input.below(3) {
                0 => ErrorCode::UnsupportedVersion,
                1 => ErrorCode::BrokerNotAvailable,
                _ => ErrorCode::NetworkException,
            }),
            Request::Vote(_) => {
                let granted = self.input.byte() > 50;
                Response::Vote(self.answer(granted))
            }
            Request::BeginQuorumEpoch(_) => Response::BeginQuorumEpoch(self.answer(())),
            Request::EndQuorumEpoch(_) => Response::EndQuorumEpoch(self.answer(())),
            Request::Fetch(_) => {
                let fetched = self.fetched();
                Response::Fetch(self.answer(fetched))
            }
            Request::FetchSnapshot(fetch) => {
                let bytes = Bytes::from(vec![0; self.input.below(4)]);
                let rest = i64::from(self.input.byte() % 2) * self.input.near(3);
                let length = i64::try_from(bytes.len()).expect("few");
                let body = FetchedSnapshot {
                    snapshot: if self.input.is_rare() { self.log_end() } else { fetch.snapshot },
                    size: (fetch.position + length).saturating_add(rest),
                    position: if self.input.is_rare() { 7 } else { fetch.position },
                    bytes,
                };
                Response::FetchSnapshot(self.answer(body))
            }
            Request::UpdateVoter(_) => {
                let answer = self.answer(());
                let Some(partition) = answer.partition else { return };
                let PartitionAnswer { error, leader_id, epoch, .. } = partition;
                let leader_endpoints = self.input.endpoints(leader_id.unwrap_or(2));
                Response::UpdateVoter { error, leader_id, epoch, leader_endpoints }
            }
            Request::AddVoter(_) => Response::AddVoter(self.input.error()),
            Request::RemoveVoter(_) => Response::RemoveVoter(self.input.error()),
            _ => Response::ApiVersions {
                error: self.input.error(),
                supported_versions: self.input.flag().then_some(SupportedVersions::ALL),
            },
        };
        self.replica.handle_response(correlation, response, &mut self.input, self.now);
    }

    fn fetched(&mut self) -> FetchedRecords<Vec<LogBatch>> {
        let mut base_offset = self.replica.log().end_offset();
        let epoch = self.replica.quorum().epoch();
        let records = (0..self.input.below(4)).map(|_| {
            let control = self.input.flag().then(|| self.input.control());
            let count = control.as_ref().map_or(1 + i64::from(self.input.byte() % 4), |control| {
                i64::try_from(control.len()).expect("few")
            });
            let base =
                if self.input.is_rare() { self.input.near(base_offset) } else { base_offset };
            let last_offset = base.saturating_add(count - 1);
            let is_wrong = self.input.is_rare();
            let last_offset = if is_wrong { self.input.near(last_offset) } else { last_offset };
            base_offset = last_offset.saturating_add(1);
            let bytes = Bytes::new();
            let content = BatchContent::Encoded { bytes, control };
            LogBatch { base_offset: base, last_offset, epoch: self.input.short(epoch), content }
        });
        let records = records.collect();
        FetchedRecords {
            high_watermark: self.input.flag().then(|| {
                let known = self.replica.log().high_watermark();
                let end = self.replica.log().end_offset();
                if self.input.flag() { self.input.near(known) } else { self.input.near(end) }
            }),
            log_start_offset: self.input.near(0),
            diverging: self.input.is_odd().then(|| self.log_end()),
            snapshot: self.input.is_odd().then(|| {
                let ahead = self.log_end();
                OffsetAndEpoch::new(ahead.offset.saturating_add(9), ahead.epoch)
            }),
            records,
        }
    }

    /// The oldest thing that the replica waits for has come about.
    fn report(&mut self) {
        let (random, now) = (&mut self.input, self.now);
        match self.outcomes.pop_front() {
            None => {}
            Some(Outcome::Flushed(end)) => {
                self.disk.flushed = self.disk.flushed.max(end.min(self.disk.end_offset()));
                self.replica.flushed(end, random, now);
            }
            Some(Outcome::Truncated(end)) => {
                self.disk.truncate(end);
                self.replica.truncated(self.disk.end_offset(), random, now);
            }
            Some(Outcome::Installed(snapshot)) => {
                let records = random.control();
                let mut read = ControlLog::new(VoterSet::empty());
                let is_sound = read.load_snapshot(snapshot.offset, records.clone()).is_ok();
                let records = if is_sound { records } else { Vec::new() };
                self.disk.log.clear();
                self.disk.snapshots.clear();
                self.disk.snapshots.insert(snapshot, records.clone());
                (self.disk.start_offset, self.disk.flushed) = (snapshot.offset, snapshot.offset);
                self.replica.snapshot_installed(snapshot, records, random, now);
            }
            Some(Outcome::Applied(next)) => self.replica.applied(next, random, now),
        }
    }

    fn append(&mut self) {
        let epoch = self.epoch();
        let records = (0..self.input.below(4)).map(|_| Bytes::from(vec![1; self.input.below(90)]));
        let _refused = self.replica.prepare_append(epoch, records.collect(), self.now);
        if self.input.flag() {
            let _refused = self.replica.schedule_append(self.now);
        }
    }

    fn change(&mut self) {
        let (id, voter) = (self.request(), self.input.key());
        let cluster_id = (!self.input.is_rare()).then_some("cluster");
        let endpoints = self.input.endpoints(voter.id);
        let (leader_epoch, listener) = (self.epoch(), ListenerName::new(LISTENER));
        let acknowledge =
            if self.input.flag() { Acknowledge::Appended } else { Acknowledge::Committed };
        let (which, min_version) = (self.input.below(3), i16::from(self.input.is_rare()));
        let (random, now) = (&mut self.input, self.now);
        match which {
            0 => {
                let request = AddVoter { cluster_id, voter, endpoints, acknowledge };
                self.replica.handle_add_voter(id, &request, random, now);
            }
            1 => {
                let request = RemoveVoter { cluster_id, voter };
                self.replica.handle_remove_voter(id, &request, random, now);
            }
            _ => {
                let max_version = 1;
                let request = UpdateVoter {
                    cluster_id,
                    leader_epoch,
                    voter,
                    endpoints,
                    min_version,
                    max_version,
                    listener,
                };
                self.replica.handle_update_voter(id, &request, random, now);
            }
        }
    }

    fn administer(&mut self) {
        let epoch = self.epoch();
        match self.input.below(4) {
            0 => drop(self.replica.resign(epoch, self.now)),
            1 if self.input.is_rare() => self.replica.shut_down(900, self.now),
            2 => {
                let timestamp = Timestamp::from_millis(self.input.near(0));
                self.replica.describe_quorum(DescribeVersion::V2, self.now, timestamp);
            }
            _ => {
                let (level, mode) = (KRaftVersion::V1, UpgradeMode::Apply);
                let _refused = self.replica.upgrade_kraft_version(epoch, level, mode, self.now);
            }
        }
    }

    /// The state machine makes a snapshot at the end of a batch, and what is before one may go.
    fn snapshot(&mut self) {
        if self.outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Applied(_))) {
            return;
        }
        if self.input.flag() && !self.disk.log.is_empty() {
            let batch = &self.disk.log[self.input.below(self.disk.log.len())];
            let snapshot = OffsetAndEpoch::new(batch.last_offset + 1, batch.epoch);
            if self.replica.may_make_snapshot(snapshot) {
                let time = Timestamp::from_millis(0);
                let header = self.replica.control_log().snapshot_header(snapshot.offset, time);
                let header = header.expect("it is read");
                let mut records = vec![ControlRecord::KRaftVersion(header.kraft_version)];
                records.extend(header.voters.map(ControlRecord::Voters));
                self.disk.snapshots.insert(snapshot, records);
                assert!(self.replica.snapshot_made(snapshot));
            }
        } else if let Some(snapshot) = self.replica.log().latest_snapshot()
            && self.replica.delete_before(snapshot)
        {
            self.disk.delete_before(snapshot);
        }
    }

    fn crash(&mut self) {
        self.disk.truncate(self.disk.flushed);
        let storage = self.disk.open();
        self.now = self.now.saturating_add(self.input.byte().into());
        let started = Replica::start(self.config.clone(), storage, &mut self.input, self.now);
        self.replica = started.expect("it starts on its own disk");
        self.outcomes.clear();
        self.sent.clear();
        self.late.clear();
        self.waiting.clear();
        (self.applied, self.told, self.announced) = (None, 0, 0);
        let before = std::mem::replace(&mut self.shown, show(&self.replica));
        assert!(self.shown.epoch >= before.epoch, "L1");
        if self.shown.epoch == before.epoch && self.shown.leader_id.is_none() {
            assert!(before.voted.is_none() || self.shown.voted == before.voted, "L9");
        }
    }
}

/// What a host does for a replica, and what it finds out about it then.
impl Host<'_> {
    fn carry_out(&mut self) {
        let most = 100 + 4 * self.waiting.len() + self.disk.log.len();
        for count in 0.. {
            let Some(effect) = self.replica.poll_effect() else { return };
            assert!(count < most, "too many effects at once");
            self.act(effect);
        }
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Persist(persist) => {
                let before = self.disk.election.as_ref().map_or(0, ElectionState::epoch);
                assert!(persist.election.epoch() >= before, "L1");
                self.disk.election = Some(persist.election);
            }
            Effect::Send { correlation, to, request } => self.send(correlation, &to, request),
            Effect::Reply { request, reply } => {
                assert!(self.waiting.remove(&request), "{request:?} is answered twice: L16");
                self.check_reply(&reply);
            }
            Effect::Append(batch) => {
                assert_eq!(batch.base_offset, self.disk.end_offset(), "L18");
                let newest = self.disk.log.last().map_or(0, |batch| batch.epoch);
                assert!(batch.epoch >= newest && batch.epoch <= self.durable_epoch(), "L11");
                self.disk.log.push(batch);
            }
            Effect::Flush { end_offset } => self.outcomes.push_back(Outcome::Flushed(end_offset)),
            Effect::Truncate { end_offset } => {
                assert!(end_offset >= self.shown.high_watermark, "L10");
                self.outcomes.push_back(Outcome::Truncated(end_offset));
            }
            Effect::HighWatermark(offset) => {
                assert!(offset >= self.told, "L10: {offset} after {}", self.told);
                self.told = offset;
            }
            Effect::InstallSnapshot(id) => self.outcomes.push_back(Outcome::Installed(id)),
            Effect::Deliver { from, to } => {
                assert!(self.applied.is_none_or(|next| from == next) && from < to, "L17");
                assert!(to <= self.replica.log().high_watermark(), "L17");
                self.applied = Some(to);
                self.outcomes.push_back(Outcome::Applied(to));
            }
            Effect::LoadSnapshot(id) => {
                assert!(self.applied.is_none_or(|next| next < id.offset), "L17");
                self.applied = Some(id.offset);
                self.outcomes.push_back(Outcome::Applied(id.offset));
            }
            Effect::LeaderChanged { epoch, .. } => {
                assert!(epoch >= self.announced, "L17");
                self.announced = epoch;
            }
            Effect::ShutdownCompleted { .. } => self.is_over = true,
            _ => {}
        }
    }

    fn durable_epoch(&self) -> i32 {
        self.disk.election.as_ref().map_or(0, ElectionState::epoch)
    }

    fn send(&mut self, correlation: Correlation, to: &Node, request: Request) {
        let epoch = match &request {
            Request::Vote(vote) => {
                let voted = self.disk.election.as_ref().and_then(ElectionState::voted_key);
                assert!(vote.is_pre_vote || voted == Some(vote.candidate), "L4: {vote:?}");
                vote.epoch
            }
            Request::Fetch(fetch) => fetch.leader_epoch,
            Request::FetchSnapshot(fetch) => fetch.leader_epoch,
            Request::BeginQuorumEpoch(begin) => begin.epoch,
            Request::EndQuorumEpoch(end) => end.epoch,
            _ => self.durable_epoch(),
        };
        assert!(epoch <= self.durable_epoch(), "L4: {request:?}");
        let role = self.replica.quorum().generation();
        let timeout_ms = i64::from(self.config.request_timeout_ms);
        let now = self.now;
        let is_awaited = |(_, _, at, then): &Sent| {
            *then == role && now.millis_since(*at) < timeout_ms && now >= *at
        };
        let (awaited, over) = std::mem::take(&mut self.sent).into_iter().partition(is_awaited);
        let over: Vec<_> = over;
        self.sent = awaited;
        self.late.extend(over);
        let is_fetch = |it: &Request| matches!(it, Request::Fetch(_) | Request::FetchSnapshot(_));
        let fetches = self.sent.iter().filter(|(_, sent, ..)| is_fetch(sent)).count();
        let is_first = fetches == 0 || !is_fetch(&request);
        assert!(is_first, "a second fetch, to {to:?}: L13, {:?}", self.sent);
        self.sent.push((correlation, request, now, role));
    }

    /// What an answer says is durable.
    fn check_reply(&self, reply: &Reply) {
        fn said<T>(answer: &Answer<T>) -> Option<(i32, Option<i32>)> {
            answer.partition.as_ref().map(|partition| (partition.epoch, partition.leader_id))
        }
        let said = match reply {
            Reply::Vote(answer) => said(answer),
            Reply::BeginQuorumEpoch(answer) | Reply::EndQuorumEpoch(answer) => said(answer),
            Reply::Fetch(answer) => said(answer),
            Reply::FetchSnapshot(answer) => said(answer),
            _ => None,
        };
        let disk = self.disk.election.as_ref();
        let durable = disk.map(|disk| (disk.epoch(), disk.leader_id()));
        assert!(said.is_none() || said == durable, "L4: {reply:?}, and {disk:?} is durable");
    }

    fn check(&mut self) {
        let (replica, before) = (&self.replica, &self.shown);
        let (state, log) = (replica.quorum().state(), replica.log());
        let now = show(replica);
        assert!(now.epoch >= before.epoch, "L1");
        let leads = matches!(state.kind(), EpochStateKind::Leader | EpochStateKind::Resigned);
        if now.epoch == before.epoch && now.generation != before.generation {
            assert!(before.leader_id.is_none() || now.leader_id == before.leader_id, "L2");
            assert!(before.voted.is_none() || now.voted == before.voted || leads, "L2");
        }
        let durable = self.disk.election.as_ref().expect("a start writes it");
        let state_now = state.election();
        let says = |it: &ElectionState| (it.epoch(), it.leader_id(), it.voted_key());
        let is_same = says(durable) == says(&state_now);
        // Of a resigned leader that starts again the file may have a vote.
        assert!(is_same || matches!(state, EpochState::Resigned(_)), "L3: {state_now:?}");
        match state {
            EpochState::Follower(follower) => {
                assert!(!follower.leader_endpoints().is_empty(), "L6");
                assert_ne!(Some(follower.leader_id()), self.config.quorum.local_id, "L6");
            }
            EpochState::Leader(leader) => {
                let start = leader.epoch_start_offset();
                assert!(leader.high_watermark().is_none_or(|offset| offset > start), "L7");
                let is_begun = log.last_fetched_epoch() == now.epoch;
                assert!(is_begun, "a leader whose epoch is not begun: {log:?}");
            }
            EpochState::Unattached(_) | EpochState::Candidate(_) => {
                assert!(state.leader_endpoints().is_none_or(Endpoints::is_empty), "L6");
            }
            _ => {}
        }
        assert!(now.high_watermark >= before.high_watermark, "L10");
        assert!(log.start_offset() <= log.high_watermark().max(log.start_offset()), "L10");
        assert!(log.high_watermark() <= log.end_offset(), "L10");
        let is_replaced = self
            .outcomes
            .iter()
            .any(|it| matches!(it, Outcome::Truncated(_) | Outcome::Installed(_)));
        if !is_replaced && replica.fatal().is_none() {
            let disk = self.disk.end_offset();
            assert_eq!(log.end_offset(), disk, "{log:?} {:?}", self.disk.snapshots.keys());
        }
        // Before anything is read the next offset is one before the log's.
        assert_eq!(replica.control_log().next_offset().max(0), log.end_offset(), "L12");
        let latest = self.disk.control_log();
        let (voters, known) = (latest.voters(), replica.control_log().voters());
        assert!(
            voters == known || is_replaced || replica.fatal().is_some(),
            "L12: {known:?}, not {voters:?} of {:?} {:?} {log:?}",
            self.disk.log,
            self.disk.snapshots
        );
        match replica.fatal() {
            None
            | Some(Fatal::Diverged { .. } | Fatal::Unauthorised)
            | Some(Fatal::Transition(TransitionError::LastEpoch)) => {}
            Some(other) => panic!("{other:?}"),
        }
        self.is_over |= replica.fatal().is_some();
        self.shown = now;
    }

    /// Every request that waits is answered in time.
    fn settle(&mut self) {
        for _ in 0..4 {
            while !self.outcomes.is_empty() && !self.is_over {
                self.report();
                self.carry_out();
                self.check();
            }
            if self.is_over || self.now.as_millis() > i64::MAX / 2 {
                break;
            }
            self.now = self.now.saturating_add(1 << 32);
            self.tick();
            self.check();
        }
        let is_cut_short = self.replica.fatal().is_some() || self.now.as_millis() > i64::MAX / 2;
        assert!(is_cut_short || self.waiting.is_empty(), "L16: {:?}", self.waiting);
    }
}
