//! How long windows are.

use core::num::NonZeroU32;

use thiserror::Error;

use crate::random::Random;

/// How long windows are. The defaults are Kafka's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffConfig {
    initial_ms: u32,
    multiplier: u32,
    max_ms: u32,
    jitter_percent: u32,
}

/// Why a setting of windows was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{name} is {value}, not in {min}..={max}")]
#[non_exhaustive]
pub struct BackoffConfigError {
    /// The setting.
    pub name: &'static str,
    /// What was given.
    pub value: u32,
    /// The least legal value.
    pub min: u32,
    /// The greatest legal value.
    pub max: u32,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self { initial_ms: 30_000, multiplier: 2, max_ms: 3_600_000, jitter_percent: 20 }
    }
}

impl BackoffConfig {
    /// The first window, in milliseconds; by default 30000.
    #[must_use]
    pub const fn with_initial_ms(mut self, initial_ms: u32) -> Self {
        self.initial_ms = initial_ms;
        self
    }

    /// The longest window, in milliseconds; by default 3600000.
    #[must_use]
    pub const fn with_max_ms(mut self, max_ms: u32) -> Self {
        self.max_ms = max_ms;
        self
    }

    /// By how much each window is longer than the one before, 1 and above; by default 2.
    ///
    /// Deviation: where no power of it leads from the first window to the longest, Kafka's floating
    /// point may end one millisecond short of the longest.
    ///
    /// # Errors
    /// [`BackoffConfigError`] for 0.
    pub const fn with_multiplier(mut self, multiplier: u32) -> Result<Self, BackoffConfigError> {
        if multiplier == 0 {
            let (name, max) = ("multiplier", u32::MAX);
            return Err(BackoffConfigError { name, value: 0, min: 1, max });
        }
        self.multiplier = multiplier;
        Ok(self)
    }

    /// By how much a window may be shorter or longer, in percent, before it is cut to the longest;
    /// 0 to 100, by default 20.
    ///
    /// # Errors
    /// [`BackoffConfigError`] above 100.
    pub const fn with_jitter_percent(mut self, percent: u32) -> Result<Self, BackoffConfigError> {
        if percent > 100 {
            let name = "jitter_percent";
            return Err(BackoffConfigError { name, value: percent, min: 0, max: 100 });
        }
        self.jitter_percent = percent;
        Ok(self)
    }

    /// The length of window number `attempts`, counted from 0, in milliseconds. O(1), at most 32
    /// multiplications.
    pub fn delay_ms(&self, attempts: i32, random: &mut (impl Random + ?Sized)) -> u32 {
        let mut delay = self.initial_ms.min(self.max_ms);
        if self.multiplier > 1 {
            for _ in 0..attempts {
                if delay == 0 || delay == self.max_ms {
                    break;
                }
                delay = delay.saturating_mul(self.multiplier).min(self.max_ms);
            }
        }
        if self.jitter_percent == 0 || delay == 0 {
            return delay;
        }
        let share = |percent: u32| u64::from(delay) * u64::from(percent) / 100;
        let drawn = u128::from(random.below(NonZeroU32::MAX));
        // Twice the widest window, times the largest draw, has 65 bits.
        let extra = u128::from(share(2 * self.jitter_percent)) * drawn / u128::from(u32::MAX);
        let jittered = u128::from(share(100 - self.jitter_percent)) + extra;
        u32::try_from(jittered).unwrap_or(u32::MAX).min(self.max_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Share(u32);

    impl Random for Share {
        fn below(&mut self, bound: NonZeroU32) -> u32 {
            self.0.min(bound.get() - 1)
        }
    }

    #[test]
    fn jitter_is_a_fifth_to_both_sides_and_is_cut_at_the_longest() {
        let config = BackoffConfig::default();
        for (attempts, draw, expected) in [
            (0, 0, 24_000),
            (0, u32::MAX, 35_999),
            (0, u32::MAX / 2, 29_999),
            (7, 0, 2_880_000),
            (7, u32::MAX, 3_600_000),
            (i32::MAX, u32::MAX, 3_600_000),
            (-1, 0, 24_000),
        ] {
            assert_eq!(config.delay_ms(attempts, &mut Share(draw)), expected, "{attempts} {draw}");
        }
    }

    #[test]
    fn no_setting_overflows_or_loops() {
        let widest = BackoffConfig::default().with_initial_ms(u32::MAX).with_max_ms(u32::MAX);
        let widest = widest.with_jitter_percent(100).unwrap();
        assert_eq!(widest.delay_ms(3, &mut Share(u32::MAX)), u32::MAX);
        assert_eq!(widest.delay_ms(3, &mut Share(0)), 0);
        let level = BackoffConfig::default().with_multiplier(1).unwrap();
        let level = level.with_jitter_percent(0).unwrap();
        assert_eq!(level.delay_ms(i32::MAX, &mut Share(0)), 30_000);
        let none = level.with_initial_ms(0).with_multiplier(2).unwrap();
        assert_eq!(none.delay_ms(i32::MAX, &mut Share(0)), 0);
        assert!(level.with_multiplier(0).is_err());
        assert!(level.with_jitter_percent(101).is_err());
    }
}
