//! What may happen, drawn from a world so small that things often meet.

use kafka_coordination::TopicId;
use kafka_coordination::metadata::{ClusterImage, ImageDelta, MetadataImage, TopicView};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) const NAMES: [&str; 6] = ["a", "ab", "b", "\u{ffff}", "\u{1f600}", "internal"];
pub(crate) const GROUPS: [&str; 4] = ["g", "h", "i", "j"];
const RACKS: [&str; 6] = ["", "r", "s", "rs", "\u{fffd}", "\u{10000}"];
/// Some share a bit in a word, some a place in a table of 1024.
const BROKERS: [i32; 6] = [0, 1, 2, 64, 65, 1024];

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// The cluster changes, all at once.
    Delta(Vec<Change>),
    /// A notice for a topic of which nothing changed.
    Notice(&'static str),
    /// Changes that were missed.
    Missed(Vec<Change>),
    /// Members join, leave or want something else; the write may fail.
    Subscribe {
        group: &'static str,
        names: Vec<&'static str>,
        fails: bool,
    },
    /// A heartbeat that brings nothing new; the write may fail.
    Heartbeat {
        group: &'static str,
        fails: bool,
    },
    /// The last members leave.
    Leave {
        group: &'static str,
    },
    /// The coordinator moves.
    Reload,
    Wait(i64),
}

/// A change of the cluster, if it is legal.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Create { id: u128, name: &'static str },
    Delete { id: u128 },
    Add { id: u128, replicas: Vec<i32> },
    Move { id: u128, partition: i32, replicas: Vec<i32> },
    Register { broker: i32, rack: Option<&'static str> },
    Unregister { broker: i32 },
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let id = || 1_u128..6;
    let replicas = || proptest::sample::subsequence(BROKERS.to_vec(), 0..4).prop_shuffle();
    let rack = proptest::option::weighted(0.8, select(RACKS.to_vec()));
    prop_oneof![
        3 => (id(), select(NAMES.to_vec())).prop_map(|(id, name)| Change::Create { id, name }),
        1 => id().prop_map(|id| Change::Delete { id }),
        4 => (id(), replicas()).prop_map(|(id, replicas)| Change::Add { id, replicas }),
        2 => (id(), 0..3, replicas())
            .prop_map(|(id, partition, replicas)| Change::Move { id, partition, replicas }),
        3 => (select(BROKERS.to_vec()), rack).prop_map(|(broker, rack)| Change::Register { broker, rack }),
        1 => select(BROKERS.to_vec()).prop_map(|broker| Change::Unregister { broker }),
    ]
}

pub(crate) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let group = || select(GROUPS.to_vec());
    let fails = || proptest::bool::weighted(0.2);
    let names = vec(select(NAMES.to_vec()), 0..4);
    let operation = prop_oneof![
        6 => vec(change(), 1..8).prop_map(Operation::Delta),
        1 => select(NAMES.to_vec()).prop_map(Operation::Notice),
        1 => vec(change(), 1..4).prop_map(Operation::Missed),
        4 => (group(), names, fails())
            .prop_map(|(group, names, fails)| Operation::Subscribe { group, names, fails }),
        6 => (group(), fails()).prop_map(|(group, fails)| Operation::Heartbeat { group, fails }),
        1 => group().prop_map(|group| Operation::Leave { group }),
        1 => Just(Operation::Reload),
        1 => prop_oneof![Just(1), Just(2_147_483_646), Just(2_147_483_647)].prop_map(Operation::Wait),
    ];
    vec(operation, 1..40)
}

/// A delta of those of the changes that are legal on the image.
pub(crate) fn delta(image: &ClusterImage, changes: &[Change]) -> ImageDelta {
    let mut delta = ImageDelta::new(image.offset() + 1);
    for change in changes {
        let mut longer = delta.clone();
        describe(&mut longer, image, &delta, change);
        if image.clone().apply(&longer).is_ok() {
            delta = longer;
        }
    }
    delta
}

fn describe(longer: &mut ImageDelta, image: &ClusterImage, so_far: &ImageDelta, change: &Change) {
    match change {
        Change::Create { id, name } => _ = longer.create_topic(TopicId::from_u128(*id), *name),
        Change::Delete { id } => _ = longer.delete_topic(TopicId::from_u128(*id)),
        Change::Add { id, replicas } => {
            let id = TopicId::from_u128(*id);
            let mut image = image.clone();
            image.apply(so_far).unwrap();
            let next = image.topic_by_id(id).map_or(0, TopicView::partition_count);
            longer.add_partition(id, next, replicas);
        }
        Change::Move { id, partition, replicas } => {
            longer.set_replicas(TopicId::from_u128(*id), *partition, replicas);
        }
        Change::Register { broker, rack } => _ = longer.register_broker(*broker, *rack),
        Change::Unregister { broker } => _ = longer.unregister_broker(*broker),
    }
}
