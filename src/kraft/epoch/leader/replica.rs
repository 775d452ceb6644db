//! What a leader knows of one replica.

use crate::kraft::voters::{Endpoints, ReplicaKey};
use crate::time::Monotonic;

/// What a leader knows of a replica, voter or observer. Kafka: `LeaderState.ReplicaState`.
///
/// Times are those of the leader's monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicaState {
    pub(super) key: ReplicaKey,
    pub(super) endpoints: Endpoints,
    pub(super) end_offset: Option<i64>,
    pub(super) last_fetch: Option<Monotonic>,
    pub(super) leader_end_at_last_fetch: Option<i64>,
    pub(super) last_caught_up: Option<Monotonic>,
    pub(super) has_acknowledged: bool,
}

impl ReplicaState {
    /// A replica of which nothing is known.
    pub(super) fn new(key: ReplicaKey, endpoints: Endpoints) -> Self {
        Self {
            key,
            endpoints,
            end_offset: None,
            last_fetch: None,
            leader_end_at_last_fetch: None,
            last_caught_up: None,
            has_acknowledged: false,
        }
    }

    /// Who it is. A directory id that is missing may be learned, and never changes then.
    pub const fn key(&self) -> ReplicaKey {
        self.key
    }

    /// Where a voter is reached; none for observers.
    pub const fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The offset of its last fetch: it has all records below. Of the leader itself, its log end.
    /// `None`: unknown.
    pub const fn end_offset(&self) -> Option<i64> {
        self.end_offset
    }

    /// When it last fetched.
    pub const fn last_fetch(&self) -> Option<Monotonic> {
        self.last_fetch
    }

    /// Where the leader's log ended at its last fetch.
    pub const fn leader_end_at_last_fetch(&self) -> Option<i64> {
        self.leader_end_at_last_fetch
    }

    /// When it was last known to have all that the leader had.
    pub const fn last_caught_up(&self) -> Option<Monotonic> {
        self.last_caught_up
    }

    /// Whether it knows that this leader leads: it fetched, or answered `BeginQuorumEpoch`.
    pub const fn has_acknowledged(&self) -> bool {
        self.has_acknowledged
    }

    /// Notes a fetch from `offset`, while the leader's log ended at `leader_end`.
    pub(super) fn fetched(&mut self, offset: i64, leader_end: Option<i64>, now: Monotonic) {
        if let Some(leader_end) = leader_end {
            // It is at the end, or has at least what there was at its fetch before this one.
            let had = |end: i64| end > 0 && offset >= end;
            if offset >= leader_end {
                self.last_caught_up = self.last_caught_up.max(Some(now));
            } else if self.leader_end_at_last_fetch.is_some_and(had) {
                self.last_caught_up = self.last_caught_up.max(self.last_fetch);
            }
            self.leader_end_at_last_fetch = Some(leader_end);
        }
        self.last_fetch = self.last_fetch.max(Some(now));
        self.end_offset = Some(offset);
        self.has_acknowledged = true;
    }

    /// Milliseconds since its last fetch; `None` if it never fetched, which is longer than any time.
    pub(super) fn millis_since_fetch(&self, now: Monotonic) -> Option<i64> {
        self.last_fetch.map(|last| now.millis_since(last))
    }

    /// Whether `ms` milliseconds or more went by since its last fetch.
    pub(super) fn is_silent_for(&self, ms: i64, now: Monotonic) -> bool {
        self.millis_since_fetch(now).is_none_or(|silence| silence >= ms)
    }
}
