//! What no seed comes by, as sound clusters and hosts do not, made on purpose.

use crate::cluster::Cluster;
use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::disk::Disk;
use crate::node::key;
use crate::plan::Plan;
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, BatchContent, BeginQuorumEpochRequest, Correlation, Endpoints, EpochStateKind,
    LogBatch, OffsetAndEpoch, PartitionAnswer, Request, Response, VoteRequest, VoterSet,
};

/// Who sends everything.
const PEER: usize = 1;

/// A leader that no voter set names.
const STRANGER: i32 = 99;

struct Scenario {
    cluster: Cluster,
    node: usize,
}

impl Scenario {
    /// A cluster in which one node is up.
    fn new(node: usize) -> Self {
        let mut cluster = Cluster::with(Plan::calm(), Dice::new(1), None, false);
        cluster.start(node).expect("it starts");
        Self { cluster, node }
    }

    fn kind(&self) -> EpochStateKind {
        self.cluster.nodes[self.node].state.kind
    }

    fn epoch(&self) -> i32 {
        self.cluster.nodes[self.node].state.epoch
    }

    /// The name of a request that the node waits for.
    fn asked(&self) -> Correlation {
        let mut flights = self.cluster.nodes[self.node].flights.iter();
        flights.next().map(|(correlation, _)| correlation).expect("it asks somebody")
    }

    fn ask(&mut self, request: Request) {
        let correlation = self.asked();
        self.cluster.request(PEER, self.node, 0, correlation, request).expect("it is sound");
    }

    /// A leader says that it leads, and not where it is.
    fn begin(&mut self, epoch: i32) {
        let (leader_id, leader_endpoints) = (STRANGER, Endpoints::empty());
        let begin = BeginQuorumEpochRequest { voter: None, leader_id, epoch, leader_endpoints };
        self.ask(Request::BeginQuorumEpoch(begin));
    }

    /// Somebody wants to lead, whose log is too short.
    fn stand(&mut self, epoch: i32) {
        let vote = VoteRequest {
            voter: None,
            candidate: key(PEER),
            epoch,
            log_end: OffsetAndEpoch::new(0, 0),
            is_pre_vote: false,
        };
        self.ask(Request::Vote(vote));
    }

    fn answer(&mut self, response: Response) {
        let (life, correlation) = (self.cluster.nodes[self.node].life, self.asked());
        let answered = self.cluster.response(PEER, self.node, life, correlation, response);
        answered.expect("it is sound");
    }

    fn after(&mut self, ms: i64) {
        self.cluster.now += ms;
        self.cluster.nodes[self.node].woken_at = Some(self.cluster.now);
        self.cluster.wake(self.node).expect("it is sound");
    }

    fn coverage(self) -> Coverage {
        self.cluster.into_seen().coverage
    }
}

fn prospective() -> Scenario {
    let mut scenario = Scenario::new(0);
    scenario.after(2_000);
    assert_eq!(scenario.kind(), EpochStateKind::Prospective);
    scenario
}

/// Leaders that nobody knows where to find, of whom every role hears in every way.
fn strangers() -> Vec<Scenario> {
    let mut newer = Scenario::new(0);
    newer.begin(5);
    let mut unattached = Scenario::new(0);
    unattached.stand(5);
    unattached.begin(5);
    let mut observer = Scenario::new(3);
    observer.stand(5);
    observer.begin(5);

    let mut asks = prospective();
    let epoch = asks.epoch();
    asks.begin(epoch);
    let mut stands = prospective();
    stands.answer(Response::Failed(ErrorCode::UnsupportedVersion));
    assert_eq!(stands.kind(), EpochStateKind::Candidate);
    let epoch = stands.epoch();
    stands.begin(epoch);

    let mut told = prospective();
    let (error, leader_id) = (ErrorCode::NotLeaderOrFollower, Some(STRANGER));
    let partition = PartitionAnswer { error, leader_id, epoch: told.epoch(), body: false };
    let (error, nodes) = (ErrorCode::None, Vec::new());
    told.answer(Response::Vote(Answer { error, partition: Some(partition), nodes }));

    let all = vec![newer, unattached, observer, asks, stands, told];
    for scenario in &all {
        let state = scenario.cluster.nodes[scenario.node].state;
        assert_eq!((state.kind, state.leader), (EpochStateKind::Unattached, Some(STRANGER)));
    }
    all
}

/// A node whose election state is lost, and its log is not.
fn forgetful() -> Scenario {
    let mut cluster = Cluster::with(Plan::calm(), Dice::new(1), None, false);
    let node = &mut cluster.nodes[0];
    let snapshots = std::mem::take(&mut node.disk.snapshots);
    node.disk = Disk::new(node.key(), VoterSet::empty());
    node.disk.snapshots = snapshots;
    let content = BatchContent::Records(vec![Bytes::from_static(b"value")]);
    let batch = LogBatch { base_offset: 0, last_offset: 0, epoch: 3, content };
    node.disk.append(batch).expect("it continues the log");
    node.disk.flush(1);
    cluster.start(0).expect("it starts");
    assert_eq!(cluster.nodes[0].state.epoch, 3);
    Scenario { cluster, node: 0 }
}

#[test]
fn what_no_seed_comes_by_is_made_on_purpose() {
    let mut coverage = Coverage::default();
    for scenario in strangers().into_iter().chain([forgetful()]) {
        coverage.add(scenario.coverage());
    }
    let missed = coverage.missed_on_purpose();
    assert!(missed.is_empty(), "nothing comes by {missed:#?}");
}
