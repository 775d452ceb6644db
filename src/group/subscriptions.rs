//! What groups are subscribed to, and the hashes of those topics.

mod changes;
mod state;
mod topic;

pub use state::{GroupSubscription, SubscriptionsError};

use crate::group::hasher::TopicHasher;
use crate::group::name_order::compare_names;
use crate::group::registry::{Named, Registry};
use crate::group::topic_hash::{MetadataHash, TopicHash};
use crate::metadata::MetadataImage;
use crate::topic::TopicName;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::mem;
use topic::{Known, Topic};

/// Topics by group and groups by topic, with one hash a topic for all groups: Kafka's `groupsByTopics` and
/// `topicHashCache`.
///
/// One value may serve every shard of a group coordinator: group ids are distinct across shards, and a topic's hash is
/// the same for all. (Kafka has them once a shard, and computes each hash as often.) A heartbeat that finds nothing to
/// do does not need it: [`GroupMetadata`](super::GroupMetadata) stands with the group.
///
/// A subscription is the set of names that a group's members ask for, existing or not, by name or through resolved
/// regular expressions; for a streams group, all topics that its topology requires. A topic's hash is computed when
/// first asked for, and dropped when the topic changes, its brokers get other racks, or its last group leaves.
#[derive(Clone, Debug)]
pub struct Subscriptions {
    topics: Registry<Topic>,
    groups: Registry<Group>,
    hasher: TopicHasher,
    /// The image of the last update.
    offset: i64,
    computed: u64,
    /// Numbers updates, so that each names a group once.
    update: u64,
    // Buffers.
    wanted: Vec<u32>,
    bytes: Vec<u8>,
    affected: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Group {
    id: Arc<str>,
    /// Numbers of topics in the order of their names. Invariant: not empty, none twice, and the group is in each one's
    /// set.
    topics: Vec<u32>,
    /// The last update that named the group.
    update: u64,
}

impl Named for Group {
    fn name(&self) -> &str {
        &self.id
    }
}

/// What becomes of a hash whose topic no group is subscribed to any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unused {
    Dropped,
    Kept,
}

impl Subscriptions {
    /// No subscriptions. Group ids and topic names come from clients: the seed keeps them from choosing names that
    /// collide in a hash table.
    pub fn new(hash_seed: u64) -> Self {
        Self {
            topics: Registry::new(hash_seed),
            groups: Registry::new(hash_seed),
            hasher: TopicHasher::new(),
            offset: i64::MIN,
            computed: 0,
            update: 0,
            wanted: Vec::new(),
            bytes: Vec::new(),
            affected: Vec::new(),
        }
    }

    /// Subscribes a group to these topics and to no others; to none if there are none. A name that occurs twice counts
    /// once.
    ///
    /// Allocates nothing if the topics are the same as before. O(names), and O(n log n) comparisons of names if they do
    /// not come in the order of their UTF-16 code units, which for legal names is that of their bytes; O(log groups)
    /// for each topic that comes or goes.
    pub fn subscribe<T: AsRef<str>>(&mut self, group: &str, topics: impl IntoIterator<Item = T>) {
        self.replace(group, topics, Unused::Dropped);
    }

    /// As [`subscribe`](Self::subscribe), to go back to a subscription because the record of a later one could not be
    /// written. The hashes of topics that only the later one named are kept until those topics change, as in Kafka: the
    /// member will try again.
    pub fn roll_back<T: AsRef<str>>(&mut self, group: &str, topics: impl IntoIterator<Item = T>) {
        self.replace(group, topics, Unused::Kept);
    }

    /// Takes a group out: it is empty, gone, or its shard moved to another coordinator. O(its topics).
    ///
    /// Deviation: its topics go with it, in whatever order the log takes its records out. Kafka keeps the topics of a
    /// deleted streams group for ever, because that group's topology goes last.
    pub fn remove(&mut self, group: &str) {
        self.subscribe::<&str>(group, []);
    }

    /// The metadata hash of a group: of those of its topics that exist, by their hashes.
    ///
    /// Computes the hashes that are not known, and keeps them if the image is not older than that of the last update.
    /// 8 bytes a topic are hashed otherwise, and nothing allocated.
    ///
    /// [`MetadataHash::NONE`] for a group without subscription.
    pub fn metadata_hash(
        &mut self,
        group: &str,
        image: &(impl MetadataImage + ?Sized),
    ) -> MetadataHash {
        let Self { topics, groups, hasher, offset, computed, bytes, .. } = self;
        bytes.clear();
        let group = groups.find(group).and_then(|number| groups.get(number));
        for &topic in group.map(|group| &*group.topics).unwrap_or_default() {
            let Some(topic) = topics.get_mut(topic) else { continue };
            let known = match topic.known {
                Known::Nothing => topic.look_up(image, *offset, hasher, computed),
                known => known,
            };
            if let Known::Exists { hash, .. } = known {
                bytes.extend_from_slice(&hash.as_i64().to_le_bytes());
            }
        }
        MetadataHash::of_bytes(bytes)
    }

    /// The topics that a group is subscribed to, whether they exist or not, in the order of their UTF-16 code units.
    pub fn topics(&self, group: &str) -> impl Iterator<Item = &TopicName> {
        let group = self.groups.find(group).and_then(|number| self.groups.get(number));
        group.into_iter().flat_map(|group| self.names(group))
    }

    /// The groups that are subscribed to a topic, whether it exists or not, in no particular order, which is the same
    /// for the same calls.
    pub fn groups(&self, topic: &str) -> impl Iterator<Item = &str> {
        let topic = self.topics.find(topic).and_then(|number| self.topics.get(number));
        let groups = topic.into_iter().flat_map(|topic| &topic.groups);
        groups.filter_map(|&number| self.groups.get(number)).map(Named::name)
    }

    /// The hash of a topic, if it is known.
    pub fn topic_hash(&self, topic: &str) -> Option<TopicHash> {
        let topic = self.topics.get(self.topics.find(topic)?)?;
        topic.hash()
    }

    /// The hashes that are known, by topic, in no particular order, which is the same for the same calls.
    pub fn topic_hashes(&self) -> impl Iterator<Item = (&TopicName, TopicHash)> {
        self.topics.iter().filter_map(|topic| Some((&topic.name, topic.hash()?)))
    }

    /// How many groups have a subscription.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// How many topic hashes were computed so far: for metrics.
    pub const fn computed_hashes(&self) -> u64 {
        self.computed
    }

    fn replace<T: AsRef<str>>(
        &mut self,
        group: &str,
        topics: impl IntoIterator<Item = T>,
        unused: Unused,
    ) {
        let mut wanted = mem::take(&mut self.wanted);
        wanted.clear();
        for name in topics {
            let name = name.as_ref();
            wanted.push(self.topics.find_or_insert(name, || Topic::new(name)));
        }
        let by_name = |&a: &u32, &b: &u32| compare(&self.topics, a, b);
        if !wanted.is_sorted_by(|a, b| by_name(a, b) == Ordering::Less) {
            wanted.sort_unstable_by(by_name);
            wanted.dedup();
        }
        self.exchange(group, &wanted, unused);
        self.wanted = wanted;
    }

    /// Gives the group the topics with these numbers, which are in order.
    fn exchange(&mut self, group: &str, wanted: &[u32], unused: Unused) {
        if wanted.is_empty() && self.groups.find(group).is_none() {
            return;
        }
        let make = || Group { id: group.into(), topics: Vec::new(), update: 0 };
        let number = self.groups.find_or_insert(group, make);
        let Some(entry) = self.groups.get_mut(number) else { return };
        if entry.topics == wanted {
            return;
        }
        let before = mem::replace(&mut entry.topics, wanted.into());
        let (mut before, mut after) = (before.into_iter().peekable(), wanted.iter().peekable());
        loop {
            match (before.peek().copied(), after.peek().copied().copied()) {
                (Some(old), Some(new)) if old == new => {
                    before.next();
                    after.next();
                }
                (Some(old), new)
                    if new.is_none_or(|new| compare(&self.topics, old, new) == Ordering::Less) =>
                {
                    before.next();
                    self.leave(number, old, unused);
                }
                (_, Some(new)) => {
                    after.next();
                    if let Some(topic) = self.topics.get_mut(new) {
                        topic.groups.insert(number);
                    }
                }
                (_, None) => break,
            }
        }
        if wanted.is_empty() {
            self.groups.remove(number);
        }
    }

    fn leave(&mut self, group: u32, topic: u32, unused: Unused) {
        let Some(entry) = self.topics.get_mut(topic) else { return };
        entry.groups.remove(&group);
        let is_kept = unused == Unused::Kept && entry.hash().is_some();
        if entry.groups.is_empty() && !is_kept {
            self.topics.remove(topic);
        }
    }

    fn names(&self, group: &Group) -> impl Iterator<Item = &TopicName> {
        group.topics.iter().filter_map(|&topic| Some(&self.topics.get(topic)?.name))
    }
}

/// The order of two topics' names.
fn compare(topics: &Registry<Topic>, a: u32, b: u32) -> Ordering {
    match (topics.get(a), topics.get(b)) {
        (Some(a), Some(b)) => compare_names(&a.name, &b.name),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
