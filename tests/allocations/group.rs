//! Groups whose subscriptions stay, in a cluster that changes.

use crate::allocations;
use kafka_coordination::group::{
    GroupChange, GroupMetadata, MetadataHash, Subscriptions, TopicHasher,
};
use kafka_coordination::metadata::{ClusterImage, ImageDelta, TopicView};
use kafka_coordination::{Monotonic, TopicId};

const TOPICS: u32 = 100;
const BROKERS: i32 = 30;

fn name(topic: u32) -> String {
    format!("topic {topic:03}")
}

/// Topics of 20 partitions on brokers in three racks; the first has so many that they are hashed in parts.
fn cluster() -> ClusterImage {
    let mut delta = ImageDelta::new(1);
    for (broker, rack) in (0..BROKERS).zip(["a", "b", "c"].into_iter().cycle()) {
        delta.register_broker(broker, Some(rack));
    }
    for topic in 0..TOPICS {
        let id = TopicId::from_u128(u128::from(topic) + 1);
        delta.create_topic(id, name(topic));
        for partition in 0..if topic == 0 { 5_000 } else { 20 } {
            let replicas = [0, 1, 2].map(|at| (partition + at) % BROKERS);
            delta.add_partition(id, partition, &replicas);
        }
    }
    let mut image = ClusterImage::new();
    assert!(image.apply(&delta).is_ok());
    image
}

#[test]
fn a_group_that_refreshes_allocates_nothing() {
    let image = cluster();
    let names: Vec<String> = (0..TOPICS).map(name).collect();
    let mut subscriptions = Subscriptions::new(1);
    let mut group = GroupMetadata::new(1, MetadataHash::NONE);
    let mut rounds = |rounds: core::ops::Range<i64>| {
        for round in rounds {
            let now = Monotonic::from_millis(round);
            // The same subscription, in order and not.
            subscriptions.subscribe("group", &names);
            subscriptions.subscribe("group", names.iter().rev());
            let woken = subscriptions.on_metadata_update(["topic 000", "topic 007"], &[], &image);
            woken.for_each(|_| group.request_refresh());
            assert!(group.has_expired(now));
            let hash = subscriptions.metadata_hash("group", &image);
            let update = group.decide_refresh(hash, GroupChange::Unchanged, now).unwrap();
            group.commit(update).unwrap();
            assert!(!group.has_expired(now));
        }
    };
    // The first round sizes the buffers.
    rounds(0..1);
    assert_eq!(allocations(|| rounds(1..20)), 0);
}

#[test]
fn a_hasher_allocates_nothing_once_its_buffers_are_sized() {
    let image = cluster();
    let topics: Vec<TopicView<'_>> = image.topics().collect();
    let mut hasher = TopicHasher::new();
    let mut round = || {
        for &topic in &topics {
            hasher.topic_hash(&image, topic);
        }
        let mut hasher = hasher.with_image(&image);
        for &topic in &topics {
            hasher.topic_hash(topic);
        }
    };
    round();
    assert_eq!(allocations(round), 0);
}

/// What a group costs that has ten topics of its own and shares them with nine others.
#[test]
fn a_subscription_takes_no_more_than_40_bytes() {
    for groups in [1_000_u32, 10_000] {
        let ids: Vec<String> = (0..groups).map(|group| format!("group-{group:06}")).collect();
        let names: Vec<String> = (0..groups).map(|topic| format!("topic-{topic:06}")).collect();
        let memory = allocation_counter::measure(|| {
            let mut subscriptions = Subscriptions::new(1);
            for (group, id) in ids.iter().enumerate() {
                let of_group = (0..10).map(|at| &names[(group + at * 97) % names.len()]);
                subscriptions.subscribe(id, of_group);
            }
            core::mem::forget(subscriptions);
        });
        let bytes = memory.bytes_current / i64::from(groups) / 10;
        assert!(bytes <= 40, "{bytes} bytes a subscription of {groups} groups");
    }
}

#[test]
fn what_an_update_reads_grows_with_the_change() {
    let image = cluster();
    assert_eq!(image.topic_count(), 100);
    for groups in [10, 10_000] {
        let mut subscriptions = Subscriptions::new(1);
        for group in 0..groups {
            subscriptions.subscribe(&format!("group {group}"), [name(group % TOPICS)]);
        }
        subscriptions.on_metadata_update(["topic 001"], &[], &image).count();
        let mut woken = 0;
        let count = allocations(|| {
            woken = subscriptions.on_metadata_update(["topic 001"], &[], &image).len();
        });
        assert_eq!((woken, count), ((groups as usize).div_ceil(100), 0));
    }
}
