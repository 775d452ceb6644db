//! Which session of a shard gives way to a new one.

use alloc::collections::BTreeSet;

use super::response::EvictionReason;
use crate::time::Monotonic;

/// Sessions by how easily they are displaced: privilege, size, id.
type Worth = (bool, u32, i32);

/// The orders in which sessions are evicted (KIP-227).
///
/// Only a full shard asks for them: they are kept from then on, until it is half empty. So they cost
/// a session that never meets a full shard nothing, and making them costs O(log sessions) for each
/// that came since.
///
/// Using a session costs no look-up here while its size and seniority stay: the order by last use
/// holds for each session a time that is not later than its last use, and is put right when such
/// a time would make its session stale.
#[derive(Clone, Debug)]
pub(super) struct EvictionOrder {
    threshold_ms: i64,
    kept: Option<Orders>,
}

#[derive(Clone, Debug, Default)]
struct Orders {
    uses: BTreeSet<(Monotonic, i32)>,
    /// Whom every new session may displace.
    for_all: BTreeSet<Worth>,
    /// Whom a new privileged one may.
    for_privileged: BTreeSet<Worth>,
}

/// Where a session stands in the orders, or would stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// The time under which it is ordered by use.
    used: Monotonic,
    size: u32,
    is_senior: bool,
    is_privileged: bool,
}

impl EvictionOrder {
    pub(super) const fn new(threshold_ms: i64) -> Self {
        Self { threshold_ms, kept: None }
    }

    pub(super) const fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Keeps the orders from now on. The sessions are given with their last use.
    pub(super) fn keep<'a>(
        &mut self,
        sessions: impl Iterator<Item = (i32, &'a mut Standing, Monotonic)>,
    ) {
        let orders = self.kept.insert(Orders::default());
        for (id, standing, last_used) in sessions {
            standing.used = last_used;
            orders.insert(id, *standing);
        }
    }

    /// Gives the orders up.
    pub(super) fn give_up(&mut self) {
        self.kept = None;
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
        let is_senior = self.exceeds_threshold(created, used);
        let standing = Standing { used, size, is_senior, is_privileged };
        if let Some(orders) = &mut self.kept {
            orders.insert(id, standing);
        }
        standing
    }

    /// Takes note of a use of the session. Only here does a session become senior.
    #[inline]
    pub(super) fn touch(
        &mut self,
        id: i32,
        standing: &mut Standing,
        size: u32,
        created: Monotonic,
        now: Monotonic,
    ) {
        let is_senior = self.exceeds_threshold(created, now);
        // If the clock went back: the time kept must not be later than the last use.
        let used = now.min(standing.used);
        let moved = Standing { used, size, is_senior, ..*standing };
        if moved != *standing {
            self.replace(id, standing, moved);
        }
    }

    fn replace(&mut self, id: i32, standing: &mut Standing, moved: Standing) {
        self.remove(id, *standing);
        *standing = moved;
        if let Some(orders) = &mut self.kept {
            orders.insert(id, moved);
        }
    }

    /// Takes a session out of all orders.
    pub(super) fn remove(&mut self, id: i32, standing: Standing) {
        if let Some(orders) = &mut self.kept {
            orders.remove(id, standing);
        }
    }

    /// The session at the head of the order by use, if the time kept for it makes it stale.
    ///
    /// It may have been used since: then [`renew`](Self::renew) it and ask again.
    pub(super) fn stale(&self, now: Monotonic) -> Option<(Monotonic, i32)> {
        let &(used, id) = self.kept.as_ref()?.uses.first()?;
        self.exceeds_threshold(used, now).then_some((used, id))
    }

    /// Puts a session where its last use belongs.
    pub(super) fn renew(&mut self, id: i32, standing: &mut Standing, last_used: Monotonic) {
        if let Some(orders) = &mut self.kept {
            orders.uses.remove(&(standing.used, id));
            orders.uses.insert((last_used, id));
        }
        standing.used = last_used;
    }

    /// The session that a new one of that privilege and size displaces though it is not stale.
    pub(super) fn displaced(
        &self,
        is_privileged: bool,
        size: u32,
    ) -> Option<(i32, EvictionReason)> {
        let orders = self.kept.as_ref()?;
        let order = if is_privileged { &orders.for_privileged } else { &orders.for_all };
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

impl Orders {
    fn insert(&mut self, id: i32, standing: Standing) {
        self.uses.insert((standing.used, id));
        let worth = (standing.is_privileged, standing.size, id);
        if !standing.is_privileged || standing.is_senior {
            self.for_privileged.insert(worth);
        }
        if standing.is_senior {
            self.for_all.insert(worth);
        }
    }

    fn remove(&mut self, id: i32, standing: Standing) {
        self.uses.remove(&(standing.used, id));
        let worth = (standing.is_privileged, standing.size, id);
        self.for_privileged.remove(&worth);
        if standing.is_senior {
            self.for_all.remove(&worth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const THRESHOLD: i64 = 100;

    #[derive(Clone, Copy)]
    struct Live {
        is_privileged: bool,
        created: Monotonic,
        last_used: Monotonic,
        /// `None` until it is first touched.
        size: Option<u32>,
    }

    impl Live {
        fn is_senior(&self) -> bool {
            self.last_used.millis_since(self.created) > THRESHOLD
        }
    }

    /// Kafka's three sorted maps, kept as its cache keeps them.
    #[derive(Default)]
    struct Plain {
        sessions: BTreeMap<i32, Live>,
        last_used: BTreeSet<(Monotonic, i32)>,
        by_all: BTreeSet<Worth>,
        by_privileged: BTreeSet<Worth>,
    }

    impl Plain {
        fn insert(&mut self, id: i32, is_privileged: bool, size: u32, now: Monotonic) {
            let live = Live { is_privileged, created: now, last_used: now, size: None };
            self.sessions.insert(id, live);
            self.touch(id, size, now);
        }

        fn unlist(&mut self, id: i32) {
            let live = self.sessions[&id];
            self.last_used.remove(&(live.last_used, id));
            if let Some(size) = live.size {
                self.by_all.remove(&(live.is_privileged, size, id));
                self.by_privileged.remove(&(live.is_privileged, size, id));
            }
        }

        fn touch(&mut self, id: i32, size: u32, now: Monotonic) {
            self.unlist(id);
            let mut live = self.sessions[&id];
            (live.last_used, live.size) = (now, Some(size));
            self.sessions.insert(id, live);
            self.last_used.insert((now, id));
            if !live.is_privileged || live.is_senior() {
                self.by_privileged.insert((live.is_privileged, size, id));
            }
            if live.is_senior() {
                self.by_all.insert((live.is_privileged, size, id));
            }
        }

        fn remove(&mut self, id: i32) {
            self.unlist(id);
            self.sessions.remove(&id);
        }

        fn victim(&self, is_privileged: bool, size: u32, now: Monotonic) -> Option<i32> {
            let &(used, id) = self.last_used.first()?;
            if now.millis_since(used) > THRESHOLD {
                return Some(id);
            }
            let map = if is_privileged { &self.by_privileged } else { &self.by_all };
            let &least = map.first()?;
            ((is_privileged, size, 0) >= least).then_some(least.2)
        }
    }

    /// As a shard asks.
    fn victim(
        order: &mut EvictionOrder,
        standings: &mut BTreeMap<i32, Standing>,
        plain: &Plain,
        (is_privileged, size, now): (bool, u32, Monotonic),
    ) -> Option<i32> {
        if !order.is_kept() {
            let sessions = standings.iter_mut();
            order.keep(sessions.map(|(&id, it)| (id, it, plain.sessions[&id].last_used)));
        }
        while let Some((used, id)) = order.stale(now) {
            let last_used = plain.sessions[&id].last_used;
            if used == last_used {
                return Some(id);
            }
            order.renew(id, standings.get_mut(&id).unwrap(), last_used);
        }
        order.displaced(is_privileged, size).map(|(id, _)| id)
    }

    #[derive(Clone, Copy, Debug)]
    enum Operation {
        Create { is_privileged: bool, size: u32, is_full: bool },
        Touch { which: usize, size: Option<u32> },
        Remove { which: usize },
        GiveUp,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            3 => (any::<bool>(), 0_u32..4, any::<bool>()).prop_map(|(is_privileged, size, is_full)| {
                Operation::Create { is_privileged, size, is_full }
            }),
            6 => (any::<usize>(), proptest::option::of(0_u32..4))
                .prop_map(|(which, size)| Operation::Touch { which, size }),
            1 => any::<usize>().prop_map(|which| Operation::Remove { which }),
            1 => Just(Operation::GiveUp),
        ]
    }

    /// The next time, given this one: a clock stands still, goes on, goes back, and jumps.
    fn clock() -> impl Strategy<Value = (bool, i64)> {
        prop_oneof![
            2 => Just((false, 0)),
            4 => (0_i64..120).prop_map(|step| (false, step)),
            1 => (-250_i64..0).prop_map(|step| (false, step)),
            1 => prop_oneof![Just((true, i64::MIN)), Just((true, 0)), Just((true, i64::MAX))],
        ]
    }

    proptest! {
        #[test]
        fn the_lazy_order_evicts_whom_three_sorted_maps_evict(
            operations in proptest::collection::vec((clock(), operation()), 1..80),
        ) {
            let mut order = EvictionOrder::new(THRESHOLD);
            let mut standings = BTreeMap::new();
            let mut plain = Plain::default();
            let mut now = Monotonic::from_millis(0);
            let mut next_id = 1;
            for ((is_jump, step), operation) in operations {
                now = if is_jump { Monotonic::from_millis(step) } else { now.saturating_add(step) };
                let nth = |plain: &Plain, which: usize| {
                    let ids = plain.sessions.keys();
                    let id = ids.len().checked_sub(1).and_then(|last| ids.copied().nth(which % (last + 1)));
                    id.unwrap_or(0)
                };
                match operation {
                    Operation::Create { is_privileged, size, is_full } => {
                        let asked = (is_privileged, size, now);
                        let due = plain.victim(is_privileged, size, now);
                        // A shard that has room does not ask.
                        if is_full {
                            prop_assert_eq!(victim(&mut order, &mut standings, &plain, asked), due);
                        }
                        if let Some(id) = due.filter(|_| is_full) {
                            plain.remove(id);
                            order.remove(id, standings.remove(&id).unwrap());
                        }
                        plain.insert(next_id, is_privileged, size, now);
                        standings.insert(next_id, order.insert(next_id, is_privileged, size, now, now));
                        next_id += 1;
                    }
                    Operation::Touch { which, size } => {
                        let id = nth(&plain, which);
                        let Some(live) = plain.sessions.get(&id).copied() else { continue };
                        let size = size.or(live.size).unwrap();
                        plain.touch(id, size, now);
                        order.touch(id, standings.get_mut(&id).unwrap(), size, live.created, now);
                    }
                    Operation::Remove { which } => {
                        let id = nth(&plain, which);
                        if let Some(standing) = standings.remove(&id) {
                            plain.remove(id);
                            order.remove(id, standing);
                        }
                    }
                    Operation::GiveUp => order.give_up(),
                }
                let Some(orders) = &order.kept else { continue };
                prop_assert_eq!(&orders.for_all, &plain.by_all);
                prop_assert_eq!(&orders.for_privileged, &plain.by_privileged);
                prop_assert_eq!(orders.uses.len(), plain.last_used.len());
            }
        }
    }
}
