//! Anything to one replica, made of any bytes: peers that answer what they like, a host that is slow, a clock that goes
//! back, crashes. What a replica promises then is what can be checked on it alone: nothing panics, what is said is
//! durable, nothing that was decided is taken back, the log is what its books say, every request is answered once, and
//! when nothing is to be done there is a time at which to look again.

mod checks;
mod disk;
mod input;
mod said;

use bytes::Bytes;
use disk::Disk;
use input::Input;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ControlLog, ControlRecord, Correlation, DescribeVersion, DirectoryId,
    Endpoint, Endpoints, KRaftVersion, ListenerName, Node, OffsetAndEpoch, QuorumConfig,
    RemoveVoter, Replica, ReplicaConfig, ReplicaKey, Request, RequestId, SupportedVersions,
    UpdateVoter, UpgradeMode, VoterSet,
};
use kafka_coordination::{Monotonic, Timestamp};
use std::collections::{BTreeSet, VecDeque};

const LISTENER: &str = "CONTROLLER";

/// Calls in one moment that are enough for everything that is due.
const CALLS: usize = 20;

/// What a replica waits for.
#[derive(Debug)]
enum Outcome {
    Flushed(i64),
    Truncated(i64),
    Installed(OffsetAndEpoch),
    Applied(i64),
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

    /// The oldest thing that the replica waits for has come about.
    pub(super) fn report(&mut self) {
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

    pub(super) fn append(&mut self) {
        let epoch = self.epoch();
        let records = (0..self.input.below(4)).map(|_| Bytes::from(vec![1; self.input.below(90)]));
        let _refused = self.replica.prepare_append(epoch, records.collect(), self.now);
        if self.input.flag() {
            let _refused = self.replica.schedule_append(self.now);
        }
    }

    pub(super) fn change(&mut self) {
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

    pub(super) fn administer(&mut self) {
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
    pub(super) fn snapshot(&mut self) {
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

    pub(super) fn crash(&mut self) {
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
