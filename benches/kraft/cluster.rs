//! Three replicas in one process: messages arrive at once, and disks are buffers.

use bytes::Bytes;
use kafka_coordination::kraft::{
    Answer, BatchContent, ControlLog, ControlRecord, Correlation, DirectoryId, Effect, Endpoint,
    Endpoints, EpochStateKind, FetchedRecords, KRaftVersion, ListenerName, LogBatch, LogIndex,
    Node as Address, OffsetAndEpoch, PartitionAnswer, QuorumConfig, Replica, ReplicaConfig,
    ReplicaKey, Reply, Request, RequestHeader, RequestId, Response, Storage, SupportedVersions,
    VoterNode, VoterSet,
};
use kafka_coordination::{Monotonic, Random};
use std::collections::VecDeque;
use std::hint::black_box;
use std::num::NonZeroU32;

const LISTENER: &str = "CONTROLLER";
const NODES: usize = 3;
/// Batches that a leader keeps to be fetched.
const KEPT: usize = 8;

/// Each replica waits another while for its election.
struct Always(u32);

impl Random for Always {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        self.0 % bound
    }
}

/// The size of a page of memory.
const PAGE: usize = 4_096;

/// Bytes that start in the middle of a page: to copy from and to like places of pages is slow.
pub(crate) fn value(size: usize) -> Bytes {
    let buffer = Bytes::from(vec![7; size + 2 * PAGE]);
    let start = buffer.as_ptr().align_offset(PAGE) + PAGE / 2;
    buffer.slice(start..start + size)
}

/// What stands for a disk: a buffer that starts with a page, to which each batch is copied.
pub(crate) struct Disk {
    buffer: Vec<u8>,
    start: usize,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let buffer = vec![0; (64 << 10) + PAGE];
        let start = buffer.as_ptr().align_offset(PAGE);
        Self { buffer, start }
    }

    pub(crate) fn write(&mut self, bytes: &Bytes) {
        self.buffer[self.start..][..bytes.len()].copy_from_slice(black_box(bytes));
        black_box(&mut self.buffer);
    }
}

enum Message {
    Request { from: usize, to: usize, correlation: Correlation, request: Request },
    Response { to: usize, correlation: Correlation, response: Response },
}

struct Node {
    replica: Replica,
    random: Always,
    /// What was appended last.
    log: VecDeque<LogBatch>,
    disk: Disk,
    owed: Vec<(RequestId, usize, Correlation)>,
}

pub(crate) struct Cluster {
    nodes: Vec<Node>,
    messages: VecDeque<Message>,
    now: Monotonic,
    header: RequestHeader<'static>,
    requests: u64,
    /// Calls into replicas so far.
    pub(crate) events: u64,
}

fn id(place: usize) -> i32 {
    i32::try_from(place).expect("few nodes") + 1
}

fn voter(place: usize) -> VoterNode {
    let directory_id = DirectoryId::from_u128(place as u128 + 1).expect("not zero");
    VoterNode {
        key: ReplicaKey::new(id(place), directory_id),
        endpoints: Endpoints::new([Endpoint::new(LISTENER, format!("n{place}"), 9_000)]),
        supported_versions: SupportedVersions::ALL,
    }
}

fn place_of(address: &Address) -> usize {
    address.host.as_str()[1..].parse().expect("addresses are made here")
}

fn start(place: usize, now: Monotonic) -> Node {
    let local = voter(place);
    let quorum = QuorumConfig {
        local_id: Some(local.key.id),
        local_directory_id: local.key.directory_id.expect("it has one"),
        local_endpoints: local.endpoints,
        supported_versions: local.supported_versions,
        election_timeout_ms: 1_000,
        fetch_timeout_ms: 2_000,
    };
    let mut config = ReplicaConfig::new(quorum, "cluster", ListenerName::new(LISTENER));
    let bootstrap = (0..NODES).map(|place| Address {
        id: -1 - id(place),
        host: format!("n{place}").as_str().into(),
        port: 9_000,
    });
    config.bootstrap = bootstrap.collect();
    config.append_linger_ms = 0;
    let mut control = ControlLog::new(VoterSet::empty());
    let voters = ControlRecord::Voters((0..NODES).map(voter).collect());
    let records = [ControlRecord::KRaftVersion(KRaftVersion::V1), voters];
    control.load_snapshot(0, records).expect("it is sound");
    let mut log = LogIndex::new();
    log.add_snapshot(OffsetAndEpoch::BOOTSTRAP);
    let mut random = Always(u32::try_from(place * 300).expect("a small number"));
    let storage = Storage { election: None, log, control };
    let replica = Replica::start(config, storage, &mut random, now).expect("it starts");
    Node { replica, random, log: VecDeque::new(), disk: Disk::new(), owed: Vec::new() }
}

impl Node {
    /// Writes a batch where the last one was.
    fn append(&mut self, batch: LogBatch) {
        match &batch.content {
            BatchContent::Records(values) => {
                for value in values {
                    self.disk.write(value);
                }
            }
            BatchContent::Encoded { bytes, .. } => self.disk.write(bytes),
            BatchContent::Control(_) => {}
        }
        if self.log.len() == KEPT {
            self.log.pop_front();
        }
        self.log.push_back(batch);
    }

    /// The batches from an offset on, as they travel.
    fn read(&self, from: i64) -> Vec<LogBatch> {
        let batches = self.log.iter().filter(|batch| batch.last_offset >= from);
        let encoded = batches.map(|batch| {
            let (bytes, control) = match &batch.content {
                BatchContent::Records(values) => {
                    (values.first().cloned().unwrap_or_default(), None)
                }
                BatchContent::Control(records) => (Bytes::new(), Some(records.clone())),
                BatchContent::Encoded { bytes, control } => (bytes.clone(), control.clone()),
            };
            LogBatch { content: BatchContent::Encoded { bytes, control }, ..batch.clone() }
        });
        encoded.collect()
    }
}

impl Cluster {
    /// A cluster that has a leader and something committed.
    pub(crate) fn new() -> Self {
        let now = Monotonic::from_millis(1_000);
        let mut cluster = Self {
            nodes: (0..NODES).map(|place| start(place, now)).collect(),
            messages: VecDeque::new(),
            now,
            header: RequestHeader {
                cluster_id: None,
                is_metadata_partition: true,
                version: 18,
                listener: ListenerName::new(LISTENER),
            },
            requests: 0,
            events: 0,
        };
        while cluster.nodes.iter().any(|node| node.replica.log().high_watermark() == 0) {
            cluster.after(10);
        }
        cluster
    }

    fn place(&self, kind: EpochStateKind) -> usize {
        let mut nodes = self.nodes.iter();
        let place = nodes.position(|node| node.replica.quorum().state().kind() == kind);
        place.expect("there is one")
    }

    pub(crate) fn high_watermark(&self) -> i64 {
        self.nodes[self.place(EpochStateKind::Leader)].replica.log().high_watermark()
    }

    /// Asks a replica of this kind what there is to do, when there is nothing.
    pub(crate) fn poll_idle(&mut self, place: usize) -> Option<Monotonic> {
        let now = self.now;
        let Node { replica, random, .. } = &mut self.nodes[place];
        replica.handle_timeout(random, now);
        assert!(replica.poll_effect().is_none(), "it has nothing to do");
        replica.next_deadline()
    }

    pub(crate) fn leader(&self) -> usize {
        self.place(EpochStateKind::Leader)
    }

    pub(crate) fn follower(&self) -> usize {
        self.place(EpochStateKind::Follower)
    }

    /// Appends a batch of one record, which is committed when this returns. A millisecond goes by.
    pub(crate) fn append(&mut self, value: &Bytes) {
        self.now = self.now.saturating_add(1);
        let (place, now) = (self.leader(), self.now);
        let replica = &mut self.nodes[place].replica;
        let epoch = replica.quorum().epoch();
        replica.prepare_append(epoch, vec![value.clone()], now).expect("it leads");
        replica.schedule_append(now).expect("it leads");
        self.events += 2;
        self.run();
    }

    fn after(&mut self, ms: i64) {
        self.now = self.now.saturating_add(ms);
        self.run();
    }

    fn run(&mut self) {
        (0..NODES).for_each(|place| self.settle(place));
        while let Some(message) = self.messages.pop_front() {
            let (now, header) = (self.now, &self.header);
            self.events += 1;
            match message {
                Message::Request { from, to, correlation, request } => {
                    let node = &mut self.nodes[to];
                    let request_id = RequestId(self.requests);
                    self.requests += 1;
                    node.owed.push((request_id, from, correlation));
                    let Node { replica, random, .. } = node;
                    match &request {
                        Request::Fetch(fetch) => {
                            let base = fetch.log_end.offset;
                            replica.handle_fetch(request_id, header, fetch, base, random, now);
                        }
                        Request::Vote(vote) => {
                            replica.handle_vote(request_id, header, vote, random, now);
                        }
                        Request::BeginQuorumEpoch(begin) => replica
                            .handle_begin_quorum_epoch(request_id, header, begin, random, now),
                        _ => {
                            node.owed.pop();
                        }
                    }
                    self.settle(to);
                }
                Message::Response { to, correlation, response } => {
                    let Node { replica, random, .. } = &mut self.nodes[to];
                    replica.handle_response(correlation, response, random, now);
                    self.settle(to);
                }
            }
        }
    }

    /// Carries out what a replica wants, until it wants nothing.
    fn settle(&mut self, place: usize) {
        let now = self.now;
        loop {
            while let Some(effect) = self.nodes[place].replica.poll_effect() {
                self.carry_out(place, effect);
            }
            let Node { replica, random, .. } = &mut self.nodes[place];
            if replica.next_deadline().is_none_or(|deadline| deadline > now) {
                return;
            }
            replica.handle_timeout(random, now);
            self.events += 1;
        }
    }

    fn carry_out(&mut self, place: usize, effect: Effect) {
        let now = self.now;
        let node = &mut self.nodes[place];
        match effect {
            Effect::Send { correlation, to, request } => {
                let to = place_of(&to);
                self.messages.push_back(Message::Request { from: place, to, correlation, request });
            }
            Effect::Reply { request, reply } => {
                let owed = node.owed.iter().position(|(owed, ..)| *owed == request);
                let (_, to, correlation) = node.owed.swap_remove(owed.expect("it was asked"));
                let response = match reply {
                    Reply::Vote(answer) => Response::Vote(answer),
                    Reply::BeginQuorumEpoch(answer) => Response::BeginQuorumEpoch(answer),
                    Reply::Fetch(answer) => Response::Fetch(read(node, answer)),
                    _ => return,
                };
                self.messages.push_back(Message::Response { to, correlation, response });
            }
            Effect::Append(batch) => node.append(batch),
            Effect::Flush { end_offset } => {
                node.replica.flushed(end_offset, &mut node.random, now);
                self.events += 1;
            }
            Effect::Deliver { to: end, .. } => {
                node.replica.applied(end, &mut node.random, now);
                self.events += 1;
            }
            Effect::LoadSnapshot(snapshot) => {
                node.replica.applied(snapshot.offset, &mut node.random, now);
                self.events += 1;
            }
            _ => {}
        }
    }
}

fn read(
    node: &Node,
    answer: Answer<FetchedRecords<Option<kafka_coordination::kraft::ReadRecords>>>,
) -> Answer<FetchedRecords<Vec<LogBatch>>> {
    let Answer { error, partition, nodes } = answer;
    let partition = partition.map(|partition| {
        let PartitionAnswer { error, leader_id, epoch, body } = partition;
        let records = body.records.map_or_else(Vec::new, |read| node.read(read.from));
        let FetchedRecords { high_watermark, log_start_offset, diverging, snapshot, .. } = body;
        let body =
            FetchedRecords { high_watermark, log_start_offset, diverging, snapshot, records };
        PartitionAnswer { error, leader_id, epoch, body }
    });
    Answer { error, partition, nodes }
}
