//! Members join, share, give up and go.

use super::{Assignment, ErrorCode, FOO, REBALANCE, SESSION, World, settle};

#[test]
fn the_first_member_gets_everything_at_once() {
    let mut world = World::new(3);
    let a = world.join("a", &["foo"]);
    assert_eq!(a.owned, Assignment::from([(FOO, (0..3).collect())]));
    assert_eq!((a.epoch, world.group.epoch(), world.group.state()), (2, 2, "Stable"));
}

#[test]
fn a_partition_is_given_up_before_another_member_gets_it() {
    let mut world = World::new(4);
    let mut a = world.join("a", &["foo"]);
    let mut b = world.join("b", &["foo"]);
    assert_eq!((b.epoch, b.count()), (3, 0), "nothing is free yet");
    assert_eq!(a.idle(&mut world).unwrap().map(|kept| super::super::member::size(&kept)), Some(2));
    assert_eq!(a.epoch, 2, "it is at its epoch until it has given up");
    b.beat(&mut world).unwrap();
    assert_eq!(b.count(), 0, "told is not given up");
    a.idle(&mut world).unwrap();
    b.beat(&mut world).unwrap();
    assert_eq!(b.count(), 0, "nor is a heartbeat that does not say");
    a.owned = Assignment::from([(FOO, (0..2).collect())]);
    a.beat(&mut world).unwrap();
    b.beat(&mut world).unwrap();
    assert_eq!((a.count(), a.epoch, b.count(), b.epoch), (2, 3, 2, 3));
    assert_eq!(world.group.state(), "Stable");
}

#[test]
fn who_does_not_give_up_in_time_is_out() {
    let mut world = World::new(4);
    let mut a = world.join("a", &["foo"]);
    let mut b = world.join("b", &["foo"]);
    a.idle(&mut world).unwrap();
    world.pass(REBALANCE - 1);
    a.idle(&mut world).unwrap();
    world.pass(1);
    assert_eq!(a.idle(&mut world).unwrap_err().0, ErrorCode::UnknownMemberId);
    b.beat(&mut world).unwrap();
    assert_eq!(b.count(), 4);
}

#[test]
fn a_member_that_leaves_or_falls_silent_leaves_its_partitions_to_the_others() {
    let mut world = World::new(6);
    let (mut a, mut b, mut c) =
        (world.join("a", &["foo"]), world.join("b", &["foo"]), world.join("c", &["foo"]));
    settle(&mut world, &mut [&mut a, &mut b, &mut c]);
    assert_eq!([a.count(), b.count(), c.count()], [2, 2, 2]);
    a.leave(&mut world).unwrap();
    settle(&mut world, &mut [&mut b, &mut c]);
    assert_eq!([b.count(), c.count()], [3, 3]);
    world.pass(SESSION - 1);
    b.idle(&mut world).unwrap();
    world.pass(1);
    settle(&mut world, &mut [&mut b]);
    assert_eq!(b.count(), 6);
    b.leave(&mut world).unwrap();
    assert_eq!((world.group.members().len(), world.group.state()), (0, "Empty"));
}

#[test]
fn heartbeats_of_other_epochs_are_fenced() {
    let mut world = World::new(2);
    let mut a = world.join("a", &["foo"]);
    let mut b = world.join("b", &["foo"]);
    settle(&mut world, &mut [&mut a, &mut b]);
    for epoch in [a.epoch + 1, 1, i32::MAX] {
        let mut odd = a.clone();
        odd.epoch = epoch;
        assert_eq!(odd.beat(&mut world).unwrap_err().0, ErrorCode::FencedMemberEpoch);
    }
    // Its last answer may have been lost: it repeats itself at the epoch before.
    let mut repeated = a.clone();
    repeated.epoch = 2;
    assert!(repeated.idle(&mut world).is_err(), "but says what it has");
    repeated.beat(&mut world).unwrap();
    assert_eq!(repeated.epoch, a.epoch);
    let mut stranger = a.clone();
    stranger.id = "stranger".to_owned();
    assert_eq!(stranger.beat(&mut world).unwrap_err().0, ErrorCode::UnknownMemberId);
    assert_eq!(stranger.leave(&mut world).unwrap_err().0, ErrorCode::UnknownMemberId);
}

#[test]
fn a_member_that_joins_again_starts_with_nothing_and_gets_its_share() {
    let mut world = World::new(4);
    let mut a = world.join("a", &["foo"]);
    let mut b = world.join("b", &["foo"]);
    settle(&mut world, &mut [&mut a, &mut b]);
    let epoch = world.group.epoch();
    a.join(&mut world, &["foo"]).unwrap();
    assert_eq!((a.count(), world.group.epoch()), (2, epoch), "nothing else changes");
}

#[test]
fn an_idle_heartbeat_is_answered_without_an_assignment() {
    let mut world = World::new(4);
    let mut a = world.join("a", &["foo"]);
    let before = world.cluster.refreshes;
    for _ in 0..10 {
        assert_eq!(a.idle(&mut world).unwrap(), None);
    }
    assert_eq!(world.cluster.refreshes, before);
}

#[test]
fn a_full_group_takes_nobody_more_and_no_more_memory_than_there_is() {
    let mut world = World::new(4);
    for id in ["a", "b", "c", "d"] {
        world.join(id, &["foo"]);
    }
    let mut fifth = world.join("a", &["foo"]);
    fifth.id = "e".to_owned();
    let refused = fifth.join(&mut world, &["foo"]).unwrap_err();
    assert_eq!(refused.0, ErrorCode::GroupMaxSizeReached);

    let mut world = World::new(4);
    let mut heartbeat = fifth.request();
    heartbeat.rebalance_timeout_ms = Some(1);
    heartbeat.topics = Some(["foo".to_owned()].into());
    heartbeat.owned = Some(Assignment::new());
    let refused = world.group.heartbeat(&heartbeat, &mut world.cluster, 100, world.now);
    assert_eq!(refused.unwrap_err().0, ErrorCode::GroupMaxSizeReached);
    assert!(world.group.members().is_empty(), "and nothing is left behind");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut world = World::new(1);
    let a = world.join("a", &["foo"]);
    let mut joining = a.request();
    joining.member_epoch = 0;
    joining.rebalance_timeout_ms = Some(1);
    joining.topics = Some(["foo".to_owned()].into());
    joining.owned = Some(Assignment::new());
    let refused = |change: fn(&mut super::Heartbeat)| {
        let mut heartbeat = joining.clone();
        change(&mut heartbeat);
        heartbeat.check().unwrap_err().0
    };
    assert_eq!(refused(|one| one.member_id.clear()), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.instance_id = Some(String::new())), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.rack_id = Some(String::new())), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.rebalance_timeout_ms = None), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.topics = None), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.owned = None), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.member_epoch = -2), ErrorCode::InvalidRequest);
    assert_eq!(refused(|one| one.member_epoch = -3), ErrorCode::InvalidRequest);
    let odd = |one: &mut super::Heartbeat| one.server_assignor = Some("odd".to_owned());
    assert_eq!(refused(odd), ErrorCode::UnsupportedAssignor);
    assert!(joining.check().is_ok());
}
