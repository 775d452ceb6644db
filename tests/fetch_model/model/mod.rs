//! The broker's side of fetch sessions, written down as the rules read: lists that are searched,
//! a name with every entry, sorted maps that are kept exact. Slow, and obviously right.

mod session;
mod shard;

pub(crate) use session::{Entry, next_epoch};

use crate::encoding::{Carried, encode};
use crate::reading::Reading;
use crate::request::{Key, Request};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{ContextKind, EvictionReason, FetcherKind, Profile};
use session::{Session, put_all};
use shard::{Shard, SharedSession};
use std::cell::RefCell;
use std::rc::Rc;

/// How a cache is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) shards: u32,
    pub(crate) slots: u32,
    pub(crate) eviction_ms: i64,
    pub(crate) first_shard: i32,
    pub(crate) limits: Limits,
}

/// Limits that Kafka does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) session_partitions: u32,
    pub(crate) cached_partitions: u64,
    pub(crate) principal_sessions: u32,
}

/// What happened, as the cache's counters tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) created: u64,
    pub(crate) refused: u64,
    pub(crate) closed: u64,
    pub(crate) over_limit: u64,
    pub(crate) evicted_stale: u64,
    pub(crate) evicted_unprivileged: u64,
    pub(crate) evicted_smaller: u64,
    pub(crate) not_found: u64,
    pub(crate) invalid_epoch: u64,
    pub(crate) topic_id_error: u64,
}

impl Counts {
    pub(crate) const fn all(&self) -> [u64; 10] {
        [
            self.created,
            self.refused,
            self.closed,
            self.over_limit,
            self.evicted_stale,
            self.evicted_unprivileged,
            self.evicted_smaller,
            self.not_found,
            self.invalid_epoch,
            self.topic_id_error,
        ]
    }
}

/// The cache of a broker.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) shards: Vec<Shard>,
    pub(crate) range: i32,
    pub(crate) next_shard: i32,
    pub(crate) counts: Counts,
    limits: Limits,
}

/// A request between acceptance and answer.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    version: i16,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Error(ErrorCode),
    Sessionless(Vec<Entry>),
    Full(Wish),
    Incremental(SharedSession, i32),
}

#[derive(Clone, Debug)]
struct Wish {
    entries: Vec<Entry>,
    uses_topic_ids: bool,
    fetcher: FetcherKind,
    principal: u64,
    profile: Profile,
}

/// What a fetch is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) error: ErrorCode,
    pub(crate) session_id: i32,
    pub(crate) throttle_time_ms: i32,
    pub(crate) evicted: Option<(i32, EvictionReason)>,
    /// Which of the readings it carries.
    pub(crate) included: Vec<bool>,
}

impl Model {
    pub(crate) fn new(setup: &Setup) -> Self {
        let max_entries = (setup.slots / setup.shards) as usize;
        let shards = (0..setup.shards).map(|_| Shard::new(max_entries, setup.eviction_ms));
        Self {
            shards: shards.collect(),
            range: i32::MAX / setup.shards as i32,
            next_shard: setup.first_shard,
            counts: Counts::default(),
            limits: setup.limits,
        }
    }

    /// The ids that a shard issues, from the first up to but not including the second.
    pub(crate) fn ids(&self, shard: usize) -> (i32, i32) {
        let shard = shard as i32;
        ((shard * self.range).max(1), (shard + 1) * self.range)
    }

    fn shard_of(&self, id: i32) -> Option<usize> {
        (0..self.shards.len()).find(|&shard| {
            let (first, end) = self.ids(shard);
            (first..end).contains(&id)
        })
    }

    fn find(&self, id: i32) -> Option<(usize, SharedSession)> {
        let shard = self.shard_of(id)?;
        Some((shard, self.shards[shard].find(id)?))
    }

    /// The live sessions by ascending id.
    pub(crate) fn sessions(&self) -> Vec<SharedSession> {
        let sessions = self.shards.iter().flat_map(|shard| &shard.sessions);
        let mut sessions: Vec<_> = sessions.map(Rc::clone).collect();
        sessions.sort_by_key(|session| session.borrow().id);
        sessions
    }

    pub(crate) fn partitions(&self) -> i64 {
        self.shards.iter().map(|shard| shard.partitions).sum()
    }

    pub(crate) fn begin(&mut self, request: &Request, now: i64) -> Context {
        Context { version: request.version, body: self.classify(request, now) }
    }

    fn classify(&mut self, request: &Request, now: i64) -> Body {
        let metadata = request.metadata;
        if metadata.epoch == 0 || metadata.epoch == -1 {
            let shard = self.shard_of(metadata.session_id);
            if shard.is_some_and(|shard| self.shards[shard].remove(metadata.session_id)) {
                self.counts.closed += 1;
            }
            let mut entries = Vec::new();
            put_all(&mut entries, request);
            if metadata.epoch == -1 {
                return Body::Sessionless(entries);
            }
            return Body::Full(Wish {
                entries,
                uses_topic_ids: request.uses_topic_ids(),
                fetcher: request.fetcher,
                principal: request.principal,
                profile: request.profile,
            });
        }
        let Some((shard, session)) = self.find(metadata.session_id) else {
            self.counts.not_found += 1;
            return Body::Error(ErrorCode::FetchSessionIdNotFound);
        };
        if session.borrow().epoch != metadata.epoch {
            self.counts.invalid_epoch += 1;
            return Body::Error(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.borrow().uses_topic_ids != request.uses_topic_ids() {
            self.counts.topic_id_error += 1;
            return Body::Error(ErrorCode::FetchSessionTopicIdError);
        }
        let added = session.borrow_mut().update(request);
        if session.borrow().entries.is_empty() {
            self.shards[shard].remove(metadata.session_id);
            self.counts.closed += 1;
            let mut entries = Vec::new();
            put_all(&mut entries, request);
            return Body::Sessionless(entries);
        }
        self.shards[shard].touch(&session, now);
        {
            let mut session = session.borrow_mut();
            session.epoch = next_epoch(metadata.epoch);
            session.asked_by = request.fetcher;
            session.profile = request.profile;
            for entry in &mut session.entries {
                entry.resolve(request.names);
            }
        }
        let size = session.borrow().entries.len();
        if added > 0
            && (size > self.limits.session_partitions as usize
                || self.partitions() as u64 > self.limits.cached_partitions)
        {
            self.shards[shard].remove(metadata.session_id);
            self.counts.over_limit += 1;
        }
        Body::Incremental(session, next_epoch(metadata.epoch))
    }

    /// The partitions to read, in order.
    pub(crate) fn visit(context: &Context) -> Vec<Entry> {
        match &context.body {
            Body::Error(_) => Vec::new(),
            Body::Sessionless(entries) | Body::Full(Wish { entries, .. }) => entries.clone(),
            Body::Incremental(session, epoch) => {
                let session = session.borrow();
                // What an overtaken fetch reads is of no account.
                if session.epoch == *epoch { session.entries.clone() } else { Vec::new() }
            }
        }
    }

    /// Which of the readings an answer would carry now.
    fn included(context: &Context, readings: &[(Key, Reading)], commits: bool) -> Vec<bool> {
        let uses_topic_ids = context.version >= 13;
        let listed = |entries: &[Entry], key: &Key| {
            entries.iter().any(|entry| entry.key.is_same(key, uses_topic_ids))
        };
        match &context.body {
            Body::Error(_) => readings.iter().map(|_| false).collect(),
            Body::Sessionless(entries) | Body::Full(Wish { entries, .. }) => {
                readings.iter().map(|(key, _)| listed(entries, key)).collect()
            }
            Body::Incremental(session, epoch) => {
                let mut session = session.borrow_mut();
                let is_current = session.epoch == *epoch;
                let mut include = |(key, reading): &(Key, Reading)| {
                    let entry = session.entry_mut(key);
                    let includes = entry.is_some_and(|entry| entry.includes(reading, commits));
                    if includes && commits && reading.records > 0 {
                        session.move_to_end(key);
                    }
                    includes
                };
                readings.iter().map(|read| is_current && include(read)).collect()
            }
        }
    }

    /// 4 and the length of the response's body.
    pub(crate) fn response_size(context: &Context, readings: &[(Key, Reading)]) -> u64 {
        let included = Self::included(context, readings, false);
        let carried: Vec<Carried<'_>> = readings
            .iter()
            .zip(included)
            .filter(|&(_, included)| included)
            .map(|((key, reading), _)| (key.id, Some(key.name.as_str()), key.partition, reading))
            .collect();
        4 + encode(context.version, 0, 0, &carried).len() as u64
    }

    /// Answers; a session that is created gets the id that is offered, which must be free.
    pub(crate) fn finish(
        &mut self,
        context: &Context,
        readings: &[(Key, Reading)],
        offered_id: i32,
        now: i64,
    ) -> Answer {
        let mut answer = Answer {
            error: ErrorCode::None,
            session_id: 0,
            throttle_time_ms: 0,
            evicted: None,
            included: Self::included(context, readings, true),
        };
        match &context.body {
            Body::Error(error) => answer.error = *error,
            Body::Sessionless(_) => {}
            Body::Full(wish) => self.create(wish, readings, offered_id, now, &mut answer),
            Body::Incremental(session, epoch) => {
                let session = session.borrow();
                answer.session_id = session.id;
                if session.epoch != *epoch {
                    answer.error = ErrorCode::InvalidFetchSessionEpoch;
                }
            }
        }
        answer
    }

    fn create(
        &mut self,
        wish: &Wish,
        readings: &[(Key, Reading)],
        offered_id: i32,
        now: i64,
        answer: &mut Answer,
    ) {
        // A partition that is read twice is one partition.
        let mut entries: Vec<Entry> = Vec::new();
        for (key, reading) in readings {
            let is_it = |entry: &&Entry| entry.key.is_same(key, wish.uses_topic_ids);
            let Some(wanted) = wish.entries.iter().find(is_it) else { continue };
            let mut entry = wanted.clone();
            entry.high_watermark = reading.high_watermark;
            entry.log_start = reading.log_start;
            let at = entries.iter().position(|entry| entry.key.is_same(key, wish.uses_topic_ids));
            match at {
                Some(at) => entries[at] = entry,
                None => entries.push(entry),
            }
        }
        let of_principal =
            self.sessions().iter().filter(|it| it.borrow().principal == wish.principal).count();
        if entries.len() > self.limits.session_partitions as usize
            || self.partitions() as u64 + entries.len() as u64 > self.limits.cached_partitions
            || of_principal >= self.limits.principal_sessions as usize
        {
            self.counts.refused += 1;
            return;
        }
        let number = (self.next_shard & i32::MAX) as usize % self.shards.len();
        self.next_shard = self.next_shard.wrapping_add(1);
        let ids = self.ids(number);
        let shard = &mut self.shards[number];
        let is_privileged = wish.fetcher == FetcherKind::Follower;
        let Ok(evicted) = shard.make_room(is_privileged, entries.len() as i64, now) else {
            self.counts.refused += 1;
            return;
        };
        if let Some((id, reason)) = evicted {
            shard.remove(id);
            *match reason {
                EvictionReason::Stale => &mut self.counts.evicted_stale,
                EvictionReason::Unprivileged => &mut self.counts.evicted_unprivileged,
                _ => &mut self.counts.evicted_smaller,
            } += 1;
        }
        assert!(
            (ids.0..ids.1).contains(&offered_id) && shard.find(offered_id).is_none(),
            "shard {number} cannot issue the id {offered_id}"
        );
        let session = Rc::new(RefCell::new(Session {
            id: offered_id,
            fetcher: wish.fetcher,
            asked_by: wish.fetcher,
            principal: wish.principal,
            profile: wish.profile,
            uses_topic_ids: wish.uses_topic_ids,
            entries,
            created: now,
            last_used: now,
            epoch: 1,
            cached_size: -1,
        }));
        shard.sessions.push(Rc::clone(&session));
        shard.touch(&session, now);
        self.counts.created += 1;
        answer.session_id = offered_id;
        answer.evicted = evicted;
    }

    pub(crate) fn throttle(context: &Context, throttle_time_ms: i32) -> Answer {
        let mut answer = Answer {
            error: ErrorCode::None,
            session_id: 0,
            throttle_time_ms,
            evicted: None,
            included: Vec::new(),
        };
        if let Body::Incremental(session, epoch) = &context.body {
            let session = session.borrow();
            answer.session_id = session.id;
            if session.epoch != *epoch {
                answer.error = ErrorCode::InvalidFetchSessionEpoch;
            }
        }
        answer
    }

    /// Sets the epoch that a live session expects next.
    pub(crate) fn set_epoch(&mut self, id: i32, epoch: i32) {
        if let Some((_, session)) = self.find(id) {
            session.borrow_mut().epoch = epoch;
        }
    }
}

impl Context {
    pub(crate) const fn kind(&self) -> ContextKind {
        match self.body {
            Body::Error(_) => ContextKind::Error,
            Body::Sessionless(_) => ContextKind::Sessionless,
            Body::Full(_) => ContextKind::Full,
            Body::Incremental(..) => ContextKind::Incremental,
        }
    }

    pub(crate) const fn error(&self) -> ErrorCode {
        match self.body {
            Body::Error(error) => error,
            _ => ErrorCode::None,
        }
    }

    pub(crate) fn session_id(&self) -> i32 {
        match &self.body {
            Body::Incremental(session, _) => session.borrow().id,
            _ => 0,
        }
    }
}
