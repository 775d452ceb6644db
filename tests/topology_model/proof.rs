//! The manager, in every order of steps.

use crate::coordinator::Coordinator;
use crate::invariants::{Promise, always, safety};
use crate::ours::{Beside, Ours, Unfenced};
use crate::search::explore;
use crate::world::Budget;

/// A group that is created, left and revived; one of each failure.
const LIFE: Budget =
    Budget { joins: 2, leaves: 2, failed_calls: 1, failed_writes: 1, crashes: 1, ..Budget::NONE };

/// All that is promised of the manager.
pub(crate) fn promises<C: Coordinator>() -> Vec<Promise<C>> {
    safety().into_iter().chain(always()).collect()
}

fn nothing_breaks(budget: Budget) {
    nothing_breaks_of::<Ours>(budget);
}

fn nothing_breaks_of<C: Coordinator + Send + Sync + 'static>(budget: Budget) {
    let found = explore::<C>(budget, None, &promises());
    assert_eq!(found.broken, None, "of {budget:?}");
    assert!(found.states > 1_000, "{} states of {budget:?}", found.states);
}

#[test]
fn two_pushes_and_a_cleanup() {
    nothing_breaks(Budget { pushes: 2, cleanups: 1, ..LIFE });
}

#[test]
fn two_pushes_and_delete_groups() {
    nothing_breaks(Budget { pushes: 2, deletes: 1, ..LIFE });
}

#[test]
fn two_pushes_and_a_conversion() {
    nothing_breaks(Budget { pushes: 2, joins_classic: 1, ..LIFE });
}

#[test]
fn two_pushes_and_a_get_that_finds_nothing() {
    nothing_breaks(Budget { pushes: 2, cleanups: 1, misses: 1, failed_calls: 0, ..LIFE });
}

#[test]
fn two_pushes_of_two_epochs_and_two_deletions() {
    nothing_breaks(Budget { pushes: 2, cleanups: 1, deletes: 1, advances: 1, crashes: 0, ..LIFE });
}

#[test]
fn calls_of_an_old_coordinator_that_land_late() {
    for deletions in [
        Budget { cleanups: 1, ..LIFE },
        Budget { deletes: 1, ..LIFE },
        Budget { joins_classic: 1, ..LIFE },
    ] {
        nothing_breaks(Budget { pushes: 2, failed_writes: 0, has_zombies: true, ..deletions });
    }
}

#[test]
fn everything_at_once() {
    let all = Budget { pushes: 2, cleanups: 1, deletes: 1, joins_classic: 1, ..LIFE };
    nothing_breaks(Budget { failed_writes: 0, failed_calls: 0, has_zombies: true, ..all });
    nothing_breaks(Budget { crashes: 0, ..all });
}

#[test]
fn two_coordinators_after_the_first() {
    nothing_breaks(Budget {
        pushes: 2,
        cleanups: 1,
        failed_calls: 0,
        failed_writes: 0,
        crashes: 2,
        has_zombies: true,
        ..LIFE
    });
}

/// A batch waits for its slowest group; meanwhile the other is free.
#[test]
fn deletions_that_wait_for_another_group() {
    for deletion in [Budget { cleanups: 1, ..LIFE }, Budget { deletes: 1, ..LIFE }] {
        let budget = Budget { pushes: 2, failed_calls: 0, failed_writes: 0, ..deletion };
        nothing_breaks_of::<Beside>(budget);
    }
}

/// A plugin that does not fence is safe from late calls if every coordinator waits until they are over.
#[test]
fn calls_of_an_old_coordinator_that_are_not_fenced() {
    for deletions in [
        Budget { cleanups: 1, ..LIFE },
        Budget { deletes: 1, ..LIFE },
        Budget { joins_classic: 1, ..LIFE },
    ] {
        let budget = Budget { pushes: 2, failed_writes: 0, has_zombies: true, ..deletions };
        nothing_breaks_of::<Unfenced>(budget);
    }
}

#[test]
fn two_coordinators_after_the_first_that_do_not_fence() {
    nothing_breaks_of::<Unfenced>(Budget {
        pushes: 2,
        cleanups: 1,
        failed_calls: 0,
        failed_writes: 0,
        crashes: 2,
        has_zombies: true,
        ..LIFE
    });
}
