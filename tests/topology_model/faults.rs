//! Fault of a host or a plugin, planted around the manager: the proof finds each.

use crate::coordinator::Coordinator;
use crate::ours::{Ours, Unfenced};
use crate::proof::promises;
use crate::search::explore;
use crate::world::{Action, Budget, Fault};

/// A push of a group that may be left and created again.
const LIFE: Budget = Budget { pushes: 1, joins: 2, leaves: 2, ..Budget::NONE };

fn breaks(budget: Budget, fault: Fault) -> (Vec<&'static str>, Vec<Action>) {
    breaks_of::<Ours>(budget, fault)
}

fn breaks_of<C: Coordinator + Send + Sync + 'static>(
    budget: Budget,
    fault: Fault,
) -> (Vec<&'static str>, Vec<Action>) {
    let sound = explore::<C>(budget, None, &promises());
    assert_eq!(sound.broken, None, "without the fault");
    explore::<C>(budget, Some(fault), &promises()).broken.expect("with the fault")
}

#[test]
fn a_host_that_removes_groups_without_asking_leaks() {
    let fault = Fault::GateIgnored;
    let (broken, way) = breaks(Budget { deletes: 1, ..LIFE }, fault);
    assert!(broken.contains(&"TB-4: a group that left has left nothing"), "{broken:?}");
    assert!(way.contains(&Action::DeleteGroups), "{way:?}");
}

#[test]
fn a_host_that_does_not_wait_for_the_commit_leaks() {
    let fault = Fault::CommitNotAwaited;
    let (broken, way) = breaks(Budget { crashes: 1, has_zombies: true, ..LIFE }, fault);
    assert!(broken.contains(&"TB-1: calls under way are covered"), "{broken:?}");
    assert!(way.contains(&Action::Push), "{way:?}");
}

#[test]
fn a_plugin_that_ignores_tokens_is_caught_by_a_late_call() {
    let fault = Fault::TokensIgnored;
    let budget = Budget { cleanups: 1, crashes: 1, has_zombies: true, ..LIFE };
    let (broken, way) = breaks(budget, fault);
    assert!(broken.contains(&"TB-3: nothing means nothing"), "{broken:?}");
    assert!(way.iter().any(|it| matches!(it, Action::Crash(_) | Action::Move)), "{way:?}");
}

#[test]
fn a_coordinator_that_does_not_wait_for_the_end_of_old_calls_is_caught_by_one() {
    let fault = Fault::CallsLiveLonger;
    let budget = Budget { cleanups: 1, crashes: 1, has_zombies: true, ..LIFE };
    let (broken, way) = breaks_of::<Unfenced>(budget, fault);
    assert!(broken.contains(&"TB-3: nothing means nothing"), "{broken:?}");
    assert!(way.contains(&Action::Wait), "{way:?}");
}
