//! The world as a model for `stateright`.

use crate::coordinator::Coordinator;
use crate::invariants::Promise;
use crate::world::{Action, Budget, Fault, World};
use stateright::{Checker, Model, Property};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The name under which `stateright` knows all promises together.
const PROMISES: &str = "promises";

struct Search<C> {
    budget: Budget,
    fault: Option<Fault>,
    promises: Vec<Promise<C>>,
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) states: usize,
    /// The promises that the first state breaks which breaks one, and the way there.
    pub(crate) broken: Option<(Vec<&'static str>, Vec<Action>)>,
}

/// Explores all that can happen within a budget, breadth first, until a promise is broken.
pub(crate) fn explore<C: Coordinator + Send + Sync + 'static>(
    budget: Budget,
    fault: Option<Fault>,
    promises: &[Promise<C>],
) -> Found {
    let search = Search { budget, fault, promises: promises.to_vec() };
    let checker = search.checker().spawn_bfs().join();
    let broken = checker.discovery(PROMISES).map(|path| {
        let last = path.last_state();
        let broken = promises.iter().filter(|(_, keeps)| !keeps(last)).map(|(name, _)| *name);
        (broken.collect(), path.clone().into_actions())
    });
    Found { states: checker.unique_state_count(), broken }
}

impl<C: Coordinator> PartialEq for World<C> {
    fn eq(&self, other: &Self) -> bool {
        let hash = |world: &Self| BuildHasherDefault::<DefaultHasher>::default().hash_one(world);
        hash(self) == hash(other)
    }
}

impl<C: Coordinator> Model for Search<C> {
    type State = World<C>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<C>> {
        vec![World::new(self.budget, self.fault)]
    }

    fn actions(&self, world: &World<C>, actions: &mut Vec<Action>) {
        world.actions(actions);
    }

    fn next_state(&self, world: &World<C>, action: Action) -> Option<World<C>> {
        let mut world = world.clone();
        world.act(action);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let keep_all =
            |search: &Self, world: &World<C>| search.promises.iter().all(|(_, keeps)| keeps(world));
        vec![Property::always(PROMISES, keep_all)]
    }
}
