//! Windows during which a group is not asked, or converted, again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use thiserror::Error;

use crate::random::Random;
use crate::time::Monotonic;

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

/// A window of a group: Kafka's `StreamsGroupTopologyDescriptionBackoff` keeps one a group.
///
/// It is keyed by an epoch as the records have it: -2, uncertain, is the key of conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the whole of it, for hosts that keep it elsewhere")]
pub struct Window {
    /// The epoch it is for.
    pub epoch: i32,
    /// How many windows of this epoch came before it. It grows on when a window has ended, and starts
    /// anew only for another epoch, or after a clear.
    pub attempts: i32,
    /// When it ends: at this point it is over.
    pub ends: Monotonic,
}

impl Window {
    /// Whether it is for this epoch and not over.
    #[inline]
    pub fn is_active(&self, epoch: i32, now: Monotonic) -> bool {
        self.epoch == epoch && now < self.ends
    }

    /// The window of an epoch after this one, or the first of the epoch.
    pub fn next(
        before: Option<&Self>,
        epoch: i32,
        config: &BackoffConfig,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> Self {
        let attempts = match before {
            Some(window) if window.epoch == epoch => window.attempts.saturating_add(1),
            _ => 0,
        };
        let ends = now.saturating_add(i64::from(config.delay_ms(attempts, random)));
        Self { epoch, attempts, ends }
    }
}

/// A window for each group that has one. Nothing is kept of the others.
///
/// A clock that goes back makes windows longer by as much, never shorter.
#[derive(Clone, Debug)]
pub struct Backoff {
    config: BackoffConfig,
    windows: HashMap<Box<str>, Window, FixedState>,
}

impl Backoff {
    /// No windows. The seed is that of a hash table whose keys clients choose: draw it at random.
    pub fn new(config: BackoffConfig, hash_seed: u64) -> Self {
        Self { config, windows: HashMap::with_hasher(FixedState::with_seed(hash_seed)) }
    }

    /// The group's window, over or not. O(1).
    #[inline]
    pub fn get(&self, group_id: &str) -> Option<&Window> {
        // Mostly there are none, and then nothing is hashed.
        if self.windows.is_empty() { None } else { self.windows.get(group_id) }
    }

    /// Whether a window of the group is in effect for exactly this epoch. O(1).
    #[inline]
    pub fn is_active(&self, group_id: &str, epoch: i32, now: Monotonic) -> bool {
        self.get(group_id).is_some_and(|window| window.is_active(epoch, now))
    }

    /// Starts a window, unless one is in effect for this epoch; answers whether it did. A window for
    /// any other epoch is replaced. O(1); allocates for a group that has none.
    pub fn arm_if_not_active(
        &mut self,
        group_id: &str,
        epoch: i32,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> bool {
        self.arm_if(|| true, group_id, epoch, random, now)
    }

    /// As [`arm_if_not_active`](Self::arm_if_not_active), if it is allowed; that is asked only when no
    /// window is in effect.
    pub(super) fn arm_if(
        &mut self,
        is_allowed: impl FnOnce() -> bool,
        group_id: &str,
        epoch: i32,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> bool {
        if let Some(window) = self.windows.get_mut(group_id) {
            if window.is_active(epoch, now) || !is_allowed() {
                return false;
            }
            *window = Window::next(Some(window), epoch, &self.config, random, now);
        } else {
            if !is_allowed() {
                return false;
            }
            let first = Window::next(None, epoch, &self.config, random, now);
            self.windows.insert(group_id.into(), first);
        }
        true
    }

    /// Starts a window even inside of one for this epoch; a window for a newer epoch stays. O(1);
    /// allocates for a group that has none.
    pub fn arm_or_extend(
        &mut self,
        group_id: &str,
        epoch: i32,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        if let Some(window) = self.windows.get_mut(group_id) {
            if window.epoch <= epoch {
                *window = Window::next(Some(window), epoch, &self.config, random, now);
            }
        } else {
            let first = Window::next(None, epoch, &self.config, random, now);
            self.windows.insert(group_id.into(), first);
        }
    }

    /// Removes the group's window if it is for exactly this epoch. O(1).
    pub fn clear(&mut self, group_id: &str, epoch: i32) {
        if self.get(group_id).is_some_and(|window| window.epoch == epoch) {
            self.windows.remove(group_id);
        }
    }

    /// Removes the group's window. O(1).
    pub fn clear_group(&mut self, group_id: &str) {
        if !self.windows.is_empty() {
            self.windows.remove(group_id);
        }
    }

    /// Removes all windows, and gives their memory back.
    pub fn clear_all(&mut self) {
        self.windows.clear();
        self.windows.shrink_to_fit();
    }

    /// How many groups have a window.
    pub fn len(&self) -> usize {
        self.windows.len()
    }

    /// Whether no group has one.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// All windows by ascending group id. O(n log n).
    pub fn export(&self) -> Vec<(Box<str>, Window)> {
        let mut windows: Vec<_> =
            self.windows.iter().map(|(id, window)| (id.clone(), *window)).collect();
        windows.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        windows
    }

    /// Enters a window as it was exported; answers whether the group had none.
    pub fn insert(&mut self, group_id: Box<str>, window: Window) -> bool {
        self.windows.insert(group_id, window).is_none()
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
