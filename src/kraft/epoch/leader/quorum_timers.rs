//! What a leader does by the clock: it resigns without a majority, and tells who does not fetch that
//! it leads.

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
    /// At once, and then each half of a fetch time-out.
    pub(super) fn new(fetch_timeout_ms: u32, now: Monotonic) -> Self {
        Self { timer: Timer::new(0, now), period_ms: i64::from(fetch_timeout_ms / 2) }
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
