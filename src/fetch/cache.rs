//! The session cache of a broker.

use alloc::vec::Vec;

use super::change::{Change, Marked};
use super::config::{CacheConfig, ChangeTracking};
use super::context::{ContextKind, FetchContext, FullFetch, Own, State};
use super::counters::CacheStats;
use super::request::{FetchMetadata, FetchRequest};
use super::response::{FetchAnswer, PartitionRead};
use super::router::ShardRouter;
use super::session::{answer, full_size, incremental_size};
use super::shard::FetchShard;
use super::size::ResponseSize;
use super::state::{CacheState, StateError};
use super::table::{PartitionTable, as_number};
use super::visit::{SlotFinder, Visit};
use super::watch::Sought;
use crate::error_code::ErrorCode;
use crate::metadata::TopicNames;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topic::TopicId;

/// All fetch sessions of a broker.
///
/// A fetch takes three steps, and no borrow of the cache is held while the host reads its logs:
///
/// 1. [`begin`](Self::begin) classifies the request and commits what it changes of its session.
/// 2. [`visit`](Self::visit) names the partitions to read. A fetch that waits for data is visited
///    again when it is woken; only the last visit counts.
/// 3. [`finish`](Self::finish) decides which of the reads the response carries and commits what
///    the fetcher is told; or [`throttle`](Self::throttle) answers with nothing but a delay.
///
/// A host that answers requests from several threads calls it under a lock; none of the calls
/// waits. If one lock is too few, it keeps a cache a shard ([`of_shard`](Self::of_shard)), each
/// under its own, and a [`ShardRouter`].
#[derive(Debug)]
pub struct FetchCache {
    shards: Vec<FetchShard>,
    /// The number of the first of them.
    first: usize,
    router: ShardRouter,
    config: CacheConfig,
    /// Creations that a limit over all shards refused.
    refused: u64,
    /// Requests that named a session which no shard can have.
    not_found: u64,
}

impl FetchCache {
    /// An empty cache.
    pub fn new(config: CacheConfig) -> Self {
        let router = ShardRouter::new(config.shards, config.first_shard);
        let shards = router.ranges().map(|ids| FetchShard::new(&config, ids)).collect();
        Self { shards, first: 0, router, config, refused: 0, not_found: 0 }
    }

    /// One shard of those that `config` describes, as a cache of its own; `None` if there is no
    /// such shard. It issues the ids of its range and enforces the limits for itself.
    ///
    /// The host asks a [`ShardRouter`] which cache a request goes to: that of its session id for an
    /// incremental one, the next in turn for a full one, whose old session it
    /// [closes](Self::close) where that one is.
    pub fn of_shard(config: CacheConfig, shard: u32) -> Option<Self> {
        let mut cache = Self::new(config);
        let only = shard as usize;
        (only < cache.shards.len()).then(|| {
            cache.shards = cache.shards.drain(only..=only).collect();
            cache.first = only;
            cache
        })
    }

    fn index_of(&self, session_id: i32) -> Option<usize> {
        self.router.shard_of(session_id)?.checked_sub(self.first)
    }

    fn shard_of_mut(&mut self, session_id: i32) -> Option<&mut FetchShard> {
        let index = self.index_of(session_id)?;
        self.shards.get_mut(index)
    }

    /// Closes a session, if it is there, as a full request that names it does. A fetch of it that
    /// waits is still answered.
    pub fn close(&mut self, session_id: i32) {
        if let Some(shard) = self.shard_of_mut(session_id) {
            shard.close(session_id);
        }
    }

    /// Classifies a request, in Kafka's order of decisions.
    ///
    /// A full request (epoch 0 or -1) closes the session that it names, whoever's it is, and asks
    /// for a new one if its epoch is 0. Any other is refused with
    /// [`FetchSessionIdNotFound`](ErrorCode::FetchSessionIdNotFound) (70),
    /// [`InvalidFetchSessionEpoch`](ErrorCode::InvalidFetchSessionEpoch) (71) or
    /// [`FetchSessionTopicIdError`](ErrorCode::FetchSessionTopicIdError) (106), which changes
    /// nothing, or accepted, which commits its lists and moves the session's epoch on. `names` must
    /// be one consistent view; it is asked once a topic, and only from version 13 on.
    ///
    /// Amortised O(partitions in the request), and O(topics without a name in the session, or all
    /// topics of one that it closes).
    ///
    /// Deviation: an id that no shard issues is treated as one that is gone (70, or nothing to
    /// close), where Kafka fails with `UNKNOWN_SERVER_ERROR`. So is the all-zero topic id from
    /// version 13 on treated as an id that is never known.
    pub fn begin(
        &mut self,
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        now: Monotonic,
    ) -> FetchContext {
        let session_id = request.metadata.session_id;
        if request.metadata.is_full() {
            let closed = self.shard_of_mut(session_id).and_then(|shard| shard.close(session_id));
            return FetchContext::full(request, names, self.config.hash_seed, closed);
        }
        let is_limited = self.config.limits.cached_partitions != u64::MAX;
        let may_grow = !request.topics.is_empty();
        let cached = if is_limited && may_grow { self.partitions() } else { 0 };
        let index = self.index_of(session_id);
        let Some((index, shard)) = index.and_then(|at| Some((at, self.shards.get_mut(at)?))) else {
            self.not_found += 1;
            return FetchContext::error_of(request.version, ErrorCode::FetchSessionIdNotFound);
        };
        let elsewhere = cached.saturating_sub(shard.partitions());
        shard.begin(as_number(index), request, names, elsewhere, now)
    }

    /// The partitions to read for a context, in the order of its session.
    ///
    /// With [`ChangeTracking::On`] an incremental fetch is shown the
    /// partitions that may have something to answer; the others would contribute nothing. A fetch
    /// that a later one of its session has overtaken is shown nothing: its answer is an error.
    ///
    /// O(partitions visited); O(changed · log changed) for an incremental fetch under tracking.
    pub fn visit<'a>(&'a mut self, context: &'a FetchContext) -> Visit<'a> {
        match &context.state {
            State::Incremental(ticket) => self
                .shards
                .get_mut(ticket.shard as usize)
                .map_or_else(Visit::nothing, |shard| shard.visit(ticket)),
            State::Own(own) => own.table().map_or_else(Visit::nothing, Visit::all),
        }
    }

    /// Finds the places of partitions in a context, for a host whose reads come back by partition.
    pub fn slots<'a>(&'a self, context: &'a FetchContext) -> SlotFinder<'a> {
        SlotFinder::new(self.table(context))
    }

    /// The partitions of a context, unless a later request of its session was accepted.
    #[inline]
    fn table<'a>(&'a self, context: &'a FetchContext) -> Option<&'a PartitionTable> {
        match &context.state {
            State::Incremental(ticket) => self.shards.get(ticket.shard as usize)?.table(ticket),
            State::Own(own) => own.table(),
        }
    }

    /// The size in bytes of the response that [`finish`](Self::finish) would give for these reads,
    /// encoded at the request's version with its 4 bytes of length, without a header and without
    /// node endpoints: what Kafka charges to quotas.
    ///
    /// Changes nothing. O(reads).
    pub fn response_size(&self, context: &FetchContext, reads: &[PartitionRead]) -> u64 {
        let version = context.version();
        let table = if reads.is_empty() { None } else { self.table(context) };
        match (table, context.kind()) {
            (None, _) => ResponseSize::new(version).total(0, 0),
            (Some(table), ContextKind::Incremental) => incremental_size(table, version, reads),
            (Some(table), _) => full_size(table, version, reads),
        }
    }

    /// Answers a fetch: marks in `reads` which partitions the response carries, in their order,
    /// and commits what the fetcher is told by it.
    ///
    /// A read of a partition that the context does not have is left out. A full fetch of epoch 0
    /// creates a session with the partitions that were read, in the order of `reads`, evicting at
    /// most one; if there is no room, its session id is 0 and all else is the same.
    ///
    /// O(reads); for a creation O(partitions in the request), and amortised O(log sessions + topics of
    /// the session) for an eviction.
    pub fn finish(
        &mut self,
        context: FetchContext,
        reads: &mut [PartitionRead],
        random: &mut impl Random,
        now: Monotonic,
    ) -> FetchAnswer {
        match context.state {
            State::Incremental(ticket) => match self.shards.get_mut(ticket.shard as usize) {
                Some(shard) => shard.finish(&ticket, reads),
                None => FetchAnswer::new(ErrorCode::InvalidFetchSessionEpoch, ticket.session_id),
            },
            State::Own(own) => self.finish_own(own, reads, random, now),
        }
    }

    /// Answers a fetch whose partitions no session in the cache has.
    #[inline(never)]
    fn finish_own(
        &mut self,
        own: Own,
        reads: &mut [PartitionRead],
        random: &mut impl Random,
        now: Monotonic,
    ) -> FetchAnswer {
        let (error, session_id) = match own {
            Own::Full(full) => return self.create(full, reads, random, now),
            Own::Sessionless(table) => {
                for read in reads {
                    read.set_included(table.entry(read.slot()).is_some());
                }
                (ErrorCode::None, FetchMetadata::INVALID_SESSION_ID)
            }
            Own::Outgrown(mut last) => {
                answer(&mut last.table, reads, |_, _| {});
                (ErrorCode::None, last.session_id)
            }
            Own::Error(error) => {
                for read in reads {
                    read.set_included(false);
                }
                (error, FetchMetadata::INVALID_SESSION_ID)
            }
        };
        FetchAnswer::new(error, session_id)
    }

    fn create(
        &mut self,
        mut full: FullFetch,
        reads: &mut [PartitionRead],
        random: &mut impl Random,
        now: Monotonic,
    ) -> FetchAnswer {
        let mut answer = FetchAnswer::new(ErrorCode::None, FetchMetadata::INVALID_SESSION_ID);
        full.table.keep_reported(reads);
        if full.table.is_sparse() {
            *full.table = full.table.compacted();
        }
        if self.is_over_limit(full.table.len() as u64, full.principal) {
            self.refused += 1;
            return answer;
        }
        let shard = self.router.next_shard() % self.shards.len();
        if let Some(shard) = self.shards.get_mut(shard) {
            (answer.session_id, answer.evicted) = shard.create(full, random, now);
        }
        answer
    }

    /// Whether there is a limit that one more session would exceed. O(shards).
    fn is_over_limit(&self, partitions: u64, principal: u64) -> bool {
        let limits = self.config.limits;
        partitions > u64::from(limits.session_partitions)
            || (limits.cached_partitions != u64::MAX
                && self.partitions().saturating_add(partitions) > limits.cached_partitions)
            || (limits.principal_sessions != u32::MAX
                && self.sessions_of(principal) >= limits.principal_sessions)
    }

    /// Answers a fetch whose client is over its quota: with no partitions and the time it should
    /// wait, in milliseconds.
    ///
    /// What the request changed of its session stays; what its answer would have told stays
    /// untold. The error of an error context is not told either, as in Kafka.
    #[allow(clippy::needless_pass_by_value, reason = "a context is answered once")]
    pub fn throttle(&mut self, context: FetchContext, throttle_time_ms: i32) -> FetchAnswer {
        let answer = match &context.state {
            State::Incremental(ticket) => match self.shards.get_mut(ticket.shard as usize) {
                Some(shard) => shard.throttle(ticket),
                None => FetchAnswer::new(ErrorCode::InvalidFetchSessionEpoch, ticket.session_id),
            },
            State::Own(_) => FetchAnswer::new(ErrorCode::None, context.session_id()),
        };
        FetchAnswer { throttle_time_ms, ..answer }
    }

    /// Tells the sessions that hold a partition that it changed: those by topic id of the topic
    /// with this id, those by name of the topic with this name. `on_marked` hears of each.
    ///
    /// Does nothing without [`ChangeTracking::On`]. O(shards + sessions that hold partitions of the
    /// topic), with a look-up in those that are likely to hold this one.
    pub fn mark(
        &mut self,
        topic_id: TopicId,
        topic: &str,
        partition: i32,
        change: Change,
        mut on_marked: impl FnMut(Marked),
    ) {
        if self.config.tracking == ChangeTracking::Off {
            return;
        }
        let sought = Sought::new(topic_id, topic, partition, self.config.hash_seed);
        for shard in &mut self.shards {
            shard.mark(&sought, change, &mut on_marked);
        }
    }

    /// Makes every session visit all of its partitions once, with the next request or the next
    /// visit: for changes whose extent the host does not know, such as new access rules. O(shards).
    pub fn mark_all(&mut self) {
        self.shards.iter_mut().for_each(FetchShard::mark_all);
    }

    /// When the last request of a session was accepted in whose time this partition had nothing to
    /// answer, so that it was not visited: `None` if it is to be visited, or not there.
    ///
    /// A follower was caught up on it at that time, while the host has recorded at best an earlier
    /// one. A host that judges followers by their lag asks for it at that moment, and before it is
    /// lost: for what a follower's request lists, removes or closes, before [`begin`](Self::begin);
    /// and for each partition that it is shown by a [`visit`](Self::visit), which may show all.
    /// When a [`mark`](Self::mark) ends such a time, it tells of it.
    ///
    /// O(1).
    pub fn quiet_at(
        &self,
        session_id: i32,
        topic_id: TopicId,
        topic: &str,
        partition: i32,
    ) -> Option<Monotonic> {
        let shard = self.shards.get(self.index_of(session_id)?)?;
        shard.quiet_at(session_id, topic_id, topic, partition)
    }

    /// Everything that the cache remembers between fetches. O(cached partitions).
    ///
    /// Contexts that are open stay with this cache: another one that enters the state answers them
    /// with an error, and their fetchers go on.
    pub fn export(&self) -> CacheState {
        let mut sessions: Vec<_> = self.shards.iter().flat_map(FetchShard::states).collect();
        sessions.sort_unstable_by_key(|session| session.id);
        CacheState { sessions, next_shard: self.router.counter() }
    }

    /// A cache with that state. O(cached partitions).
    ///
    /// # Errors
    /// A [`StateError`] for the first thing in `state` that cannot be, under this configuration.
    pub fn import(config: CacheConfig, state: &CacheState) -> Result<Self, StateError> {
        Self::new(config).entered_by(state)
    }

    /// One shard as a cache of its own ([`of_shard`](Self::of_shard)), with that state, whose
    /// sessions must be this shard's. O(cached partitions).
    ///
    /// # Errors
    /// [`StateError::NoShard`], or another one for the first thing in `state` that cannot be.
    pub fn import_shard(
        config: CacheConfig,
        shard: u32,
        state: &CacheState,
    ) -> Result<Self, StateError> {
        let shards = config.shards;
        let cache = Self::of_shard(config, shard).ok_or(StateError::NoShard { shard, shards })?;
        cache.entered_by(state)
    }

    fn entered_by(mut self, state: &CacheState) -> Result<Self, StateError> {
        self.router = ShardRouter::new(self.config.shards, state.next_shard);
        let limits = self.config.limits;
        for session in &state.sessions {
            session.check(limits.session_partitions, self.config.hash_seed)?;
            let session_id = session.id;
            let index = self.index_of(session_id);
            let Some((shard, it)) = index.and_then(|at| Some((at, self.shards.get_mut(at)?)))
            else {
                return Err(StateError::SessionId { session_id });
            };
            it.restore(session)?;
            let (shard, sessions, capacity) = (self.first + shard, it.len(), it.capacity());
            if sessions > capacity {
                return Err(StateError::ShardFull { shard, capacity, sessions });
            }
            let (principal, max) = (session.principal, limits.principal_sessions);
            let sessions = self.sessions_of(principal);
            if sessions > max {
                return Err(StateError::PrincipalSessions { principal, sessions, max });
            }
        }
        let (partitions, max) = (self.partitions(), limits.cached_partitions);
        if partitions > max {
            return Err(StateError::CachedPartitions { partitions, max });
        }
        Ok(self)
    }

    /// Sets the epoch that a live session expects next: the way to the epoch's wrap-around is two
    /// thousand million requests long.
    #[doc(hidden)]
    pub fn set_session_epoch(&mut self, session_id: i32, epoch: i32) {
        if let Some(shard) = self.shard_of_mut(session_id) {
            shard.set_epoch(session_id, epoch);
        }
    }

    fn partitions(&self) -> u64 {
        self.shards.iter().map(FetchShard::partitions).sum()
    }

    fn sessions_of(&self, principal: u64) -> u32 {
        self.shards.iter().map(|shard| shard.sessions_of(principal)).sum()
    }

    /// The state of the cache and what happened in it. O(shards).
    pub fn stats(&self) -> CacheStats {
        let mut stats = CacheStats {
            refused: self.refused,
            not_found: self.not_found,
            ..CacheStats::default()
        };
        for shard in &self.shards {
            stats.sessions += shard.len() as u64;
            stats.partitions += shard.partitions();
            stats.add(shard.counters());
        }
        stats
    }
}
