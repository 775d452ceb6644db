//! Windows during which a group is not asked, or converted, again.

mod config;

pub use config::{BackoffConfig, BackoffConfigError};

use alloc::boxed::Box;
use alloc::vec::Vec;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::random::Random;
use crate::time::Monotonic;

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

    #[inline(never)]
    fn renew(
        &mut self,
        epoch: i32,
        config: &BackoffConfig,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        *self = Self::next(Some(self), epoch, config, random, now);
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
    /// window is in effect. Not inlined, so that what decides whether a window is looked up at all can be.
    #[inline(never)]
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
            window.renew(epoch, &self.config, random, now);
        } else {
            if !is_allowed() {
                return false;
            }
            self.open(group_id, epoch, random, now);
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
                window.renew(epoch, &self.config, random, now);
            }
        } else {
            self.open(group_id, epoch, random, now);
        }
    }

    /// The first window of a group. It is not inlined, so that heartbeats in a window save no registers.
    #[inline(never)]
    fn open(
        &mut self,
        group_id: &str,
        epoch: i32,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let first = Window::next(None, epoch, &self.config, random, now);
        self.windows.insert(group_id.into(), first);
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
