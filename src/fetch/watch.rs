//! Which sessions of a shard hold partitions of a topic: how a mark finds them.

use alloc::vec::Vec;
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::table::{NIL, as_number};
use crate::topic::{TopicId, TopicName};

/// Topics, and for each the sessions that hold partitions of it.
///
/// Per session and topic, not per partition: 16 bytes and a mask that rules out most sessions
/// which hold other partitions of the topic.
#[derive(Clone, Debug)]
pub(super) struct WatchIndex {
    topics: Vec<WatchedTopic>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: FixedState,
}

/// What a mark and a session agree on: an id, or in name mode a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatchKey {
    Id(TopicId),
    Name(TopicName),
}

#[derive(Clone, Debug)]
struct WatchedTopic {
    key: WatchKey,
    watchers: Vec<Watcher>,
}

/// A topic of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watcher {
    /// The session's place in the shard.
    pub(super) session: u32,
    /// The topic's number in the session's table.
    pub(super) topic: u32,
    /// A bit for each remainder of a partition by 64: if it is clear, the session holds no such
    /// partition.
    mask: u64,
}

/// How many unused places there may be whatever the number of topics or watchers.
const SPARE: usize = 16;

const fn mask_of(partition: i32) -> u64 {
    1 << (partition.cast_unsigned() & 63)
}

impl WatchIndex {
    pub(super) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Self { topics: Vec::new(), free: Vec::new(), index: HashTable::new(), hasher }
    }

    /// Lists a topic of a session. The pair that comes back is what [`cover`](Self::cover) and
    /// [`remove`](Self::remove) take.
    pub(super) fn insert(&mut self, key: WatchKey, session: u32, topic: u32) -> (u32, u32) {
        let hash = key.hash(&self.hasher);
        let (topics, hasher) = (&self.topics, &self.hasher);
        let is_it = |&number: &u32| topics.get(number as usize).is_some_and(|it| it.key == key);
        let number = if let Some(&number) = self.index.find(hash, is_it) {
            number
        } else {
            let number = self.free.pop().unwrap_or_else(|| as_number(self.topics.len()));
            self.index.insert_unique(hash, number, |&number| {
                topics.get(number as usize).map_or(0, |topic| topic.key.hash(hasher))
            });
            let new = WatchedTopic { key, watchers: Vec::new() };
            match self.topics.get_mut(number as usize) {
                Some(topic) => *topic = new,
                None => self.topics.push(new),
            }
            number
        };
        let watcher = Watcher { session, topic, mask: 0 };
        let place = self.topics.get_mut(number as usize).map_or(NIL, |it| {
            it.watchers.push(watcher);
            as_number(it.watchers.len()) - 1
        });
        (number, place)
    }

    /// Takes note that a session holds this partition of the topic.
    pub(super) fn cover(&mut self, (number, place): (u32, u32), partition: i32) {
        let topic = self.topics.get_mut(number as usize);
        if let Some(watcher) = topic.and_then(|topic| topic.watchers.get_mut(place as usize)) {
            watcher.mask |= mask_of(partition);
        }
    }

    /// Takes a topic of a session out. If another one now has its place, that one comes back.
    pub(super) fn remove(&mut self, (number, place): (u32, u32)) -> Option<Watcher> {
        let topic = self.topics.get_mut(number as usize)?;
        if place as usize >= topic.watchers.len() {
            return None;
        }
        topic.watchers.swap_remove(place as usize);
        if topic.watchers.is_empty() {
            let hash = topic.key.hash(&self.hasher);
            *topic = WatchedTopic { key: WatchKey::Id(TopicId::ZERO), watchers: Vec::new() };
            if let Ok(found) = self.index.find_entry(hash, |&other| other == number) {
                found.remove();
                self.free.push(number);
            }
            if self.index.is_empty() && self.topics.len() > SPARE {
                *self = Self { hasher: self.hasher.clone(), ..Self::new(0) };
                return None;
            }
        } else if topic.watchers.capacity() > 4 * topic.watchers.len() + SPARE {
            topic.watchers.shrink_to(2 * topic.watchers.len());
        }
        self.topics.get(number as usize)?.watchers.get(place as usize).copied()
    }

    /// The sessions that may hold a partition: those by its topic's id, those by its name.
    pub(super) fn watchers<'a>(
        &'a self,
        sought: &Sought<'_>,
    ) -> impl Iterator<Item = Watcher> + use<'a> {
        let by_id = self.find(sought.id_hash, |key| match key {
            WatchKey::Id(id) => *id == sought.id,
            WatchKey::Name(_) => false,
        });
        let by_name = self.find(sought.name_hash, |key| match key {
            WatchKey::Id(_) => false,
            WatchKey::Name(name) => **name == *sought.name,
        });
        let mask = mask_of(sought.partition);
        by_id.iter().chain(by_name).filter(move |it| it.mask & mask != 0).copied()
    }

    fn find(&self, hash: u64, is_it: impl Fn(&WatchKey) -> bool) -> &[Watcher] {
        let topic = |&number: &u32| self.topics.get(number as usize);
        let found = self.index.find(hash, |number| topic(number).is_some_and(|it| is_it(&it.key)));
        found.and_then(topic).map_or(&[], |it| &it.watchers)
    }
}

/// A partition whose sessions are sought, hashed once for all shards.
#[derive(Debug)]
pub(super) struct Sought<'a> {
    id: TopicId,
    id_hash: u64,
    name: &'a str,
    name_hash: u64,
    pub(super) partition: i32,
}

impl<'a> Sought<'a> {
    pub(super) fn new(id: TopicId, name: &'a str, partition: i32, seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        let (id_hash, name_hash) = (id.seeded_hash(&hasher), hasher.hash_one(name));
        Self { id, id_hash, name, name_hash, partition }
    }
}

impl WatchKey {
    fn hash(&self, hasher: &FixedState) -> u64 {
        match self {
            Self::Id(id) => id.seeded_hash(hasher),
            Self::Name(name) => hasher.hash_one(name.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::{BTreeMap, BTreeSet};
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Operation {
        /// Lists a topic of a session.
        Insert {
            key: u8,
            session: u32,
        },
        Cover {
            which: usize,
            partition: i32,
        },
        Remove {
            which: usize,
        },
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0_u8..6, 0_u32..4).prop_map(|(key, session)| Operation::Insert { key, session }),
            (any::<usize>(), -2_i32..70)
                .prop_map(|(which, partition)| Operation::Cover { which, partition }),
            any::<usize>().prop_map(|which| Operation::Remove { which }),
        ]
    }

    /// Three ids and three names.
    fn key(number: u8) -> WatchKey {
        match number {
            0..3 => WatchKey::Id(TopicId::from_u128(number.into())),
            _ => WatchKey::Name(TopicName::from(["foo", "bar", ""][usize::from(number) - 3])),
        }
    }

    /// What is listed: by session and topic, its key, its place, and what it covers.
    type Listed = BTreeMap<(u32, u32), (u8, (u32, u32), BTreeSet<i32>)>;

    fn nth(listed: &Listed, which: usize) -> Option<(u32, u32)> {
        let at = which.checked_rem(listed.len())?;
        listed.keys().copied().nth(at)
    }

    proptest! {
        #[test]
        fn a_mark_finds_each_topic_that_covers_its_partition_once(
            operations in proptest::collection::vec(operation(), 1..80),
        ) {
            let mut index = WatchIndex::new(7);
            let mut listed = Listed::new();
            for (topic, operation) in (0..).zip(operations) {
                match operation {
                    Operation::Insert { key: number, session } => {
                        let place = index.insert(key(number), session, topic);
                        listed.insert((session, topic), (number, place, BTreeSet::new()));
                    }
                    Operation::Cover { which, partition } => {
                        let Some(at) = nth(&listed, which) else { continue };
                        let (_, place, covered) = listed.get_mut(&at).unwrap();
                        index.cover(*place, partition);
                        covered.insert(partition);
                    }
                    Operation::Remove { which } => {
                        let Some(at) = nth(&listed, which) else { continue };
                        let (_, place, _) = listed.remove(&at).unwrap();
                        if let Some(moved) = index.remove(place) {
                            listed.get_mut(&(moved.session, moved.topic)).unwrap().1 = place;
                        }
                    }
                }
                for (number, partition) in (0..6).flat_map(|key| [(key, 0), (key, 3), (key, -1), (key, 64)]) {
                    let (id, name) = match key(number) {
                        WatchKey::Id(id) => (id, TopicName::from("none")),
                        WatchKey::Name(name) => (TopicId::from_u128(99), name),
                    };
                    let sought = Sought::new(id, &name, partition, 7);
                    let found = index.watchers(&sought).map(|it| (it.session, it.topic));
                    let found: Vec<_> = found.collect();
                    let distinct: BTreeSet<_> = found.iter().copied().collect();
                    prop_assert_eq!(found.len(), distinct.len());
                    for (at, (key, _, covered)) in &listed {
                        let may_cover = covered.iter().any(|it| it & 63 == partition & 63);
                        prop_assert_eq!(distinct.contains(at), *key == number && may_cover);
                    }
                    prop_assert!(distinct.iter().all(|at| listed.contains_key(at)));
                }
            }
        }
    }
}
