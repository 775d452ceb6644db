//! What is in flight to whom: one request a node, back-off after failures.

use super::rpc::Node;
use crate::random::Random;
use crate::time::Monotonic;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::num::NonZeroU32;

/// Names a request that was sent, for its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Correlation {
    pub(super) node: i32,
    pub(super) id: u64,
}

/// A connection that is not idle. A node without an entry is idle.
#[derive(Clone, Copy, Debug)]
enum Connection {
    /// A request waits for its response.
    Awaiting { id: u64, sent: Monotonic },
    /// The last request failed.
    BackingOff { failed: Monotonic },
}

/// Whether a request may go to a node now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Ready,
    /// Not for so many milliseconds.
    In(i64),
}

/// The connections of a replica. Kafka: `RequestManager`.
///
/// A node that is known by two ids, as a voter and as a bootstrap server, has two connections.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    entries: BTreeMap<i32, Connection>,
    bootstrap: Vec<Node>,
    retry_backoff_ms: i64,
    request_timeout_ms: i64,
    next_id: u64,
}

impl Connections {
    pub(super) fn new(
        bootstrap: Vec<Node>,
        retry_backoff_ms: u32,
        request_timeout_ms: u32,
    ) -> Self {
        Self {
            entries: BTreeMap::new(),
            bootstrap,
            retry_backoff_ms: retry_backoff_ms.into(),
            // A request that is given up as it is sent is sent again for ever.
            request_timeout_ms: i64::from(request_timeout_ms).max(1),
            next_id: 0,
        }
    }

    pub(super) const fn request_timeout_ms(&self) -> i64 {
        self.request_timeout_ms
    }

    /// Milliseconds until the entry is as good as none; 0: it is.
    fn remaining_ms(&self, entry: Connection, now: Monotonic) -> i64 {
        let (since, limit) = match entry {
            Connection::Awaiting { sent, .. } => (sent, self.request_timeout_ms),
            Connection::BackingOff { failed } => (failed, self.retry_backoff_ms),
        };
        limit.saturating_sub(now.millis_since(since)).max(0)
    }

    /// Whether a request may go to `node`. One whose time is over is forgotten: its response comes too late.
    pub(super) fn availability(&mut self, node: i32, now: Monotonic) -> Availability {
        let Some(&entry) = self.entries.get(&node) else { return Availability::Ready };
        match self.remaining_ms(entry, now) {
            0 => {
                self.entries.remove(&node);
                Availability::Ready
            }
            remaining => Availability::In(remaining),
        }
    }

    pub(super) fn has_timed_out(&self, node: i32, now: Monotonic) -> bool {
        self.entries.get(&node).is_some_and(|entry| {
            matches!(entry, Connection::Awaiting { .. }) && self.remaining_ms(*entry, now) == 0
        })
    }

    pub(super) fn is_backing_off(&self, node: i32, now: Monotonic) -> bool {
        self.entries.get(&node).is_some_and(|entry| {
            matches!(entry, Connection::BackingOff { .. }) && self.remaining_ms(*entry, now) > 0
        })
    }

    /// Forgets what has run out. Gives whether a request is in flight.
    pub(super) fn has_any_in_flight(&mut self, now: Monotonic) -> bool {
        self.forget_expired(now);
        self.entries.values().any(|entry| matches!(entry, Connection::Awaiting { .. }))
    }

    fn forget_expired(&mut self, now: Monotonic) {
        let mut entries = core::mem::take(&mut self.entries);
        entries.retain(|_, entry| self.remaining_ms(*entry, now) > 0);
        self.entries = entries;
    }

    /// A bootstrap server that a request may go to, the first one from a random one on; none while a request is in
    /// flight to anybody. One draw, if nothing is in flight.
    pub(super) fn ready_bootstrap(
        &mut self,
        now: Monotonic,
        random: &mut dyn Random,
    ) -> Option<Node> {
        if self.has_any_in_flight(now) {
            return None;
        }
        let count = u32::try_from(self.bootstrap.len()).ok().and_then(NonZeroU32::new)?;
        let start = usize::try_from(random.below(count)).unwrap_or_default();
        let (before, after) = self.bootstrap.split_at_checked(start)?;
        let mut ready = after.iter().chain(before);
        ready.find(|node| !self.entries.contains_key(&node.id)).cloned()
    }

    /// Milliseconds until a bootstrap server may be asked.
    pub(super) fn bootstrap_backoff_ms(&mut self, now: Monotonic) -> i64 {
        self.forget_expired(now);
        let mut backoff = self.retry_backoff_ms;
        for entry in self.entries.values() {
            let remaining = self.remaining_ms(*entry, now);
            match entry {
                Connection::Awaiting { .. } => return remaining,
                Connection::BackingOff { .. } => backoff = backoff.min(remaining),
            }
        }
        if self.bootstrap.iter().any(|node| !self.entries.contains_key(&node.id)) {
            0
        } else {
            backoff
        }
    }

    /// Notes a request to `node`.
    pub(super) fn sent(&mut self, node: i32, now: Monotonic) -> Correlation {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.entries.insert(node, Connection::Awaiting { id, sent: now });
        Correlation { node, id }
    }

    /// Whether this is the response that the node owes.
    pub(super) fn is_expected(&self, correlation: Correlation) -> bool {
        matches!(self.entries.get(&correlation.node), Some(Connection::Awaiting { id, .. }) if *id == correlation.id)
    }

    /// Notes what a response was good for, if it is still expected: the connection is free, or backs off.
    pub(super) fn received(&mut self, correlation: Correlation, is_ok: bool, now: Monotonic) {
        if !self.is_expected(correlation) {
            return;
        }
        if is_ok {
            self.entries.remove(&correlation.node);
        } else {
            self.entries.insert(correlation.node, Connection::BackingOff { failed: now });
        }
    }

    pub(super) fn reset(&mut self, node: i32) {
        self.entries.remove(&node);
    }

    /// Forgets all requests: what comes of them is not for the state that follows.
    pub(super) fn reset_all(&mut self) {
        self.entries.clear();
    }
}
