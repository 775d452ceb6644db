//! What must hold.

use crate::coordinator::{Coordinator, End, Group};
use crate::world::{Action, World};
use kafka_coordination::topology::{Life, StoredEpoch};

/// A promise, and whether a state keeps it.
pub(crate) type Promise<C> = (&'static str, fn(&World<C>) -> bool);

/// What Kafka promises as well: once all is over, a stored epoch is what the plugin holds, and what it holds is known to
/// the group.
pub(crate) fn safety<C: Coordinator>() -> [Promise<C>; 2] {
    [("nothing is lost", nothing_is_lost), ("nothing is leaked", nothing_is_leaked)]
}

/// What holds in every state of the manager, by the latest and by the committed state.
pub(crate) fn always<C: Coordinator>() -> [Promise<C>; 6] {
    [
        ("TB-1: calls under way are covered", calls_are_covered),
        ("TB-2: a held epoch is what the plugin holds", held_is_held),
        ("TB-3: nothing means nothing", nothing_is_nothing),
        ("TB-4: a group that left has left nothing", what_left_left_nothing),
        ("no operation is forgotten", no_operation_is_stuck),
        ("every quiet state heals", it_heals),
    ]
}

/// Whether whatever was begun has come to its end.
fn is_over<C: Coordinator>(world: &World<C>) -> bool {
    world.is_quiet() && world.zombies.is_empty() && world.coordinator.operations() == 0
}

fn nothing_is_lost<C: Coordinator>(world: &World<C>) -> bool {
    let stored = world.latest.streams().map(|group| group.belief.stored);
    match stored {
        Some(StoredEpoch::Held(epoch)) if is_over(world) => world.held == Some(epoch),
        _ => true,
    }
}

fn nothing_is_leaked<C: Coordinator>(world: &World<C>) -> bool {
    !is_over(world)
        || world.held.is_none()
        || world.latest.streams().is_some_and(|group| group.belief.stored.wants_delete())
}

fn states<C>(world: &World<C>) -> [Group; 2] {
    [world.latest, world.committed]
}

fn calls_are_covered<C: Coordinator>(world: &World<C>) -> bool {
    states(world).iter().all(|group| {
        let stored = group.streams().map(|it| it.belief.stored);
        world.outstanding().all(|call| match stored {
            Some(StoredEpoch::Uncertain) => true,
            Some(StoredEpoch::Held(epoch)) => call.sets == Some(epoch),
            Some(StoredEpoch::None) => call.sets.is_none(),
            None => false,
        })
    })
}

fn held_is_held<C: Coordinator>(world: &World<C>) -> bool {
    states(world).iter().all(|group| match group.streams().map(|it| it.belief.stored) {
        Some(StoredEpoch::Held(epoch)) => {
            world.held == Some(epoch) && world.outstanding().all(|call| call.sets.is_some())
        }
        _ => true,
    })
}

fn nothing_is_nothing<C: Coordinator>(world: &World<C>) -> bool {
    states(world).iter().all(|group| match group.streams().map(|it| it.belief.stored) {
        Some(StoredEpoch::None) => {
            world.held.is_none() && world.outstanding().all(|call| call.sets.is_none())
        }
        _ => true,
    })
}

fn what_left_left_nothing<C: Coordinator>(world: &World<C>) -> bool {
    states(world).iter().all(|group| {
        group.streams().is_some() || (world.held.is_none() && world.outstanding().next().is_none())
    })
}

fn no_operation_is_stuck<C: Coordinator>(world: &World<C>) -> bool {
    !world.is_quiet() || world.coordinator.operations() == 0
}

/// From any state in which nothing is under way, a push of a member that stays is stored, and a group that is left is
/// cleaned up and expires; then the plugin holds nothing.
fn it_heals<C: Coordinator>(world: &World<C>) -> bool {
    if !world.is_quiet() || !world.zombies.is_empty() {
        return true;
    }
    let mut world = world.clone();
    world.allow_all();
    settle(&mut world, Action::Wait);
    if let Some(group) = world.latest.streams()
        && group.life == Life::Live
    {
        settle(&mut world, Action::Push);
        let Some(group) = world.latest.streams() else { return false };
        let is_stored = group.current.is_some_and(|current| {
            group.belief.stored == StoredEpoch::Held(current) && world.held == Some(current)
        });
        if !is_stored {
            return false;
        }
        settle(&mut world, Action::Leave);
    }
    if world.latest.is_empty_streams() {
        settle(&mut world, Action::Cleanup);
        settle(&mut world, Action::Expire);
        if world.latest != Group::Absent {
            return false;
        }
    }
    world.held.is_none()
}

/// Takes a step, if it is possible, and lets everything go well until nothing is under way.
fn settle<C: Coordinator>(world: &mut World<C>, first: Action) {
    let mut actions = Vec::new();
    world.actions(&mut actions);
    if !actions.contains(&first) {
        return;
    }
    world.act(first);
    while !world.is_quiet() {
        if let Some(&operation) = world.coordinator.scheduled().first() {
            world.act(Action::Turn(operation));
        } else if !world.pending.is_empty() {
            world.act(Action::Commit);
        } else {
            world.act(Action::Land(0));
            world.act(Action::Report(0, End::Done));
        }
    }
}
