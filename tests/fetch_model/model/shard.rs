//! One shard: its sessions and the three sorted maps by which they are evicted.

use super::session::Session;
use kafka_coordination::fetch::EvictionReason;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A session that a context may hold on to after it has left the cache.
pub(crate) type SharedSession = Rc<RefCell<Session>>;

/// Privilege, size, id.
pub(crate) type Worth = (bool, i64, i32);

/// The sorted maps, whose values are of no interest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Orders {
    pub(crate) last_used: BTreeSet<(i64, i32)>,
    pub(crate) evictable_by_all: BTreeSet<Worth>,
    pub(crate) evictable_by_privileged: BTreeSet<Worth>,
}

/// An independent slice of the cache.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) max_entries: usize,
    pub(crate) eviction_ms: i64,
    pub(crate) sessions: Vec<SharedSession>,
    pub(crate) orders: Orders,
    pub(crate) partitions: i64,
}

/// Whether more than the threshold lies between two times, however far they are apart.
fn exceeds(threshold: i64, since: i64, now: i64) -> bool {
    i128::from(now) - i128::from(since) > i128::from(threshold)
}

impl Shard {
    pub(crate) const fn new(max_entries: usize, eviction_ms: i64) -> Self {
        Self {
            max_entries,
            eviction_ms,
            sessions: Vec::new(),
            orders: Orders {
                last_used: BTreeSet::new(),
                evictable_by_all: BTreeSet::new(),
                evictable_by_privileged: BTreeSet::new(),
            },
            partitions: 0,
        }
    }

    pub(crate) fn find(&self, id: i32) -> Option<SharedSession> {
        let is_it = |session: &&SharedSession| session.borrow().id == id;
        self.sessions.iter().find(is_it).map(Rc::clone)
    }

    pub(crate) fn touch(&mut self, session: &SharedSession, now: i64) {
        let mut session = session.borrow_mut();
        self.orders.last_used.remove(&(session.last_used, session.id));
        session.last_used = now;
        self.orders.last_used.insert((now, session.id));
        if session.cached_size != -1 {
            let old = (session.is_privileged(), session.cached_size, session.id);
            self.orders.evictable_by_privileged.remove(&old);
            self.orders.evictable_by_all.remove(&old);
            self.partitions -= session.cached_size;
        }
        session.cached_size = session.entries.len() as i64;
        let new = (session.is_privileged(), session.cached_size, session.id);
        let is_old = exceeds(self.eviction_ms, session.created, now);
        if !session.is_privileged() || is_old {
            self.orders.evictable_by_privileged.insert(new);
        }
        if is_old {
            self.orders.evictable_by_all.insert(new);
        }
        self.partitions += session.cached_size;
    }

    /// Takes a session out, if it is there.
    pub(crate) fn remove(&mut self, id: i32) -> bool {
        let is_it = |session: &SharedSession| session.borrow().id == id;
        let Some(at) = self.sessions.iter().position(is_it) else { return false };
        let session = self.sessions.remove(at);
        let session = session.borrow();
        let worth = (session.is_privileged(), session.cached_size, id);
        self.orders.last_used.remove(&(session.last_used, id));
        self.orders.evictable_by_all.remove(&worth);
        self.orders.evictable_by_privileged.remove(&worth);
        self.partitions -= session.cached_size;
        true
    }

    /// Makes room for a session if that is needed and allowed: whom that costs, `Err` if there is
    /// no room.
    pub(crate) fn make_room(
        &mut self,
        is_privileged: bool,
        size: i64,
        now: i64,
    ) -> Result<Option<(i32, EvictionReason)>, ()> {
        if self.sessions.len() < self.max_entries {
            return Ok(None);
        }
        let &(last_used, id) = self.orders.last_used.first().ok_or(())?;
        if exceeds(self.eviction_ms, last_used, now) {
            return Ok(Some((id, EvictionReason::Stale)));
        }
        let evictable = if is_privileged {
            &self.orders.evictable_by_privileged
        } else {
            &self.orders.evictable_by_all
        };
        let &least = evictable.first().ok_or(())?;
        if (is_privileged, size, 0) < least {
            return Err(());
        }
        let (victim_is_privileged, _, id) = least;
        let reason = if victim_is_privileged == is_privileged {
            EvictionReason::Smaller
        } else {
            EvictionReason::Unprivileged
        };
        Ok(Some((id, reason)))
    }
}
