//! Points in time, injected by the host.
//!
//! Two clocks are never mixed: [`Monotonic`] is for time-outs, evictions and deadlines, [`Timestamp`] for times that
//! are stored and outlive a restart. No state machine of this crate reads a clock; [`Clock`] and its two
//! implementations are a convenience for hosts and tests, which pass on what they read.

#[cfg(feature = "std")]
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A point on the host's monotonic clock, in milliseconds from any fixed origin.
///
/// It means nothing outside of the process that took it. A clock that goes back is harmless: differences are clamped
/// to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Monotonic(i64);

impl Monotonic {
    /// The point `ms` milliseconds after the clock's origin.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the clock's origin.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to this point: 0 if `earlier` is later, at most [`i64::MAX`].
    pub const fn millis_since(self, earlier: Self) -> i64 {
        millis_between(earlier.0, self.0)
    }

    /// The point `ms` milliseconds after this one (before it, if negative), kept within the type's range.
    #[must_use]
    pub const fn saturating_add(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// A wall-clock time, in milliseconds since the Unix epoch; negative before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time `ms` milliseconds after the Unix epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to this time: 0 if `earlier` is later, at most [`i64::MAX`].
    pub const fn millis_since(self, earlier: Self) -> i64 {
        millis_between(earlier.0, self.0)
    }

    /// The time `ms` milliseconds after this one (before it, if negative), kept within the type's range.
    #[must_use]
    pub const fn saturating_add(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

const fn millis_between(earlier: i64, later: i64) -> i64 {
    if later > earlier { later.saturating_sub(earlier) } else { 0 }
}

/// Where a host takes the time from, so that a test can put another clock in its place.
pub trait Clock {
    /// Now, on the monotonic clock.
    fn monotonic(&self) -> Monotonic;

    /// Now, on the wall clock.
    fn timestamp(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn monotonic(&self) -> Monotonic {
        (**self).monotonic()
    }

    fn timestamp(&self) -> Timestamp {
        (**self).timestamp()
    }
}

/// The operating system's clocks. The monotonic one starts at zero when this value is made; copies agree.
#[cfg(feature = "std")]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: Instant,
}

#[cfg(feature = "std")]
impl SystemClock {
    /// A clock whose monotonic origin is now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

#[cfg(feature = "std")]
impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "std")]
impl Clock for SystemClock {
    fn monotonic(&self) -> Monotonic {
        Monotonic(saturated(self.origin.elapsed().as_millis()))
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => saturated(after.as_millis()),
            Err(before) => -saturated(before.duration().as_millis()),
        })
    }
}

#[cfg(feature = "std")]
fn saturated(ms: u128) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// A clock that stands still until it is moved; for tests and simulations.
///
/// ```
/// use kafka_coordination::{Clock, ManualClock, Timestamp};
///
/// let mut clock = ManualClock::new(Timestamp::from_millis(1_000));
/// let start = clock.monotonic();
/// clock.advance(250);
/// assert_eq!(clock.monotonic().millis_since(start), 250);
/// assert_eq!(clock.timestamp(), Timestamp::from_millis(1_250));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManualClock {
    monotonic: Monotonic,
    timestamp: Timestamp,
}

impl ManualClock {
    /// A clock at its monotonic origin, and at this wall-clock time.
    pub const fn new(timestamp: Timestamp) -> Self {
        Self { monotonic: Monotonic(0), timestamp }
    }

    /// Lets `ms` milliseconds pass on both clocks; a negative number turns both back.
    pub const fn advance(&mut self, ms: i64) {
        self.monotonic = self.monotonic.saturating_add(ms);
        self.timestamp = self.timestamp.saturating_add(ms);
    }

    /// Sets the wall clock, as an operator or a time server may; the monotonic clock does not notice.
    pub const fn set_timestamp(&mut self, timestamp: Timestamp) {
        self.timestamp = timestamp;
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Monotonic {
        self.monotonic
    }

    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_clamped_to_what_a_signed_number_of_milliseconds_holds() {
        let (first, last) = (Monotonic(i64::MIN), Monotonic(i64::MAX));
        assert_eq!(Monotonic(12).millis_since(Monotonic(-3)), 15);
        assert_eq!(Monotonic(-3).millis_since(Monotonic(12)), 0);
        assert_eq!(last.millis_since(first), i64::MAX);
        assert_eq!(first.millis_since(last), 0);
        assert_eq!(Timestamp(12).millis_since(Timestamp(-3)), 15);
        assert_eq!(Timestamp(-3).millis_since(Timestamp(12)), 0);
    }

    #[test]
    fn sums_stay_within_range() {
        assert_eq!(Monotonic(1).saturating_add(2), Monotonic(3));
        assert_eq!(Monotonic(1).saturating_add(i64::MAX), Monotonic(i64::MAX));
        assert_eq!(Timestamp(-2).saturating_add(i64::MIN), Timestamp(i64::MIN));
    }

    #[test]
    fn setting_the_wall_clock_leaves_the_monotonic_clock_alone() {
        let mut clock = ManualClock::new(Timestamp(500));
        clock.advance(10);
        clock.set_timestamp(Timestamp(40));
        assert_eq!((clock.monotonic(), clock.timestamp()), (Monotonic(10), Timestamp(40)));
        clock.advance(-30);
        assert_eq!((clock.monotonic(), clock.timestamp()), (Monotonic(-20), Timestamp(10)));
    }

    #[test]
    #[cfg(feature = "std")]
    fn the_system_clock_starts_at_its_origin_and_does_not_go_back() {
        let clock = SystemClock::new();
        let first = clock.monotonic();
        assert!(first >= Monotonic(0));
        assert!(clock.monotonic() >= first);
        // Later than the day on which this test was written, on any machine with a set clock.
        assert!(clock.timestamp() > Timestamp(1_700_000_000_000));
    }
}
