//! The wish list: every partition that is to be fetched, compared with what the session holds.

use super::FetcherSession;
use super::entries::{Entries, Entry, NO_SLOT, Pending, Want};
use super::plan::FetchPlan;
use crate::fetch::request::PartitionRequest;
use crate::topic::TopicId;
use core::borrow::Borrow;
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
    /// The entry that was named last.
    last: u32,
    /// Whether there is more to a change than that it was made: its entry was named twice, and may be as it was, or went
    /// over to another topic id.
    is_intricate: bool,
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
            is_intricate: false,
            session: self,
        }
    }

    /// Takes back what a wish list did that was dropped without being built.
    pub(super) fn abandon_open_wish(&mut self) {
        if !mem::take(&mut self.is_open) {
            return;
        }
        for (slot, held) in self.changes.drain() {
            self.entries.get_mut(slot).want = held;
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
    pub fn add(&mut self, id: TopicId, name: &str, request: &PartitionRequest) {
        self.turn_to(id, name);
        self.add_to_topic(request);
    }

    /// Adds partitions of one topic: [`add`](Self::add) for each of them, with the topic looked up once.
    #[inline]
    pub fn add_topic(
        &mut self,
        id: TopicId,
        name: &str,
        requests: impl IntoIterator<Item = impl Borrow<PartitionRequest>>,
    ) {
        let mut requests = requests.into_iter();
        if let Some(request) = requests.next() {
            self.add(id, name, request.borrow());
        }
        for request in requests {
            self.add_to_topic(request.borrow());
        }
    }

    /// Compares the list with the session, which from now on holds what the list says, and gives the plan of the request.
    ///
    /// O(1) if nothing changed, else O(partitions of the session). Order: Kafka's.
    pub fn build(self) -> FetchPlan<'a> {
        let Self { session, generation, is_full, lacks_ids, kept, is_intricate, .. } = self;
        let can_forget_by_id = if is_full {
            session.replace_partitions(generation, kept);
            true
        } else {
            session.update_partitions(generation, kept, is_intricate)
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

    #[inline(never)]
    fn turn_to_other(&mut self, id: TopicId, name: &str) {
        let session = &mut *self.session;
        let guesses = guesses(&session.entries, self.last);
        let mut guesses = guesses
            .into_iter()
            .map(|slot| session.entries.get_if(slot).map_or(NO_SLOT, |entry| entry.topic));
        let found = guesses.find(|topic| session.topics.is(*topic, name));
        let topic = found.unwrap_or_else(|| session.topics.intern(name));
        if id.is_zero() {
            self.lacks_ids = true;
        } else {
            let place = session.topics.place_of_id(topic);
            *place = session.known_ids.name(id, *place, topic, self.generation);
        }
        self.topic = topic;
        self.id = id;
    }

    /// Adds a partition to the topic at hand.
    #[inline]
    fn add_to_topic(&mut self, request: &PartitionRequest) {
        // Most likely it is the one in the next slot, and asks for the same as before.
        let slot = self.last.wrapping_add(1);
        let session = &mut *self.session;
        match session.entries.get_mut_if(slot) {
            Some(entry)
                if entry.topic == self.topic
                    && entry.want.partition == request.partition
                    && entry.seen != self.generation
                    && !self.is_full =>
            {
                entry.seen = self.generation;
                self.kept += 1;
                self.last = slot;
                if !entry.want.is(self.id, request) {
                    self.is_intricate |= entry.want.id != self.id;
                    entry.note(slot, &mut session.changes);
                    entry.want = Want::new(self.id, request);
                }
            }
            _ => self.add_elsewhere(request),
        }
    }

    /// Adds a partition that is not where it is expected.
    #[inline(never)]
    fn add_elsewhere(&mut self, request: &PartitionRequest) {
        let session = &mut *self.session;
        let is_it =
            |entry: &Entry| entry.topic == self.topic && entry.want.partition == request.partition;
        let guesses = guesses(&session.entries, self.last);
        let mut guesses = guesses.into_iter();
        let found = guesses.find(|slot| session.entries.get_if(*slot).is_some_and(is_it));
        let slot = found.unwrap_or_else(|| {
            let hashed = session.entries.find(self.topic, request.partition);
            let slot = hashed
                .unwrap_or_else(|| session.add_entry(self.topic, Want::new(self.id, request)));
            if let Some(last) = session.entries.get_mut_if(self.last) {
                last.next = slot;
            }
            slot
        });
        self.last = slot;

        let entry = session.entries.get_mut(slot);
        let is_new = entry.pending == Pending::NEW;
        if entry.seen == self.generation {
            self.is_intricate = true;
        } else {
            entry.seen = self.generation;
            self.kept += usize::from(!is_new);
            if is_new || self.is_full {
                session.wished.push(slot);
            }
        }
        if entry.want.is(self.id, request) {
            return;
        }
        if !is_new && entry.noted(slot, &session.changes).is_none() {
            self.is_intricate |= entry.want.id != self.id;
            entry.note(slot, &mut session.changes);
        }
        entry.want = Want::new(self.id, request);
    }
}

/// Where the partition after the one in `last` is likely to be.
#[inline]
fn guesses(entries: &Entries, last: u32) -> [u32; 2] {
    let next = entries.get_if(last).map_or(NO_SLOT, |last| last.next);
    [last.wrapping_add(1), next]
}
