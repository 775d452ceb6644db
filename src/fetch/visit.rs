//! From a context to its partitions, and back.

use core::slice;

use super::partition::{Entry, FetchPartition};
use super::response::Slot;
use super::table::PartitionTable;
use super::topics::{Key, Topic};
use crate::topic::TopicId;

/// The partitions to read for a context, in order.
///
/// Made by [`FetchCache::visit`](super::FetchCache::visit).
#[derive(Clone, Debug)]
pub struct Visit<'a> {
    entries: &'a [Entry],
    topics: &'a [Topic],
    slots: slice::Iter<'a, u32>,
}

impl<'a> Visit<'a> {
    pub(super) fn of_slots(table: &'a PartitionTable, slots: &'a [u32]) -> Self {
        Self { entries: table.entries(), topics: table.topics(), slots: slots.iter() }
    }

    pub(super) fn all(table: &'a PartitionTable) -> Self {
        Self::of_slots(table, table.order().as_slice())
    }

    pub(super) fn nothing() -> Self {
        Self { entries: &[], topics: &[], slots: [].iter() }
    }
}

impl<'a> Iterator for Visit<'a> {
    type Item = FetchPartition<'a>;

    #[inline]
    fn next(&mut self) -> Option<FetchPartition<'a>> {
        loop {
            let slot = Slot(*self.slots.next()?);
            // The order has holes.
            let Some(entry) = self.entries.get(slot.as_usize()) else { continue };
            // A place that is out of use names no topic.
            let Some(topic) = self.topics.get(entry.topic() as usize) else { continue };
            return Some(FetchPartition {
                slot,
                topic_id: topic.id,
                topic: topic.name.as_ref(),
                partition: entry.partition,
                params: entry.params(),
            });
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.slots.len()))
    }
}

/// Finds the places of partitions in a context.
///
/// Made by [`FetchCache::slots`](super::FetchCache::slots). O(1); fastest for partitions that come
/// in the order in which they were visited.
#[derive(Clone, Debug)]
pub struct SlotFinder<'a> {
    table: Option<&'a PartitionTable>,
    /// The topic of the last look-up.
    topic: Option<u32>,
    /// The place that follows the last one found.
    next: Slot,
}

impl<'a> SlotFinder<'a> {
    pub(super) const fn new(table: Option<&'a PartitionTable>) -> Self {
        Self { table, topic: None, next: Slot(0) }
    }

    /// The place of a partition, if the context has it: of the topic with this id from version 13
    /// on, of the topic with this name below.
    #[inline]
    pub fn find(&mut self, topic_id: TopicId, topic: &str, partition: i32) -> Option<Slot> {
        let table = self.table?;
        let key = Key::new(table.uses_topic_ids(), topic_id, topic);
        let number = match self.topic {
            Some(number) if table.is_topic(number, key) => number,
            _ => *self.topic.insert(table.find_topic(key)?),
        };
        // Partitions are read in the order of the session, which often is that of its slots.
        let slot = if table.is_at(self.next, number, partition) {
            self.next
        } else {
            table.find_in_topic(number, partition)?
        };
        self.next = Slot(slot.0.wrapping_add(1));
        Some(slot)
    }
}
