//! From one generation to the next, and how long that takes.

use super::{DELAY, REBALANCE, SESSION, World, got, protocol, waits};
use kafka_coordination::ErrorCode;

#[test]
fn the_first_members_wait_for_more() {
    let mut world = World::new();
    let mut first = world.join("");
    world.pass(DELAY - 1);
    let mut second = world.join("");
    world.pass(1);
    assert!(waits(&mut first), "the delay is prolonged for the second");
    world.pass(DELAY - 1);
    assert!(waits(&mut first));
    world.pass(1);
    let (first, second) = (got(&mut first), got(&mut second));
    assert_eq!((first.members.len(), second.members.len()), (2, 0), "only the leader is told");
    assert_eq!((first.generation, second.generation), (1, 1));
}

#[test]
fn the_first_delay_is_prolonged_up_to_the_rebalance_time_out() {
    let mut world = World::new();
    let mut joining = Vec::new();
    for _ in 0..3 {
        let mut join = world.request("");
        join.rebalance_timeout_ms = 7_000;
        joining.push(world.send(join));
        world.pass(2_500);
    }
    // At 7,500 ms: the delays of 3,000 and 3,000 ms are over, and 1,000 ms are left for the last.
    assert!(joining.iter_mut().all(|answer| !waits(answer)));
}

#[test]
fn who_has_not_joined_again_in_time_is_out() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    let mut third = world.join("");
    let mut rejoining = world.join(&leader.member_id);
    for _ in 0..6 {
        world.pass(REBALANCE / 6 - 1);
        world.heartbeat(&follower);
    }
    assert!(waits(&mut third));
    world.pass(6);
    let (third, rejoined) = (got(&mut third), got(&mut rejoining));
    assert_eq!((third.generation, rejoined.generation), (2, 2));
    assert_eq!(rejoined.members.len(), 2);
    assert_eq!(world.heartbeat(&follower), ErrorCode::UnknownMemberId);
}

#[test]
fn a_leader_that_never_assigns_is_out_after_the_rebalance_time_out() {
    let mut world = World::new();
    let (mut leader, mut follower) = (world.join(""), world.join(""));
    world.pass(2 * DELAY);
    let (leader, follower) = (got(&mut leader), got(&mut follower));
    let mut waiting = world.sync(&follower, &[]);
    for _ in 0..7 {
        world.pass(SESSION - 1);
        world.heartbeat(&leader);
    }
    assert_eq!(got(&mut waiting).error, ErrorCode::RebalanceInProgress);
    assert_eq!(world.heartbeat(&leader), ErrorCode::UnknownMemberId);
    let joined = got(&mut world.join(&follower.member_id));
    assert_eq!(joined.leader, follower.member_id);
}

#[test]
fn a_member_that_never_syncs_is_out_although_the_group_is_stable() {
    let mut world = World::new();
    let (mut leader, mut follower) = (world.join(""), world.join(""));
    world.pass(2 * DELAY);
    let (leader, follower) = (got(&mut leader), got(&mut follower));
    got(&mut world.sync(&leader, &[]));
    let mut errors = Vec::new();
    for _ in 0..7 {
        world.pass(SESSION - 1);
        errors.push(world.heartbeat(&leader));
        world.heartbeat(&follower);
    }
    assert_eq!(errors.last(), Some(&ErrorCode::RebalanceInProgress));
    assert_eq!(world.heartbeat(&follower), ErrorCode::UnknownMemberId);
}

#[test]
fn a_join_during_the_assignment_starts_over() {
    let mut world = World::new();
    let (mut leader, mut follower) = (world.join(""), world.join(""));
    world.pass(2 * DELAY);
    let (leader, follower) = (got(&mut leader), got(&mut follower));
    let mut waiting = world.sync(&follower, &[]);
    let mut third = world.join("");
    assert_eq!(got(&mut waiting).error, ErrorCode::RebalanceInProgress);
    assert_eq!(got(&mut world.sync(&leader, &[])).error, ErrorCode::RebalanceInProgress);
    let (mut a, mut b) = (world.join(&leader.member_id), world.join(&follower.member_id));
    assert_eq!(
        (got(&mut a).generation, got(&mut b).generation, got(&mut third).generation),
        (2, 2, 2)
    );
}

#[test]
fn joining_again_with_the_same_is_answered_at_once() {
    let mut world = World::new();
    let (mut leader, mut follower) = (world.join(""), world.join(""));
    world.pass(2 * DELAY);
    let (leader, follower) = (got(&mut leader), got(&mut follower));
    assert_eq!(got(&mut world.join(&leader.member_id)), leader, "its answer may have been lost");
    assert_eq!(got(&mut world.join(&follower.member_id)), follower);
    got(&mut world.sync(&leader, &[]));
    assert_eq!(got(&mut world.join(&follower.member_id)), follower, "in a stable group too");
    assert_eq!(got(&mut world.sync(&follower, &[])).error, ErrorCode::None);
    let mut again = world.join(&leader.member_id);
    assert!(waits(&mut again), "but a leader that joins again wants a new assignment");
}

#[test]
fn joining_again_with_something_else_rebalances() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    let mut join = world.request(&follower.member_id);
    join.protocols = vec![protocol("range", "other topics")];
    let mut rejoining = world.send(join);
    assert!(waits(&mut rejoining));
    let joined = got(&mut world.join(&leader.member_id));
    assert_eq!(joined.members.iter().filter(|member| member.metadata == "other topics").count(), 1);
    assert_eq!(got(&mut rejoining).generation, 2);
}

#[test]
fn a_join_on_a_second_connection_replaces_the_first() {
    let mut world = World::new();
    let (leader, _) = world.pair();
    let mut first = world.join(&leader.member_id);
    let mut second = world.join(&leader.member_id);
    assert_eq!(got(&mut first).error, ErrorCode::RebalanceInProgress);
    assert!(waits(&mut second));
}

#[test]
fn another_protocol_than_the_groups_is_not_synced() {
    let mut world = World::new();
    let (leader, _) = world.pair();
    let mut odd = leader;
    odd.protocol_name = Some("odd".to_owned());
    assert_eq!(got(&mut world.sync(&odd, &[])).error, ErrorCode::InconsistentGroupProtocol);
}
