//! Who may commit offsets.

use super::{DELAY, SESSION, World, got};
use crate::groups::classic::Claim;
use kafka_coordination::ErrorCode;

impl World {
    fn commit(&mut self, member_id: &str, generation: i32) -> ErrorCode {
        let claim = Claim { member_id, instance_id: None, generation };
        self.group.check_commit(claim, self.now).err().unwrap_or(ErrorCode::None)
    }
}

#[test]
fn members_commit_in_their_generation_and_others_only_without_members() {
    let mut world = World::new();
    assert_eq!(world.commit("", -1), ErrorCode::None);
    let (leader, _) = world.pair();
    assert_eq!(world.commit("", -1), ErrorCode::UnknownMemberId);
    assert_eq!(world.commit(&leader.member_id, 1), ErrorCode::None);
    assert_eq!(world.commit(&leader.member_id, 2), ErrorCode::IllegalGeneration);
    world.join(&leader.member_id);
    assert_eq!(
        world.commit(&leader.member_id, 1),
        ErrorCode::None,
        "before it gives partitions up"
    );
}

#[test]
fn nobody_commits_before_the_assignment_is_known() {
    let mut world = World::new();
    let mut joining = world.join("");
    world.pass(DELAY);
    let joined = got(&mut joining);
    assert_eq!(world.commit(&joined.member_id, 1), ErrorCode::RebalanceInProgress);
}

#[test]
fn a_commit_counts_as_a_heartbeat() {
    let mut world = World::new();
    let (leader, follower) = world.pair();
    world.pass(SESSION - 1);
    assert_eq!(world.commit(&leader.member_id, 1), ErrorCode::None);
    world.pass(SESSION - 1);
    assert_eq!(world.heartbeat(&follower), ErrorCode::UnknownMemberId);
    assert_eq!(world.heartbeat(&leader), ErrorCode::RebalanceInProgress);
}
