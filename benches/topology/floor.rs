//! The same work on a plain table: no jitter, no checks beyond what the answer needs.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

#[derive(Clone, Copy)]
struct Window {
    epoch: i32,
    attempts: i32,
    ends: i64,
}

/// Windows by group id.
pub(crate) struct Windows(HashMap<Box<str>, Window, FixedState>);

impl Windows {
    pub(crate) fn new() -> Self {
        Self(HashMap::with_hasher(FixedState::with_seed(0x5eed)))
    }

    pub(crate) fn is_active(&self, group_id: &str, epoch: i32, now: i64) -> bool {
        self.0.get(group_id).is_some_and(|window| window.epoch == epoch && now < window.ends)
    }

    /// Starts a window, unless one is in effect.
    pub(crate) fn arm(&mut self, group_id: &str, epoch: i32, now: i64) -> bool {
        let Some(window) = self.0.get_mut(group_id) else {
            let window = Window { epoch, attempts: 0, ends: now + 30_000 };
            self.0.insert(group_id.into(), window);
            return true;
        };
        if window.epoch == epoch && now < window.ends {
            return false;
        }
        let attempts = if window.epoch == epoch { window.attempts + 1 } else { 0 };
        let delay = (30_000_i64 << attempts.min(7)).min(3_600_000);
        *window = Window { epoch, attempts, ends: now + delay };
        true
    }
}
