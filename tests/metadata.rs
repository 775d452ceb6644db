//! The image of the cluster against a plain model, and what its deltas cost.
#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    reason = "a test has the standard library, and may fail by panicking"
)]

use kafka_coordination::TopicId;
use kafka_coordination::metadata::{
    ChangedTopic, ClusterImage, ImageChanges, ImageDelta, MetadataImage, TopicView,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// One change, drawn from a world so small that changes often meet.
#[derive(Clone, Debug)]
enum Change {
    Create {
        id: u128,
        name: &'static str,
    },
    Delete {
        id: u128,
    },
    /// Adds the next partition, or, if `gap` is not 0, one that far from it.
    Add {
        id: u128,
        gap: i32,
        replicas: Vec<i32>,
    },
    Move {
        id: u128,
        partition: i32,
        replicas: Vec<i32>,
    },
    Register {
        broker: i32,
        rack: Option<&'static str>,
    },
    Unregister {
        broker: i32,
    },
}

fn change() -> impl Strategy<Value = Change> {
    let id = || prop_oneof![9 => 1_u128..5, 1 => Just(0)];
    let name = prop_oneof![9 => prop::sample::select(vec!["a", "b", "c"]), 1 => Just("")];
    let rack = prop::option::of(prop::sample::select(vec!["r", "s"]));
    let gap = prop_oneof![19 => Just(0), 1 => -1..2];
    let broker = || prop_oneof![19 => 0..4, 1 => Just(-1)];
    let replicas = || prop::collection::vec(broker(), 0..3);
    prop_oneof![
        3 => (id(), name).prop_map(|(id, name)| Change::Create { id, name }),
        1 => id().prop_map(|id| Change::Delete { id }),
        3 => (id(), gap, replicas()).prop_map(|(id, gap, replicas)| Change::Add { id, gap, replicas }),
        2 => (id(), -1..3, replicas())
            .prop_map(|(id, partition, replicas)| Change::Move { id, partition, replicas }),
        2 => (broker(), rack).prop_map(|(broker, rack)| Change::Register { broker, rack }),
        1 => broker().prop_map(|broker| Change::Unregister { broker }),
    ]
}

#[derive(Clone, Debug, PartialEq)]
struct ModelTopic {
    name: &'static str,
    partitions: Vec<Vec<i32>>,
}

/// What an image is, without sharing.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    offset: i64,
    topics: BTreeMap<u128, ModelTopic>,
    brokers: BTreeMap<i32, Option<&'static str>>,
}

impl Model {
    /// Makes the change if it is legal.
    fn change(&mut self, change: &Change, touched: &mut BTreeSet<u128>) -> Option<()> {
        let legal = |replicas: &[i32]| {
            let distinct: BTreeSet<_> = replicas.iter().collect();
            distinct.len() == replicas.len() && replicas.iter().all(|&broker| broker >= 0)
        };
        match change {
            Change::Create { id, name } => {
                let name_is_free = self.topics.values().all(|topic| topic.name != *name);
                if *id == 0 || name.is_empty() || self.topics.contains_key(id) || !name_is_free {
                    return None;
                }
                self.topics.insert(*id, ModelTopic { name, partitions: Vec::new() });
                touched.insert(*id);
            }
            Change::Delete { id } => {
                self.topics.remove(id)?;
                touched.insert(*id);
            }
            Change::Add { id, gap, replicas } => {
                let topic = self.topics.get_mut(id)?;
                if *gap != 0 || !legal(replicas) {
                    return None;
                }
                topic.partitions.push(replicas.clone());
                touched.insert(*id);
            }
            Change::Move { id, partition, replicas } => {
                let partition = usize::try_from(*partition).ok()?;
                let slot = self.topics.get_mut(id)?.partitions.get_mut(partition)?;
                if !legal(replicas) {
                    return None;
                }
                if slot != replicas {
                    slot.clone_from(replicas);
                    touched.insert(*id);
                }
            }
            Change::Register { broker, rack } => {
                if *broker < 0 {
                    return None;
                }
                self.brokers.insert(*broker, *rack);
            }
            Change::Unregister { broker } => {
                self.brokers.remove(broker)?;
            }
        }
        Some(())
    }

    fn rack(&self, broker: i32) -> Option<&'static str> {
        self.brokers.get(&broker).copied().flatten()
    }
}

/// Runs the changes on the model, one by one, and writes them down as a delta.
///
/// Gives the model after them, and what they did, if they are all legal.
fn run(
    model: &Model,
    offset: i64,
    changes: &[Change],
) -> (ImageDelta, Option<(Model, BTreeSet<u128>)>) {
    let mut delta = ImageDelta::new(offset);
    let mut next = model.clone();
    let mut touched = BTreeSet::new();
    let mut legal = offset >= model.offset;
    next.offset = offset;
    for change in changes {
        match change {
            Change::Create { id, name } => delta.create_topic(TopicId::from_u128(*id), *name),
            Change::Delete { id } => delta.delete_topic(TopicId::from_u128(*id)),
            Change::Add { id, gap, replicas } => {
                let count = next.topics.get(id).map_or(0, |topic| topic.partitions.len());
                delta.add_partition(
                    TopicId::from_u128(*id),
                    i32::try_from(count).unwrap() + gap,
                    replicas,
                )
            }
            Change::Move { id, partition, replicas } => {
                delta.set_replicas(TopicId::from_u128(*id), *partition, replicas)
            }
            Change::Register { broker, rack } => delta.register_broker(*broker, *rack),
            Change::Unregister { broker } => delta.unregister_broker(*broker),
        };
        legal = legal && next.change(change, &mut touched).is_some();
    }
    (delta, legal.then_some((next, touched)))
}

/// The image answers every question as the model does.
fn assert_same(image: &ClusterImage, model: &Model) {
    assert_eq!(image.offset(), model.offset);
    assert_eq!(image.topic_count(), model.topics.len());
    let names: BTreeSet<_> = model.topics.values().map(|topic| topic.name).collect();
    assert!(image.topics().map(TopicView::name).eq(names));
    assert!(image.brokers().eq(model.brokers.iter().map(|(&broker, &rack)| (broker, rack))));
    for id in 0..5 {
        let topic = image.topic_by_id(TopicId::from_u128(id)).map(|topic| {
            let partitions =
                (0..topic.partition_count()).map(|p| topic.replicas(p).unwrap().to_vec());
            (topic.name(), partitions.collect::<Vec<_>>())
        });
        assert_eq!(
            topic,
            model.topics.get(&id).map(|topic| (topic.name, topic.partitions.clone()))
        );
    }
    for name in ["a", "b", "c", ""] {
        let id = image.topic_by_name(name).map(|topic| topic.id().as_u128());
        assert_eq!(
            id,
            model.topics.iter().find(|(_, topic)| topic.name == name).map(|(&id, _)| id)
        );
    }
    for broker in -1..5 {
        assert_eq!(image.rack(broker), model.rack(broker));
    }
}

/// The changes tell exactly the difference between the two models.
fn assert_difference(
    changes: &ImageChanges,
    before: &Model,
    after: &Model,
    touched: &BTreeSet<u128>,
) {
    let listed = |topics: &[ChangedTopic]| -> Vec<(u128, String)> {
        topics.iter().map(|topic| (topic.id.as_u128(), topic.name.to_string())).collect()
    };
    let only_in = |one: &Model, other: &Model| -> Vec<(u128, String)> {
        let name_in = |model: &Model, id| model.topics.get(id).map(|topic: &ModelTopic| topic.name);
        let missing =
            one.topics.iter().filter(|(id, topic)| name_in(other, id) != Some(topic.name));
        missing.map(|(&id, topic)| (id, topic.name.to_owned())).collect()
    };
    let created = only_in(after, before);
    assert_eq!(listed(changes.created()), created);
    assert_eq!(listed(changes.deleted()), only_in(before, after));
    let survivors = after.topics.iter().map(|(&id, topic)| (id, topic.name.to_owned()));
    let expected = survivors.filter(|topic| touched.contains(&topic.0) && !created.contains(topic));
    assert_eq!(listed(changes.changed()), expected.collect::<Vec<_>>());
    for (id, topic) in &after.topics {
        let differs =
            before.topics.get(id).is_some_and(|old| old.name == topic.name && old != topic);
        assert!(!differs || touched.contains(id), "topic {id} differs and is not reported");
    }
    let racks: Vec<i32> =
        (0..5).filter(|&broker| before.rack(broker) != after.rack(broker)).collect();
    assert_eq!(changes.racks(), racks);
}

proptest! {
    #[test]
    fn an_image_is_what_a_plain_model_is(
        deltas in prop::collection::vec((-1_i64..4, prop::collection::vec(change(), 0..6)), 1..30)
    ) {
        let mut image = ClusterImage::new();
        let mut model = Model::default();
        let mut history = Vec::new();
        for (step, changes) in deltas {
            history.push((image.clone(), model.clone()));
            let (delta, outcome) = run(&model, model.offset + step, &changes);
            let result = image.apply(&delta);
            prop_assert_eq!(result.is_ok(), outcome.is_some(), "{:?}", result);
            if let (Ok(changes), Some((next, touched))) = (result, outcome) {
                assert_difference(&changes, &model, &next, &touched);
                model = next;
            }
            assert_same(&image, &model);
        }
        for (image, model) in &history {
            assert_same(image, model);
        }
    }
}

fn cluster(topics: u128) -> ClusterImage {
    let mut delta = ImageDelta::new(1);
    for n in 1..=topics {
        let id = TopicId::from_u128(n);
        delta.create_topic(id, format!("topic-{n}")).add_partition(id, 0, &[1]).add_partition(
            id,
            1,
            &[2],
        );
    }
    let mut image = ClusterImage::new();
    let changes = image.apply(&delta).unwrap();
    assert_eq!(changes.created().len(), image.topic_count());
    image
}

#[test]
fn cloning_an_image_allocates_nothing() {
    let image = cluster(1_000);
    let cost = allocation_counter::measure(|| drop(image.clone()));
    assert_eq!(cost.count_total, 0);
}

/// Memory that one delta takes on an image of so many topics, while a reader holds the image before.
fn bytes_for_a_delta(topics: u128) -> u64 {
    let mut image = cluster(topics);
    let (before, middle) = (image.clone(), TopicId::from_u128(topics / 2));
    let created = TopicId::from_u128(topics + 1);
    let mut delta = ImageDelta::new(2);
    delta.set_replicas(middle, 1, &[3]).create_topic(created, "new").add_partition(
        created,
        0,
        &[1],
    );
    let cost = allocation_counter::measure(|| {
        let changes = image.apply(&delta).unwrap();
        assert_eq!((changes.changed().len(), changes.created().len()), (1, 1));
    });
    assert_eq!(before.topic_by_id(middle).unwrap().replicas(1), Some(&[2][..]));
    assert_eq!(image.topic_by_id(middle).unwrap().replicas(1), Some(&[3][..]));
    cost.bytes_total
}

#[test]
fn a_delta_on_100_000_topics_does_not_copy_them() {
    let small = bytes_for_a_delta(1_000);
    let large = bytes_for_a_delta(100_000);
    // Bytes grow with the depth of the tree, 10 levels against 17; a copy would take 100 times as many.
    assert!(large < 2 * small + 1_024, "{small} bytes on 1,000 topics, {large} on 100,000");
    assert!(large < 64 * 1_024, "{large} bytes");
}

#[test]
fn changing_one_of_10_000_partitions_does_not_copy_the_others() {
    let id = TopicId::from_u128(1);
    let mut delta = ImageDelta::new(1);
    delta.create_topic(id, "wide");
    for partition in 0..10_000 {
        delta.add_partition(id, partition, &[1, 2, 3]);
    }
    let mut image = ClusterImage::new();
    assert!(image.apply(&delta).is_ok());
    let mut delta = ImageDelta::new(2);
    delta.set_replicas(id, 5_000, &[1, 2, 4]);
    let cost = allocation_counter::measure(|| assert!(image.apply(&delta).is_ok()));
    assert!(cost.bytes_total < 16 * 1_024, "{} bytes", cost.bytes_total);
}
