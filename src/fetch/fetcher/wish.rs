//! The wish list: every partition that is to be fetched, compared with what the session holds.

use super::entries::{Entry, NO_SLOT, Pending, Want};
use super::plan::FetchPlan;
use super::{Change, FetcherSession};
use crate::fetch::request::PartitionRequest;
use crate::topic::TopicId;
use core::mem;

/// The partitions that the next request is to fetch; see [`FetcherSession::wish`].
///
/// Dropping it without building leaves the session as it was.
#[derive(Debug)]
#[must_use = "a wish list has no effect until it is built"]
pub struct WishList<'a> {
    session: &'a mut FetcherSession,
    generation: u32,
    is_full: bool,
    /// Whether a partition was added without a topic id.
    lacks_ids: bool,
    /// How many of the session's entries were named so far.
    kept: usize,
    /// The topic that was named last, and its id.
    topic: u32,
    id: TopicId,
    /// The entry that was named last, and the one that is likely to be next.
    last: u32,
    guess: u32,
}

impl FetcherSession {
    /// Opens the wish list of the next request.
    ///
    /// *All* partitions that are to be fetched must be added, changed or not: what is missing is forgotten. A list that
    /// comes in the same order each time is fastest.
    pub fn wish(&mut self) -> WishList<'_> {
        self.abandon_open_wish();
        self.topics.free_idle();
        self.known_ids.open();
        self.wished.clear();
        self.dropped.clear();
        self.forgotten = 0;
        self.is_open = true;
        WishList {
            generation: self.next_generation(),
            is_full: self.next.is_full(),
            lacks_ids: false,
            kept: 0,
            topic: NO_SLOT,
            id: TopicId::ZERO,
            last: NO_SLOT,
            guess: self.first,
            session: self,
        }
    }

    /// Takes back what a wish list did that was dropped without being built.
    pub(super) fn abandon_open_wish(&mut self) {
        if !mem::take(&mut self.is_open) {
            return;
        }
        for change in self.changes.drain(..) {
            self.entries.get_mut(change.slot).pending = Pending::NOTHING;
        }
        while let Some(slot) = self.wished.pop() {
            if self.entries.get(slot).pending == Pending::NEW {
                self.remove_entry(slot);
            }
        }
    }

    fn add_entry(&mut self, topic: u32, want: Want) -> u32 {
        self.topics.entry_added(topic);
        self.entries.insert(topic, want, Pending::NEW)
    }

    pub(super) fn remove_entry(&mut self, slot: u32) {
        self.topics.entry_removed(self.entries.get(slot).topic);
        self.entries.remove(slot);
    }
}

impl<'a> WishList<'a> {
    /// Adds a partition of the topic `name`; `id` is [`TopicId::ZERO`] if the fetcher does not know it.
    ///
    /// A partition that was added before keeps its place and takes the new id and parameters. Even so, one addition
    /// without an id keeps the request from using topic ids. O(1); without hashing if the partition follows the same
    /// one as in the wish list before.
    #[inline]
    pub fn add(&mut self, id: TopicId, name: &str, request: PartitionRequest) {
        self.turn_to(id, name);
        self.add_to_topic(request);
    }

    /// Adds partitions of one topic: [`add`](Self::add) for each of them, with the topic looked up once.
    #[inline]
    pub fn add_topic(
        &mut self,
        id: TopicId,
        name: &str,
        requests: impl IntoIterator<Item = PartitionRequest>,
    ) {
        let mut requests = requests.into_iter();
        if let Some(request) = requests.next() {
            self.add(id, name, request);
        }
        for request in requests {
            self.add_to_topic(request);
        }
    }

    /// Compares the list with the session, which from now on holds what the list says, and gives the plan of the request.
    ///
    /// O(1) if nothing changed, else O(partitions of the session). Order: Kafka's.
    pub fn build(self) -> FetchPlan<'a> {
        let Self {
            session,
            generation,
            is_full,
            lacks_ids,
            kept,
            ..
        } = self;
        let can_forget_by_id = if is_full {
            session.replace_partitions(generation, kept);
            true
        } else {
            session.update_partitions(generation, kept)
        };
        let can_use_ids = can_forget_by_id && !lacks_ids;
        session.known_ids.built(can_use_ids.then_some(generation));
        session.is_open = false;
        FetchPlan::new(session, can_use_ids)
    }

    /// Makes `name` with `id` the topic that partitions are added to.
    #[inline]
    fn turn_to(&mut self, id: TopicId, name: &str) {
        if self.id != id || !self.session.topics.is(self.topic, name) {
            self.turn_to_other(id, name);
        }
    }

    #[cold]
    #[inline(never)]
    fn turn_to_other(&mut self, id: TopicId, name: &str) {
        let session = &mut *self.session;
        let guess = session.entries.get_if(self.guess);
        let guess = guess.map_or(NO_SLOT, |entry| entry.topic);
        let topic = if session.topics.is(guess, name) {
            guess
        } else {
            session.topics.intern(name)
        };
        if id.is_zero() {
            self.lacks_ids = true;
        } else if session.topics.name_with_id(topic, id, self.generation) {
            session.known_ids.name(id, topic, self.generation);
        }
        self.topic = topic;
        self.id = id;
    }

    /// Adds a partition to the topic at hand.
    #[inline(never)]
    fn add_to_topic(&mut self, request: PartitionRequest) {
        let topic = self.topic;
        let is_it =
            |entry: &&mut Entry| entry.topic == topic && entry.want.partition == request.partition;
        let slot = self.guess;
        match self.session.entries.get_mut_if(slot).filter(is_it) {
            // The common case: the next partition, as it was, for the first time.
            Some(entry)
                if entry.seen != self.generation
                    && entry.pending == Pending::NOTHING
                    && !self.is_full
                    && entry.want.is(self.id, &request) =>
            {
                entry.seen = self.generation;
                self.kept += 1;
                self.last = slot;
                self.guess = entry.next;
            }
            Some(_) => self.add_at(slot, request),
            None => self.add_elsewhere(request),
        }
    }

    #[cold]
    #[inline(never)]
    /// Adds a partition that does not follow the one that it followed in the wish list before.
    fn add_elsewhere(&mut self, request: PartitionRequest) {
        let session = &mut *self.session;
        let found = session.entries.find(self.topic, request.partition);
        let slot =
            found.unwrap_or_else(|| session.add_entry(self.topic, Want::new(self.id, request)));
        match session.entries.get_mut_if(self.last) {
            Some(last) => last.next = slot,
            None => session.first = slot,
        }
        self.add_at(slot, request);
    }

    #[cold]
    #[inline(never)]
    /// Adds a partition whose entry is in `slot`.
    fn add_at(&mut self, slot: u32, request: PartitionRequest) {
        let session = &mut *self.session;
        let entry = session.entries.get_mut(slot);
        self.last = slot;
        self.guess = entry.next;
        if entry.seen != self.generation {
            entry.seen = self.generation;
            let is_new = entry.pending == Pending::NEW;
            self.kept += usize::from(!is_new);
            if is_new || self.is_full {
                session.wished.push(slot);
            }
        }
        let want = Want::new(self.id, request);
        if entry.pending == Pending::NOTHING {
            if entry.want != want {
                entry.pending = Pending::change(session.changes.len());
                session.changes.push(Change { slot, want });
            }
        } else if let Some(change) = session.changes.get_mut(entry.pending.number()) {
            change.want = want;
        } else {
            entry.want = want;
        }
    }
}
