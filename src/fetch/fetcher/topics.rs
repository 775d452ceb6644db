//! The topics of a session, each name held once.

use super::entries::NO_SLOT;
use crate::topic::TopicName;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::mem;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A topic that entries of the session, or of the last plan, refer to.
#[derive(Clone, Debug)]
struct Topic {
    name: TopicName,
    /// How many entries there are of this topic.
    entries: u32,
    /// Where among the known ids the one is under which a wish list last named the topic: a guess.
    place_of_id: u32,
    /// The number of the topic's partition that a plan dropped last; may be of an old plan.
    last_dropped: u32,
}

/// Topic names, interned.
#[derive(Clone, Debug)]
pub(super) struct Topics {
    slots: Vec<Topic>,
    index: HashTable<u32>,
    free: Vec<u32>,
    /// Topics that lost their last entry, and get none before they are freed; the last plan may still name them.
    idle: Vec<u32>,
    hasher: FixedState,
}

#[allow(clippy::indexing_slicing, reason = "slots come from the slab, which never shrinks")]
impl Topics {
    pub(super) fn new(hasher: FixedState) -> Self {
        Self {
            slots: Vec::new(),
            index: HashTable::new(),
            free: Vec::new(),
            idle: Vec::new(),
            hasher,
        }
    }

    /// How many slots there are, free ones included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn name(&self, slot: u32) -> &TopicName {
        &self.slots[slot as usize].name
    }

    /// Whether `slot`, which is `NO_SLOT` or that of a topic in use, is that of the topic `name`.
    #[inline]
    pub(super) fn is(&self, slot: u32, name: &str) -> bool {
        let topic = self.slots.get(slot as usize);
        topic.is_some_and(|topic| same_name(&topic.name, name))
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let is_it = |slot: &u32| self.slots[*slot as usize].name.as_str() == name;
        self.index.find(self.hasher.hash_one(name), is_it).copied()
    }

    /// The slot of the topic `name`, which is made if need be.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        if let Some(slot) = self.find(name) {
            return slot;
        }
        let topic = Topic {
            name: TopicName::from(name),
            entries: 0,
            place_of_id: NO_SLOT,
            last_dropped: NO_SLOT,
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = topic;
            slot
        } else {
            // Each topic has an entry, and entries are limited.
            let slot = u32::try_from(self.slots.len()).unwrap_or(NO_SLOT);
            self.slots.push(topic);
            slot
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        let rehash = |slot: &u32| hasher.hash_one(slots[*slot as usize].name.as_str());
        self.index.insert_unique(hasher.hash_one(name), slot, rehash);
        slot
    }

    /// Where among the known ids that of the topic is likely to be.
    pub(super) fn place_of_id(&mut self, slot: u32) -> &mut u32 {
        &mut self.slots[slot as usize].place_of_id
    }

    /// Notes the number of a dropped partition of the topic; gives the one before.
    pub(super) fn last_dropped(&mut self, slot: u32, number: u32) -> u32 {
        mem::replace(&mut self.slots[slot as usize].last_dropped, number)
    }

    pub(super) fn entry_added(&mut self, slot: u32) {
        self.slots[slot as usize].entries += 1;
    }

    pub(super) fn entry_removed(&mut self, slot: u32) {
        let topic = &mut self.slots[slot as usize];
        topic.entries -= 1;
        if topic.entries == 0 {
            self.idle.push(slot);
        }
    }

    /// Frees the topics without entries. A free slot keeps its name until it is used again.
    pub(super) fn free_idle(&mut self) {
        while let Some(slot) = self.idle.pop() {
            let hash = self.hasher.hash_one(self.name(slot).as_str());
            if let Ok(found) = self.index.find_entry(hash, |indexed| *indexed == slot) {
                found.remove();
            }
            self.free.push(slot);
        }
    }
}

/// Equality of names. Most are short: two words each, without a call.
#[inline]
fn same_name(one: &str, other: &str) -> bool {
    const WORD: usize = size_of::<u64>();
    const HALF: usize = size_of::<u32>();
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len()
        && match one.len() {
            WORD..=16 => {
                one.first_chunk::<WORD>() == other.first_chunk()
                    && one.last_chunk::<WORD>() == other.last_chunk()
            }
            HALF..WORD => {
                one.first_chunk::<HALF>() == other.first_chunk()
                    && one.last_chunk::<HALF>() == other.last_chunk()
            }
            _ => one == other,
        }
}
