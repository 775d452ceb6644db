//! Where the crate differs from Kafka on purpose.

use crate::coordinator::{Coordinator, ORDERS};
use kafka_coordination::Monotonic;
use kafka_coordination::TopicId;
use kafka_coordination::group::{GroupChange, GroupMetadata, MetadataHash, TopicHash, TopicHasher};
use kafka_coordination::metadata::{ClusterImage, ImageDelta, Partitions, TopicView};

const NOW: Monotonic = Monotonic::from_millis(1_000);

/// Kafka is not told, and goes on with the hash of the old racks, periodic refreshes included.
#[test]
fn racks_that_change_alone_bump() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    let changes: [fn(&mut ImageDelta); 5] = [
        |delta| _ = delta.register_broker(1, Some("eu-9")),
        |delta| _ = delta.register_broker(1, None),
        |delta| _ = delta.register_broker(1, Some("eu-1a")),
        |delta| _ = delta.unregister_broker(3),
        |delta| _ = delta.register_broker(3, Some("eu-1c")),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        assert_eq!(it.change(change), ["g"], "{at}");
        assert!(it.bumps("g"), "{at}");
    }
    assert_eq!(it.stored("g"), -6_423_155_369_827_150_768, "as at first");
}

/// With another topic's change in the same delta Kafka is told of that one only.
#[test]
fn racks_that_change_with_another_topic_bump_both() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    it.subscribe("h", &["users"]);
    let woken = it.change(|delta| {
        let users = TopicId::from_u128(5);
        delta
            .create_topic(users, "users")
            .add_partition(users, 0, &[7])
            .register_broker(1, Some("eu-9"));
    });
    assert_eq!(woken, ["g", "h"]);
    assert!(it.bumps("g") && it.bumps("h"));
}

/// Brokers are remembered as bits of a word: 2, 66 and 130 have the same one.
#[test]
fn racks_of_brokers_with_the_same_bit_wake_nobody_else() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    assert_eq!(it.change(|delta| _ = delta.register_broker(66, Some("x"))), [] as [&str; 0]);
    assert_eq!(it.change(|delta| _ = delta.register_broker(66, Some("y"))), [] as [&str; 0]);
    assert!(it.known("orders").is_some());
    it.change(|delta| _ = delta.set_replicas(ORDERS, 0, &[66]));
    assert!(it.bumps("g"));
    assert_eq!(it.change(|delta| _ = delta.register_broker(66, Some("z"))), ["g"]);
}

/// Of a topic whose hash is not known at the moment the racks count too.
#[test]
fn racks_of_topics_without_known_hash_wake_their_groups() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    // A member leaves, which drops the hash, and its record is lost.
    let (epoch, hash) = (it.epoch("g"), it.stored("g"));
    it.leave("g", &[]);
    it.subscriptions.roll_back("g", ["orders"]);
    it.metadata("g").load(epoch, MetadataHash::from_i64(hash));
    assert_eq!((it.known("orders"), it.heartbeat("g")), (None, None));
    assert_eq!(it.change(|delta| _ = delta.register_broker(1, Some("eu-9"))), ["g"]);
    assert!(it.bumps("g"));
}

/// Kafka computes the equal hash again with each heartbeat of a streams group.
#[test]
fn an_equal_hash_settles_a_refresh() {
    let mut it = Coordinator::with_orders();
    it.subscribe("streams", &["orders"]);
    assert_eq!(it.notice(&["orders"]), ["streams"]);
    assert!(!it.heartbeat("streams").unwrap().is_bump());
    assert_eq!(it.heartbeat("streams"), None);
    assert_eq!(it.subscriptions.computed_hashes(), 2);
}

/// Kafka takes a streams group out before its topology, and keeps its topics for ever.
#[test]
fn a_group_that_is_gone_leaves_no_topics() {
    let mut it = Coordinator::with_orders();
    for topology_first in [false, true] {
        it.subscribe("streams", &["orders", "streams-repartition"]);
        if topology_first {
            it.subscriptions.subscribe::<&str>("streams", []);
        }
        it.subscriptions.remove("streams");
        it.subscriptions.subscribe::<&str>("streams", []);
        for topic in ["orders", "streams-repartition"] {
            assert_eq!(it.subscriptions.groups(topic).count(), 0);
        }
        assert_eq!((it.known("orders"), it.subscriptions.group_count()), (None, 0));
        assert_eq!(it.notice(&["orders"]), [] as [&str; 0]);
    }
}

/// The refresh of a streams group is lost, and a member leaves: its record reaches the epoch of the lost one with the old
/// hash, and Kafka takes that for refreshed.
#[test]
fn a_leave_does_not_hide_a_lost_refresh() {
    let mut it = Coordinator::with_orders();
    it.subscribe("streams", &["orders"]);
    let (epoch, hash) = (it.epoch("streams"), it.stored("streams"));
    it.change(|delta| _ = delta.add_partition(ORDERS, 3, &[1]));
    assert!(it.heartbeat("streams").unwrap().is_bump());
    it.metadata("streams").load(epoch, MetadataHash::from_i64(hash));
    let update = it.groups["streams"].decide_leave(None).unwrap();
    it.metadata("streams").commit(update).unwrap();
    assert_eq!((it.epoch("streams"), it.stored("streams")), (epoch + 1, hash));
    assert!(it.bumps("streams"), "the fourth partition is seen");
    assert_ne!(it.stored("streams"), hash);
}

/// A consumer group's leave computes the hash, so there nothing is hidden, and Kafka's answer is kept.
#[test]
fn a_leave_that_computes_the_hash_settles_a_lost_refresh() {
    let mut group = GroupMetadata::new(1, MetadataHash::NONE);
    let hash = MetadataHash::from_i64(5);
    group.commit(group.decide_refresh(hash, GroupChange::Unchanged, NOW).unwrap()).unwrap();
    group.load(1, MetadataHash::NONE);
    assert!(group.has_expired(NOW));
    group.commit(group.decide_leave(Some(hash)).unwrap()).unwrap();
    assert!(!group.has_expired(NOW));
}

struct Gap;

impl Partitions for Gap {
    fn count(&self) -> i32 {
        2
    }

    fn replicas(&self, partition: i32) -> Option<&[i32]> {
        (partition != 1).then_some(&[])
    }
}

/// Kafka fails to hash a topic with partitions 0 and 2.
#[test]
fn a_missing_partition_has_no_racks() {
    let (id, image) = (TopicId::from_u128(1), ClusterImage::new());
    let gap = TopicHasher::new().topic_hash(&image, TopicView::new(id, "foo", &Gap));
    let none = vec![Vec::<i32>::new(), Vec::new()];
    let whole: TopicHash = TopicHasher::new().topic_hash(&image, TopicView::new(id, "foo", &none));
    assert_eq!(gap, whole);
}
