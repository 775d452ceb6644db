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

    /// The voter that `key` is.
    pub(super) fn voter_of(&mut self, key: &ReplicaKey) -> Option<&mut Voter> {
        self.voters.iter_mut().find(|voter| voter.state.key.matches(key))
    }

    /// What is known of that one; nothing, of an observer that is new.
    pub(super) fn known_or_new(&mut self, key: ReplicaKey) -> &mut ReplicaState {
        match self.voters.iter_mut().find(|voter| voter.state.key.matches(&key)) {
            Some(voter) => &mut voter.state,
            None => self.observers.known_or_new(key),
        }
    }

    /// Takes over another voter set: who is in it keeps what is known of it, and who is not any more
    /// becomes an observer.
    ///
    /// Fetches of the running check-quorum interval stay with the voters that stay. Returns whether
    /// the set is another one.
    pub(super) fn set_voters(&mut self, set: &VoterSet) -> bool {
        if self.set == *set {
            return false;
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
        true
    }
}
