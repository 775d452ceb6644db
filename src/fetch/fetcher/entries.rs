//! The partitions of a session: a slab, and an index by topic and partition.

use super::changes::Changes;
use crate::fetch::request::{FetchParams, PartitionRequest};
use crate::topic::TopicId;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// "No slot"; never the number of a real one.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// What the fetcher wants of one partition: 48 bytes, compared as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Want {
    pub(super) id: TopicId,
    fetch_offset: i64,
    log_start_offset: i64,
    /// Absent: -1. Not side by side with the other epoch: the two would be stored as one vector, which takes longer to
    /// put together than to store them.
    leader_epoch: i32,
    max_bytes: i32,
    /// Absent: -1.
    last_fetched_epoch: i32,
    pub(super) partition: i32,
}

impl Want {
    pub(super) fn new(id: TopicId, request: &PartitionRequest) -> Self {
        let &PartitionRequest { partition, params } = request;
        Self {
            id,
            fetch_offset: params.fetch_offset,
            log_start_offset: params.log_start_offset,
            max_bytes: params.max_bytes,
            leader_epoch: params.leader_epoch.unwrap_or(-1).max(-1),
            last_fetched_epoch: params.last_fetched_epoch.unwrap_or(-1).max(-1),
            partition,
        }
    }

    /// Whether the request, under `id`, asks for just this.
    ///
    /// Field by field and in branches: `request` was written a moment ago, and reading it in wider pieces waits for that.
    #[inline]
    pub(super) fn is(&self, id: TopicId, request: &PartitionRequest) -> bool {
        let params = &request.params;
        self.partition == request.partition
            && self.fetch_offset == params.fetch_offset
            && self.log_start_offset == params.log_start_offset
            && self.max_bytes == params.max_bytes
            && self.leader_epoch == params.leader_epoch.unwrap_or(-1).max(-1)
            && self.last_fetched_epoch == params.last_fetched_epoch.unwrap_or(-1).max(-1)
            && self.id == id
    }

    pub(super) fn params(&self) -> FetchParams {
        let present = |epoch: i32| (epoch >= 0).then_some(epoch);
        FetchParams {
            fetch_offset: self.fetch_offset,
            log_start_offset: self.log_start_offset,
            max_bytes: self.max_bytes,
            leader_epoch: present(self.leader_epoch),
            last_fetched_epoch: present(self.last_fetched_epoch),
        }
    }

    pub(super) fn request(&self) -> PartitionRequest {
        PartitionRequest { partition: self.partition, params: self.params() }
    }
}

/// What the open wish list says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending(u32);

impl Pending {
    /// Nothing that differs from what the session holds.
    pub(super) const NOTHING: Self = Self(u32::MAX);
    /// The entry exists only because of the open wish list.
    pub(super) const NEW: Self = Self(u32::MAX - 1);

    /// Other parameters: the change with this number, if it is one of this entry. Else nothing, said of an older list.
    fn change(number: usize) -> Self {
        // There are at most as many changes as entries.
        Self(u32::try_from(number).unwrap_or(Self::NOTHING.0))
    }
}

/// One partition of the session: 64 bytes.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) want: Want,
    /// The topic's slot; `NO_SLOT` in a free entry.
    pub(super) topic: u32,
    /// The generation in which a wish list or a response last named the entry.
    pub(super) seen: u32,
    pub(super) pending: Pending,
    /// The entry that once followed this one in a wish list, if not the one in the next slot: a guess. In a free entry,
    /// the next free one.
    pub(super) next: u32,
}

impl Entry {
    /// Notes what the entry, which is in `slot`, holds before it is changed.
    #[inline]
    pub(super) fn note(&mut self, slot: u32, changes: &mut Changes) {
        self.pending = Pending::change(changes.len());
        changes.note(slot, &self.want);
    }

    /// What was noted of the entry, which is in `slot`.
    pub(super) fn noted<'a>(&self, slot: u32, changes: &'a Changes) -> Option<&'a Want> {
        changes.held(self.pending.0 as usize, slot)
    }
}

/// A slab of entries with an index.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    slots: Vec<Entry>,
    index: HashTable<u32>,
    free: u32,
    hasher: FixedState,
}

#[allow(clippy::indexing_slicing, reason = "slots come from the slab, which never shrinks")]
impl Entries {
    pub(super) fn new(hasher: FixedState) -> Self {
        Self { slots: Vec::new(), index: HashTable::new(), free: NO_SLOT, hasher }
    }

    /// How many slots there are, free ones included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, slot: u32) -> &Entry {
        &self.slots[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.slots[slot as usize]
    }

    /// The entry in `slot`, if there is such a slot.
    pub(super) fn get_if(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)
    }

    /// The entry in `slot`, if there is such a slot.
    pub(super) fn get_mut_if(&mut self, slot: u32) -> Option<&mut Entry> {
        self.slots.get_mut(slot as usize)
    }

    pub(super) fn find(&self, topic: u32, partition: i32) -> Option<u32> {
        let hash = hash(&self.hasher, topic, partition);
        let is_it = |slot: &u32| {
            let entry = &self.slots[*slot as usize];
            entry.want.partition == partition && entry.topic == topic
        };
        self.index.find(hash, is_it).copied()
    }

    /// Adds an entry whose topic and partition are not there yet.
    pub(super) fn insert(&mut self, topic: u32, want: Want, pending: Pending) -> u32 {
        let entry = Entry { want, topic, seen: 0, pending, next: NO_SLOT };
        let slot = if self.free == NO_SLOT {
            // Two numbers are set aside, see `Pending`. Memory for so many entries: 256 GiB.
            let slot = u32::try_from(self.slots.len()).unwrap_or(NO_SLOT);
            assert!(slot < Pending::NEW.0, "too many partitions in one fetch session");
            self.slots.push(entry);
            slot
        } else {
            let slot = self.free;
            self.free = self.slots[slot as usize].next;
            self.slots[slot as usize] = entry;
            slot
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        let rehash = |slot: &u32| {
            let entry = &slots[*slot as usize];
            hash(hasher, entry.topic, entry.want.partition)
        };
        self.index.insert_unique(hash(hasher, topic, want.partition), slot, rehash);
        slot
    }

    pub(super) fn remove(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let hash = hash(&self.hasher, entry.topic, entry.want.partition);
        entry.topic = NO_SLOT;
        entry.next = self.free;
        self.free = slot;
        if let Ok(found) = self.index.find_entry(hash, |indexed| *indexed == slot) {
            found.remove();
        }
    }

    /// Forgets when entries were last seen.
    pub(super) fn reset_seen(&mut self) {
        for entry in &mut self.slots {
            entry.seen = 0;
        }
    }
}

fn hash(hasher: &FixedState, topic: u32, partition: i32) -> u64 {
    hasher.hash_one((u64::from(topic) << 32) | u64::from(partition.cast_unsigned()))
}
