//! Regular expressions: matched at once, again when topics were created, but not all the time.

use super::{Assignment, Client, ErrorCode, World};
use kafka_coordination::TopicId;

fn join(world: &mut World, id: &str, regex: &str) -> Result<Client, super::Refusal> {
    let mut client =
        Client { id: id.to_owned(), instance: None, epoch: 0, owned: Assignment::new() };
    let mut heartbeat = client.request();
    heartbeat.rebalance_timeout_ms = Some(1_000);
    heartbeat.regex = Some(regex.to_owned());
    heartbeat.owned = Some(Assignment::new());
    client.take(world.send(&heartbeat))?;
    Ok(client)
}

#[test]
fn a_regular_expression_is_matched_at_once_and_against_whole_names() {
    let mut world = World::new(2);
    world.put(TopicId::from_u128(2), "food", 3);
    assert_eq!(join(&mut world, "a", "fo+").unwrap().count(), 2);
    let mut world = World::new(2);
    world.put(TopicId::from_u128(2), "food", 3);
    assert_eq!(join(&mut world, "a", "fo+.?").unwrap().count(), 5);
}

#[test]
fn topics_that_are_created_are_matched_ten_seconds_after_the_last_time() {
    let mut world = World::new(2);
    let mut a = join(&mut world, "a", "foo|bar").unwrap();
    let epoch = world.group.epoch();
    world.put(TopicId::from_u128(2), "bar", 3);
    world.pass(10_000);
    a.beat(&mut world).unwrap();
    assert_eq!((a.count(), world.group.epoch()), (2, epoch));
    world.pass(1);
    a.beat(&mut world).unwrap();
    assert_eq!((a.count(), world.group.epoch()), (5, epoch + 1));
    // Partitions that are added to a topic that matched need no matching.
    world.put(TopicId::from_u128(2), "bar", 4);
    a.beat(&mut world).unwrap();
    assert_eq!((a.count(), world.group.epoch()), (6, epoch + 2));
}

#[test]
fn names_and_regular_expressions_go_together() {
    let mut world = World::new(2);
    world.put(TopicId::from_u128(2), "bar", 3);
    let mut a = join(&mut world, "a", "ba.").unwrap();
    a.subscribe(&mut world, &["foo"]);
    assert_eq!(a.count(), 5);
    let mut heartbeat = a.request();
    heartbeat.regex = Some(String::new());
    heartbeat.owned = Some(a.owned.clone());
    let told = world.send(&heartbeat).unwrap();
    assert_eq!(told.assignment.map(|kept| kept.len()), Some(1), "an empty one takes it away");
}

#[test]
fn what_is_no_regular_expression_is_refused_and_many_are_too() {
    let mut world = World::new(2);
    for bad in ["fo(", "x{1000}{1000}", &"f".repeat(257)] {
        let refused = join(&mut world, "a", bad).unwrap_err();
        assert_eq!(refused.0, ErrorCode::InvalidRegularExpression, "{bad}");
    }
    assert!(world.group.members().is_empty());
    let mut world = World::new(2);
    world.group.config.max_members = 100;
    for n in 0..16 {
        join(&mut world, &n.to_string(), &format!("fo{{{n},}}")).unwrap();
    }
    let refused = join(&mut world, "one more", "f").unwrap_err();
    assert_eq!(refused.0, ErrorCode::GroupMaxSizeReached);
}
