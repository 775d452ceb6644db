//! The windows of Kafka's rules: operations that nothing keeps apart lose or leak what the plugin holds.

use crate::coordinator::{End, Group};
use crate::invariants::safety;
use crate::kafka::Kafka;
use crate::search::explore;
use crate::world::Action::{
    self, ClassicJoin, Cleanup, Commit, DeleteGroups, Expire, Join, Land, Leave, Push, Report, Turn,
};
use crate::world::{Budget, Fault, World};
use kafka_coordination::topology::{StoredEpoch, TopologyEpoch};

const DONE: End = End::Done;

/// Kafka's plugins know no tokens.
const NO_FENCING: Option<Fault> = Some(Fault::TokensIgnored);

/// What is wrong in the end, with nothing outstanding.
#[derive(Debug, PartialEq, Eq)]
enum Harm {
    /// The plugin holds what no group knows of.
    HardLeak,
    /// The plugin holds something of a group that believes in nothing.
    SoftLeak,
    /// The group believes in what the plugin does not hold.
    Loss,
}

fn harm(world: &World<Kafka>) -> Option<Harm> {
    assert_eq!(world.outstanding().count(), 0, "a call may still take effect");
    let stored = world.latest.streams().map(|group| group.belief.stored);
    match (stored, world.held) {
        (None, Some(_)) => Some(Harm::HardLeak),
        (Some(StoredEpoch::None), Some(_)) => Some(Harm::SoftLeak),
        (Some(StoredEpoch::Held(epoch)), held) if held != Some(epoch) => Some(Harm::Loss),
        _ => None,
    }
}

/// Takes these steps, and says what is wrong then.
fn play(world: &mut World<Kafka>, steps: &[Action]) -> Option<Harm> {
    take(world, steps);
    harm(world)
}

/// Takes these steps, each of which must be possible.
fn take(world: &mut World<Kafka>, steps: &[Action]) {
    for step in steps {
        let mut possible = Vec::new();
        world.actions(&mut possible);
        assert!(possible.contains(step), "{step:?} is not possible, but {possible:?}");
        world.act(*step);
    }
}

/// A world in which operation 0 is the push of a live group, and its set is under way.
fn pushing() -> World<Kafka> {
    let budget = Budget {
        pushes: 3,
        cleanups: 1,
        deletes: 1,
        joins_classic: 1,
        joins: 2,
        leaves: 2,
        failed_calls: 1,
        ..Budget::NONE
    };
    let mut world = World::new(budget, NO_FENCING);
    take(&mut world, &[Join, Commit, Push, Turn(0), Commit]);
    world
}

/// As before, and the push is through.
fn pushed() -> World<Kafka> {
    let mut world = pushing();
    assert_eq!(play(&mut world, &[Land(0), Report(0, DONE), Turn(0), Commit]), None);
    assert_eq!(world.held, TopologyEpoch::new(1));
    world
}

#[test]
fn w1_a_set_that_took_effect_reports_a_transient_failure_after_a_delete() {
    let mut world = pushing();
    let steps = [Leave, Commit, Cleanup, Turn(1), Land(1), Land(0), Report(0, End::Failed)];
    take(&mut world, &steps);
    let finalized = play(&mut world, &[Report(0, DONE), Turn(1), Commit]);
    assert_eq!(finalized, Some(Harm::SoftLeak));
    assert_eq!(play(&mut world, &[Expire, Commit]), Some(Harm::HardLeak));
}

#[test]
fn w2_a_set_lands_after_the_group_expired() {
    let mut world = pushing();
    take(&mut world, &[Leave, Commit, Cleanup, Turn(1), Land(1), Report(1, DONE), Turn(1), Commit]);
    take(&mut world, &[Expire, Commit]);
    assert_eq!(play(&mut world, &[Land(0), Report(0, DONE), Turn(0)]), Some(Harm::HardLeak));
}

#[test]
fn w3_a_push_is_stored_between_the_first_look_of_delete_groups_and_its_last() {
    let mut world = World::new(
        Budget { pushes: 1, deletes: 1, joins: 1, leaves: 1, ..Budget::NONE },
        NO_FENCING,
    );
    take(&mut world, &[Join, Commit, DeleteGroups, Push, Turn(1), Commit]);
    let stored = play(&mut world, &[Land(0), Report(0, DONE), Turn(1), Commit]);
    assert_eq!(stored, None);
    assert_eq!(play(&mut world, &[Leave, Commit, Turn(0), Commit]), Some(Harm::HardLeak));
}

#[test]
fn w4_the_member_leaves_after_delete_groups_passed_the_group_over() {
    let mut world = pushed();
    assert_eq!(play(&mut world, &[DeleteGroups, Turn(1)]), None);
    assert_eq!(play(&mut world, &[Leave, Commit, Turn(1), Commit]), Some(Harm::HardLeak));
}

#[test]
fn w5_delete_groups_ignores_that_a_push_was_stored_meanwhile() {
    let mut world = pushing();
    take(&mut world, &[Leave, Commit, DeleteGroups, Turn(1), Land(1)]);
    assert_eq!(play(&mut world, &[Land(0), Report(0, DONE), Turn(0), Commit]), None);
    assert_eq!(play(&mut world, &[Report(0, DONE), Turn(1), Commit]), None, "uncertain again");
    assert_eq!(play(&mut world, &[Turn(1), Commit]), Some(Harm::HardLeak));
}

#[test]
fn w6_a_conversion_ignores_that_a_push_was_stored_meanwhile() {
    let mut world = pushing();
    take(&mut world, &[Leave, Commit, ClassicJoin, Turn(1), Land(1)]);
    assert_eq!(play(&mut world, &[Land(0), Report(0, DONE), Turn(0), Commit]), None);
    let converted = play(&mut world, &[Report(0, DONE), Turn(1), Commit]);
    assert_eq!((converted, world.latest), (Some(Harm::HardLeak), Group::Classic));
}

#[test]
fn w7_the_second_of_two_pushes_takes_the_uncertainty_away_that_a_delete_left() {
    let mut world = pushing();
    take(&mut world, &[Push, Turn(1), Land(0), Land(1), Leave, Commit, Cleanup, Turn(2)]);
    take(
        &mut world,
        &[Report(0, DONE), Turn(0), Commit, Land(1), Report(1, DONE), Turn(2), Commit],
    );
    assert_eq!(harm(&world), None, "the finalize noticed the first push");
    assert_eq!(play(&mut world, &[Report(0, DONE), Turn(1), Commit]), Some(Harm::Loss));
}

#[test]
fn w8_a_delete_that_took_effect_reports_a_failure() {
    let mut world = pushing();
    take(&mut world, &[Land(0), Leave, Commit, Cleanup, Turn(1)]);
    take(&mut world, &[Report(0, DONE), Turn(0), Commit]);
    assert_eq!(play(&mut world, &[Land(0), Report(0, End::Failed)]), Some(Harm::Loss));
}

/// Without any failure, as with the manager nothing can break, Kafka's rules break both promises.
#[test]
fn the_search_finds_leaks_and_losses() {
    let life = Budget { joins: 1, leaves: 1, ..Budget::NONE };
    let [lost, leaked] = safety::<Kafka>();
    for budget in [
        Budget { pushes: 1, cleanups: 1, ..life },
        Budget { pushes: 1, deletes: 1, ..life },
        Budget { pushes: 1, joins_classic: 1, ..life },
    ] {
        let found = explore::<Kafka>(budget, NO_FENCING, &[leaked]);
        assert!(found.broken.is_some(), "{} states of {budget:?}", found.states);
        let found = explore::<Kafka>(budget, NO_FENCING, &[lost]);
        assert_eq!(found.broken, None, "one push alone is not lost");
    }
    let two = Budget { pushes: 2, cleanups: 1, ..life };
    let found = explore::<Kafka>(two, NO_FENCING, &[lost]);
    assert!(found.broken.is_some(), "{} states", found.states);
}
