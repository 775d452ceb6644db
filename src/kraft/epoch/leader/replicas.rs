//! The replicas of a quorum as its leader sees them.

use alloc::vec::Vec;
use core::mem;

use super::observers::Observers;
use super::replica::ReplicaState;
use crate::kraft::voters::{Endpoints, ReplicaKey, VoterSet};
use crate::time::Monotonic;

/// Voters, in the order of the voter set, and observers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Replicas {
    set: VoterSet,
    pub(super) voters: Vec<Voter>,
    pub(super) observers: Observers,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    pub(super) state: ReplicaState,
    /// Whether it fetched in the running interval of check-quorum.
    pub(super) has_fetched: bool,
}

/// Where a replica stands among [`Replicas`].
#[derive(Clone, Copy)]
pub(super) enum Place {
    Voter(usize),
    Observer,
}

impl Replicas {
    /// The voters of a set, of whom nothing is known, and no observers.
    pub(super) fn new(set: VoterSet, leader: ReplicaKey, now: Monotonic) -> Self {
        let voters = set.iter().map(|node| {
            let mut state = ReplicaState::new(node.key, node.endpoints.clone());
            state.has_acknowledged = node.key.id == leader.id;
            Voter { state, has_fetched: false }
        });
        Self { voters: voters.collect(), observers: Observers::new(leader, now), set }
    }

    pub(super) const fn set(&self) -> &VoterSet {
        &self.set
    }

    pub(super) fn voter(&self, id: i32) -> Option<&Voter> {
        self.voters.iter().find(|voter| voter.state.key.id == id)
    }

    pub(super) fn voter_mut(&mut self, id: i32) -> Option<&mut Voter> {
        self.voters.iter_mut().find(|voter| voter.state.key.id == id)
    }

    /// The voter that `key` is, or the observer with exactly that key.
    pub(super) fn get(&self, key: &ReplicaKey) -> Option<&ReplicaState> {
        let voter = self.voter(key.id).map(|voter| &voter.state);
        voter.filter(|state| state.key.matches(key)).or_else(|| self.observers.get(key))
    }

    /// Where that one stands.
    pub(super) fn place(&self, key: &ReplicaKey) -> Place {
        let place = self.voters.iter().position(|voter| voter.state.key.matches(key));
        place.map_or(Place::Observer, Place::Voter)
    }

    /// Takes over another voter set: who is in it keeps what is known of it, and who is not any more
    /// becomes an observer.
    ///
    /// Fetches of the running check-quorum interval stay with the voters that stay.
    pub(super) fn set_voters(&mut self, set: &VoterSet) {
        if self.set == *set {
            return;
        }
        let mut old = mem::take(&mut self.voters);
        for node in set {
            let same_id = old.iter().position(|voter| voter.state.key.id == node.key.id);
            let voter = same_id.map(|place| old.remove(place));
            let voter = voter.filter(|voter| voter.state.key.matches(&node.key));
            let observer = self.observers.remove(&node.key);
            let mut voter = voter.unwrap_or_else(|| {
                let unknown = || ReplicaState::new(node.key, Endpoints::empty());
                Voter { state: observer.unwrap_or_else(unknown), has_fetched: false }
            });
            voter.state.key = node.key;
            voter.state.endpoints = node.endpoints.clone();
            self.voters.push(voter);
        }
        for Voter { mut state, .. } in old {
            state.endpoints = Endpoints::empty();
            self.observers.insert(state);
        }
        self.set = set.clone();
    }
}
