//! A broker in a few lines, so that a scenario reads like a transcript of requests and answers.

use core::num::NonZeroU32;
use kafka_coordination::fetch::{
    CacheConfig, CacheState, FetchCache, FetchContext, FetchMetadata, FetchParams, FetchRequest,
    FetcherKind, ForgottenTopic, PartitionRead, PartitionRequest, PartitionState, Profile,
    RequestTopic, SessionState, Slot,
};
use kafka_coordination::{ErrorCode, Monotonic, Random, TopicId, TopicName};
use std::collections::{BTreeMap, VecDeque};

/// A topic as a fetcher names it: by id from version 13 on, by name below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) id: u128,
    pub(crate) name: &'static str,
}

pub(crate) const FOO: Topic = Topic { id: 1, name: "foo" };
pub(crate) const BAR: Topic = Topic { id: 2, name: "bar" };
pub(crate) const ZAR: Topic = Topic { id: 3, name: "zar" };
/// What takes foo's name after foo was deleted.
pub(crate) const FOO_AGAIN: Topic = Topic { id: 11, name: "foo" };
/// The all-zero id, which names no topic.
pub(crate) const ZERO: Topic = Topic { id: 0, name: "" };

/// The newest version, and the last that names topics by name.
pub(crate) const BY_ID: i16 = 18;
pub(crate) const BY_NAME: i16 = 12;

pub(crate) const PARAMS: FetchParams = FetchParams {
    fetch_offset: 0,
    log_start_offset: -1,
    max_bytes: 1000,
    leader_epoch: None,
    last_fetched_epoch: None,
};

/// A fetch request in the making.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    version: i16,
    metadata: FetchMetadata,
    fetcher: FetcherKind,
    profile: Profile,
    principal: u64,
    wanted: Vec<(Topic, Vec<PartitionRequest>)>,
    forgotten: Vec<(Topic, Vec<i32>)>,
}

/// A request of the newest version, by a consumer, with empty lists.
pub(crate) fn fetch(session_id: i32, epoch: i32) -> Request {
    Request {
        version: BY_ID,
        metadata: FetchMetadata { session_id, epoch },
        fetcher: FetcherKind::Consumer,
        profile: Profile::default(),
        principal: 0,
        wanted: Vec::new(),
        forgotten: Vec::new(),
    }
}

impl Request {
    pub(crate) fn version(mut self, version: i16) -> Self {
        self.version = version;
        self
    }

    pub(crate) fn by_name(self) -> Self {
        self.version(BY_NAME)
    }

    pub(crate) fn follower(mut self) -> Self {
        self.fetcher = FetcherKind::Follower;
        self
    }

    pub(crate) fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    pub(crate) fn principal(mut self, principal: u64) -> Self {
        self.principal = principal;
        self
    }

    pub(crate) fn wants(self, topic: Topic, partition: i32) -> Self {
        self.wants_with(topic, partition, PARAMS)
    }

    /// Partitions 0 to `count` of a topic.
    pub(crate) fn wants_first(self, topic: Topic, count: i32) -> Self {
        (0..count).fold(self, |it, partition| it.wants(topic, partition))
    }

    pub(crate) fn wants_with(mut self, topic: Topic, partition: i32, params: FetchParams) -> Self {
        let wanted = PartitionRequest { partition, params };
        match self.wanted.last_mut() {
            Some((last, partitions)) if *last == topic => partitions.push(wanted),
            _ => self.wanted.push((topic, vec![wanted])),
        }
        self
    }

    pub(crate) fn forgets(mut self, topic: Topic, partition: i32) -> Self {
        match self.forgotten.last_mut() {
            Some((last, partitions)) if *last == topic => partitions.push(partition),
            _ => self.forgotten.push((topic, vec![partition])),
        }
        self
    }

    fn begin(
        &self,
        cache: &mut FetchCache,
        names: &impl Fn(TopicId) -> Option<TopicName>,
        now: i64,
    ) -> FetchContext {
        let by_id = self.version > BY_NAME;
        let seen = |topic: &Topic| {
            if by_id { (TopicId::from_u128(topic.id), "") } else { (TopicId::ZERO, topic.name) }
        };
        let topics = self.wanted.iter().map(|(topic, partitions)| {
            let (id, name) = seen(topic);
            RequestTopic { id, name, partitions }
        });
        let topics: Vec<RequestTopic<'_>> = topics.collect();
        let forgotten = self.forgotten.iter().map(|(topic, partitions)| {
            let (id, name) = seen(topic);
            ForgottenTopic { id, name, partitions }
        });
        let forgotten: Vec<ForgottenTopic<'_>> = forgotten.collect();
        let request = FetchRequest {
            version: self.version,
            metadata: self.metadata,
            fetcher: self.fetcher,
            profile: self.profile,
            principal: self.principal,
            topics: &topics,
            forgotten: &forgotten,
        };
        cache.begin(&request, names, Monotonic::from_millis(now))
    }
}

/// What a read of one partition found.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "a response has as many")]
pub(crate) struct Row {
    high_watermark: i64,
    log_start_offset: i64,
    error: ErrorCode,
    records: u32,
    aborted: Option<u32>,
    preferred: bool,
    diverging: bool,
    leader: bool,
    revisit: bool,
}

/// A read without records, of a log from 0 to this high watermark.
pub(crate) const fn at(high_watermark: i64) -> Row {
    Row {
        high_watermark,
        log_start_offset: 0,
        error: ErrorCode::None,
        records: 0,
        aborted: None,
        preferred: false,
        diverging: false,
        leader: false,
        revisit: false,
    }
}

/// A partition that could not be read.
pub(crate) const fn failed(error: ErrorCode) -> Row {
    at(-1).log_start(-1).error(error)
}

impl Row {
    pub(crate) const fn log_start(mut self, offset: i64) -> Self {
        self.log_start_offset = offset;
        self
    }

    pub(crate) const fn error(mut self, error: ErrorCode) -> Self {
        self.error = error;
        self
    }

    pub(crate) const fn records(mut self, bytes: u32) -> Self {
        self.records = bytes;
        self
    }

    pub(crate) const fn aborted(mut self, count: Option<u32>) -> Self {
        self.aborted = count;
        self
    }

    pub(crate) const fn preferred(mut self) -> Self {
        self.preferred = true;
        self
    }

    pub(crate) const fn diverging(mut self) -> Self {
        self.diverging = true;
        self
    }

    pub(crate) const fn leader(mut self) -> Self {
        self.leader = true;
        self
    }

    pub(crate) const fn revisit(mut self) -> Self {
        self.revisit = true;
        self
    }

    pub(crate) fn of(self, slot: Slot) -> PartitionRead {
        let mut read = PartitionRead::new(slot, self.high_watermark, self.log_start_offset)
            .with_error(self.error)
            .with_records(self.records);
        if let Some(count) = self.aborted {
            read = read.with_aborted_transactions(count);
        }
        for (is_set, with) in [
            (self.preferred, PartitionRead::with_preferred_replica as fn(_) -> _),
            (self.diverging, PartitionRead::with_diverging_epoch),
            (self.leader, PartitionRead::with_current_leader),
            (self.revisit, PartitionRead::with_revisit),
        ] {
            if is_set {
                read = with(read);
            }
        }
        read
    }
}

/// What the fetcher gets. Partitions are written `topic-partition`, with `?` for an unknown topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) error: ErrorCode,
    pub(crate) session_id: i32,
    pub(crate) throttle_ms: i32,
    pub(crate) partitions: Vec<String>,
    pub(crate) evicted: Option<i32>,
}

/// A response without error that carries these partitions.
pub(crate) fn answered(session_id: i32, partitions: &[&str]) -> Response {
    Response {
        error: ErrorCode::None,
        session_id,
        throttle_ms: 0,
        partitions: partitions.iter().map(|&it| String::from(it)).collect(),
        evicted: None,
    }
}

/// A response with a top-level error and nothing else.
pub(crate) fn refused(error: ErrorCode) -> Response {
    stale(error, 0)
}

/// A top-level error of a request that its session had accepted.
pub(crate) fn stale(error: ErrorCode, session_id: i32) -> Response {
    Response { error, ..answered(session_id, &[]) }
}

/// A response that only asks the fetcher to wait.
pub(crate) fn throttled(session_id: i32, throttle_ms: i32) -> Response {
    Response { throttle_ms, ..answered(session_id, &[]) }
}

/// Session ids as a test wants them: its draws first, then 0, 1, 2, … below the bound.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    pub(crate) scripted: VecDeque<u32>,
    next: u32,
}

impl Random for Draws {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        self.scripted.pop_front().unwrap_or_else(|| {
            self.next += 1;
            (self.next - 1) % bound.get()
        })
    }
}

/// A cache with what its host holds: a clock, metadata, and randomness.
pub(crate) struct Broker {
    pub(crate) cache: FetchCache,
    pub(crate) names: BTreeMap<u128, &'static str>,
    pub(crate) draws: Draws,
    pub(crate) now: i64,
}

impl Broker {
    /// A broker that knows foo, bar and zar.
    pub(crate) fn new(config: CacheConfig) -> Self {
        let mut broker = Self {
            cache: FetchCache::new(config),
            names: BTreeMap::new(),
            draws: Draws::default(),
            now: 0,
        };
        broker.learn(FOO);
        broker.learn(BAR);
        broker.learn(ZAR);
        broker
    }

    /// One shard, whose sessions get the ids 1, 2, 3, …
    pub(crate) fn of_one_shard(slots: u32, eviction_ms: i64) -> Self {
        Self::new(one_shard(slots, eviction_ms))
    }

    pub(crate) fn learn(&mut self, topic: Topic) {
        self.names.insert(topic.id, topic.name);
    }

    pub(crate) fn at(&mut self, now: i64) -> &mut Self {
        self.now = now;
        self
    }

    pub(crate) fn begin(&mut self, request: &Request) -> FetchContext {
        let names = &self.names;
        let names = |id: TopicId| names.get(&id.as_u128()).map(|&name| TopicName::from(name));
        request.begin(&mut self.cache, &names, self.now)
    }

    /// The partitions that a context visits.
    pub(crate) fn listed(&mut self, context: &FetchContext) -> Vec<String> {
        self.cache.visit(context).map(|it| label(it.topic, it.partition)).collect()
    }

    /// Reads what the context visits: partitions of unknown topics fail, and come last.
    pub(crate) fn read(
        &mut self,
        context: &FetchContext,
        read: impl Fn(&str) -> Row,
    ) -> Vec<(String, PartitionRead)> {
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.cache.visit(context).partition(|partition| partition.topic.is_some());
        let known = known.into_iter().map(|it| {
            let label = label(it.topic, it.partition);
            let read = read(&label).of(it.slot);
            (label, read)
        });
        let unknown = unknown.into_iter().map(|it| {
            let read = failed(ErrorCode::UnknownTopicId).of(it.slot);
            (label(None, it.partition), read)
        });
        known.chain(unknown).collect()
    }

    pub(crate) fn finish(
        &mut self,
        context: FetchContext,
        reads: Vec<(String, PartitionRead)>,
    ) -> Response {
        let (labels, mut reads): (Vec<_>, Vec<_>) = reads.into_iter().unzip();
        let now = Monotonic::from_millis(self.now);
        let answer = self.cache.finish(context, &mut reads, &mut self.draws, now);
        let included = labels.into_iter().zip(&reads);
        Response {
            error: answer.error,
            session_id: answer.session_id,
            throttle_ms: answer.throttle_time_ms,
            partitions: included
                .filter(|(_, read)| read.is_included())
                .map(|(label, _)| label)
                .collect(),
            evicted: answer.evicted.map(|it| it.session_id),
        }
    }

    /// Reads and answers.
    pub(crate) fn answer(&mut self, context: FetchContext, row: impl Fn(&str) -> Row) -> Response {
        let reads = self.read(&context, row);
        self.finish(context, reads)
    }

    pub(crate) fn throttle(&mut self, context: FetchContext, throttle_ms: i32) -> Response {
        let answer = self.cache.throttle(context, throttle_ms);
        Response { error: answer.error, ..throttled(answer.session_id, answer.throttle_time_ms) }
    }

    /// A whole fetch.
    pub(crate) fn serve(&mut self, request: &Request, row: impl Fn(&str) -> Row) -> Response {
        let context = self.begin(request);
        self.answer(context, row)
    }

    /// A new session of these partitions; all of them at high watermark 10.
    pub(crate) fn open(&mut self, request: &Request) -> i32 {
        let response = self.serve(request, |_| at(10));
        assert_ne!(response.session_id, 0, "there is room");
        response.session_id
    }

    pub(crate) fn live(&self) -> Vec<i32> {
        let state = self.cache.export();
        state.sessions.iter().map(|session| session.id).collect()
    }

    pub(crate) fn session(&self, id: i32) -> SessionState {
        let state: CacheState = self.cache.export();
        let found = state.sessions.into_iter().find(|it| it.id == id);
        found.expect("the session lives")
    }

    /// The session's partitions in its order.
    pub(crate) fn order(&self, id: i32) -> Vec<String> {
        let partitions = self.session(id).partitions;
        partitions.iter().map(state_label).collect()
    }

    /// High watermark and log start offset that the session last reported of a partition.
    pub(crate) fn reported(&self, id: i32, partition: &str) -> (i64, i64) {
        let partitions = self.session(id).partitions;
        let found = partitions.iter().find(|it| state_label(it) == partition);
        let reported = found.expect("it is in the session").reported;
        (reported.high_watermark, reported.log_start_offset)
    }
}

pub(crate) fn one_shard(slots: u32, eviction_ms: i64) -> CacheConfig {
    CacheConfig::default()
        .with_shards(1)
        .and_then(|it| it.with_slots(slots))
        .and_then(|it| it.with_eviction_ms(eviction_ms))
        .expect("all in range")
}

fn state_label(state: &PartitionState) -> String {
    label(state.topic.as_ref(), state.partition)
}

fn label(topic: Option<&TopicName>, partition: i32) -> String {
    format!("{}-{partition}", topic.map_or("?", TopicName::as_str))
}
