//! What hashes depend on.

use crate::operation::{NAMES, change, delta};
use crate::scratch;
use crate::settings::cases;
use kafka_coordination::TopicId;
use kafka_coordination::group::{MetadataHash, TopicHash, TopicHasher};
use kafka_coordination::metadata::{ClusterImage, ImageDelta, MetadataImage, TopicView};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::{Rng, SeedableRng};

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn gs_1_equal_images_have_equal_hashes_however_they_came_about(
        deltas in vec(vec(change(), 1..10), 1..8),
        reverses in any::<bool>(),
    ) {
        let mut image = ClusterImage::new();
        for changes in &deltas {
            let delta = delta(&image, changes);
            image.apply(&delta).unwrap();
        }
        let again = rebuilt(&image, reverses);
        let mut hasher = TopicHasher::new();
        for topic in image.topics() {
            let expected = scratch::topic_hash(&image, topic.name()).unwrap();
            let other = again.topic_by_name(topic.name()).unwrap();
            prop_assert_eq!(hasher.topic_hash(&image, topic).as_i64(), expected);
            prop_assert_eq!(hasher.topic_hash(&again, other).as_i64(), expected);
            prop_assert_eq!(TopicHash::of(&again, topic.name()).map(TopicHash::as_i64), Some(expected));
        }
    }

    #[test]
    fn gs_3_a_metadata_hash_goes_by_the_order_of_names(
        topics in btree_map(".{0,3}", any::<i64>(), 2..8),
        shift in 0_usize..8,
        swapped in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let hash = |topics: &[(String, i64)]| {
            MetadataHash::of(topics.iter().map(|(name, hash)| (name.as_str(), TopicHash::from_i64(*hash))))
        };
        let mut topics: Vec<(String, i64)> = topics.into_iter().collect();
        topics.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
        let expected = hash(&topics);

        let mut rotated = topics.clone();
        let length = rotated.len();
        rotated.rotate_left(shift % length);
        prop_assert_eq!(hash(&rotated), expected, "the order in which they are given");

        let renamed: Vec<_> = (0..).zip(&topics).map(|(at, (_, hash))| (format!("name {at}"), *hash)).collect();
        prop_assert_eq!(hash(&renamed), expected, "names that keep the order");

        let (a, b) = (swapped.0.index(length), swapped.1.index(length));
        let mut exchanged = topics.clone();
        (exchanged[a].1, exchanged[b].1) = (topics[b].1, topics[a].1);
        prop_assert_eq!(hash(&exchanged) == expected, topics[a].1 == topics[b].1);
    }
}

/// The same cluster, built topic by topic, with the replicas of each partition the other way round.
fn rebuilt(image: &ClusterImage, reverses: bool) -> ClusterImage {
    let mut again = ClusterImage::new();
    let mut topics: Vec<TopicView<'_>> = image.topics().collect();
    if reverses {
        topics.reverse();
    }
    for topic in topics {
        let mut delta = ImageDelta::new(1);
        delta.create_topic(topic.id(), topic.name());
        for partition in 0..topic.partition_count() {
            let mut replicas = topic.replicas(partition).unwrap().to_vec();
            replicas.reverse();
            delta.add_partition(topic.id(), partition, &replicas);
        }
        again.apply(&delta).unwrap();
    }
    for (broker, rack) in image.brokers() {
        let mut delta = ImageDelta::new(1);
        delta.register_broker(broker, Some("at first")).register_broker(broker, rack);
        again.apply(&delta).unwrap();
    }
    again
}

/// Four brokers, each in a rack of its own, and no topics.
struct FourRacks;

impl MetadataImage for FourRacks {
    fn offset(&self) -> i64 {
        0
    }

    fn topic_by_id(&self, _: TopicId) -> Option<TopicView<'_>> {
        None
    }

    fn topic_by_name(&self, _: &str) -> Option<TopicView<'_>> {
        None
    }

    fn rack(&self, broker: i32) -> Option<&str> {
        let racks = ["a", "ab", "", "\u{1f600}"];
        racks.get(usize::try_from(broker).ok()?).copied()
    }
}

/// A topic on the four brokers.
struct Random {
    id: u128,
    name: usize,
    partitions: Vec<Vec<i32>>,
    source: Pcg32,
}

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.source.next_u32()).unwrap() % bound
    }

    fn broker(&mut self) -> i32 {
        i32::try_from(self.below(4)).unwrap()
    }

    /// Changes one thing that counts: the id, the name, the number of partitions, or the racks of one.
    fn change(&mut self) {
        let at = self.below(self.partitions.len().max(1));
        match self.below(6) {
            0 => self.id ^= 1 << self.below(128),
            1 => self.name = (self.name + 1 + self.below(NAMES.len() - 1)) % NAMES.len(),
            2 if self.partitions.len() < 3 => {
                let brokers = (0..self.below(3)).map(|_| self.broker()).collect();
                self.partitions.push(brokers);
            }
            2 | 3 if !self.partitions.is_empty() => _ = self.partitions.pop(),
            4 if self.partitions.get(at).is_some_and(|replicas| replicas.len() < 3) => {
                let broker = self.broker();
                self.partitions[at].push(broker);
            }
            _ => match self.partitions.get_mut(at) {
                Some(replicas) if !replicas.is_empty() => {
                    let moved = (replicas[0] + 1) % 4;
                    replicas[0] = moved;
                }
                _ => self.partitions.push(Vec::new()),
            },
        }
    }
}

/// A million pairs that differ in one thing.
#[test]
fn gs_2_any_change_changes_the_topic_hash() {
    let source = Pcg32::seed_from_u64(20_261_130);
    let mut topic = Random { id: 1, name: 0, partitions: Vec::new(), source };
    let mut hasher = TopicHasher::new();
    let mut before = None;
    for step in 0..1_000_000 {
        topic.change();
        let view =
            TopicView::new(TopicId::from_u128(topic.id), NAMES[topic.name], &topic.partitions);
        let hash = Some(hasher.topic_hash(&FourRacks, view));
        assert_ne!(hash, before, "step {step}: {view:?} {:?}", topic.partitions);
        before = hash;
    }
}
