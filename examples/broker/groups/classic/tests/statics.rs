//! Static members, which come back under their instance ids (KIP-345).

use super::{DELAY, Joined, Leaving, REBALANCE, SESSION, World, got, waits};
use crate::groups::classic::Claim;
use kafka_coordination::ErrorCode;

impl World {
    fn join_as(&mut self, instance_id: &str, member_id: &str) -> super::Receiver<Joined> {
        let mut join = self.request(member_id);
        join.instance_id = Some(instance_id.to_owned());
        join.must_know_id = true;
        self.send(join)
    }

    /// A stable group of two static members, `a` the leader.
    fn static_pair(&mut self) -> (Joined, Joined) {
        let (mut a, mut b) = (self.join_as("a", ""), self.join_as("b", ""));
        self.pass(2 * DELAY);
        let (a, b) = (got(&mut a), got(&mut b));
        let assignments = [(&*a.member_id, "first"), (&*b.member_id, "second")];
        got(&mut self.sync(&a, &assignments));
        got(&mut self.sync(&b, &[]));
        (a, b)
    }
}

#[test]
fn a_static_member_that_comes_back_keeps_its_assignment_without_a_rebalance() {
    let mut world = World::new();
    let (a, b) = world.static_pair();
    let back = got(&mut world.join_as("b", ""));
    assert_eq!((back.error, back.generation), (ErrorCode::None, b.generation));
    assert_ne!(back.member_id, b.member_id);
    assert_eq!(got(&mut world.sync(&back, &[])).assignment, "second");
    assert_eq!(world.heartbeat(&a), ErrorCode::None, "nobody else is disturbed");
    let old = Claim { member_id: &b.member_id, instance_id: Some("b"), generation: b.generation };
    assert_eq!(world.group.heartbeat(old, world.now), Err(ErrorCode::FencedInstanceId));
}

#[test]
fn a_leader_that_comes_back_is_told_not_to_assign() {
    let mut world = World::new();
    let (a, _) = world.static_pair();
    let back = got(&mut world.join_as("a", ""));
    assert_eq!((back.skip_assignment, &back.leader), (true, &back.member_id));
    assert_eq!(back.members.len(), 2);
    assert_eq!(got(&mut world.sync(&back, &[])).assignment, "first");
    // An older client must not take itself for the leader.
    let mut join = world.request("");
    join.instance_id = Some("a".to_owned());
    join.can_skip_assignment = false;
    let back = got(&mut world.send(join));
    assert_eq!((back.skip_assignment, back.members.len()), (false, 0));
    assert_ne!(back.leader, back.member_id);
    assert_ne!(back.leader, a.member_id, "it is the id that it had last");
}

#[test]
fn the_one_before_is_fenced_while_it_waits() {
    let mut world = World::new();
    let mut first = world.join_as("a", "");
    let mut second = world.join_as("a", "");
    assert_eq!(got(&mut first).error, ErrorCode::FencedInstanceId);
    world.pass(DELAY);
    assert_eq!(got(&mut second).members.len(), 1);
}

#[test]
fn a_static_member_outlives_a_rebalance_but_not_its_session() {
    let mut world = World::new();
    let (a, b) = world.static_pair();
    let mut rejoining = world.join_as("a", &a.member_id);
    for _ in 0..REBALANCE / SESSION {
        world.pass(SESSION - 1);
        let claim =
            Claim { member_id: &b.member_id, instance_id: Some("b"), generation: b.generation };
        assert_eq!(world.group.heartbeat(claim, world.now), Err(ErrorCode::RebalanceInProgress));
    }
    world.pass(SESSION - 1);
    assert_eq!(got(&mut rejoining).members.len(), 2, "it has not joined again, and is there");
    world.pass(SESSION);
    assert!(!world.group.members().contains_key(&b.member_id));
}

#[test]
fn an_administrator_removes_a_static_member_by_its_instance_id() {
    let mut world = World::new();
    let (_, b) = world.static_pair();
    let leaving = |instance: &str| Leaving {
        member_id: String::new(),
        instance_id: Some(instance.to_owned()),
    };
    let left = world.group.leave(&[leaving("b"), leaving("c")], world.now);
    assert_eq!(left, [ErrorCode::None, ErrorCode::UnknownMemberId]);
    assert!(!world.group.members().contains_key(&b.member_id));
}

#[test]
fn a_static_member_that_comes_back_during_the_assignment_starts_it_over() {
    let mut world = World::new();
    let (mut a, mut b) = (world.join_as("a", ""), world.join_as("b", ""));
    world.pass(2 * DELAY);
    let (a, _) = (got(&mut a), got(&mut b));
    let mut back = world.join_as("b", "");
    assert!(waits(&mut back));
    let again = got(&mut world.join_as("a", &a.member_id));
    assert_eq!((again.generation, got(&mut back).generation), (2, 2));
}
