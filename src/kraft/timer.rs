//! A deadline that can be set anew.

use crate::time::Monotonic;

/// A deadline, and the latest time that it was asked at: an earlier `now` counts as that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Timer {
    latest: Monotonic,
    deadline: Monotonic,
}

impl Timer {
    /// A timer that expires in `ms` milliseconds.
    pub(super) fn new(ms: i64, now: Monotonic) -> Self {
        Self { latest: now, deadline: now.saturating_add(ms) }
    }

    pub(super) const fn deadline(self) -> Monotonic {
        self.deadline
    }

    /// Milliseconds until it expires, without taking note of the time.
    pub(super) fn remaining_ms(self, now: Monotonic) -> i64 {
        self.deadline.millis_since(self.latest.max(now))
    }

    /// Milliseconds until it expires; 0 if it has.
    pub(super) fn remaining(&mut self, now: Monotonic) -> i64 {
        self.latest = self.latest.max(now);
        self.deadline.millis_since(self.latest)
    }

    /// Expires in `ms` milliseconds from now on.
    pub(super) fn reset(&mut self, ms: i64, now: Monotonic) {
        self.latest = self.latest.max(now);
        self.deadline = self.latest.saturating_add(ms);
    }
}

#[cfg(test)]
mod tests {
    use super::Timer;
    use crate::time::Monotonic;

    const fn at(ms: i64) -> Monotonic {
        Monotonic::from_millis(ms)
    }

    #[test]
    fn expires_at_its_deadline_and_starts_again() {
        let mut timer = Timer::new(100, at(1_000));
        assert_eq!(timer.remaining(at(1_099)), 1);
        assert_eq!(timer.remaining(at(1_100)), 0);
        assert_eq!(timer.remaining(at(9_000)), 0);
        timer.reset(100, at(9_000));
        assert_eq!((timer.remaining(at(9_001)), timer.deadline()), (99, at(9_100)));
    }

    #[test]
    fn time_does_not_go_back() {
        let mut timer = Timer::new(100, at(1_000));
        assert_eq!(timer.remaining(at(1_060)), 40);
        assert_eq!(timer.remaining(at(900)), 40);
        timer.reset(100, at(900));
        assert_eq!(timer.deadline(), at(1_160));
    }

    #[test]
    fn the_ends_of_time_are_no_trap() {
        let mut timer = Timer::new(i64::MAX, at(5));
        assert_eq!(timer.remaining(at(i64::MIN)), i64::MAX - 5);
        assert_eq!(Timer::new(0, at(i64::MIN)).remaining(at(i64::MAX)), 0);
    }
}
