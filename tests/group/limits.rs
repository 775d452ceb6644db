//! Numbers and texts at the edges of what can be.

use kafka_coordination::TopicName;
use kafka_coordination::group::{
    GroupChange, GroupMetadata, GroupMetadataError, MetadataHash, Subscriptions, TopicHasher,
};
use kafka_coordination::metadata::{ClusterImage, Partitions, TopicView};
use kafka_coordination::{Monotonic, TopicId};

#[test]
fn epochs_end_and_do_not_wrap() {
    let group = GroupMetadata::new(i32::MAX, MetadataHash::NONE);
    let now = Monotonic::from_millis(0);
    let exhausted = Err(GroupMetadataError::EpochExhausted);
    assert_eq!(group.decide_refresh(MetadataHash::NONE, GroupChange::Changed, now), exhausted);
    assert_eq!(
        group.decide_refresh(MetadataHash::from_i64(1), GroupChange::Unchanged, now),
        exhausted
    );
    assert_eq!(group.decide_leave(None), exhausted);
    let update = group.decide_refresh(MetadataHash::NONE, GroupChange::Unchanged, now);
    assert!(update.is_ok_and(|update| !update.is_bump()));
    let first = GroupMetadata::new(i32::MIN, MetadataHash::NONE).decide_leave(None);
    assert_eq!(first.map(|update| update.epoch()), Ok(i32::MIN + 1));
}

#[test]
fn deadlines_at_the_end_of_time_are_kept_there() {
    let mut group = GroupMetadata::new(1, MetadataHash::NONE);
    let end = Monotonic::from_millis(i64::MAX);
    let update = group.decide_refresh(MetadataHash::NONE, GroupChange::Unchanged, end).unwrap();
    group.commit(update).unwrap();
    assert!(group.has_expired(end), "due at once, and no panic");
    assert!(!group.has_expired(Monotonic::from_millis(i64::MIN)));
}

#[test]
fn names_of_any_text_are_told_apart() {
    let mut subscriptions = Subscriptions::new(0);
    let names = ["", "\0", "\u{ffff}", "\u{10000}", "a", "a\0"];
    subscriptions.subscribe("", names);
    let topics: Vec<_> = subscriptions.topics("").map(TopicName::as_str).collect();
    assert_eq!(topics, ["", "\0", "a", "a\0", "\u{10000}", "\u{ffff}"], "by code unit");
    let none = subscriptions.metadata_hash("", &ClusterImage::new());
    assert_eq!(none, MetadataHash::NONE);
}

struct Many(Vec<i32>);

impl Partitions for Many {
    fn count(&self) -> i32 {
        200_000
    }

    fn replicas(&self, _: i32) -> Option<&[i32]> {
        Some(&self.0)
    }
}

struct Negative;

impl Partitions for Negative {
    fn count(&self) -> i32 {
        -1
    }

    fn replicas(&self, _: i32) -> Option<&[i32]> {
        None
    }
}

#[test]
fn topics_of_any_size_are_hashed() {
    let image = ClusterImage::new();
    let id = TopicId::from_u128(1);
    let many = Many(vec![i32::MIN, -1, 0, i32::MAX]);
    let mut hasher = TopicHasher::new();
    let hash = hasher.topic_hash(&image, TopicView::new(id, "many", &many));
    assert_eq!(hash, hasher.topic_hash(&image, TopicView::new(id, "many", &many)));
    // An image that makes no sense gives a hash that means nothing.
    let _ = hasher.topic_hash(&image, TopicView::new(id, "negative", &Negative));
}
