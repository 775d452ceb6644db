//! A replica that follows nobody and seeks no votes.

use crate::kraft::election::ElectionState;
use crate::kraft::timer::Timer;
use crate::kraft::voters::ReplicaKey;
use crate::time::Monotonic;
use alloc::vec::Vec;

/// A replica without a leader to fetch from: it may know who leads (but not where), and may have voted.
///
/// A voter becomes [`Prospective`](super::Prospective) when the election time-out expires; an observer does not act on
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unattached {
    pub(in crate::kraft) epoch: i32,
    pub(in crate::kraft) leader_id: Option<i32>,
    pub(in crate::kraft) voted_key: Option<ReplicaKey>,
    pub(in crate::kraft) voters: Vec<i32>,
    pub(in crate::kraft) high_watermark: Option<i64>,
    pub(in crate::kraft) election_timeout_ms: i64,
    pub(in crate::kraft) election_timer: Timer,
}

impl Unattached {
    /// The time-out that was set when this state was entered, in milliseconds; [`i64::MAX`] is never.
    pub const fn election_timeout_ms(&self) -> i64 {
        self.election_timeout_ms
    }

    /// Milliseconds until the election time-out expires.
    pub fn remaining_election_ms(&self, now: Monotonic) -> i64 {
        self.election_timer.remaining_ms(now)
    }

    pub(super) fn election(&self) -> ElectionState {
        ElectionState::new(self.epoch, self.leader_id, self.voted_key, self.voters.iter().copied())
    }
}
