//! Two caches on one simulated broker: one is shown every partition of a session each time, the
//! other those that may have changed. Whatever can be seen of them must be equal.

use super::fetcher::{
    End, FETCHERS, FetchPlan, Fetcher, Operation, TimedOperation, key, offset, params,
};
use super::log::{FOLLOWERS, FollowerProgress, Log};
use super::progress::Progress;
use super::read::{Outcome, Pass, Who};
use super::row::Row;
use super::world::{Event, World};
use crate::driver::visit;
use crate::reading::Reading;
use crate::request::{Key, Request};
use kafka_coordination::fetch::{
    CacheConfig, CacheState, Change, ChangeTracking, ContextKind, FetchAnswer, FetchCache,
    FetchContext, FetchMetadata, FetcherKind, PartitionRead, PartitionState, Profile, Retention,
    SessionState, retention,
};
use kafka_coordination::{Monotonic, TopicName};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// What a run came to: it is an error if the two differ, and says in what.
pub(crate) type Difference = Result<(), String>;

/// One of the two caches, and what its broker knows of followers.
struct Side {
    cache: FetchCache,
    random: Pcg64Mcg,
    progress: FollowerProgress,
    /// How many partitions it visited.
    visits: usize,
}

/// A fetch that waits for data.
struct Waiting {
    who: Who,
    fetcher: usize,
    session_id: i32,
    epoch: i32,
    full: FetchContext,
    tracked: FetchContext,
    min_bytes: i64,
    max_bytes: i64,
}

/// The two caches and all around them.
pub(crate) struct Twins {
    world: World,
    full: Side,
    tracked: Side,
    fetchers: Vec<Fetcher>,
    waiting: Vec<Waiting>,
    now: i64,
    /// The rule that the tracked one's host or cache does not follow.
    omitted: Option<Row>,
    /// The follower that each session is of.
    owners: BTreeMap<i32, i32>,
    /// Whether a session was used by another one than its owner.
    is_mixed: bool,
}

fn config(tracking: ChangeTracking) -> CacheConfig {
    CacheConfig::default()
        .with_shards(1)
        .and_then(|it| it.with_slots(4))
        .and_then(|it| it.with_eviction_ms(400))
        .unwrap()
        .with_change_tracking(tracking)
}

impl Side {
    fn new(tracking: ChangeTracking) -> Self {
        Self {
            cache: FetchCache::new(config(tracking)),
            random: Pcg64Mcg::new(7),
            progress: FollowerProgress::new(),
            visits: 0,
        }
    }

    fn read(&mut self, world: &World, who: Who, context: &FetchContext, max_bytes: i64) -> Pass {
        let visited = visit(&mut self.cache, context);
        self.visits += visited.len();
        Pass::new(world, who, visited, max_bytes)
    }
}

fn equal<T: PartialEq + Debug>(what: &str, full: &T, tracked: &T) -> Difference {
    if full == tracked {
        return Ok(());
    }
    Err(format!("{what}\n  of all visits: {full:?}\n  of changes:    {tracked:?}"))
}

impl Twins {
    pub(crate) fn new(omitted: Option<Row>) -> Self {
        Self {
            world: World::new(),
            full: Side::new(ChangeTracking::Off),
            tracked: Side::new(ChangeTracking::On),
            fetchers: (0..FETCHERS).map(Fetcher::new).collect(),
            waiting: Vec::new(),
            now: 1000,
            omitted,
            owners: BTreeMap::new(),
            is_mixed: false,
        }
    }

    /// How many partitions were visited, of all and of changes.
    pub(crate) const fn visits(&self) -> (usize, usize) {
        (self.full.visits, self.tracked.visits)
    }

    pub(crate) fn run(&mut self, operations: &[TimedOperation]) -> Difference {
        for (number, (ms, operation)) in operations.iter().enumerate() {
            self.now += ms;
            self.step(operation)
                .and_then(|()| self.compare())
                .map_err(|difference| format!("step {number}: {difference}"))?;
        }
        Ok(())
    }

    fn now(&self) -> Monotonic {
        Monotonic::from_millis(self.now)
    }

    fn step(&mut self, operation: &Operation) -> Difference {
        match operation {
            Operation::Fetch(plan) => self.fetch(plan),
            Operation::Event(event) => self.happen(*event),
            Operation::Expire(at, end) => {
                let Some(at) = usize::from(*at).checked_rem(self.waiting.len()) else {
                    return Ok(());
                };
                self.expire(at, *end)
            }
        }
    }

    fn expire(&mut self, at: usize, end: End) -> Difference {
        let waiting = self.waiting.remove(at);
        let passes = self.read(&waiting);
        self.conclude(waiting, &passes, end)
    }

    /// Whether the tracked side may be taken out and put back, which open contexts do not survive.
    fn is_reimported(&self) -> bool {
        self.omitted.is_some_and(Row::is_of_the_cache)
    }

    fn request(&mut self, plan: &FetchPlan) -> Request {
        let fetcher = &mut self.fetchers[plan.fetcher];
        if let Some(how) = plan.renews {
            fetcher.renew(&self.world, how);
        }
        if plan.restarts {
            fetcher.restart();
        }
        if fetcher.metadata.is_full() {
            fetcher.by_id = plan.by_id;
        }
        let mut wanted = Vec::new();
        if plan.advances {
            for (key, offset) in core::mem::take(&mut fetcher.next) {
                fetcher.set_offset(&key, offset);
                let epoch = self.world.logs.get(&(key.name.clone(), key.partition));
                let params = kafka_coordination::fetch::FetchParams {
                    fetch_offset: offset,
                    log_start_offset: -1,
                    max_bytes: 45,
                    leader_epoch: None,
                    last_fetched_epoch: epoch
                        .map(|log| log.leader_epoch)
                        .filter(|_| offset % 2 == 0),
                };
                wanted.push((key, params));
            }
        }
        for it in &plan.wanted {
            let key = key(&self.world, it.topic, it.partition);
            let offset = offset(&self.world, fetcher, &key, it.offset);
            fetcher.set_offset(&key, offset);
            let params = params(&self.world, &key, offset, it);
            wanted.push((key, params));
        }
        let forgotten: Vec<Key> = plan
            .forgotten
            .iter()
            .map(|&(topic, partition)| key(&self.world, topic, partition))
            .collect();
        for key in &forgotten {
            fetcher.forget(key);
        }
        let who = self.fetchers[plan.sender.unwrap_or(plan.fetcher)].who;
        let fetcher = &self.fetchers[plan.fetcher];
        Request {
            version: if fetcher.by_id { 17 } else { 12 },
            metadata: fetcher.metadata,
            fetcher: who.kind(),
            profile: who.profile(),
            principal: 0,
            wanted,
            forgotten,
            names: crate::universe::NOTHING,
        }
    }

    fn fetch(&mut self, plan: &FetchPlan) -> Difference {
        let at = self.waiting.iter().position(|it| it.fetcher == plan.fetcher);
        if let (Some(at), false) = (at, plan.overtakes) {
            self.expire(at, End::Answer)?;
        }
        let request = self.request(plan);
        let who = self.fetchers[plan.sender.unwrap_or(plan.fetcher)].who;
        let before = self.tracked.cache.export();
        self.put_down_all(&request);
        self.is_mixed |= plan.sender.is_some();
        let (full, tracked) = self.begin(&request);
        equal("kind", &full.kind(), &tracked.kind())?;
        equal("error", &full.error(), &tracked.error())?;
        equal("session", &full.session_id(), &tracked.session_id())?;
        equal("partitions", &full.partition_count(), &tracked.partition_count())?;
        let fetcher = &mut self.fetchers[plan.fetcher];
        match full.kind() {
            ContextKind::Incremental => {
                fetcher.metadata = fetcher.metadata.next_incremental();
            }
            ContextKind::Error | ContextKind::Sessionless => {
                fetcher.metadata = FetchMetadata::INITIAL;
                fetcher.offsets.clear();
                fetcher.next.clear();
            }
            _ => fetcher.metadata = FetchMetadata::INITIAL,
        }
        let waiting = Waiting {
            who,
            fetcher: plan.fetcher,
            session_id: full.session_id(),
            epoch: FetchMetadata::next_epoch(request.metadata.epoch),
            full,
            tracked,
            min_bytes: plan.min_bytes,
            max_bytes: plan.max_bytes,
        };
        let passes = self.read(&waiting);
        self.record(who, &passes)?;
        let waits = plan.waits && !self.is_reimported();
        if Self::is_due(&waiting, &passes, waits)? || self.is_reimported() {
            if let Some(event) = plan.during {
                self.happen(event)?;
            }
            self.conclude(waiting, &passes, plan.end)?;
        } else {
            self.waiting.push(waiting);
        }
        if self.omitted == Some(Row::E9) && plan.end != End::Answer {
            self.unlist(&request, &before);
        }
        Ok(())
    }

    fn begin(&mut self, request: &Request) -> (FetchContext, FetchContext) {
        let now = self.now();
        let world = &self.world;
        let names = |id| world.name_of(id);
        let full = request.begin_with(&mut self.full.cache, &names, now);
        let mut request = request.clone();
        if self.omitted == Some(Row::E10) {
            request.profile = Profile { read_committed: true, host: 0 };
        }
        let tracked = request.begin_with(&mut self.tracked.cache, &names, now);
        (full, tracked)
    }

    /// Puts down what the tracked cache knows of a quiet partition, and will not know any more.
    fn put_down(&mut self, session_id: i32, key: &Key) {
        let Some(&broker) = self.owners.get(&session_id) else { return };
        let log = self.world.logs.get(&(key.name.clone(), key.partition));
        let Side { cache, progress, .. } = &mut self.tracked;
        let at = cache.quiet_at(session_id, key.id, &key.name, key.partition);
        if let (Some(at), Some(log)) = (at, log) {
            let progress = progress.entry((broker, key.name.clone(), key.partition)).or_default();
            progress.was_quiet(log.end, at.as_millis());
        }
    }

    /// The same for all that a request takes out of its session's quiet.
    fn put_down_all(&mut self, request: &Request) {
        let session_id = request.metadata.session_id;
        if request.metadata.is_full() {
            let logs = self.world.logs.iter();
            let keys = logs.map(|((name, partition), log)| Key {
                id: log.topic_id,
                name: name.clone(),
                partition: *partition,
            });
            for key in keys.collect::<Vec<_>>() {
                self.put_down(session_id, &key);
            }
        }
        for key in request.wanted.iter().map(|(key, _)| key).chain(&request.forgotten) {
            self.put_down(session_id, key);
        }
    }

    fn read(&mut self, waiting: &Waiting) -> (Pass, Pass) {
        let (world, who, max_bytes) = (&self.world, waiting.who, waiting.max_bytes);
        let full = self.full.read(world, who, &waiting.full, max_bytes);
        let tracked = self.tracked.read(world, who, &waiting.tracked, max_bytes);
        for outcome in &tracked.outcomes {
            self.put_down(waiting.session_id, &outcome.visited.key);
        }
        (full, tracked)
    }

    /// What the first read of a follower's fetch tells the leader.
    fn record(&mut self, who: Who, passes: &(Pass, Pass)) -> Difference {
        let Who::Follower { broker, .. } = who else {
            return Ok(());
        };
        for (side, pass) in [(&mut self.full, &passes.0), (&mut self.tracked, &passes.1)] {
            for outcome in &pass.outcomes {
                let Some(end) = outcome.followed_to else { continue };
                let key = &outcome.visited.key;
                let progress =
                    side.progress.entry((broker, key.name.clone(), key.partition)).or_default();
                progress.fetched(outcome.visited.params.fetch_offset, end, self.now);
            }
        }
        // Followers that are to be let back in are looked at with each of their fetches.
        let candidates = |pass: &Pass| -> Vec<Key> {
            let outcomes = pass.outcomes.iter();
            let candidates = outcomes.filter(|outcome| {
                let offset = outcome.visited.params.fetch_offset;
                let is_there = offset >= outcome.reading.high_watermark;
                outcome.revisit.is_out_of_sync && outcome.followed_to.is_some() && is_there
            });
            candidates.map(|outcome| outcome.visited.key.clone()).collect()
        };
        equal("candidates", &candidates(&passes.0), &candidates(&passes.1))
    }

    fn is_due(waiting: &Waiting, passes: &(Pass, Pass), waits: bool) -> Result<bool, String> {
        let due = |pass: &Pass, context: &FetchContext| {
            pass.is_due(context.partition_count(), waiting.min_bytes, waits)
        };
        let (full, tracked) = (due(&passes.0, &waiting.full), due(&passes.1, &waiting.tracked));
        equal("due", &full, &tracked)?;
        Ok(full)
    }

    /// Ends a fetch, and compares what its fetcher and host see of that.
    fn conclude(&mut self, waiting: Waiting, passes: &(Pass, Pass), end: End) -> Difference {
        let now = self.now();
        let Waiting { full, tracked, .. } = waiting;
        let kind = full.kind();
        let full_reads = Self::reads(&self.full, None, &full, &passes.0);
        let tracked_reads = Self::reads(&self.tracked, self.omitted, &tracked, &passes.1);
        let size = |side: &Side, context: &FetchContext, reads: &[(PartitionRead, &Outcome)]| {
            let reads: Vec<_> = reads.iter().map(|(read, _)| *read).collect();
            side.cache.response_size(context, &reads)
        };
        equal(
            "size",
            &size(&self.full, &full, &full_reads),
            &size(&self.tracked, &tracked, &tracked_reads),
        )?;
        if end == End::Drop {
            return Ok(());
        }
        let full = self.full.answer(full, full_reads, end, now);
        let tracked = self.tracked.answer(tracked, tracked_reads, end, now);
        equal("answer", &full.0, &tracked.0)?;
        equal("carried", &full.1, &tracked.1)?;
        let answer = full.0;
        let fetcher = &mut self.fetchers[waiting.fetcher];
        if kind == ContextKind::Full && answer.session_id != 0 && end == End::Answer {
            fetcher.metadata = FetchMetadata::new_incremental(answer.session_id);
            if let Who::Follower { broker, .. } = waiting.who {
                self.owners.insert(answer.session_id, broker);
            }
            self.follow_eviction(&answer);
        }
        let fetcher = &mut self.fetchers[waiting.fetcher];
        for (key, _, next) in &full.1 {
            let Some(next) = next else { continue };
            let by_id = fetcher.by_id;
            fetcher.next.retain(|(it, _)| !it.is_same(key, by_id));
            fetcher.next.push((key.clone(), *next));
        }
        if end == End::Answer && kind == ContextKind::Incremental && self.is_reimported() {
            self.settle(answer.session_id, &tracked.2);
        }
        Ok(())
    }

    /// What a session knew of quiet partitions goes with it when it is evicted, which only a
    /// follower's bigger session or a long idleness brings about: its follower starts again.
    fn follow_eviction(&mut self, answer: &FetchAnswer) {
        let evicted = answer.evicted.and_then(|it| self.owners.get(&it.session_id));
        if let Some(&evicted) = evicted {
            let full = self.full.progress.iter();
            let of_evicted = full.filter(|((broker, _, _), _)| *broker == evicted);
            self.tracked.progress.extend(of_evicted.map(|(key, it)| (key.clone(), *it)));
        }
    }

    /// The reads of a pass, as its host hands them in.
    fn reads<'a>(
        side: &Side,
        omitted: Option<Row>,
        context: &FetchContext,
        pass: &'a Pass,
    ) -> Vec<(PartitionRead, &'a Outcome)> {
        let mut slots = side.cache.slots(context);
        let reads = pass.outcomes.iter().filter_map(|outcome| {
            let key = &outcome.visited.key;
            let read = outcome.reading.at(slots.find(key.id, &key.name, key.partition)?);
            let revisit = outcome.revisit;
            let is_revisited = (revisit.is_withheld && omitted != Some(Row::R1Withheld))
                || (revisit.is_throttled && !matches!(omitted, Some(Row::R1Withheld | Row::E13)))
                || (revisit.is_out_of_sync && omitted != Some(Row::R6));
            Some((if is_revisited { read.with_revisit() } else { read }, outcome))
        });
        reads.collect()
    }

    /// Lets something happen: first the marks, then the event, then who waits for it is looked at.
    fn happen(&mut self, event: Event) -> Difference {
        let mut woken = BTreeSet::new();
        let mut expected = BTreeSet::new();
        for mark in self.world.marks(event) {
            let is_made = self.omitted != Some(mark.row);
            let Some((id, name, partition)) = mark.partition else {
                let all = 0..self.waiting.len();
                expected.extend(all.clone());
                if is_made {
                    self.tracked.cache.mark_all();
                    woken.extend(all);
                }
                continue;
            };
            let key = Key { id, name, partition };
            expected.extend(self.concerned(&key, mark.change));
            if is_made {
                woken.extend(self.mark(&key, mark.change)?);
            }
        }
        let before = self.world.logs.clone();
        self.world.apply(event);
        self.restart_progress(&before);
        if matches!(event, Event::RemoteReady(..)) {
            // The remote tier itself tells those who wait for it.
            expected.extend(0..self.waiting.len());
            woken.extend(0..self.waiting.len());
        }
        if self.omitted.is_none() {
            equal("woken", &expected, &woken)?;
        }
        for at in expected.into_iter().rev() {
            let waiting = self.waiting.remove(at);
            let passes = self.read(&waiting);
            if Self::is_due(&waiting, &passes, true)? {
                self.conclude(waiting, &passes, End::Answer)?;
            } else {
                self.waiting.insert(at, waiting);
            }
        }
        Ok(())
    }

    /// The waiting fetches whose answer may be another after a change.
    fn concerned(&self, key: &Key, change: Change) -> Vec<usize> {
        let state = self.full.cache.export();
        let is_concerned = |waiting: &Waiting| {
            let is_of_interest = match (change, waiting.who) {
                (Change::Appended | Change::FollowerState, who) => {
                    who.kind() == FetcherKind::Follower
                }
                (Change::LastStableOffset, Who::Consumer { read_committed, .. }) => read_committed,
                (Change::LastStableOffset | Change::ReplicaSelection, who) => {
                    who.kind() == FetcherKind::Consumer
                }
                _ => true,
            };
            let session = state.sessions.iter().find(|it| it.id == waiting.session_id);
            is_of_interest
                && session.is_some_and(|session| {
                    session.epoch == waiting.epoch && find(session, key).is_some()
                })
        };
        let waiting = self.waiting.iter().enumerate();
        waiting.filter(|(_, it)| is_concerned(it)).map(|(at, _)| at).collect()
    }

    /// Marks a partition in the tracked cache; answers whom that wakes.
    fn mark(&mut self, key: &Key, change: Change) -> Result<Vec<usize>, String> {
        let mut marked = Vec::new();
        let Side { cache, progress, .. } = &mut self.tracked;
        cache.mark(key.id, &key.name, key.partition, change, |it| marked.push(it));
        let ids: BTreeSet<i32> = marked.iter().map(|it| it.session_id).collect();
        if ids.len() != marked.len() {
            return Err(format!("a session hears twice of one mark: {marked:?}"));
        }
        let end = self.world.logs.get(&(key.name.clone(), key.partition)).map(|log| log.end);
        for it in &marked {
            let owner = self.owners.get(&it.session_id).copied();
            let (Some(at), Some(broker), Some(end)) = (it.quiet_at, owner, end) else { continue };
            let progress = progress.entry((broker, key.name.clone(), key.partition)).or_default();
            progress.was_quiet(end, at.as_millis());
        }
        let sessions = self.tracked.cache.export().sessions;
        let epoch_of = |id| sessions.iter().find(|it| it.id == id).map(|it| it.epoch);
        let is_woken = |waiting: &Waiting| {
            let mut marked = marked.iter().filter(|it| it.is_waiting);
            marked.any(|it| it.session_id == waiting.session_id)
                && epoch_of(waiting.session_id) == Some(waiting.epoch)
        };
        let waiting = self.waiting.iter().enumerate();
        Ok(waiting.filter(|(_, it)| is_woken(it)).map(|(at, _)| at).collect())
    }

    /// A new log, or a new leader, knows nothing of its followers yet.
    fn restart_progress(&mut self, before: &BTreeMap<(String, i32), Log>) {
        let id = |log: Option<&Log>| log.map(|log| (log.topic_id, log.leader_epoch));
        let places: BTreeSet<_> = before.keys().chain(self.world.logs.keys()).collect();
        for place in places {
            let log = self.world.logs.get(place);
            if id(log) == id(before.get(place)) {
                continue;
            }
            for broker in FOLLOWERS {
                let key = (broker, place.0.clone(), place.1);
                for side in [&mut self.full, &mut self.tracked] {
                    side.progress.remove(&key);
                    if let Some(log) = log {
                        let is_in_sync = log.in_sync.contains(&broker);
                        side.progress.insert(key.clone(), Progress::reset(is_in_sync, self.now));
                    }
                }
            }
        }
    }

    fn compare(&self) -> Difference {
        let (full, tracked) = (self.full.cache.export(), self.tracked.cache.export());
        let profiles_differ = self.omitted == Some(Row::E10);
        equal("state", &plain(&full, profiles_differ), &plain(&tracked, profiles_differ))?;
        if self.is_mixed || self.is_reimported() {
            return Ok(());
        }
        equal("progress", &self.full.progress, &self.progress(&tracked))
    }

    /// What the tracked side's broker knows of followers, with what its sessions know besides: that
    /// a follower was caught up on what is quiet.
    fn progress(&self, state: &CacheState) -> FollowerProgress {
        let mut progress = self.tracked.progress.clone();
        for session in &state.sessions {
            let owner = self.owners.get(&session.id).copied();
            let Some(broker) = owner else { continue };
            for it in &session.partitions {
                let name = it.topic.as_ref().map_or("", TopicName::as_str);
                let cache = &self.tracked.cache;
                let at = cache.quiet_at(session.id, it.topic_id, name, it.partition);
                let place = (name.to_owned(), it.partition);
                if let (Some(at), Some(log)) = (at, self.world.logs.get(&place)) {
                    let key = (broker, place.0, place.1);
                    progress.entry(key).or_default().was_quiet(log.end, at.as_millis());
                }
            }
        }
        progress
    }

    /// Takes from the tracked session's memory what only the omitted rule keeps in it.
    fn settle(&mut self, session_id: i32, answered: &[(Key, PartitionRead)]) {
        let row = self.omitted;
        let is_kept_by_it = |session: &SessionState, it: &PartitionState| {
            let read = answered.iter().find(|(key, _)| is_it(session, it, key));
            let Some((_, read)) = read else { return false };
            match retention(it.reported, read) {
                Some(Retention::Data) => row == Some(Row::R1Returned) && !read.is_revisited(),
                Some(Retention::Error) => row == Some(Row::R2),
                Some(Retention::Redirect) => row == Some(Row::R3),
                None => row == Some(Row::R5),
                _ => false,
            }
        };
        self.forget_changes(session_id, is_kept_by_it);
    }

    /// Takes from the tracked session's memory what a request listed that was not answered.
    fn unlist(&mut self, request: &Request, before: &CacheState) {
        let session_id = request.metadata.session_id;
        let Some(old) = before.sessions.iter().find(|it| it.id == session_id) else { return };
        self.forget_changes(session_id, |session, it| {
            let is_listed = request.wanted.iter().any(|(key, _)| is_it(session, it, key));
            let was_changed = old.partitions.iter().any(|old| {
                old.is_changed
                    && (&old.topic_id, &old.topic, old.partition)
                        == (&it.topic_id, &it.topic, it.partition)
            });
            is_listed && !was_changed
        });
    }

    fn forget_changes(
        &mut self,
        session_id: i32,
        which: impl Fn(&SessionState, &PartitionState) -> bool,
    ) {
        let mut state = self.tracked.cache.export();
        for session in state.sessions.iter_mut().filter(|it| it.id == session_id) {
            let forgotten: Vec<bool> =
                session.partitions.iter().map(|it| which(session, it)).collect();
            for (partition, is_forgotten) in session.partitions.iter_mut().zip(forgotten) {
                partition.is_changed &= !is_forgotten;
            }
        }
        self.tracked.cache = FetchCache::import(config(ChangeTracking::On), &state).unwrap();
    }
}

/// What an answer carries: partition, what was read, and where the fetcher goes on.
type Carried = Vec<(Key, Reading, Option<i64>)>;

impl Side {
    fn answer(
        &mut self,
        context: FetchContext,
        reads: Vec<(PartitionRead, &Outcome)>,
        end: End,
        now: Monotonic,
    ) -> (FetchAnswer, Carried, Vec<(Key, PartitionRead)>) {
        let (mut reads, outcomes): (Vec<_>, Vec<_>) = reads.into_iter().unzip();
        if end == End::Throttle {
            return (self.cache.throttle(context, 100), Vec::new(), Vec::new());
        }
        let answer = self.cache.finish(context, &mut reads, &mut self.random, now);
        let carried = reads.iter().zip(&outcomes).filter(|(read, _)| read.is_included());
        let carried = carried.map(|(_, outcome)| {
            let next = (outcome.records > 0)
                .then(|| outcome.visited.params.fetch_offset + outcome.records);
            (outcome.visited.key.clone(), outcome.reading, next)
        });
        let carried = carried.collect();
        let keys = outcomes.iter().map(|outcome| outcome.visited.key.clone());
        (answer, carried, keys.zip(reads).collect())
    }
}

fn is_it(session: &SessionState, partition: &PartitionState, key: &Key) -> bool {
    let own = Key {
        id: partition.topic_id,
        name: partition.topic.as_ref().map_or("", TopicName::as_str).to_owned(),
        partition: partition.partition,
    };
    own.is_same(key, session.uses_topic_ids)
}

fn find<'a>(session: &'a SessionState, key: &Key) -> Option<&'a PartitionState> {
    session.partitions.iter().find(|it| is_it(session, it, key))
}

/// An exported state less what only change tracking uses.
fn plain(state: &CacheState, without_profiles: bool) -> CacheState {
    let mut state = state.clone();
    for session in &mut state.sessions {
        session.visits_all = true;
        session.quiet_at = None;
        if without_profiles {
            session.profile = Profile::default();
        }
        for partition in &mut session.partitions {
            partition.is_changed = false;
        }
    }
    state
}
