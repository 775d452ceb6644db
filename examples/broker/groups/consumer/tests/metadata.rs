//! What changes of topics do to a group: the crate's machine says which matter.

use super::{FOO, World, settle};
use kafka_coordination::TopicId;

const BAR: TopicId = TopicId::from_u128(2);

#[test]
fn added_partitions_are_given_out_with_the_next_heartbeats_and_one_epoch() {
    let mut world = World::new(2);
    let mut a = world.join("a", &["foo"]);
    let mut b = world.join("b", &["foo"]);
    settle(&mut world, &mut [&mut a, &mut b]);
    let epoch = world.group.epoch();
    world.put(FOO, "foo", 6);
    a.beat(&mut world).unwrap();
    b.beat(&mut world).unwrap();
    assert_eq!([a.count(), b.count()], [3, 3]);
    assert_eq!(world.group.epoch(), epoch + 1);
}

#[test]
fn a_topic_that_is_subscribed_to_before_it_is_there_is_given_out_when_it_is() {
    let mut world = World::new(2);
    let mut a = world.join("a", &["foo", "bar"]);
    assert_eq!(a.count(), 2);
    let epoch = world.group.epoch();
    world.put(BAR, "bar", 3);
    a.beat(&mut world).unwrap();
    assert_eq!((a.count(), world.group.epoch()), (5, epoch + 1));
}

#[test]
fn a_topic_that_is_added_to_the_subscription_is_given_out_at_once() {
    let mut world = World::new(2);
    world.put(BAR, "bar", 3);
    let mut a = world.join("a", &["foo"]);
    let epoch = world.group.epoch();
    a.subscribe(&mut world, &["foo", "bar"]);
    assert_eq!((a.count(), world.group.epoch()), (5, epoch + 1));
    a.subscribe(&mut world, &["bar", "foo"]);
    assert_eq!(world.group.epoch(), epoch + 1, "the same again is no change");
}

#[test]
fn a_change_that_matters_to_nobody_makes_no_epoch() {
    let mut world = World::new(2);
    let mut a = world.join("a", &["foo"]);
    let (epoch, refreshes) = (world.group.epoch(), world.cluster.refreshes);
    world.put(BAR, "bar", 3);
    a.idle(&mut world).unwrap();
    assert_eq!(
        (world.group.epoch(), world.cluster.refreshes),
        (epoch, refreshes),
        "it is not looked at"
    );
    // A change of the topic that changes nothing of what counts, as one of its leaders.
    let mut topics = world.cluster.topics.clone();
    topics.touch(FOO).unwrap();
    world.tell(topics);
    a.idle(&mut world).unwrap();
    assert_eq!(
        (world.group.epoch(), world.cluster.refreshes),
        (epoch, refreshes + 1),
        "it is looked at"
    );
    a.idle(&mut world).unwrap();
    assert_eq!(world.cluster.refreshes, refreshes + 1, "once");
}

#[test]
fn a_deleted_topic_is_taken_away() {
    let mut world = World::new(2);
    let mut a = world.join("a", &["foo"]);
    let mut topics = world.cluster.topics.clone();
    topics.remove(FOO).unwrap();
    world.tell(topics);
    a.beat(&mut world).unwrap();
    a.beat(&mut world).unwrap();
    assert_eq!((a.count(), world.group.state()), (0, "Stable"));
}
