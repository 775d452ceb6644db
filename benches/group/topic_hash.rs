//! The hash of one topic with three replicas a partition.
//!
//! Floor: the racks of each partition lie ready and are sorted, their code units are put into a reused buffer, which is
//! hashed once. For `hash`, the last step alone.

use criterion::Criterion;
use kafka_coordination::group::{Subscriptions, TopicHasher};
use kafka_coordination::metadata::{MetadataImage, TopicView};
use std::hint::black_box;
use twox_hash::XxHash3_64;

use crate::cluster::{RACKS, add_topics, cluster, id, name, replicas};
use crate::ratio::paired;

/// Benches three numbers of partitions, on few and on many brokers.
pub(crate) fn bench(criterion: &mut Criterion) {
    for partitions in [1, 100, 10_000] {
        for brokers in [3, 300] {
            alone(criterion, partitions, brokers);
            after_a_change(criterion, partitions, brokers);
        }
    }
}

/// A topic that lies in plain vectors, by a hasher that knows no racks, and by one that has seen the image's.
fn alone(criterion: &mut Criterion, partitions: i32, brokers: i32) {
    let image = cluster(brokers);
    let lists: Vec<Vec<i32>> = (0..partitions).map(|it| replicas(it, brokers).to_vec()).collect();
    let name = name(0);
    let topic = TopicView::new(id(0), &name, &lists);
    let mut floor = Floor::new(partitions, brokers);
    let bytes = floor.buffer.clone();
    let mut hasher = TopicHasher::new();
    assert_eq!(hasher.topic_hash(&image, topic).as_i64(), hash(&bytes));

    let title = format!("topic/first/{brokers} brokers/{partitions}");
    let case = || _ = black_box(hasher.topic_hash(&image, black_box(topic)));
    paired(criterion, &title, || _ = black_box(floor.serialise()), case);

    let mut hasher = hasher.with_image(&image);
    let title = format!("topic/next/{brokers} brokers/{partitions}");
    let case = || _ = black_box(hasher.topic_hash(black_box(topic)));
    paired(criterion, &title, || _ = black_box(floor.serialise()), case);

    let title = format!("topic/hash/{brokers} brokers/{partitions}");
    let case = || _ = black_box(hasher.topic_hash(black_box(topic)));
    paired(criterion, &title, || _ = black_box(hash(black_box(&bytes))), case);
}

/// What a change of a topic costs in the end: its hash and the one of its group, from an image of its cluster.
fn after_a_change(criterion: &mut Criterion, partitions: i32, brokers: i32) {
    let mut image = cluster(brokers);
    add_topics(&mut image, 1, partitions, brokers);
    let name = name(0);
    let mut subscriptions = Subscriptions::new(1);
    subscriptions.subscribe("group", [&name]);
    let mut floor = Floor::new(partitions, brokers);
    let case = || {
        let named = subscriptions.on_metadata_update([name.as_str()], &[], &image).len();
        black_box((named, subscriptions.metadata_hash("group", &image)));
    };
    let title = format!("topic/after a change/{brokers} brokers/{partitions}");
    paired(criterion, &title, || _ = black_box(floor.serialise()), case);
    assert_eq!(image.topic_by_name(&name).map(TopicView::partition_count), Some(partitions));
}

struct Floor {
    id: [u8; 16],
    name: String,
    racks: Vec<[&'static str; 3]>,
    buffer: Vec<u8>,
}

impl Floor {
    fn new(partitions: i32, brokers: i32) -> Self {
        let racks =
            |partition| replicas(partition, brokers).map(|broker| RACKS[broker as usize % 3]);
        let (high, low) = uuid::Uuid::from(id(0)).as_u64_pair();
        let mut id = [0; 16];
        id[..8].copy_from_slice(&high.to_le_bytes());
        id[8..].copy_from_slice(&low.to_le_bytes());
        let mut floor = Self {
            id,
            name: name(0),
            racks: (0..partitions).map(racks).collect(),
            buffer: Vec::new(),
        };
        floor.serialise();
        floor
    }

    fn serialise(&mut self) -> i64 {
        let Self { id, name, racks, buffer } = self;
        buffer.clear();
        buffer.push(0);
        buffer.extend_from_slice(id);
        put(buffer, name);
        buffer.extend_from_slice(&(racks.len() as i32).to_le_bytes());
        for (partition, racks) in (0_i32..).zip(&*racks) {
            buffer.extend_from_slice(&partition.to_le_bytes());
            let mut racks = *racks;
            racks.sort_unstable();
            for rack in racks {
                buffer.extend_from_slice(&(rack.len() as i32).to_le_bytes());
                put(buffer, rack);
            }
        }
        hash(buffer)
    }
}

/// The code units of ASCII and how many they are.
fn put(buffer: &mut Vec<u8>, text: &str) {
    buffer.extend(text.bytes().flat_map(|byte| [byte, 0]));
    buffer.extend_from_slice(&(text.len() as i32).to_le_bytes());
}

fn hash(bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot(bytes).cast_signed()
}
