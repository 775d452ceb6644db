//! What a leader does by the clock: it resigns without a majority, and tells who does not fetch that
//! it leads.

use super::Leader;
use super::replica::ReplicaState;
use super::replicas::Voter;
use crate::kraft::timer::Timer;
use crate::time::Monotonic;

/// The interval in which a majority must fetch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CheckQuorum {
    timer: Timer,
    timeout_ms: i64,
}

impl CheckQuorum {
    /// One and a half fetch time-outs.
    pub(super) fn new(fetch_timeout_ms: u32, now: Monotonic) -> Self {
        let timeout_ms = i64::from(fetch_timeout_ms).saturating_mul(3) / 2;
        Self { timer: Timer::new(timeout_ms, now), timeout_ms }
    }

    pub(super) const fn deadline(&self) -> Monotonic {
        self.timer.deadline()
    }

    pub(super) fn remaining(&mut self, now: Monotonic) -> i64 {
        self.timer.remaining(now)
    }

    pub(super) fn restart(&mut self, now: Monotonic) {
        self.timer.reset(self.timeout_ms, now);
    }
}

/// When `BeginQuorumEpoch` is sent again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BeginQuorum {
    timer: Timer,
    period_ms: i64,
}

impl BeginQuorum {
    /// At once, and then each half of a fetch time-out, but not all the time.
    pub(super) fn new(fetch_timeout_ms: u32, now: Monotonic) -> Self {
        Self { timer: Timer::new(0, now), period_ms: i64::from(fetch_timeout_ms / 2).max(1) }
    }

    pub(super) const fn deadline(&self) -> Monotonic {
        self.timer.deadline()
    }

    pub(super) const fn period_ms(&self) -> i64 {
        self.period_ms
    }

    pub(super) fn remaining(&mut self, now: Monotonic) -> i64 {
        self.timer.remaining(now)
    }

    pub(super) fn restart(&mut self, now: Monotonic) {
        self.timer.reset(self.period_ms, now);
    }
}

impl Leader {
    /// The ids of the voters that were heard of in the running interval of check-quorum.
    pub fn fetched_voters(&self) -> impl Iterator<Item = i32> {
        let fetched = self.replicas.voters.iter().filter(|voter| voter.has_fetched);
        fetched.map(|voter| voter.state.key.id)
    }

    /// Milliseconds until the leader must resign, because no majority fetched for one and a half fetch
    /// time-outs; 0: it must. [`i64::MAX`] if it is the only voter.
    ///
    /// Deviation: in Kafka a leader with one voter never has to, even if that is another replica.
    pub fn check_quorum_remaining_ms(&mut self, now: Monotonic) -> i64 {
        if self.is_only_voter() { i64::MAX } else { self.check_quorum.remaining(now) }
    }

    /// Milliseconds until `BeginQuorumEpoch` is due; 0: it is.
    pub fn begin_quorum_remaining_ms(&mut self, now: Monotonic) -> i64 {
        self.begin_quorum.remaining(now)
    }

    /// The voters to which `BeginQuorumEpoch` is sent when it is due: those that did not fetch for half
    /// a fetch time-out, and so may not know who leads (KAFKA-16926).
    pub fn begin_quorum_targets(&self, now: Monotonic) -> impl Iterator<Item = &ReplicaState> {
        let period = self.begin_quorum.period_ms();
        self.voter_states()
            .filter(move |state| state.key.id != self.id() && state.is_silent_for(period, now))
    }

    /// `BeginQuorumEpoch` was sent, and is due again after half a fetch time-out.
    pub fn restart_begin_quorum(&mut self, now: Monotonic) {
        self.begin_quorum.restart(now);
    }

    /// When one of the two is due next; `None` if the leader is the only voter.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        let due = self.check_quorum.deadline().min(self.begin_quorum.deadline());
        (!self.is_only_voter()).then_some(due)
    }

    /// Begins the interval anew if enough voters were heard of; the leader, if it votes, is one.
    pub(super) fn restart_check_quorum(&mut self, now: Monotonic) {
        let leader = self.local.key.id;
        let voters = &mut self.replicas.voters;
        let is_there = |voter: &&Voter| voter.has_fetched || voter.state.key.id == leader;
        if voters.iter().filter(is_there).count() > voters.len() / 2 {
            for voter in voters {
                voter.has_fetched = false;
            }
            self.check_quorum.restart(now);
        }
    }

    fn is_only_voter(&self) -> bool {
        matches!(self.replicas.voters.as_slice(), [Voter { state, .. }] if state.key.id == self.id())
    }
}
