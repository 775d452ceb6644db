//! The partitions of one session, or of one full request, in their order.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::inclusion::Reported;
use super::order::Order;
use super::partition::Entry;
use super::request::{FetchRequest, PartitionRequest};
use super::response::{PartitionRead, Slot};
use super::state::PartitionState;
use super::topics::{Key, Topic, TopicTable};
use crate::metadata::TopicNames;

/// "None" as a slot, a topic number or a place in the order.
pub(super) const NIL: u32 = u32::MAX;

/// What became of a partition that a request lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Added,
    Altered,
}

/// What a request changed of a table, for whoever keeps an index over tables.
#[derive(Debug, Default)]
pub(super) struct TableDelta {
    /// The entries that were added and are still there.
    pub(super) added: Vec<u32>,
    /// The topics that lost their last entry. Their numbers are free once they are handed to
    /// [`PartitionTable::release_topic`].
    pub(super) emptied: Vec<u32>,
}

/// How many places a [`TableDelta`] keeps for the next request.
const KEPT: usize = 1024;

impl TableDelta {
    pub(super) fn clear(&mut self) {
        for list in [&mut self.added, &mut self.emptied] {
            list.clear();
            // One huge request should not leave its trace.
            list.shrink_to(KEPT);
        }
    }
}

/// Partitions in the order of a session, found by topic and partition in O(1).
///
/// Slots are stable while an entry lives.
///
/// Slots and topic numbers have 30 bits. A table cannot outgrow them: a request has at most 2^31
/// bytes and names a partition or topic with 16, and a session's growth is limited to 2^27.
#[derive(Clone, Debug)]
pub(super) struct PartitionTable {
    entries: Vec<Entry>,
    /// How many entries are in use.
    live: u32,
    /// Of use with more than [`UNINDEXED`] entries, free ones included; empty before.
    index: HashTable<u32>,
    order: Order,
    free_entry: u32,
    topics: TopicTable,
    hasher: FixedState,
}

impl PartitionTable {
    /// An empty table with room for that many entries and topics.
    pub(super) fn new(uses_topic_ids: bool, entries: usize, topics: usize, seed: u64) -> Self {
        Self {
            entries: Vec::with_capacity(entries),
            live: 0,
            index: HashTable::with_capacity(if entries > UNINDEXED { entries } else { 0 }),
            order: Order::with_capacity(entries),
            free_entry: NIL,
            topics: TopicTable::new(uses_topic_ids, topics),
            hasher: FixedState::with_seed(seed),
        }
    }

    /// The wish list of a full request. A repeated partition keeps its first place and takes its
    /// last parameters. What the table of the session that the request closed had in memory serves
    /// the new one.
    pub(super) fn of_request(
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        seed: u64,
        closed: Option<Box<Self>>,
    ) -> Box<Self> {
        let uses_topic_ids = request.uses_topic_ids();
        let partitions = request.topics.iter().map(|topic| topic.partitions.len()).sum();
        let topics = request.topics.len();
        let mut table = match closed {
            Some(mut table) => {
                table.clear(uses_topic_ids);
                table.entries.reserve_exact(partitions);
                table.order.reserve(partitions);
                table
            }
            None => Box::new(Self::new(uses_topic_ids, partitions, topics, seed)),
        };
        table.put_all(request, names, |_, _, _| {});
        table
    }

    fn clear(&mut self, uses_topic_ids: bool) {
        self.entries.clear();
        self.live = 0;
        self.index.clear();
        self.order.clear();
        self.free_entry = NIL;
        self.topics.clear(uses_topic_ids);
    }

    /// The number of partitions.
    pub(super) fn len(&self) -> usize {
        self.live as usize
    }

    pub(super) const fn uses_topic_ids(&self) -> bool {
        self.topics.uses_ids()
    }

    /// Adds or alters what the request lists, in its order; `put` learns of each slot and whether
    /// it is new.
    pub(super) fn put_all(
        &mut self,
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        mut put: impl FnMut(&mut Self, u32, Put),
    ) {
        for topic in request.topics {
            let key = Key::new(self.uses_topic_ids(), topic.id, topic.name);
            let hash = key.hash(&self.hasher);
            let mut known = self.topics.find(key, hash);
            // A topic's name is asked for once, and only if a partition of it is new.
            let mut interned = None;
            let mut partitions = topic.partitions;
            if known.is_none() && !partitions.is_empty() {
                let number = self.topics.intern(key, hash, known, names);
                (known, interned) = (Some(number), Some(number));
                // Ascending partitions of a topic that was not there are not there either.
                let pairs = partitions.iter().zip(partitions.iter().skip(1));
                let ascending = { pairs }.position(|(one, next)| one.partition >= next.partition);
                let (new, rest) =
                    partitions.split_at(ascending.map_or(partitions.len(), |at| at + 1));
                self.append_all(number, hash, new, &mut put);
                partitions = rest;
            }
            for wanted in partitions {
                let found = known.and_then(|topic| self.find_in_topic(topic, wanted.partition));
                if let Some(slot) = found {
                    if let Some(entry) = self.entry_mut(slot) {
                        entry.set_params(&wanted.params);
                    }
                    put(self, slot.0, Put::Altered);
                    continue;
                }
                let number = match interned {
                    Some(number) => number,
                    None => *interned.insert(self.topics.intern(key, hash, known, names)),
                };
                let slot = self.append(number, hash, wanted);
                put(self, slot, Put::Added);
            }
        }
    }

    /// Appends partitions of one topic that are not there.
    fn append_all(
        &mut self,
        topic: u32,
        topic_hash: u32,
        new: &[PartitionRequest],
        put: &mut impl FnMut(&mut Self, u32, Put),
    ) {
        if self.free_entry != NIL {
            for wanted in new {
                let slot = self.append(topic, topic_hash, wanted);
                put(self, slot, Put::Added);
            }
            return;
        }
        let first = as_number(self.entries.len());
        let slots = first..first + as_number(new.len());
        let mut place = self.order.end();
        self.order.extend(slots.clone());
        self.entries.extend(new.iter().map(|wanted| {
            let entry = Entry::new(topic, wanted.partition, &wanted.params, place);
            place = place.wrapping_add(1);
            entry
        }));
        self.topics.add_partitions(topic, as_number(new.len()));
        self.live += as_number(new.len());
        if self.prepare_index(slots.clone()) {
            let (entries, topics, hasher) = (&self.entries, &self.topics, &self.hasher);
            for (slot, wanted) in slots.clone().zip(new) {
                let hash = slot_hash(hasher, topic_hash, wanted.partition);
                self.index.insert_unique(hash, slot, |&slot| rehash(entries, topics, hasher, slot));
            }
        }
        for slot in slots {
            put(self, slot, Put::Added);
        }
    }

    fn append(&mut self, topic: u32, topic_hash: u32, wanted: &PartitionRequest) -> u32 {
        let new = Entry::new(topic, wanted.partition, &wanted.params, self.order.end());
        let slot = self.place(new);
        self.order.push(Slot(slot));
        self.topics.add_partitions(topic, 1);
        self.live += 1;
        if self.prepare_index(slot..slot + 1) {
            let hash = slot_hash(&self.hasher, topic_hash, wanted.partition);
            let (entries, topics, hasher) = (&self.entries, &self.topics, &self.hasher);
            self.index.insert_unique(hash, slot, |&slot| rehash(entries, topics, hasher, slot));
        }
        slot
    }

    /// Whether new entries in these slots, which are counted already, are to be indexed. Indexes
    /// the others, if they were searched one by one until now.
    fn prepare_index(&mut self, new: Range<u32>) -> bool {
        if self.entries.len() <= UNINDEXED {
            return false;
        }
        let others = self.live as usize - new.len();
        if self.index.len() < others {
            let (entries, topics, hasher) = (&self.entries, &self.topics, &self.hasher);
            for (slot, entry) in (0..).zip(entries) {
                if entry.is_live() && !new.contains(&slot) {
                    let hash = rehash(entries, topics, hasher, slot);
                    let rehash = |&slot: &u32| rehash(entries, topics, hasher, slot);
                    self.index.insert_unique(hash, slot, rehash);
                }
            }
        }
        true
    }

    fn place(&mut self, new: Entry) -> u32 {
        if self.free_entry == NIL {
            self.entries.push(new);
            return as_number(self.entries.len() - 1);
        }
        let slot = self.free_entry;
        if let Some(free) = self.entries.get_mut(slot as usize) {
            self.free_entry = free.position;
            free.reuse(new);
        }
        slot
    }

    /// Appends a partition of an exported session; it must not be there.
    pub(super) fn push_state(&mut self, state: &PartitionState) {
        let key = match &state.topic {
            Some(name) if !self.uses_topic_ids() => Key::Name(name),
            _ => Key::Id(state.topic_id),
        };
        let hash = key.hash(&self.hasher);
        let topic = self.topics.intern_named(state.topic_id, state.topic.clone(), hash);
        let wanted = PartitionRequest { partition: state.partition, params: state.params };
        let slot = self.append(topic, hash, &wanted);
        if let Some(entry) = self.entries.get_mut(slot as usize) {
            entry.set_reported(state.reported);
            if state.is_changed {
                entry.keep_changed();
            }
        }
    }

    /// The partitions in order, as exported.
    pub(super) fn states(&self) -> impl Iterator<Item = PartitionState> {
        self.order.iter().filter_map(|slot| {
            let entry = self.entry(slot)?;
            let topic = self.topic(entry.topic())?;
            Some(PartitionState {
                topic_id: topic.id,
                topic: topic.name.clone(),
                partition: entry.partition,
                params: entry.params(),
                reported: entry.reported(),
                is_changed: entry.is_changed(),
            })
        })
    }

    /// Removes what the request forgets; what is not there is passed over.
    pub(super) fn remove_all(&mut self, request: &FetchRequest<'_>, delta: &mut TableDelta) {
        for topic in request.forgotten {
            let key = Key::new(self.uses_topic_ids(), topic.id, topic.name);
            let Some(number) = self.find_topic(key) else { continue };
            for &partition in topic.partitions {
                if let Some(slot) = self.find_in_topic(number, partition) {
                    self.retire(slot.0, delta);
                }
            }
        }
    }

    /// Takes an entry out of the index, out of the order and out of use.
    fn retire(&mut self, slot: u32, delta: &mut TableDelta) {
        let hash = rehash(&self.entries, &self.topics, &self.hasher, slot);
        if let Ok(found) = self.index.find_entry(hash, |&other| other == slot) {
            found.remove();
        }
        let Some(entry) = self.entries.get_mut(slot as usize) else { return };
        let topic = entry.topic();
        self.live -= 1;
        self.order.remove(entry.position);
        entry.free(self.free_entry);
        self.free_entry = slot;
        if let Some(used) = self.topics.get_mut(topic) {
            used.partitions -= 1;
            if used.partitions == 0 {
                delta.emptied.push(topic);
            }
        }
    }

    /// Frees the number of a topic that has no partitions.
    pub(super) fn release_topic(&mut self, number: u32) {
        self.topics.release(number);
    }

    /// Whether there are topics to [`resolve`](Self::resolve).
    pub(super) const fn has_nameless_topics(&self) -> bool {
        self.topics.has_nameless()
    }

    /// Gives names to the topics that had none and that the metadata has learnt of.
    pub(super) fn resolve(&mut self, names: &impl TopicNames) {
        self.topics.resolve(names);
    }

    /// Whether most of the memory is held for partitions or topics that are gone.
    ///
    /// So many have come, then, since there was last just enough, that what they cost pays for
    /// [`compacted`](Self::compacted).
    pub(super) fn is_sparse(&self) -> bool {
        let (topics, topic_places) = self.topics.usage();
        self.entries.capacity() > 4 * self.len() + SPARE
            || topic_places > (4 * topics + SPARE).max(self.len())
    }

    /// The same partitions in as little memory as they need, in slots and under topic numbers of
    /// their own.
    pub(super) fn compacted(&self) -> Self {
        let (topics, _) = self.topics.usage();
        let mut compact = Self {
            hasher: self.hasher.clone(),
            ..Self::new(self.uses_topic_ids(), self.len(), topics, 0)
        };
        for state in self.states() {
            compact.push_state(&state);
        }
        compact
    }

    /// A topic with this key.
    pub(super) fn find_topic(&self, key: Key<'_>) -> Option<u32> {
        self.topics.find(key, key.hash(&self.hasher))
    }

    /// Whether the topic with this number has this key.
    pub(super) fn is_topic(&self, number: u32, key: Key<'_>) -> bool {
        self.topics.get(number).is_some_and(|topic| key.matches(topic))
    }

    /// Where a partition of this topic is, under whatever name it was resolved to.
    pub(super) fn find_in_topic(&self, topic: u32, partition: i32) -> Option<Slot> {
        let is_it = |entry: &Entry| self.is(entry, topic, partition);
        if self.entries.len() <= UNINDEXED {
            let slot = self.entries.iter().position(|entry| entry.is_live() && is_it(entry));
            return slot.map(|slot| Slot(as_number(slot)));
        }
        let hash = slot_hash(&self.hasher, self.topic(topic)?.hash, partition);
        let holds_it = |&slot: &u32| self.entries.get(slot as usize).is_some_and(is_it);
        self.index.find(hash, holds_it).map(|&slot| Slot(slot))
    }

    /// Whether a slot holds this partition of this topic, under whatever name it was resolved to.
    #[inline]
    pub(super) fn is_at(&self, slot: Slot, topic: u32, partition: i32) -> bool {
        self.entry(slot).is_some_and(|entry| self.is(entry, topic, partition))
    }

    #[inline]
    fn is(&self, entry: &Entry, topic: u32, partition: i32) -> bool {
        entry.partition == partition && self.topics.is_same(entry.topic(), topic)
    }

    /// The entry in a slot, if one is there.
    #[inline]
    pub(super) fn entry(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(slot.as_usize()).filter(|entry| entry.is_live())
    }

    /// The entry in a slot, if one is there.
    #[inline]
    pub(super) fn entry_mut(&mut self, slot: Slot) -> Option<&mut Entry> {
        self.entries.get_mut(slot.as_usize()).filter(|entry| entry.is_live())
    }

    /// All entries and free places, by slot.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All topics and free numbers, by number.
    pub(super) fn topics(&self) -> &[Topic] {
        self.topics.as_slice()
    }

    /// All entries and free places, by slot.
    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// One more than the greatest slot.
    pub(super) fn slot_count(&self) -> u32 {
        as_number(self.entries.len())
    }

    pub(super) fn topic(&self, number: u32) -> Option<&Topic> {
        self.topics.get(number)
    }

    pub(super) fn topic_mut(&mut self, number: u32) -> Option<&mut Topic> {
        self.topics.get_mut(number)
    }

    /// How long the name of a topic is in bytes; 0 if it has none.
    pub(super) fn name_len(&self, topic: u32) -> u64 {
        let name = self.topics.get(topic).and_then(|topic| topic.name.as_ref());
        name.map_or(0, |name| name.len() as u64)
    }

    /// Topic numbers; some may be free.
    pub(super) fn topic_numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.topics.end()
    }

    /// Whether two topic numbers are one topic on the wire.
    pub(super) fn is_same_topic(&self, left: u32, right: u32) -> bool {
        self.topics.is_same(left, right)
    }

    /// The order of the partitions.
    pub(super) const fn order(&self) -> &Order {
        &self.order
    }

    /// How far from the front of the order an entry is.
    pub(super) fn rank(&self, slot: Slot) -> u32 {
        self.entries.get(slot.as_usize()).map_or(NIL, |entry| self.order.rank(entry.position))
    }

    /// Shows each read to `answer` with its entry, if there is one. What returns records moves to
    /// the end of the order. O(reads), amortised.
    #[inline]
    pub(super) fn answer(
        &mut self,
        reads: &mut [PartitionRead],
        mut answer: impl FnMut(&mut PartitionRead, Option<&mut Entry>),
    ) {
        // Those that return records each time stand at the end already, in the order of the reads:
        // in one run up to the end.
        let end = self.order.end();
        let (mut runs, mut run_end) = (0, end);
        for read in &mut *reads {
            let entry = self.entries.get_mut(read.slot().as_usize());
            let Some(entry) = entry.filter(|entry| entry.is_live()) else {
                answer(read, None);
                continue;
            };
            answer(read, Some(&mut *entry));
            if read.records_size() > 0 {
                runs += usize::from(entry.position != run_end);
                run_end = entry.position.wrapping_add(1);
            }
        }
        if runs > 1 || run_end != end {
            self.move_to_end(reads);
        }
    }

    fn move_to_end(&mut self, reads: &[PartitionRead]) {
        for read in reads.iter().filter(|read| read.records_size() > 0) {
            let entry = self.entries.get_mut(read.slot().as_usize());
            if let Some(entry) = entry.filter(|entry| entry.is_live()) {
                let place = core::mem::replace(&mut entry.position, self.order.push(read.slot()));
                self.order.remove(place);
            }
        }
        self.pack();
    }

    /// Closes the holes of the order if there are more than entries.
    pub(super) fn pack(&mut self) {
        let entries = &mut self.entries;
        self.order.pack(self.live as usize, |slot, place| {
            if let Some(entry) = entries.get_mut(slot.as_usize()) {
                entry.position = place;
            }
        });
    }

    /// Keeps the partitions of these reads, in their order, and what they report; a partition
    /// that is read twice counts at its first place with its last values. All of them are included
    /// in the answer.
    pub(super) fn keep_reported(&mut self, reads: &mut [PartitionRead]) {
        let mut in_order = self.order.as_slice().iter();
        let mut is_in_order = true;
        for read in &mut *reads {
            let slot = read.slot();
            is_in_order &= in_order.next() == Some(&slot.0);
            let entry = self.entries.get_mut(slot.as_usize()).filter(|entry| entry.is_live());
            read.set_included(entry.is_some());
            if let Some(entry) = entry {
                entry.set_reported(Reported {
                    high_watermark: read.high_watermark(),
                    log_start_offset: read.log_start_offset(),
                });
            }
        }
        if !is_in_order || in_order.next().is_some() {
            self.reorder(reads);
        }
    }

    fn reorder(&mut self, reads: &[PartitionRead]) {
        self.order.clear();
        for entry in self.entries.iter_mut().filter(|entry| entry.is_live()) {
            entry.position = NIL;
        }
        let mut kept = 0;
        for read in reads {
            let Some(entry) = self.entries.get_mut(read.slot().as_usize()) else { continue };
            if entry.is_live() && entry.position == NIL {
                entry.position = self.order.push(read.slot());
                kept += 1;
            }
        }
        if kept < self.len() {
            self.drop_unread();
        }
    }

    /// Removes the entries that have no place in the order.
    fn drop_unread(&mut self) {
        let mut delta = TableDelta::default();
        for slot in 0..self.slot_count() {
            if self.entry(Slot(slot)).is_some_and(|entry| entry.position == NIL) {
                self.retire(slot, &mut delta);
            }
        }
        for topic in delta.emptied {
            self.release_topic(topic);
        }
    }
}

fn rehash(entries: &[Entry], topics: &TopicTable, hasher: &FixedState, slot: u32) -> u64 {
    entries
        .get(slot as usize)
        .and_then(|entry| Some((topics.get(entry.topic())?, entry.partition)))
        .map_or(0, |(topic, partition)| slot_hash(hasher, topic.hash, partition))
}

#[inline]
fn slot_hash(hasher: &FixedState, topic_hash: u32, partition: i32) -> u64 {
    hasher.hash_one(u64::from(topic_hash) << 32 | u64::from(partition.cast_unsigned()))
}

/// A length as a slot, a topic's number or a count; see [`PartitionTable`] for why it fits.
#[allow(clippy::cast_possible_truncation, reason = "nothing here can grow so far")]
pub(super) const fn as_number(len: usize) -> u32 {
    len as u32
}

/// Up to so many entries are searched one by one rather than by an index: most consumers have no
/// more partitions of one broker.
const UNINDEXED: usize = 16;

/// How many unused places a table may keep whatever its size.
const SPARE: usize = 16;
