//! The topics that a session's partitions belong to.

use alloc::vec::Vec;
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::table::{NIL, as_number};
use crate::metadata::TopicNames;
use crate::topic::{TopicId, TopicName};

/// The place in the change index of a topic that is not listed there.
pub(super) const UNWATCHED: (u32, u32) = (NIL, NIL);

/// Up to so many topics are searched one by one rather than by an index.
const UNINDEXED: usize = 8;

/// A topic as a table knows it. All topics of one id are one topic to a look-up; they differ in
/// what name their partitions were resolved to.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) id: TopicId,
    pub(super) name: Option<TopicName>,
    pub(super) hash: u32,
    /// How many partitions name this topic. 0: the number is free or about to be.
    pub(super) partitions: u32,
    /// The number is in the list of topics without a name.
    is_listed: bool,
    /// Where the change index lists this topic: the number there, and the place in its list.
    pub(super) watch: (u32, u32),
}

/// How a request names a topic.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key<'a> {
    Id(TopicId),
    Name(&'a str),
}

impl<'a> Key<'a> {
    pub(super) const fn new(uses_topic_ids: bool, id: TopicId, name: &'a str) -> Self {
        if uses_topic_ids { Self::Id(id) } else { Self::Name(name) }
    }

    pub(super) fn hash(self, hasher: &FixedState) -> u32 {
        let hash = match self {
            Self::Id(id) => id.seeded_hash(hasher),
            Self::Name(name) => hasher.hash_one(name),
        };
        (hash >> 32) as u32
    }

    pub(super) fn matches(self, topic: &Topic) -> bool {
        match self {
            Self::Id(id) => topic.id == id,
            Self::Name(name) => topic.name.as_deref() == Some(name),
        }
    }
}

/// Topics by number and by key.
#[derive(Clone, Debug)]
pub(super) struct TopicTable {
    topics: Vec<Topic>,
    /// Of use with more than [`UNINDEXED`] topics, empty before.
    index: HashTable<u32>,
    free: Vec<u32>,
    /// The numbers of topics whose name is not known, a superset.
    nameless: Vec<u32>,
    uses_ids: bool,
}

impl TopicTable {
    pub(super) fn new(uses_ids: bool, topics: usize) -> Self {
        let indexed = if topics > UNINDEXED { topics } else { 0 };
        Self {
            topics: Vec::with_capacity(topics),
            index: HashTable::with_capacity(indexed),
            free: Vec::new(),
            nameless: Vec::new(),
            uses_ids,
        }
    }

    /// Forgets all topics.
    pub(super) fn clear(&mut self, uses_ids: bool) {
        self.topics.clear();
        self.index.clear();
        self.free.clear();
        self.nameless.clear();
        self.uses_ids = uses_ids;
    }

    pub(super) const fn uses_ids(&self) -> bool {
        self.uses_ids
    }

    pub(super) fn as_slice(&self) -> &[Topic] {
        &self.topics
    }

    pub(super) fn get(&self, number: u32) -> Option<&Topic> {
        self.topics.get(number as usize)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Topic> {
        self.topics.get_mut(number as usize)
    }

    /// One more than the greatest number.
    pub(super) fn end(&self) -> u32 {
        as_number(self.topics.len())
    }

    /// Counts more partitions of a topic.
    pub(super) fn add_partitions(&mut self, number: u32, count: u32) {
        if let Some(topic) = self.get_mut(number) {
            topic.partitions += count;
        }
    }

    /// How many are in use, and for how many there is memory.
    pub(super) fn usage(&self) -> (usize, usize) {
        (self.topics.len() - self.free.len(), self.topics.capacity())
    }

    /// Whether two numbers are one topic to a look-up: one id, or without ids one name.
    #[inline]
    pub(super) fn is_same(&self, left: u32, right: u32) -> bool {
        left == right || self.is_same_id(left, right)
    }

    fn is_same_id(&self, left: u32, right: u32) -> bool {
        let id = |number| self.get(number).map(|topic| topic.id);
        self.uses_ids && id(left) == id(right)
    }

    /// A topic with this key, whatever its name was resolved to.
    pub(super) fn find(&self, key: Key<'_>, hash: u32) -> Option<u32> {
        self.find_where(hash, |topic| key.matches(topic))
    }

    fn find_where(&self, hash: u32, is_it: impl Fn(&Topic) -> bool) -> Option<u32> {
        if self.topics.len() <= UNINDEXED {
            let is_it = |it: &Topic| it.hash == hash && it.partitions > 0 && is_it(it);
            return self.topics.iter().position(is_it).map(as_number);
        }
        let is_it = |&number: &u32| self.get(number).is_some_and(&is_it);
        self.index.find(spread(hash), is_it).copied()
    }

    /// The number of the topic with this key, under the name that the metadata gives it now.
    /// `known` tells whether there is a topic with this key at all.
    pub(super) fn intern(
        &mut self,
        key: Key<'_>,
        hash: u32,
        known: Option<u32>,
        names: &impl TopicNames,
    ) -> u32 {
        match (key, known) {
            (Key::Id(id), None) => self.insert(id, name_of(id, names), hash),
            (Key::Id(id), Some(_)) => self.intern_named(id, name_of(id, names), hash),
            (Key::Name(_), Some(number)) => number,
            (Key::Name(name), None) => {
                self.insert(TopicId::ZERO, Some(TopicName::from(name)), hash)
            }
        }
    }

    /// The number of the topic with exactly this id and name.
    pub(super) fn intern_named(&mut self, id: TopicId, name: Option<TopicName>, hash: u32) -> u32 {
        self.find_where(hash, |topic| topic.id == id && topic.name == name)
            .unwrap_or_else(|| self.insert(id, name, hash))
    }

    fn insert(&mut self, id: TopicId, name: Option<TopicName>, hash: u32) -> u32 {
        let is_nameless = name.is_none();
        let (partitions, watch) = (0, UNWATCHED);
        let mut topic = Topic { id, name, hash, partitions, is_listed: is_nameless, watch };
        let mut was_listed = false;
        let number = self.free.pop().unwrap_or_else(|| self.end());
        if let Some(free) = self.topics.get_mut(number as usize) {
            was_listed = free.is_listed;
            topic.is_listed |= was_listed;
            *free = topic;
        } else {
            self.topics.push(topic);
        }
        if is_nameless && !was_listed {
            self.nameless.push(number);
        }
        if self.topics.len() > UNINDEXED {
            self.index(number, hash);
        }
        number
    }

    fn index(&mut self, number: u32, hash: u32) {
        let topics = &self.topics;
        let rehash = |&number: &u32| topics.get(number as usize).map_or(0, |it| spread(it.hash));
        if self.index.is_empty() {
            // The others were searched one by one until now.
            for (other, topic) in topics.iter().enumerate() {
                let other = as_number(other);
                if topic.partitions > 0 && other != number {
                    self.index.insert_unique(spread(topic.hash), other, rehash);
                }
            }
        }
        self.index.insert_unique(spread(hash), number, rehash);
    }

    /// Frees the number of a topic that has no partitions.
    pub(super) fn release(&mut self, number: u32) {
        let Some(topic) = self.topics.get_mut(number as usize) else { return };
        topic.name = None;
        self.free.push(number);
        if let Ok(found) = self.index.find_entry(spread(topic.hash), |&it| it == number) {
            found.remove();
        }
    }

    /// Whether there are, or were until lately, topics without a name.
    pub(super) const fn has_nameless(&self) -> bool {
        !self.nameless.is_empty()
    }

    /// Gives names to the topics that had none and that the metadata has learnt of. O(topics
    /// without a name).
    pub(super) fn resolve(&mut self, names: &impl TopicNames) {
        let topics = &mut self.topics;
        self.nameless.retain(|&number| {
            let Some(topic) = topics.get_mut(number as usize) else { return false };
            if topic.partitions > 0 && topic.name.is_none() {
                topic.name = name_of(topic.id, names);
            }
            topic.is_listed = topic.partitions > 0 && topic.name.is_none();
            topic.is_listed
        });
    }
}

/// The all-zero id has no name, even if a host's map holds one.
fn name_of(id: TopicId, names: &impl TopicNames) -> Option<TopicName> {
    if id.is_zero() { None } else { names.topic_name(id) }
}

/// The 32 bits that a topic keeps of its hash, over the 64 that a table wants.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
