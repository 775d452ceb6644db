//! Replicas that fetch and do not vote.

use alloc::collections::BTreeMap;

use super::replica::ReplicaState;
use crate::kraft::voters::{Endpoints, ReplicaKey};
use crate::time::Monotonic;

/// How long an observer that stopped fetching is remembered, in milliseconds.
pub const OBSERVER_SESSION_MS: i64 = 300_000;

/// How many observers a leader remembers at most.
///
/// Deviation: Kafka remembers any number, each until a `DescribeQuorum` is served after it has
/// expired. When this many are known the one that is silent for the longest time is forgotten, and
/// expired ones go when a new one comes.
pub const OBSERVERS_MAX: usize = 10_000;

/// The observers of a leader, by key. The leader itself, if it does not vote, is one of them and is
/// never forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Observers {
    leader: ReplicaKey,
    states: BTreeMap<ReplicaKey, ReplicaState>,
    /// When expired ones were last removed.
    swept: Monotonic,
}

impl Observers {
    pub(super) const fn new(leader: ReplicaKey, now: Monotonic) -> Self {
        Self { leader, states: BTreeMap::new(), swept: now }
    }

    pub(super) fn get(&self, key: &ReplicaKey) -> Option<&ReplicaState> {
        self.states.get(key)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &ReplicaState> {
        self.states.values()
    }

    pub(super) fn remove(&mut self, key: &ReplicaKey) -> Option<ReplicaState> {
        self.states.remove(key)
    }

    /// Adds a replica, unless one with its key is there.
    pub(super) fn insert(&mut self, state: ReplicaState) {
        self.states.entry(state.key).or_insert(state);
    }

    /// The observer with this key, of which nothing is known if it is new.
    pub(super) fn known_or_new(&mut self, key: ReplicaKey) -> &mut ReplicaState {
        self.states.entry(key).or_insert_with(|| ReplicaState::new(key, Endpoints::empty()))
    }

    /// As [`known_or_new`](Self::known_or_new), with regard to how many there may be.
    pub(super) fn fetching(&mut self, key: ReplicaKey, now: Monotonic) -> &mut ReplicaState {
        if !self.states.contains_key(&key) {
            self.make_room(now);
        }
        self.known_or_new(key)
    }

    /// Removes those whose session is over.
    pub(super) fn expire(&mut self, now: Monotonic) {
        let leader = self.leader;
        self.states
            .retain(|key, state| *key == leader || !state.is_silent_for(OBSERVER_SESSION_MS, now));
        self.swept = now;
    }

    fn make_room(&mut self, now: Monotonic) {
        if now.millis_since(self.swept) >= OBSERVER_SESSION_MS {
            self.expire(now);
        }
        if self.states.len() < OBSERVERS_MAX {
            return;
        }
        let others = self.states.values().filter(|state| state.key != self.leader);
        if let Some(silent) = others.min_by_key(|state| state.last_fetch).map(|state| state.key) {
            self.states.remove(&silent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OBSERVER_SESSION_MS, OBSERVERS_MAX, Observers};
    use crate::kraft::voters::ReplicaKey;
    use crate::time::Monotonic;

    const LEADER: ReplicaKey = ReplicaKey::without_directory(0);

    const fn at(ms: i64) -> Monotonic {
        Monotonic::from_millis(ms)
    }

    fn fetch(observers: &mut Observers, id: i32, now: i64) {
        let key = ReplicaKey::without_directory(id);
        observers.fetching(key, at(now)).fetched(7, None, at(now));
    }

    fn ids(observers: &Observers) -> alloc::vec::Vec<i32> {
        observers.iter().map(|state| state.key.id).collect()
    }

    #[test]
    fn a_session_ends_and_the_leaders_does_not() {
        let mut observers = Observers::new(LEADER, at(0));
        for (id, now) in [(0, 0), (1, 0), (2, 1)] {
            fetch(&mut observers, id, now);
        }
        observers.expire(at(OBSERVER_SESSION_MS));
        assert_eq!(ids(&observers), [0, 2]);
    }

    #[test]
    fn expired_ones_go_when_a_new_one_comes() {
        let mut observers = Observers::new(LEADER, at(0));
        fetch(&mut observers, 1, 5);
        fetch(&mut observers, 2, 2 * OBSERVER_SESSION_MS);
        assert_eq!(ids(&observers), [2]);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut observers = Observers::new(LEADER, at(0));
        fetch(&mut observers, 0, 0);
        for id in 1..=i32::try_from(OBSERVERS_MAX).unwrap() {
            fetch(&mut observers, id, i64::from(id));
        }
        assert_eq!(observers.iter().len(), OBSERVERS_MAX);
        assert_eq!(ids(&observers).get(..3), Some([0, 2, 3].as_slice()));
    }
}
