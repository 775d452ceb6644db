//! What peers ask of a replica and what they answer it, in short.

use crate::host::{Host, Least, endpoints, header, key, node, nothing_fetched};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, BeginQuorumEpochRequest, Effect, ElectionState, EndQuorumEpochRequest, EpochStateKind,
    FetchRecordsRequest, FetchedRecords, KnownHighWatermark, LogBatch, OffsetAndEpoch,
    PartitionAnswer, Reply, Request, Response, VoteRequest,
};

/// What a peer answers about the partition; it knows of this leader.
pub(crate) fn answer<T>(
    error: ErrorCode,
    leader_id: Option<i32>,
    epoch: i32,
    body: T,
) -> Answer<T> {
    let partition = PartitionAnswer { error, leader_id, epoch, body };
    let nodes = leader_id.map(node).into_iter().collect();
    Answer { error: ErrorCode::None, partition: Some(partition), nodes }
}

/// The answer of a voter that knows of no leader.
pub(crate) fn voted(granted: bool, epoch: i32) -> Response {
    Response::Vote(answer(ErrorCode::None, None, epoch, granted))
}

/// The answer of a leader to a fetch.
pub(crate) fn fetched(leader_id: i32, epoch: i32, body: FetchedRecords<Vec<LogBatch>>) -> Response {
    Response::Fetch(answer(ErrorCode::None, Some(leader_id), epoch, body))
}

/// The answer of who does not lead to a fetch.
pub(crate) fn not_leader(leader_id: Option<i32>, epoch: i32) -> Response {
    fetch_failed(ErrorCode::NotLeaderOrFollower, leader_id, epoch)
}

/// The answer to a fetch that is refused.
pub(crate) fn fetch_failed(error: ErrorCode, leader_id: Option<i32>, epoch: i32) -> Response {
    Response::Fetch(answer(error, leader_id, epoch, nothing_fetched(None)))
}

/// The fetch of a replica whose log ends there.
pub(crate) fn fetch_of(id: i32, log_end: (i64, i32), leader_epoch: i32) -> FetchRecordsRequest {
    FetchRecordsRequest {
        replica: key(id),
        leader_epoch,
        log_end: OffsetAndEpoch::new(log_end.0, log_end.1),
        max_wait_ms: 500,
        max_bytes: 1_000,
        high_watermark: KnownHighWatermark::Unknown,
    }
}

impl Host {
    /// In what state the replica is, and in which epoch.
    pub(crate) fn kind(&self) -> (EpochStateKind, i32) {
        (self.replica.quorum().state().kind(), self.replica.quorum().epoch())
    }

    pub(crate) fn leader_id(&self) -> Option<i32> {
        self.replica.quorum().state().leader_id()
    }

    /// The election states that were persisted since the last look.
    pub(crate) fn persisted(&self) -> Vec<&ElectionState> {
        let persisted = self.effects.iter().filter_map(|effect| match effect {
            Effect::Persist(persist) => Some(&persist.election),
            _ => None,
        });
        persisted.collect()
    }

    /// What the state machine was told of leaders since the last look.
    pub(crate) fn leaders_told(&self) -> Vec<(Option<i32>, i32)> {
        let told = self.effects.iter().filter_map(|effect| match effect {
            Effect::LeaderChanged { leader_id, epoch } => Some((*leader_id, *epoch)),
            _ => None,
        });
        told.collect()
    }

    /// What the state machine was given since the last look.
    pub(crate) fn delivered(&self) -> Vec<(i64, i64)> {
        let delivered = self.effects.iter().filter_map(|effect| match effect {
            Effect::Deliver { from, to } => Some((*from, *to)),
            _ => None,
        });
        delivered.collect()
    }

    /// The requests that were sent since the last look, to whom.
    pub(crate) fn requests(&self) -> Vec<(i32, &Request)> {
        let sent = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send { to, request, .. } => Some((to.id, request)),
            _ => None,
        });
        sent.collect()
    }

    /// The only answer since the last look.
    pub(crate) fn reply(&self) -> &Reply {
        let replies = self.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { reply, .. } => Some(reply),
            _ => None,
        });
        let replies: Vec<_> = replies.collect();
        let [reply] = replies[..] else { panic!("{replies:?}") };
        reply
    }

    pub(crate) fn vote(&mut self, request: &VoteRequest) -> PartitionAnswer<bool> {
        self.effects.clear();
        self.ask_for_vote(request);
        match self.reply() {
            Reply::Vote(answer) => answer.partition.clone().expect("it is about the partition"),
            reply => panic!("{reply:?}"),
        }
    }

    /// Whether replica `id`, whose log ends there, gets the vote.
    pub(crate) fn grants(
        &mut self,
        id: i32,
        epoch: i32,
        log_end: (i64, i32),
        is_pre_vote: bool,
    ) -> bool {
        let answer = self.vote(&VoteRequest {
            voter: Some(key(1)),
            candidate: key(id),
            epoch,
            log_end: OffsetAndEpoch::new(log_end.0, log_end.1),
            is_pre_vote,
        });
        assert_eq!(answer.error, ErrorCode::None);
        answer.body
    }

    /// Replica `leader_id` says that it leads.
    pub(crate) fn begun(&mut self, leader_id: i32, epoch: i32) -> PartitionAnswer<()> {
        self.begun_by(&BeginQuorumEpochRequest {
            voter: Some(key(1)),
            leader_id,
            epoch,
            leader_endpoints: endpoints(leader_id),
        })
    }

    pub(crate) fn begun_by(&mut self, request: &BeginQuorumEpochRequest) -> PartitionAnswer<()> {
        self.effects.clear();
        let id = self.request_id();
        self.replica.handle_begin_quorum_epoch(id, &header(), request, &mut Least, self.now);
        self.carry_out();
        let answers = self.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { reply: Reply::BeginQuorumEpoch(answer), .. } => Some(answer),
            _ => None,
        });
        let answers: Vec<_> = answers.collect();
        let [answer] = answers[..] else { panic!("{answers:?}") };
        answer.partition.clone().expect("it is about the partition")
    }

    /// Replica `leader_id` says that it led, and who should lead next.
    pub(crate) fn ended(
        &mut self,
        leader_id: i32,
        epoch: i32,
        candidates: &[i32],
    ) -> PartitionAnswer<()> {
        self.effects.clear();
        let request = EndQuorumEpochRequest {
            leader_id,
            epoch,
            preferred_candidates: candidates.iter().map(|id| key(*id)).collect(),
            leader_endpoints: endpoints(leader_id),
        };
        let id = self.request_id();
        self.replica.handle_end_quorum_epoch(id, &header(), &request, &mut Least, self.now);
        self.carry_out();
        match self.reply() {
            Reply::EndQuorumEpoch(answer) => {
                answer.partition.clone().expect("it is about the partition")
            }
            reply => panic!("{reply:?}"),
        }
    }

    /// A peer fetches; what it asks for is where a batch starts. Gives what is answered at once.
    pub(crate) fn serve(&mut self, request: &FetchRecordsRequest) -> Vec<Reply> {
        self.serve_within(request, request.log_end.offset)
    }

    /// The same, if the batch that holds what it asks for starts at `base`.
    pub(crate) fn serve_within(&mut self, request: &FetchRecordsRequest, base: i64) -> Vec<Reply> {
        self.effects.clear();
        let id = self.request_id();
        let (random, now) = (&mut Least, self.now);
        self.replica.handle_fetch(id, &header(), request, base, random, now);
        self.carry_out();
        let replies = self.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { reply, .. } => Some(reply.clone()),
            _ => None,
        });
        replies.collect()
    }

    /// Asks for votes, gets those of `voters`, and leads; the start of its epoch is written.
    pub(crate) fn elect(&mut self, voters: &[i32]) {
        self.after(1_000);
        for nominee in [EpochStateKind::Prospective, EpochStateKind::Candidate] {
            assert_eq!(self.kind().0, nominee);
            self.tick();
            let epoch = self.kind().1;
            for (correlation, to, _) in self.sent() {
                if self.kind().0 == nominee && voters.contains(&to.id) {
                    self.respond(correlation, voted(true, epoch));
                }
            }
        }
        assert_eq!(self.kind().0, EpochStateKind::Leader);
        self.tick();
    }

    /// The leader of voters 1, 2 and 3, in epoch 6 from offset 10 on; its log ends at 13.
    pub(crate) fn leader() -> Self {
        let mut host = Self::unattached();
        host.elect(&[2]);
        host.effects.clear();
        host
    }

    /// Has the follower fetch from its leader, which answers so.
    pub(crate) fn fetch(&mut self, leader_id: i32, body: FetchedRecords<Vec<LogBatch>>) {
        let epoch = self.replica.quorum().epoch();
        self.effects.clear();
        self.tick();
        let (correlation, to, _) = self.only_sent();
        assert_eq!(to.id, leader_id);
        self.respond(correlation, fetched(leader_id, epoch, body));
    }
}
