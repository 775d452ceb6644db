//! One shard of the session cache: its sessions, and what happens to them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::num::NonZeroU32;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use tracing::debug;

use super::change::{Change, Changes, Marked};
use super::config::{CacheConfig, ChangeTracking, Limits};
use super::context::{FetchContext, FullFetch, Ticket};
use super::counters::ShardCounters;
use super::detached::{Detached, DetachedSessions};
use super::eviction::EvictionOrder;
use super::request::{FetchMetadata, FetchRequest, FetcherKind};
use super::response::{Evicted, EvictionReason, FetchAnswer, PartitionRead, Slot};
use super::session::{Session, answer};
use super::state::{SessionState, StateError};
use super::table::{PartitionTable, TableDelta, as_number};
use super::topics::{Key, UNWATCHED};
use super::visit::Visit;
use super::watch::{Sought, WatchIndex, WatchKey, Watcher};
use crate::error_code::ErrorCode;
use crate::metadata::TopicNames;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topic::{TopicId, TopicName};

/// An independent slice of the session cache, with its own capacity, order of eviction and range
/// of session ids (KAFKA-9401).
#[derive(Debug)]
pub(super) struct FetchShard {
    /// The ids it issues: from the first up to but not including the second.
    ids: (i32, i32),
    capacity: u32,
    limits: Limits,
    tracking: ChangeTracking,
    seed: u64,
    places: Vec<Place>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    hasher: FixedState,
    order: EvictionOrder,
    detached: DetachedSessions,
    watch: WatchIndex,
    principals: HashMap<u64, u32, FixedState>,
    partitions: u64,
    marked_all: u64,
    counters: ShardCounters,
    delta: TableDelta,
}

/// Where a session lives, one after the other.
#[derive(Debug, Default)]
struct Place {
    generation: u32,
    session: Option<Session>,
}

impl Place {
    /// Whether the session here waits for the answer that this is the ticket of.
    ///
    /// A ticket may be of the cache that this one's state was exported from: it is a request's that
    /// was accepted there, and that no session here waits for.
    fn is_of(&self, ticket: &Ticket) -> bool {
        self.generation == ticket.generation
            && self.session.as_ref().is_some_and(|session| {
                session.is_waiting
                    && session.id == ticket.session_id
                    && session.epoch == ticket.epoch
            })
    }
}

/// Why a session was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Closed,
    Evicted(EvictionReason),
    OverLimit,
}

impl FetchShard {
    pub(super) fn new(config: &CacheConfig, ids: (i32, i32)) -> Self {
        let hasher = FixedState::with_seed(config.hash_seed);
        Self {
            ids,
            capacity: config.slots / config.shards,
            limits: config.limits,
            tracking: config.tracking,
            seed: config.hash_seed,
            places: Vec::new(),
            free: Vec::new(),
            by_id: HashTable::new(),
            hasher: hasher.clone(),
            order: EvictionOrder::new(config.eviction_ms),
            detached: DetachedSessions::new(&config.limits),
            watch: WatchIndex::new(config.hash_seed),
            principals: HashMap::with_hasher(hasher),
            partitions: 0,
            marked_all: 0,
            counters: ShardCounters::default(),
            delta: TableDelta::default(),
        }
    }

    /// The number of live sessions.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The number of cached partitions, each session counted as of its last use.
    pub(super) const fn partitions(&self) -> u64 {
        self.partitions
    }

    pub(super) const fn counters(&self) -> &ShardCounters {
        &self.counters
    }

    /// The number of sessions of that principal; counted only if there is a limit on it.
    pub(super) fn sessions_of(&self, principal: u64) -> u32 {
        self.principals.get(&principal).copied().unwrap_or(0)
    }

    const fn tracks_changes(&self) -> bool {
        matches!(self.tracking, ChangeTracking::On)
    }

    /// How many sessions it may have.
    pub(super) const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    const fn counts_principals(&self) -> bool {
        self.limits.principal_sessions != u32::MAX
    }

    fn place_of(&self, id: i32) -> Option<u32> {
        let is_it = |&place: &u32| self.session(place).is_some_and(|session| session.id == id);
        self.by_id.find(self.hasher.hash_one(id), is_it).copied()
    }

    fn session(&self, place: u32) -> Option<&Session> {
        self.places.get(place as usize)?.session.as_ref()
    }

    fn session_mut(&mut self, place: u32) -> Option<&mut Session> {
        self.places.get_mut(place as usize)?.session.as_mut()
    }

    /// Closes a session, if it is there; answers its table, unless a fetch of it waits.
    pub(super) fn close(&mut self, id: i32) -> Option<Box<PartitionTable>> {
        self.remove(self.place_of(id)?, Removal::Closed)
    }

    /// Accepts or refuses an incremental request of this shard, which has that number in its cache.
    /// `cached_elsewhere` counts the partitions in other shards.
    pub(super) fn begin(
        &mut self,
        shard: u32,
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        cached_elsewhere: u64,
        now: Monotonic,
    ) -> FetchContext {
        let place = match self.check(request) {
            Ok(place) => place,
            Err(error) => return refused(request, error),
        };
        let changes_wishes = !request.topics.is_empty() || !request.forgotten.is_empty();
        let grew = changes_wishes && self.update(place, request, names);
        let it = self.places.get_mut(place as usize);
        let Some((session, generation)) =
            it.and_then(|it| Some((it.session.as_mut()?, it.generation)))
        else {
            return FetchContext::error_of(request.version, ErrorCode::FetchSessionIdNotFound);
        };
        let old_size = session.cached_size;
        if changes_wishes {
            session.cached_size = as_number(session.table.len());
        }
        if session.cached_size == 0 {
            session.cached_size = old_size;
            let closed = self.remove(place, Removal::Closed);
            return FetchContext::sessionless(request, names, self.seed, closed);
        }
        if session.has_nameless_topics {
            session.table.resolve(names);
            session.has_nameless_topics = session.table.has_nameless_topics();
        }
        session.accept(request, now);
        let &mut Session { id, epoch, created, cached_size: size, .. } = session;
        self.partitions = self.partitions + u64::from(size) - u64::from(old_size);
        self.order.touch(id, &mut session.standing, size, created, now);
        let ticket = Ticket { shard, place, generation, session_id: id, epoch, partitions: size };
        if grew
            && self.is_over_limit(size, cached_elsewhere)
            && let Some(session) = self.take(place, Removal::OverLimit)
        {
            return FetchContext::outgrown(request.version, id, session.table);
        }
        FetchContext::incremental(request.version, ticket)
    }

    /// Whether a session of that many partitions is too big, or all are.
    fn is_over_limit(&self, partitions: u32, cached_elsewhere: u64) -> bool {
        let cached = self.partitions.saturating_add(cached_elsewhere);
        partitions > self.limits.session_partitions || cached > self.limits.cached_partitions
    }

    /// Whether there is a session that can take the request; the order of the checks is Kafka's.
    #[inline]
    fn check(&mut self, request: &FetchRequest<'_>) -> Result<u32, ErrorCode> {
        let place = self.place_of(request.metadata.session_id);
        let Some((place, session)) = place.and_then(|place| Some((place, self.session(place)?)))
        else {
            self.counters.not_found += 1;
            return Err(ErrorCode::FetchSessionIdNotFound);
        };
        if session.epoch != request.metadata.epoch {
            self.counters.invalid_epoch += 1;
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.uses_topic_ids != request.uses_topic_ids() {
            self.counters.topic_id_error += 1;
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        Ok(place)
    }

    /// Applies the lists of a request to its session; answers whether it grew.
    fn update(&mut self, place: u32, request: &FetchRequest<'_>, names: &impl TopicNames) -> bool {
        let mut delta = core::mem::take(&mut self.delta);
        delta.clear();
        if let Some(session) = self.session_mut(place) {
            session.update(request, names, &mut delta);
        }
        self.follow(place, &delta);
        let grew = !delta.added.is_empty();
        self.delta = delta;
        grew
    }

    /// What an accepted request visits now.
    pub(super) fn visit(&mut self, ticket: &Ticket) -> Visit<'_> {
        let Some(session) = ticketed(&mut self.places, ticket) else {
            return self.detached.visit(ticket);
        };
        match &mut session.changes {
            Some(changes) => changes.visit(&mut session.table, session.last_used, self.marked_all),
            None => Visit::all(&session.table),
        }
    }

    /// The table that an accepted request is answered from, if no later one was accepted.
    pub(super) fn table(&self, ticket: &Ticket) -> Option<&PartitionTable> {
        let place = self.places.get(ticket.place as usize)?;
        match &place.session {
            Some(session) if place.is_of(ticket) => Some(&session.table),
            _ => self.detached.find(ticket).map(|it| &*it.table),
        }
    }

    /// Answers an accepted request.
    #[inline]
    pub(super) fn finish(&mut self, ticket: &Ticket, reads: &mut [PartitionRead]) -> FetchAnswer {
        match ticketed(&mut self.places, ticket) {
            Some(session) => {
                session.answer(reads, self.marked_all);
                FetchAnswer::new(ErrorCode::None, ticket.session_id)
            }
            None => self.finish_late(ticket, reads),
        }
    }

    /// Answers a request of a session that was removed, or that a later one has overtaken.
    #[cold]
    fn finish_late(&mut self, ticket: &Ticket, reads: &mut [PartitionRead]) -> FetchAnswer {
        if let Some(Detached { mut table, .. }) = self.detached.take(ticket) {
            answer(&mut table, reads, |_, _| {});
            return FetchAnswer::new(ErrorCode::None, ticket.session_id);
        }
        for read in reads {
            read.set_included(false);
        }
        FetchAnswer::new(ErrorCode::InvalidFetchSessionEpoch, ticket.session_id)
    }

    /// Answers an accepted request with nothing but a delay.
    pub(super) fn throttle(&mut self, ticket: &Ticket) -> FetchAnswer {
        let is_current = if let Some(session) = ticketed(&mut self.places, ticket) {
            session.is_waiting = false;
            true
        } else {
            self.detached.take(ticket).is_some()
        };
        let error = if is_current { ErrorCode::None } else { ErrorCode::InvalidFetchSessionEpoch };
        FetchAnswer::new(error, ticket.session_id)
    }

    /// Tries to create a session of what a full fetch was answered. 0: there is no room for it.
    pub(super) fn create(
        &mut self,
        full: FullFetch,
        random: &mut impl Random,
        now: Monotonic,
    ) -> (i32, Option<Evicted>) {
        let size = as_number(full.table.len());
        let mut evicted = None;
        if self.len() >= self.capacity() {
            let is_privileged = full.fetcher == FetcherKind::Follower;
            let Some((id, reason)) = self.evicted_by(is_privileged, size, now) else {
                self.counters.refused += 1;
                return (0, None);
            };
            evicted = self.evict(id, reason);
        }
        let Some(id) = self.new_id(random) else {
            self.counters.refused += 1;
            return (0, evicted);
        };
        self.insert(id, full, now);
        (id, evicted)
    }

    fn evicted_by(
        &mut self,
        is_privileged: bool,
        size: u32,
        now: Monotonic,
    ) -> Option<(i32, EvictionReason)> {
        if !self.order.is_kept() {
            let sessions = self.places.iter_mut().filter_map(|place| place.session.as_mut());
            self.order.keep(sessions.map(|it| (it.id, &mut it.standing, it.last_used)));
        }
        while let Some((used, id)) = self.order.stale(now) {
            let place = self.place_of(id)?;
            let session = self.places.get_mut(place as usize)?.session.as_mut()?;
            if session.last_used == used {
                return Some((id, EvictionReason::Stale));
            }
            self.order.renew(id, &mut session.standing, session.last_used);
        }
        self.order.displaced(is_privileged, size)
    }

    fn evict(&mut self, id: i32, reason: EvictionReason) -> Option<Evicted> {
        let place = self.place_of(id)?;
        let principal = self.session(place)?.principal;
        self.remove(place, Removal::Evicted(reason));
        Some(Evicted { session_id: id, principal, reason })
    }

    fn insert(&mut self, id: i32, full: FullFetch, now: Monotonic) {
        let FullFetch { table, fetcher, profile, principal } = full;
        let cached_size = as_number(table.len());
        let is_privileged = fetcher == FetcherKind::Follower;
        self.counters.created += 1;
        debug!(session_id = id, partitions = cached_size, ?fetcher, "fetch session created");
        let standing = self.order.insert(id, is_privileged, cached_size, now, now);
        let changes = self.tracks_changes().then(|| Changes::new(self.marked_all));
        self.admit(Session {
            id,
            epoch: 1,
            fetcher,
            principal,
            asked_by: fetcher,
            profile,
            created: now,
            last_used: now,
            cached_size,
            standing,
            is_waiting: false,
            uses_topic_ids: table.uses_topic_ids(),
            has_nameless_topics: table.has_nameless_topics(),
            changes,
            table,
        });
    }

    /// Takes a session in, of which only the order of eviction knows.
    fn admit(&mut self, session: Session) {
        self.partitions += u64::from(session.cached_size);
        if self.counts_principals() {
            *self.principals.entry(session.principal).or_insert(0) += 1;
        }
        let hash = self.hasher.hash_one(session.id);
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            as_number(self.places.len()) - 1
        });
        if let Some(it) = self.places.get_mut(place as usize) {
            it.session = Some(session);
        }
        let (places, hasher) = (&self.places, &self.hasher);
        self.by_id.insert_unique(hash, place, |&place| {
            let session = places.get(place as usize).and_then(|it| it.session.as_ref());
            session.map_or(0, |session| hasher.hash_one(session.id))
        });
        self.watch_all(place);
    }

    pub(super) fn set_epoch(&mut self, id: i32, epoch: i32) {
        let place = self.place_of(id);
        if let Some(session) = place.and_then(|place| self.session_mut(place)) {
            session.epoch = epoch;
        }
    }

    /// The sessions, in no order.
    pub(super) fn states(&self) -> impl Iterator<Item = SessionState> {
        let sessions = self.places.iter().filter_map(|place| place.session.as_ref());
        sessions.map(|session| session.state(self.marked_all))
    }

    /// Takes in an exported session that has been checked by itself.
    pub(super) fn restore(&mut self, state: &SessionState) -> Result<(), StateError> {
        let &SessionState { id, fetcher, created, last_used, principal, .. } = state;
        if self.place_of(id).is_some() {
            return Err(StateError::DuplicateSession { session_id: id });
        }
        let table = state.table(self.seed);
        let cached_size = as_number(table.len());
        let is_privileged = fetcher == FetcherKind::Follower;
        let changes =
            self.tracks_changes().then(|| Changes::of_state(state, &table, self.marked_all));
        let standing = self.order.insert(id, is_privileged, cached_size, created, last_used);
        self.admit(Session {
            id,
            epoch: state.epoch,
            fetcher,
            principal,
            asked_by: state.asked_by,
            profile: state.profile,
            created,
            last_used,
            cached_size,
            standing,
            is_waiting: false,
            uses_topic_ids: table.uses_topic_ids(),
            has_nameless_topics: table.has_nameless_topics(),
            changes,
            table,
        });
        Ok(())
    }

    /// An id of this shard's that no live session has.
    fn new_id(&self, random: &mut impl Random) -> Option<i32> {
        const DRAWS: usize = 16;
        let (first, end) = self.ids;
        let range = NonZeroU32::new(end.checked_sub(first)?.try_into().ok()?)?;
        let mut id = first;
        for _ in 0..DRAWS {
            id = first.saturating_add_unsigned(random.below(range));
            if (first..end).contains(&id) && self.place_of(id).is_none() {
                return Some(id);
            }
        }
        // The source repeats itself, or nearly all ids are taken: the next one that is not.
        let start = if (first..end).contains(&id) { id } else { first };
        (start..end).chain(first..start).find(|&id| self.place_of(id).is_none())
    }

    /// Removes a session; answers its table. The fetch of it that waits is still answered, and
    /// keeps the table for that.
    fn remove(&mut self, place: u32, why: Removal) -> Option<Box<PartitionTable>> {
        let generation = self.places.get(place as usize)?.generation;
        let Session { id: session_id, epoch, table, is_waiting, .. } = self.take(place, why)?;
        if !is_waiting {
            return Some(table);
        }
        self.detached.push(Detached { place, generation, session_id, epoch, table });
        None
    }

    /// Takes a session out of its place and out of all orders and indexes.
    fn take(&mut self, place: u32, why: Removal) -> Option<Session> {
        self.unwatch_all(place);
        let it = self.places.get_mut(place as usize)?;
        let session = it.session.take()?;
        it.generation = it.generation.wrapping_add(1);
        self.free.push(place);
        if let Ok(found) =
            self.by_id.find_entry(self.hasher.hash_one(session.id), |&other| other == place)
        {
            found.remove();
        }
        debug!(session_id = session.id, ?why, "fetch session removed");
        self.order.remove(session.id, session.standing);
        if self.len() < self.capacity() / 2 {
            self.order.give_up();
        }
        self.partitions -= u64::from(session.cached_size);
        match why {
            Removal::Closed => self.counters.closed += 1,
            Removal::Evicted(reason) => self.counters.count_eviction(reason),
            Removal::OverLimit => self.counters.over_limit += 1,
        }
        if let Some(count) = self.principals.get_mut(&session.principal) {
            *count -= 1;
            if *count == 0 {
                self.principals.remove(&session.principal);
            }
        }
        Some(session)
    }

    /// Brings the index of changes up to date with what a request changed of a session.
    fn follow(&mut self, place: u32, delta: &TableDelta) {
        if self.tracks_changes() {
            for &slot in &delta.added {
                self.watch(place, slot);
            }
        }
        for &number in &delta.emptied {
            let Some(session) = self.session_mut(place) else { break };
            let Some(topic) = session.table.topic_mut(number) else { continue };
            let watch = core::mem::replace(&mut topic.watch, UNWATCHED);
            session.table.release_topic(number);
            self.unwatch(watch);
        }
        if self.session(place).is_some_and(|session| session.table.is_sparse()) {
            self.compact(place);
        }
    }

    /// Gives back the memory that a session holds for partitions that it forgot.
    fn compact(&mut self, place: u32) {
        self.unwatch_all(place);
        let Some(session) = self.session_mut(place) else { return };
        *session.table = session.table.compacted();
        if let Some(changes) = &mut session.changes {
            changes.renumber(&session.table);
        }
        self.watch_all(place);
    }

    /// Takes a session out of the index of changes. It must still be in its place: the index tells
    /// it where its other topics move.
    fn unwatch_all(&mut self, place: u32) {
        if !self.tracks_changes() {
            return;
        }
        let topics = self.session(place).map(|session| session.table.topic_numbers());
        for number in topics.into_iter().flatten() {
            let topic = self.session_mut(place).and_then(|it| it.table.topic_mut(number));
            if let Some(topic) = topic {
                let watch = core::mem::replace(&mut topic.watch, UNWATCHED);
                self.unwatch(watch);
            }
        }
    }

    fn watch_all(&mut self, place: u32) {
        if !self.tracks_changes() {
            return;
        }
        let entries = self.session(place).map_or(0, |session| session.table.slot_count());
        for slot in 0..entries {
            self.watch(place, slot);
        }
    }

    /// Lists an entry's topic as held by the session, and the partition as covered.
    fn watch(&mut self, place: u32, slot: u32) {
        let Some(session) = self.places.get_mut(place as usize).and_then(|it| it.session.as_mut())
        else {
            return;
        };
        let Some(entry) = session.table.entry(Slot(slot)) else { return };
        let (number, partition) = (entry.topic(), entry.partition);
        let uses_topic_ids = session.uses_topic_ids;
        let Some(topic) = session.table.topic_mut(number) else { return };
        if topic.watch == UNWATCHED {
            let key = match &topic.name {
                Some(name) if !uses_topic_ids => WatchKey::Name(TopicName::clone(name)),
                _ => WatchKey::Id(topic.id),
            };
            topic.watch = self.watch.insert(key, place, number);
        }
        let watch = topic.watch;
        self.watch.cover(watch, partition);
    }

    fn unwatch(&mut self, watch: (u32, u32)) {
        if let Some(Watcher { session, topic, .. }) = self.watch.remove(watch) {
            let moved = self.session_mut(session).and_then(|it| it.table.topic_mut(topic));
            if let Some(topic) = moved {
                topic.watch = watch;
            }
        }
    }

    /// Marks a partition in every session whose answers may change by it.
    pub(super) fn mark(
        &mut self,
        sought: &Sought<'_>,
        change: Change,
        on_marked: &mut impl FnMut(Marked),
    ) {
        for watcher in self.watch.watchers(sought) {
            let place = self.places.get_mut(watcher.session as usize);
            let session = place.and_then(|place| place.session.as_mut());
            let marked = session.and_then(|it| mark(it, watcher, sought.partition, change));
            if let Some(marked) = marked {
                on_marked(marked);
            }
        }
    }

    /// When a partition that is not marked was last known to be quiet.
    pub(super) fn quiet_at(
        &self,
        session_id: i32,
        topic_id: TopicId,
        topic: &str,
        partition: i32,
    ) -> Option<Monotonic> {
        let session = self.session(self.place_of(session_id)?)?;
        let table = &session.table;
        let topic = table.find_topic(Key::new(table.uses_topic_ids(), topic_id, topic))?;
        let entry = table.entry(table.find_in_topic(topic, partition)?)?;
        let changes = session.changes.as_ref()?;
        if entry.is_listed() { None } else { changes.quiet_at() }
    }

    /// Makes every session visit all of its partitions once.
    pub(super) const fn mark_all(&mut self) {
        self.marked_all = self.marked_all.wrapping_add(1);
    }
}

#[cold]
fn refused(request: &FetchRequest<'_>, error: ErrorCode) -> FetchContext {
    let FetchMetadata { session_id, epoch } = request.metadata;
    debug!(session_id, epoch, %error, "fetch refused");
    FetchContext::error_of(request.version, error)
}

/// The session of a ticket, if it still lives and waits for this answer.
fn ticketed<'a>(places: &'a mut [Place], ticket: &Ticket) -> Option<&'a mut Session> {
    let place = places.get_mut(ticket.place as usize)?;
    if place.is_of(ticket) { place.session.as_mut() } else { None }
}

fn mark(session: &mut Session, watcher: Watcher, partition: i32, change: Change) -> Option<Marked> {
    let changes = session.changes.as_mut()?;
    if !change.concerns(session.asked_by, session.profile) {
        return None;
    }
    let slot = session.table.find_in_topic(watcher.topic, partition)?;
    let entry = session.table.entry_mut(slot)?;
    // Where one id is two topics, with a name and without, the partition is heard of under its own.
    if entry.topic() != watcher.topic {
        return None;
    }
    let quiet_at = changes.mark(slot, entry);
    Some(Marked {
        session_id: session.id,
        fetcher: session.asked_by,
        quiet_at,
        is_waiting: session.is_waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws one number, whatever it is asked for.
    struct Stuck(u32);

    impl Random for Stuck {
        fn below(&mut self, _: NonZeroU32) -> u32 {
            self.0
        }
    }

    fn create(shard: &mut FetchShard, draw: u32, now: i64) -> (i32, Option<i32>) {
        let table = Box::new(PartitionTable::new(true, 0, 0, 0));
        let (fetcher, profile) = (FetcherKind::Consumer, crate::fetch::Profile::default());
        let full = FullFetch { table, fetcher, profile, principal: 0 };
        let now = Monotonic::from_millis(now);
        let (id, evicted) = shard.create(full, &mut Stuck(draw), now);
        (id, evicted.map(|it| it.session_id))
    }

    /// A shard that issues the ids 5, 6 and 7.
    fn shard(capacity: u32) -> FetchShard {
        let config = CacheConfig::default().with_shards(1);
        let config = config.and_then(|it| it.with_slots(capacity)).unwrap();
        FetchShard::new(&config, (5, 8))
    }

    #[test]
    fn a_shard_whose_ids_are_all_in_use_refuses() {
        for draw in [0, 1, 2, 3, u32::MAX] {
            let mut shard = shard(10);
            let mut ids: Vec<i32> = (0..3).map(|_| create(&mut shard, draw, 0).0).collect();
            ids.sort_unstable();
            assert_eq!(ids, [5, 6, 7], "{draw}");
            assert_eq!(create(&mut shard, draw, 0), (0, None));
            assert_eq!((shard.len(), shard.counters().refused), (3, 1));
            shard.close(6);
            assert_eq!(create(&mut shard, draw, 0), (6, None));
        }
    }

    #[test]
    fn an_evicted_id_can_be_issued_at_once() {
        let mut shard = shard(3);
        for _ in 0..3 {
            create(&mut shard, 0, 0);
        }
        assert_eq!(create(&mut shard, 0, 120_000), (0, None));
        assert_eq!(create(&mut shard, 0, 120_001), (5, Some(5)));
        assert_eq!(shard.len(), 3);
    }

    #[test]
    fn a_shard_that_was_full_and_emptied_evicts_again() {
        let mut shard = shard(3);
        let fill =
            |shard: &mut FetchShard, now: i64| (0..3).map(|_| create(shard, 0, now).0).collect();
        let ids: Vec<i32> = fill(&mut shard, 0);
        assert_eq!(create(&mut shard, 0, 0), (0, None));
        for id in ids {
            shard.close(id);
        }
        assert!(!shard.order.is_kept());
        let ids: Vec<i32> = fill(&mut shard, 1000);
        assert_eq!(ids, [5, 6, 7]);
        assert_eq!(create(&mut shard, 0, 121_000), (0, None));
        assert_eq!(create(&mut shard, 0, 121_001), (5, Some(5)));
    }
}
