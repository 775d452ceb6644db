//! When a group refreshes, and what comes of it.

use crate::coordinator::{Coordinator, ORDERS, PAYMENTS};
use kafka_coordination::TopicName;
use kafka_coordination::group::{
    GroupChange, GroupMetadata, GroupMetadataError, MetadataHash, REFRESH_INTERVAL_MS,
    RefreshDeadline,
};
use kafka_coordination::metadata::ImageDelta;
use kafka_coordination::{Monotonic, TopicId};

const NONE: [&str; 0] = [];

fn at(ms: i64) -> Monotonic {
    Monotonic::from_millis(ms)
}

/// A group at epoch 5 that refreshed at 0.
fn refreshed() -> GroupMetadata {
    let mut group = GroupMetadata::new(4, MetadataHash::NONE);
    let update =
        group.decide_refresh(MetadataHash::from_i64(1), GroupChange::Unchanged, at(0)).unwrap();
    group.commit(update).unwrap();
    group
}

#[test]
fn the_deadline_is_over_at_its_time_and_below_its_epoch() {
    let group = refreshed();
    let deadline = RefreshDeadline { at: at(REFRESH_INTERVAL_MS), epoch: 5 };
    assert_eq!(group.deadline(), Some(deadline));
    assert!(!group.has_expired(at(0)));
    assert!(!group.has_expired(at(REFRESH_INTERVAL_MS - 1)));
    assert!(group.has_expired(at(REFRESH_INTERVAL_MS)));
    assert!(!group.has_expired(at(-1_000_000)), "a clock that went back");

    let mut rolled_back = group;
    rolled_back.load(4, MetadataHash::NONE);
    assert!(rolled_back.has_expired(at(0)));
    let mut ahead = group;
    ahead.load(6, MetadataHash::NONE);
    assert!(!ahead.has_expired(at(0)));
    let mut requested = group;
    requested.request_refresh();
    assert_eq!((requested.has_expired(at(0)), requested.deadline()), (true, None));
}

#[test]
fn a_new_group_has_expired_at_any_time() {
    let group = GroupMetadata::new(1, MetadataHash::NONE);
    for now in [i64::MIN, -1, 0, 1, i64::MAX] {
        assert!(group.has_expired(at(now)));
    }
}

#[test]
fn what_is_remembered_leaves_and_enters() {
    let mut group = refreshed();
    for lost in [false, true] {
        if lost {
            group.load(4, MetadataHash::NONE);
            // A leave that carries the hash on reaches the epoch of what was lost.
            group.commit(group.decide_leave(None).unwrap()).unwrap();
        }
        let state = group.export();
        assert_eq!((state.epoch, state.is_refresh_lost), (5, lost));
        let entered = GroupMetadata::from(state);
        assert_eq!((entered.export(), entered.has_expired(at(0))), (state, lost));
    }
}

#[test]
fn what_is_decided_takes_effect_when_it_is_committed() {
    let mut group = GroupMetadata::new(1, MetadataHash::NONE);
    let before = group;
    let update =
        group.decide_refresh(MetadataHash::from_i64(9), GroupChange::Unchanged, at(7)).unwrap();
    assert_eq!((update.is_bump(), update.epoch(), update.metadata_hash().as_i64()), (true, 2, 9));
    assert_eq!(group, before, "dropping it is an abort");
    group.commit(update).unwrap();
    assert_eq!((group.epoch(), group.metadata_hash().as_i64()), (2, 9));
    let superseded = GroupMetadataError::Superseded { expected: 1, actual: 2 };
    let after = group;
    assert_eq!(group.commit(update), Err(superseded));
    assert_eq!(group, after, "a rejected call changes nothing");
}

/// The record is being written while the cluster changes.
#[test]
fn a_refresh_that_is_asked_for_before_the_commit_is_still_due() {
    let mut it = Coordinator::with_orders();
    it.load("g", 1, 0, &["orders"]);
    let update = it.decide("g", GroupChange::Unchanged);
    assert_eq!(it.change(|delta| _ = delta.add_partition(ORDERS, 3, &[1])), ["g"]);
    it.metadata("g").commit(update).unwrap();
    assert!(it.bumps("g"), "the hash of the record is that of three partitions");
}

#[test]
fn a_member_that_joins_and_leaves() {
    let mut it = Coordinator::with_orders();
    assert_eq!((it.subscribe("g", &["orders"]), it.stored("g")), (2, -6_423_155_369_827_150_768));
    assert_eq!(it.known("orders"), Some(it.topic("orders")));
    assert!(!it.bumps("g"));

    assert_eq!((it.leave("g", &[]), it.stored("g")), (3, 0));
    assert_eq!(it.known("orders"), None);
    assert_eq!(it.subscriptions.groups("orders").collect::<Vec<_>>(), NONE);
    assert!(!it.bumps("g"), "the deadline stayed, and so does the group");

    assert_eq!(it.subscribe("g", &["orders"]), 4, "two reasons, one bump");
}

#[test]
fn a_leave_keeps_the_deadline_and_may_keep_the_hash() {
    let mut group = refreshed();
    let deadline = group.deadline();
    let update = group.decide_leave(None).unwrap();
    assert_eq!((update.epoch(), update.metadata_hash().as_i64()), (6, 1));
    group.commit(update).unwrap();
    assert_eq!(group.deadline(), deadline);
    let update = group.decide_leave(Some(MetadataHash::from_i64(2))).unwrap();
    group.commit(update).unwrap();
    assert_eq!((group.epoch(), group.metadata_hash().as_i64(), group.deadline()), (7, 2, deadline));
    group.request_refresh();
    group.commit(group.decide_leave(None).unwrap()).unwrap();
    assert_eq!(group.deadline(), None, "a leave answers no request");
}

#[test]
fn partitions_added_bump_once_and_the_deadline_begins_anew() {
    let mut it = Coordinator::with_orders();
    it.load("g", 10, -6_423_155_369_827_150_768, &["orders"]);
    assert!(!it.bumps("g"));
    it.now += 5_000;
    it.change(|delta| {
        for partition in 3..6 {
            delta.add_partition(ORDERS, partition, &[1, 2]);
        }
    });
    assert!(it.bumps("g"));
    let deadline = it.groups["g"].deadline().unwrap();
    assert_eq!(
        (it.epoch("g"), deadline.epoch, deadline.at),
        (11, 11, at(6_000 + REFRESH_INTERVAL_MS))
    );
    it.wait();
    let update = it.heartbeat("g").unwrap();
    assert!(!update.is_bump(), "nothing changed in 24 days");
}

#[test]
fn a_write_that_fails_is_decided_again_with_the_same_result() {
    let mut it = Coordinator::with_orders();
    it.load("g", 10, 0, &["orders"]);
    it.wait();
    let first = it.heartbeat("g").unwrap();
    assert!(first.is_bump());
    it.metadata("g").load(10, MetadataHash::NONE);
    let second = it.heartbeat("g").unwrap();
    assert_eq!((first.epoch(), first.metadata_hash()), (second.epoch(), second.metadata_hash()));
    assert!(!it.bumps("g"));
}

#[test]
fn a_subscription_is_rolled_back_with_its_write() {
    let mut it = Coordinator::with_orders();
    it.create(PAYMENTS, "payments", &[&[1]]);
    it.subscribe("g", &["orders"]);
    let (epoch, hash) = (it.epoch("g"), it.stored("g"));
    it.subscribe("g", &["payments"]);
    assert_eq!(it.known("orders"), None);

    it.subscriptions.roll_back("g", ["orders"]);
    it.metadata("g").load(epoch, MetadataHash::from_i64(hash));
    assert_eq!(it.subscriptions.topics("g").map(TopicName::as_str).collect::<Vec<_>>(), ["orders"]);
    assert!(it.known("payments").is_some(), "the member will try again");
    assert_eq!(
        it.change(|delta| _ = delta.add_partition(PAYMENTS, 1, &[1])),
        NONE,
        "but nobody is on it"
    );
    assert_eq!(it.known("payments"), None, "and it does not stay for ever");
    assert!(!it.bumps("g"));

    it.subscribe("new", &["payments"]);
    it.subscriptions.roll_back::<&str>("new", []);
    assert_eq!(it.subscriptions.groups("payments").collect::<Vec<_>>(), NONE);
    assert!(it.known("payments").is_some());
}

/// Groups on {a, b}, {b, c}, {d}, {e}, {f}; b is updated, d deleted, e created.
#[test]
fn only_groups_on_changed_topics_are_woken() {
    let mut it = Coordinator::new();
    for (id, name) in (10..).zip(["a", "b", "c", "d", "f"]) {
        it.create(TopicId::from_u128(id), name, &[&[1]]);
    }
    for (group, topics) in
        [("1", &["a", "b"][..]), ("2", &["b", "c"]), ("3", &["d"]), ("4", &["e"]), ("5", &["f"])]
    {
        it.subscribe(group, topics);
    }
    let woken = it.change(|delta| {
        delta.add_partition(TopicId::from_u128(11), 1, &[2]);
        delta.delete_topic(TopicId::from_u128(13)).create_topic(TopicId::from_u128(20), "e");
    });
    assert_eq!(woken, ["1", "2", "3", "4"]);
    let expired = it.groups.iter().filter(|(_, group)| group.has_expired(it.now()));
    assert_eq!(expired.map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    assert_eq!(it.change(|_| {}), NONE);
    assert_eq!(it.notice(&["a", "a", "b"]), ["1", "2"], "each once");
}

#[test]
fn replicas_that_move_within_their_racks_change_nothing() {
    let mut it = Coordinator::with_orders();
    it.change(|delta| _ = delta.register_broker(4, Some("eu-1a")));
    it.subscribe("g", &["orders"]);
    let stays: [fn(&mut ImageDelta); 3] = [
        |delta| _ = delta.set_replicas(ORDERS, 0, &[2, 1]),
        |delta| _ = delta.set_replicas(ORDERS, 0, &[4, 2]),
        |delta| _ = delta.register_broker(5, Some("eu-9")),
    ];
    for change in stays {
        it.change(change);
        assert!(!it.bumps("g"));
    }
    let bumps: [fn(&mut ImageDelta); 5] = [
        |delta| _ = delta.set_replicas(ORDERS, 0, &[3, 2]),
        |delta| _ = delta.set_replicas(ORDERS, 0, &[3, 2, 1]),
        |delta| _ = delta.set_replicas(ORDERS, 0, &[3]),
        // Two partitions change places.
        |delta| _ = delta.set_replicas(ORDERS, 1, &[3, 1]).set_replicas(ORDERS, 2, &[2, 3]),
        |delta| _ = delta.register_broker(3, None),
    ];
    for (at, change) in bumps.into_iter().enumerate() {
        it.change(change);
        assert!(it.bumps("g"), "{at}");
    }
}

#[test]
fn whoever_missed_changes_refreshes_everything() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    it.subscribe("h", &["missing"]);
    let mut delta = ImageDelta::new(50);
    delta.add_partition(ORDERS, 3, &[1]).register_broker(1, Some("moved"));
    it.image.apply(&delta).unwrap();
    let mut woken: Vec<_> = it.subscriptions.refresh_all(&it.image).map(String::from).collect();
    woken.sort();
    assert_eq!(woken, ["g", "h"]);
    it.metadata("g").request_refresh();
    it.metadata("h").request_refresh();
    assert!(it.bumps("g") && !it.bumps("h"));
    assert_eq!(it.known("orders"), Some(it.topic("orders")));
}

/// Shards that are a step behind are served from their own image, and do not spoil what is remembered.
#[test]
fn an_older_image_is_not_remembered() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    let (older, older_hash) = (it.image.clone(), it.stored("g"));
    it.change(|delta| _ = delta.add_partition(ORDERS, 3, &[1]).register_broker(1, Some("moved")));
    let behind = it.subscriptions.metadata_hash("g", &older);
    assert_eq!(behind.as_i64(), older_hash);
    assert_eq!(it.known("orders"), None);
    assert!(it.bumps("g"));
    assert_eq!(it.known("orders"), Some(it.topic("orders")));
    assert_ne!(it.stored("g"), older_hash);
}
