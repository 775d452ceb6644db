//! A leader that has given up its leadership but not yet its epoch.

use crate::kraft::election::ElectionState;
use crate::kraft::timer::Timer;
use crate::kraft::voters::{Endpoints, ReplicaKey};
use crate::time::Monotonic;
use alloc::vec::Vec;

/// A replica that led this epoch and will neither lead nor vote in it again.
///
/// The persisted state still names it as leader. When the election time-out expires, it leaves for the next epoch, so
/// that no peer can tell it to follow itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resigned {
    pub(in crate::kraft) epoch: i32,
    pub(in crate::kraft) local_id: i32,
    pub(in crate::kraft) local_endpoints: Endpoints,
    pub(in crate::kraft) voters: Vec<i32>,
    pub(in crate::kraft) unacknowledged: Vec<i32>,
    pub(in crate::kraft) preferred_successors: Vec<ReplicaKey>,
    pub(in crate::kraft) election_timer: Timer,
}

impl Resigned {
    pub(in crate::kraft) fn new(
        epoch: i32,
        local_id: i32,
        local_endpoints: Endpoints,
        voters: Vec<i32>,
        preferred_successors: Vec<ReplicaKey>,
        election_timer: Timer,
    ) -> Self {
        let unacknowledged = voters.iter().copied().filter(|voter| *voter != local_id).collect();
        Self {
            epoch,
            local_id,
            local_endpoints,
            voters,
            unacknowledged,
            preferred_successors,
            election_timer,
        }
    }

    /// Ids of the voters that have not heard of the resignation yet, in ascending order.
    pub fn unacknowledged(&self) -> &[i32] {
        &self.unacknowledged
    }

    /// Who should lead next, the best first: the voters in descending order of what they have of the log.
    pub fn preferred_successors(&self) -> &[ReplicaKey] {
        &self.preferred_successors
    }

    /// Milliseconds until the epoch is left.
    pub fn remaining_election_ms(&self, now: Monotonic) -> i64 {
        self.election_timer.remaining_ms(now)
    }

    /// Notes that a voter has heard of the resignation.
    ///
    /// `Deviation:` an id that is no voter's is ignored. In Kafka the answer of a voter that was removed meanwhile ends
    /// the process.
    pub fn acknowledge(&mut self, id: i32) {
        self.unacknowledged.retain(|voter| *voter != id);
    }

    pub(super) fn election(&self) -> ElectionState {
        ElectionState::new(self.epoch, Some(self.local_id), None, self.voters.iter().copied())
    }
}
