//! Which session of a shard gives way to a new one.

use alloc::collections::BTreeSet;

use super::response::EvictionReason;
use crate::time::Monotonic;

/// Sessions by how easily they are displaced: privilege, size, id.
type Worth = (bool, u32, i32);

/// The orders in which sessions are evicted (KIP-227).
///
/// Using a session costs no look-up here while its size and seniority stay: the order by last use
/// holds for each session a time that is not later than its last use, and is put right when such
/// a time would make its session stale.
#[derive(Clone, Debug)]
pub(super) struct EvictionOrder {
    threshold_ms: i64,
    by_use: BTreeSet<(Monotonic, i32)>,
    by_all: BTreeSet<Worth>,
    by_privileged: BTreeSet<Worth>,
}

/// Where a session stands in the orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// The time under which it is ordered by use.
    used: Monotonic,
    size: u32,
    is_senior: bool,
    is_privileged: bool,
}

impl EvictionOrder {
    pub(super) const fn new(threshold_ms: i64) -> Self {
        Self {
            threshold_ms,
            by_use: BTreeSet::new(),
            by_all: BTreeSet::new(),
            by_privileged: BTreeSet::new(),
        }
    }

    /// Whether more than the threshold lies between the two.
    const fn exceeds_threshold(&self, since: Monotonic, now: Monotonic) -> bool {
        now.millis_since(since) > self.threshold_ms
    }

    /// Lists a session.
    pub(super) fn insert(
        &mut self,
        id: i32,
        is_privileged: bool,
        size: u32,
        created: Monotonic,
        used: Monotonic,
    ) -> Standing {
        self.by_use.insert((used, id));
        let is_senior = self.exceeds_threshold(created, used);
        let standing = Standing { used, size, is_senior, is_privileged };
        self.list(id, standing);
        standing
    }

    /// Takes note of a use of the session. Only here does a session become senior.
    pub(super) fn touch(
        &mut self,
        id: i32,
        standing: &mut Standing,
        size: u32,
        created: Monotonic,
        now: Monotonic,
    ) {
        if now < standing.used {
            // The clock went back; the time kept must not be later than the last use.
            self.renew(id, standing, now);
        }
        let is_senior = self.exceeds_threshold(created, now);
        if size != standing.size || is_senior != standing.is_senior {
            self.unlist(id, *standing);
            *standing = Standing { size, is_senior, ..*standing };
            self.list(id, *standing);
        }
    }

    /// Takes a session out of all orders.
    pub(super) fn remove(&mut self, id: i32, standing: Standing) {
        self.by_use.remove(&(standing.used, id));
        self.unlist(id, standing);
    }

    fn list(&mut self, id: i32, standing: Standing) {
        let worth = (standing.is_privileged, standing.size, id);
        if !standing.is_privileged || standing.is_senior {
            self.by_privileged.insert(worth);
        }
        if standing.is_senior {
            self.by_all.insert(worth);
        }
    }

    fn unlist(&mut self, id: i32, standing: Standing) {
        let worth = (standing.is_privileged, standing.size, id);
        self.by_privileged.remove(&worth);
        if standing.is_senior {
            self.by_all.remove(&worth);
        }
    }

    /// The session at the head of the order by use, if the time kept for it makes it stale.
    ///
    /// It may have been used since: then [`renew`](Self::renew) it and ask again.
    pub(super) fn stale(&self, now: Monotonic) -> Option<(Monotonic, i32)> {
        self.by_use.first().copied().filter(|&(used, _)| self.exceeds_threshold(used, now))
    }

    /// Puts a session where its last use belongs.
    pub(super) fn renew(&mut self, id: i32, standing: &mut Standing, last_used: Monotonic) {
        self.by_use.remove(&(standing.used, id));
        self.by_use.insert((last_used, id));
        standing.used = last_used;
    }

    /// The session that a new one of that privilege and size displaces though it is not stale.
    pub(super) fn displaced(
        &self,
        is_privileged: bool,
        size: u32,
    ) -> Option<(i32, EvictionReason)> {
        let order = if is_privileged { &self.by_privileged } else { &self.by_all };
        let &(victim_is_privileged, victim_size, id) = order.first()?;
        // Ids are positive, so that of two equal ones the one that is there stays.
        if (is_privileged, size, 0) < (victim_is_privileged, victim_size, id) {
            return None;
        }
        let reason = if is_privileged == victim_is_privileged {
            EvictionReason::Smaller
        } else {
            EvictionReason::Unprivileged
        };
        Some((id, reason))
    }
}
