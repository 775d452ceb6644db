//! A host that keeps what a replica asks for, and carries out what it must.

use kafka_coordination::kraft::{
    ControlLog, ControlRecord, Correlation, DirectoryId, Effect, ElectionState, Endpoint,
    Endpoints, FetchedRecords, KRaftVersion, ListenerName, LogBatch, LogIndex, Node,
    OffsetAndEpoch, QuorumConfig, Replica, ReplicaConfig, ReplicaKey, Reply, Request,
    RequestHeader, RequestId, Storage, SupportedVersions, VoteRequest, VoterNode, VoterSet,
};
use kafka_coordination::{Monotonic, Random};
use std::num::NonZeroU32;

pub(crate) const LISTENER: &str = "CONTROLLER";

/// The same time-outs for ever.
pub(crate) struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

pub(crate) fn key(id: i32) -> ReplicaKey {
    let bits = 0xd0 + u128::try_from(id).expect("an id");
    ReplicaKey::new(id, DirectoryId::from_u128(bits).expect("not zero"))
}

pub(crate) fn endpoints(id: i32) -> Endpoints {
    Endpoints::new([Endpoint::new(LISTENER, format!("h{id}"), 9_000)])
}

pub(crate) fn node(id: i32) -> Node {
    Node { id, host: format!("h{id}").as_str().into(), port: 9_000 }
}

pub(crate) fn voter(id: i32) -> VoterNode {
    let (key, endpoints) = (key(id), endpoints(id));
    VoterNode { key, endpoints, supported_versions: SupportedVersions::ALL }
}

pub(crate) fn header() -> RequestHeader<'static> {
    RequestHeader {
        cluster_id: Some("cluster"),
        is_metadata_partition: true,
        version: 18,
        listener: ListenerName::new(LISTENER),
    }
}

/// What a leader answers to a fetch that has nothing new.
pub(crate) const fn nothing_fetched(high_watermark: Option<i64>) -> FetchedRecords<Vec<LogBatch>> {
    FetchedRecords {
        high_watermark,
        log_start_offset: 0,
        diverging: None,
        snapshot: None,
        records: Vec::new(),
    }
}

pub(crate) struct Host {
    pub(crate) replica: Replica,
    pub(crate) now: Monotonic,
    /// What the replica has asked for and the host has not looked at yet.
    pub(crate) effects: Vec<Effect>,
    /// Whether the state machine takes its time: it is done with nothing by itself.
    pub(crate) is_slow: bool,
    next_request: u64,
}

/// Replica 1 of the voters 1, 2 and 3, with this log and this election state.
pub(crate) fn config() -> ReplicaConfig {
    let quorum = QuorumConfig {
        local_id: Some(1),
        local_directory_id: key(1).directory_id.expect("it has one"),
        local_endpoints: endpoints(1),
        supported_versions: SupportedVersions::ALL,
        election_timeout_ms: 1_000,
        fetch_timeout_ms: 2_000,
    };
    let mut config = ReplicaConfig::new(quorum, "cluster", ListenerName::new(LISTENER));
    config.bootstrap = (1..=3).map(|id| Node { id: -1 - id, ..node(id) }).collect();
    config.append_linger_ms = 0;
    config
}

pub(crate) fn storage(voters: &[i32], batches: &[(i64, i32)], election: ElectionState) -> Storage {
    let set = VoterSet::new(voters.iter().map(|id| voter(*id)));
    let mut control = ControlLog::new(VoterSet::empty());
    let records = [ControlRecord::KRaftVersion(KRaftVersion::V1), ControlRecord::Voters(set)];
    control.load_snapshot(0, records).expect("it is sound");
    let mut log = LogIndex::new();
    log.add_snapshot(OffsetAndEpoch::BOOTSTRAP);
    for (last_offset, epoch) in batches {
        control.on_data(log.end_offset(), *last_offset).expect("in order");
        log.append(*last_offset, *epoch);
    }
    Storage { election: Some(election), log, control }
}

/// The same disk at level 0: the voters are those of the configuration.
pub(crate) fn static_storage(
    voters: &[i32],
    batches: &[(i64, i32)],
    election: ElectionState,
) -> Storage {
    let listener = ListenerName::new(LISTENER);
    let addresses = voters.iter().map(|id| (*id, format!("h{id}"), 9_000));
    let mut control = ControlLog::new(VoterSet::from_addresses(&listener, addresses));
    let mut log = LogIndex::new();
    let _nothing_to_read = control.next_read(None, 0, 0);
    for (last_offset, epoch) in batches {
        control.on_data(log.end_offset(), *last_offset).expect("in order");
        log.append(*last_offset, *epoch);
    }
    Storage { election: Some(election), log, control }
}

impl Host {
    pub(crate) fn start(config: ReplicaConfig, storage: Storage) -> Self {
        let now = Monotonic::from_millis(1_000);
        let replica = Replica::start(config, storage, &mut Least, now).expect("it starts");
        let mut host = Self { replica, now, effects: Vec::new(), is_slow: false, next_request: 0 };
        host.carry_out();
        host
    }

    /// The slow state machine is done with what it was given, and needs `next_offset` next.
    pub(crate) fn catch_up(&mut self, next_offset: i64) {
        self.applied(next_offset);
        self.carry_out();
    }

    /// In epoch 5, with ten records of epoch 4, knowing nothing of the leader.
    pub(crate) fn unattached() -> Self {
        let election = ElectionState::with_unknown_leader(5, []);
        Self::start(config(), storage(&[1, 2, 3], &[(9, 4)], election))
    }

    /// The same, following replica 2.
    pub(crate) fn follower() -> Self {
        let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
        Self::start(config(), storage(&[1, 2, 3], &[(9, 4)], election))
    }

    /// The only voter, which leads epoch 6.
    pub(crate) fn only_leader() -> Self {
        let election = ElectionState::with_unknown_leader(5, []);
        let mut host = Self::start(config(), storage(&[1], &[(9, 4)], election));
        host.tick();
        host
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self) {
        self.replica.handle_timeout(&mut Least, self.now);
        self.carry_out();
    }

    /// Lets time go by, and does what is due then.
    pub(crate) fn after(&mut self, ms: i64) {
        self.now = self.now.saturating_add(ms);
        self.tick();
    }

    /// Collects effects; flushes and deliveries succeed at once.
    pub(crate) fn carry_out(&mut self) {
        while let Some(effect) = self.replica.poll_effect() {
            match &effect {
                Effect::Flush { end_offset } => {
                    self.replica.flushed(*end_offset, &mut Least, self.now);
                }
                Effect::Deliver { to, .. } if !self.is_slow => self.applied(*to),
                Effect::LoadSnapshot(id) if !self.is_slow => self.applied(id.offset),
                _ => {}
            }
            self.effects.push(effect);
        }
    }

    fn applied(&mut self, next_offset: i64) {
        self.replica.applied(next_offset, &mut Least, self.now);
    }

    pub(crate) fn request_id(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    /// Hands in a request for a vote.
    pub(crate) fn ask_for_vote(&mut self, request: &VoteRequest) {
        let id = self.request_id();
        self.replica.handle_vote(id, &header(), request, &mut Least, self.now);
        self.carry_out();
    }

    /// The requests that were sent since the last time.
    pub(crate) fn sent(&mut self) -> Vec<(Correlation, Node, Request)> {
        let effects = std::mem::take(&mut self.effects);
        let sent = effects.into_iter().filter_map(|effect| match effect {
            Effect::Send { correlation, to, request } => Some((correlation, to, request)),
            _ => None,
        });
        sent.collect()
    }

    /// The answers that were given since the last time.
    pub(crate) fn replies(&mut self) -> Vec<Reply> {
        let effects = std::mem::take(&mut self.effects);
        let replies = effects.into_iter().filter_map(|effect| match effect {
            Effect::Reply { reply, .. } => Some(reply),
            _ => None,
        });
        replies.collect()
    }

    /// The only request that was sent since the last time.
    pub(crate) fn only_sent(&mut self) -> (Correlation, Node, Request) {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.remove(0)
    }

    pub(crate) fn respond(
        &mut self,
        correlation: Correlation,
        response: kafka_coordination::kraft::Response,
    ) {
        self.replica.handle_response(correlation, response, &mut Least, self.now);
        self.carry_out();
    }
}
