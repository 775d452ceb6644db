//! Who is in the group, and how it is known.

use super::{DELAY, REBALANCE, SESSION, World, got, protocol, waits};
use kafka_coordination::ErrorCode;

#[test]
fn a_dynamic_member_is_told_its_id_and_joins_with_it() {
    let mut world = World::new();
    let mut join = world.request("");
    join.must_know_id = true;
    let told = got(&mut world.send(join));
    assert_eq!((told.error, &*told.member_id), (ErrorCode::MemberIdRequired, "m1"));
    let mut joining = world.join("m1");
    world.pass(DELAY);
    let joined = got(&mut joining);
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, 1));
    assert_eq!((&*joined.member_id, &*joined.leader), ("m1", "m1"));
}

#[test]
fn an_id_that_is_never_used_is_forgotten_after_its_session() {
    let mut world = World::new();
    let mut join = world.request("");
    join.must_know_id = true;
    got(&mut world.send(join));
    world.pass(SESSION - 1);
    assert!(!world.group.is_gone());
    world.pass(1);
    assert!(world.group.is_gone());
    assert_eq!(got(&mut world.join("m1")).error, ErrorCode::UnknownMemberId);
}

#[test]
fn a_rebalance_waits_for_an_id_that_was_just_given() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    let mut join = world.request("");
    join.must_know_id = true;
    let told = got(&mut world.send(join));
    let (mut a, mut b) = (world.join(&leader.member_id), world.join(&follower.member_id));
    assert!(waits(&mut a) && waits(&mut b), "the third may still come");
    let mut c = world.join(&told.member_id);
    assert_eq!(got(&mut a).members.len(), 3);
    assert_eq!((got(&mut b).generation, got(&mut c).generation), (2, 2));
}

#[test]
fn unknown_members_and_old_generations_are_refused() {
    let mut world = World::new();
    let (leader, _) = world.pair();
    let mut stranger = leader.clone();
    stranger.member_id = "stranger".to_owned();
    assert_eq!(world.heartbeat(&stranger), ErrorCode::UnknownMemberId);
    assert_eq!(got(&mut world.join("stranger")).error, ErrorCode::UnknownMemberId);
    assert_eq!(got(&mut world.sync(&stranger, &[])).error, ErrorCode::UnknownMemberId);
    assert_eq!(world.leave("stranger"), ErrorCode::UnknownMemberId);
    let mut old = leader.clone();
    old.generation = 0;
    assert_eq!(world.heartbeat(&old), ErrorCode::IllegalGeneration);
    assert_eq!(got(&mut world.sync(&old, &[])).error, ErrorCode::IllegalGeneration);
    assert_eq!(world.heartbeat(&leader), ErrorCode::None);
}

#[test]
fn a_member_that_falls_silent_is_out_after_its_session() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    world.pass(SESSION - 1);
    assert_eq!(world.heartbeat(&leader), ErrorCode::None);
    world.pass(1);
    assert_eq!(world.heartbeat(&follower), ErrorCode::UnknownMemberId);
    assert_eq!(world.heartbeat(&leader), ErrorCode::RebalanceInProgress);
    let joined = got(&mut world.join(&leader.member_id));
    assert_eq!((joined.generation, joined.members.len()), (2, 1));
}

#[test]
fn a_member_that_waits_for_the_others_is_not_silent() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    let mut rejoining = world.join(&leader.member_id);
    for _ in 0..5 {
        world.pass(SESSION - 1);
        assert_eq!(world.heartbeat(&follower), ErrorCode::RebalanceInProgress);
        assert!(waits(&mut rejoining));
    }
    world.pass(REBALANCE);
    assert_eq!(got(&mut rejoining).members.len(), 1, "the other has not come in time");
}

#[test]
fn when_the_leader_leaves_another_one_leads() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    assert_eq!(world.leave(&leader.member_id), ErrorCode::None);
    assert_eq!(world.heartbeat(&follower), ErrorCode::RebalanceInProgress);
    let joined = got(&mut world.join(&follower.member_id));
    assert_eq!(joined.leader, follower.member_id);
    assert_eq!(got(&mut world.sync(&joined, &[(&joined.member_id, "all")])).assignment, "all");
    assert_eq!(world.leave(&follower.member_id), ErrorCode::None);
    assert!(world.group.is_gone());
}

#[test]
fn a_full_group_takes_nobody_more() {
    let mut world = World::new();
    world.pair();
    let mut third = world.join("");
    assert!(waits(&mut third));
    assert_eq!(got(&mut world.join("")).error, ErrorCode::GroupMaxSizeReached);
    // Who was given an id and finds the group full does not keep the others waiting.
    let mut world = World::new();
    let (leader, follower) = world.pair();
    let mut join = world.request("");
    join.must_know_id = true;
    let told = got(&mut world.send(join));
    let mut joining = world.join("");
    let (mut a, mut b) = (world.join(&leader.member_id), world.join(&follower.member_id));
    assert_eq!(got(&mut world.join(&told.member_id)).error, ErrorCode::GroupMaxSizeReached);
    assert_eq!([&mut a, &mut b, &mut joining].map(got).map(|joined| joined.generation), [2; 3]);
    // Ids that are given but not used are bounded too.
    let mut refused = 0;
    for _ in 0..10 {
        let mut join = world.request("");
        join.must_know_id = true;
        refused += usize::from(got(&mut world.send(join)).error == ErrorCode::GroupMaxSizeReached);
    }
    assert_eq!(refused, 10);
}

#[test]
fn members_of_an_empty_group_get_as_many_ids_as_there_may_be_members() {
    let mut world = World::new();
    let mut refused = 0;
    for _ in 0..10 {
        let mut join = world.request("");
        join.must_know_id = true;
        refused += usize::from(got(&mut world.send(join)).error == ErrorCode::GroupMaxSizeReached);
    }
    assert_eq!(refused, 7);
}

#[test]
fn the_protocol_is_one_that_all_support_and_most_prefer() {
    let mut world = World::new();
    let mut answers = Vec::new();
    for names in [["range", "sticky", "odd"], ["sticky", "range", "own"], ["sticky", "range", "x"]]
    {
        let mut join = world.request("");
        join.protocols = names.iter().map(|name| protocol(name, "topics")).collect();
        answers.push(world.send(join));
    }
    world.pass(REBALANCE);
    for mut answer in answers {
        assert_eq!(got(&mut answer).protocol_name.as_deref(), Some("sticky"));
    }
}

#[test]
fn a_member_with_nothing_in_common_is_refused() {
    let mut world = World::new();
    let mut nothing = world.request("");
    nothing.protocols = Vec::new();
    assert_eq!(got(&mut world.send(nothing)).error, ErrorCode::InconsistentGroupProtocol);
    assert!(world.group.is_gone());
    let mut many = world.request("");
    many.protocols = vec![protocol("range", ""); 33];
    assert_eq!(got(&mut world.send(many)).error, ErrorCode::InconsistentGroupProtocol);

    world.pair();
    let mut other = world.request("");
    other.protocols = vec![protocol("odd", "topics")];
    assert_eq!(got(&mut world.send(other)).error, ErrorCode::InconsistentGroupProtocol);
    let mut other = world.request("");
    other.protocol_type = "connect".to_owned();
    assert_eq!(got(&mut world.send(other)).error, ErrorCode::InconsistentGroupProtocol);
}
