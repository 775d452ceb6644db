//! The producers of a partition: found by id in O(1), scanned in the order of memory.

use alloc::vec::Vec;
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::entry::ProducerEntry;
use super::pages::Pages;

/// The stamp of a producer that cannot expire, because a transaction of it is open.
pub(super) const NEVER: i64 = i64::MAX;

/// What a scan sees of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Producer {
    pub(super) id: i64,
    pub(super) stamp: i64,
}

/// Producers in slots 0 to n - 1.
///
/// What a scan wants (ids, and the stamps that expiry goes by) lies apart from what an append
/// wants: expiry touches 8 bytes a producer that stays. Slots move when a producer is removed.
#[derive(Clone, Debug)]
pub(super) struct ProducerTable {
    index: HashTable<u32>,
    hasher: FixedState,
    ids: Vec<i64>,
    /// When the producer was last heard of, in ms, or [`NEVER`].
    stamps: Vec<i64>,
    entries: Pages<ProducerEntry>,
}

impl ProducerTable {
    pub(super) fn new(seed: u64) -> Self {
        Self::with_capacity(0, seed)
    }

    pub(super) fn with_capacity(producers: usize, seed: u64) -> Self {
        Self {
            index: HashTable::with_capacity(producers),
            hasher: FixedState::with_seed(seed),
            ids: Vec::with_capacity(producers),
            stamps: Vec::with_capacity(producers),
            entries: Pages::with_capacity(producers),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.ids.len()
    }

    #[inline]
    pub(super) fn find(&self, producer_id: i64) -> Option<u32> {
        let is_it = |&slot: &u32| self.ids.get(slot as usize) == Some(&producer_id);
        self.index.find(self.hasher.hash_one(producer_id), is_it).copied()
    }

    #[inline]
    pub(super) fn id(&self, slot: u32) -> Option<i64> {
        self.ids.get(slot as usize).copied()
    }

    #[inline]
    pub(super) fn stamp(&self, slot: u32) -> Option<i64> {
        self.stamps.get(slot as usize).copied()
    }

    #[inline]
    pub(super) fn entry(&self, slot: u32) -> Option<&ProducerEntry> {
        self.entries.get(slot as usize)
    }

    pub(super) fn get(&self, producer_id: i64) -> Option<&ProducerEntry> {
        self.entry(self.find(producer_id)?)
    }

    /// The entry in a slot, and its stamp.
    #[inline]
    pub(super) fn slot_mut(&mut self, slot: u32) -> Option<(&mut ProducerEntry, &mut i64)> {
        let stamp = self.stamps.get_mut(slot as usize)?;
        Some((self.entries.get_mut(slot as usize)?, stamp))
    }

    /// Adds a producer, unless it is there; answers whether it was not.
    ///
    /// Slots are 32 bits: 2^32 producers would take 700 GB.
    #[inline]
    pub(super) fn insert(&mut self, producer_id: i64, entry: &ProducerEntry, stamp: i64) -> bool {
        if self.index.len() == self.index.capacity() {
            self.grow_index();
        }
        let slots = self.ids.len();
        let (ids, hasher) = (&self.ids, &self.hasher);
        let is_it = |&slot: &u32| ids.get(slot as usize) == Some(&producer_id);
        let hash = hasher.hash_one(producer_id);
        let place = self.index.entry(hash, is_it, |&slot| rehash(ids, hasher, slot));
        let Entry::Vacant(place) = place else {
            return false;
        };
        place.insert(as_slot(slots));
        for list in [&mut self.ids, &mut self.stamps] {
            if list.len() == list.capacity() {
                list.reserve_exact((slots / 4).max(4));
            }
        }
        self.ids.push(producer_id);
        self.stamps.push(stamp);
        self.entries.push(slots, entry);
        true
    }

    /// Doubles the index in the order of the slots: in its own order, each id would be a cache miss.
    fn grow_index(&mut self) {
        let room = (self.index.len() + 1).max(self.index.capacity() * 2);
        self.index = HashTable::with_capacity(room);
        self.rebuild_index();
    }

    /// Indexes all producers; the index must be empty.
    fn rebuild_index(&mut self) {
        let (ids, hasher) = (&self.ids, &self.hasher);
        for (slot, &producer_id) in (0..).zip(ids) {
            let hash = hasher.hash_one(producer_id);
            self.index.insert_unique(hash, slot, |&slot| rehash(ids, hasher, slot));
        }
    }

    /// How many producers are due. O(n).
    pub(super) fn count(&self, is_due: impl Fn(Producer) -> bool) -> usize {
        self.producers().filter(|&producer| is_due(producer)).count()
    }

    /// Id and stamp of all producers, by slot.
    pub(super) fn producers(&self) -> impl Iterator<Item = Producer> {
        self.ids.iter().zip(&self.stamps).map(|(&id, &stamp)| Producer { id, stamp })
    }

    /// Removes the producers that are due, of which there are `count`.
    pub(super) fn remove_due(&mut self, is_due: impl Fn(Producer) -> bool, count: usize) {
        if count == 0 {
            return;
        }
        if count <= self.len() / 8 {
            // From the last slot down, so that what moves into a gap is known to stay.
            for slot in (0..self.len()).rev() {
                if self.producer(slot).is_some_and(&is_due) {
                    self.remove(slot);
                }
            }
            return;
        }
        let mut kept = 0;
        for slot in 0..self.len() {
            let Some(producer) = self.producer(slot).filter(|&it| !is_due(it)) else {
                continue;
            };
            if kept < slot {
                self.relocate(slot, kept, producer);
            }
            kept += 1;
        }
        self.truncate(kept);
        if kept < self.index.capacity() / 4 {
            self.index = HashTable::with_capacity(kept);
        } else {
            self.index.clear();
        }
        self.rebuild_index();
    }

    fn producer(&self, slot: usize) -> Option<Producer> {
        Some(Producer { id: *self.ids.get(slot)?, stamp: *self.stamps.get(slot)? })
    }

    /// Puts a producer that is in one slot into another one too.
    fn relocate(&mut self, from: usize, to: usize, producer: Producer) {
        let Some(entry) = self.entries.get(from).copied() else {
            return;
        };
        if let (Some(id), Some(stamp), Some(place)) =
            (self.ids.get_mut(to), self.stamps.get_mut(to), self.entries.get_mut(to))
        {
            (*id, *stamp, *place) = (producer.id, producer.stamp, entry);
        }
    }

    /// Removes the producer in a slot; the last one takes its place.
    fn remove(&mut self, slot: usize) {
        self.unindex(slot);
        let end = self.len() - 1;
        if slot < end {
            self.unindex(end);
            if let Some(producer) = self.producer(end) {
                self.relocate(end, slot, producer);
            }
            let (ids, hasher) = (&self.ids, &self.hasher);
            let hash = rehash(ids, hasher, as_slot(slot));
            self.index.insert_unique(hash, as_slot(slot), |&slot| rehash(ids, hasher, slot));
        }
        self.truncate(end);
    }

    fn unindex(&mut self, slot: usize) {
        let slot = as_slot(slot);
        let hash = rehash(&self.ids, &self.hasher, slot);
        if let Ok(place) = self.index.find_entry(hash, |&it| it == slot) {
            place.remove();
        }
    }

    /// Drops the slots from `len` on, which are indexed no more, and gives memory back if most of it
    /// is unused.
    fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
        for list in [&mut self.ids, &mut self.stamps] {
            list.truncate(len);
            if list.capacity() / 4 > len {
                list.shrink_to(len);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.truncate(0);
        self.index = HashTable::new();
    }

    /// Slots by ascending producer id. O(n), if they lie so already; else O(n log n).
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut slots: Vec<_> = (0..as_slot(self.len())).collect();
        if !self.ids.is_sorted() {
            slots.sort_unstable_by_key(|&slot| self.id(slot));
        }
        slots
    }

    /// Whether all lies where it belongs.
    #[cfg(test)]
    fn check(&self) {
        assert_eq!((self.index.len(), self.stamps.len()), (self.len(), self.len()));
        for slot in 0..as_slot(self.len()) {
            assert_eq!(self.find(self.id(slot).unwrap()), Some(slot));
            assert!(self.entry(slot).is_some());
        }
        assert!(self.entries.get(self.len()).is_none());
    }
}

fn rehash(ids: &[i64], hasher: &FixedState, slot: u32) -> u64 {
    hasher.hash_one(ids.get(slot as usize).copied().unwrap_or_default())
}

fn as_slot(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::producer::window::Window;
    use crate::time::Timestamp;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn entry(epoch: i16) -> ProducerEntry {
        ProducerEntry::new(epoch, -1, Timestamp::from_millis(-1), None, Window::EMPTY)
    }

    proptest! {
        #[test]
        fn it_does_what_a_map_does(
            steps in prop::collection::vec((prop::collection::vec((0..2000_i64, 0..100_i64), 0..700), 0..110_i64), 0..8),
        ) {
            let (mut table, mut map) = (ProducerTable::new(7), BTreeMap::new());
            for (producers, last) in steps {
                for (id, stamp) in producers {
                    let epoch = i16::try_from(id % 100).unwrap();
                    match table.find(id) {
                        Some(slot) if stamp == 0 => {
                            *table.slot_mut(slot).unwrap().1 = stamp;
                            prop_assert!(!table.insert(id, &entry(epoch), 1));
                        }
                        Some(slot) => *table.slot_mut(slot).unwrap().1 = stamp,
                        None => prop_assert!(table.insert(id, &entry(epoch), stamp)),
                    }
                    map.insert(id, stamp);
                }
                table.check();
                let due = table.count(|it| it.stamp <= last);
                table.remove_due(|it| it.stamp <= last, due);
                table.check();
                let before = map.len();
                map.retain(|_, stamp| *stamp > last);
                prop_assert_eq!(before - map.len(), due);
                let found: Vec<_> = { table.sorted() }
                    .into_iter()
                    .map(|slot| (table.id(slot).unwrap(), table.stamp(slot).unwrap()))
                    .collect();
                prop_assert_eq!(found, map.iter().map(|(&id, &stamp)| (id, stamp)).collect::<Vec<_>>());
                for &id in map.keys() {
                    prop_assert_eq!(i64::from(table.get(id).unwrap().epoch()), id % 100);
                }
            }
            table.clear();
            table.check();
        }
    }
}
