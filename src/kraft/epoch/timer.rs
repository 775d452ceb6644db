//! A deadline on the host's monotonic clock.

use crate::time::Monotonic;

/// Expires at its deadline; a new time-out moves the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kraft) struct Timer {
    deadline: Monotonic,
}

impl Timer {
    /// Expires `timeout_ms` milliseconds after `now`; [`i64::MAX`] is never.
    pub(in crate::kraft) const fn new(timeout_ms: i64, now: Monotonic) -> Self {
        Self { deadline: now.saturating_add(timeout_ms) }
    }

    /// Milliseconds until the deadline, 0 once it has passed.
    pub(in crate::kraft) const fn remaining_ms(self, now: Monotonic) -> i64 {
        self.deadline.millis_since(now)
    }

    /// Whether the deadline has passed.
    pub(in crate::kraft) const fn is_expired(self, now: Monotonic) -> bool {
        self.remaining_ms(now) == 0
    }

    pub(in crate::kraft) const fn deadline(self) -> Monotonic {
        self.deadline
    }
}
