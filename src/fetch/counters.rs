//! What happened in a cache: numbers for a host's metrics.

use super::response::EvictionReason;

/// What happened in one shard since it was made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShardCounters {
    pub(super) created: u64,
    pub(super) refused: u64,
    pub(super) closed: u64,
    pub(super) over_limit: u64,
    pub(super) evicted_stale: u64,
    pub(super) evicted_unprivileged: u64,
    pub(super) evicted_smaller: u64,
    pub(super) not_found: u64,
    pub(super) invalid_epoch: u64,
    pub(super) topic_id_error: u64,
}

impl ShardCounters {
    pub(super) const fn count_eviction(&mut self, reason: EvictionReason) {
        match reason {
            EvictionReason::Stale => self.evicted_stale += 1,
            EvictionReason::Unprivileged => self.evicted_unprivileged += 1,
            EvictionReason::Smaller => self.evicted_smaller += 1,
        }
    }
}

/// The state of a cache and what happened in it since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Live sessions: Kafka's gauge `NumIncrementalFetchSessions`.
    pub sessions: u64,
    /// Partitions of live sessions, each session counted as of its last use: Kafka's gauge
    /// `NumIncrementalFetchPartitionsCached`.
    pub partitions: u64,
    /// Sessions created.
    pub created: u64,
    /// Sessions not created because there was no room and none could be displaced, or because of a
    /// limit.
    pub refused: u64,
    /// Sessions closed: by a full request that named them, or because they became empty.
    pub closed: u64,
    /// Sessions removed because they grew beyond a limit.
    pub over_limit: u64,
    /// Sessions evicted because they were stale.
    pub evicted_stale: u64,
    /// Sessions evicted for a privileged one.
    pub evicted_unprivileged: u64,
    /// Sessions evicted for a bigger one.
    pub evicted_smaller: u64,
    /// Requests that named a session which is not there (70).
    pub not_found: u64,
    /// Requests with an epoch that was not the expected one (71).
    pub invalid_epoch: u64,
    /// Requests by id of a session by name, or the reverse (106).
    pub topic_id_error: u64,
}

impl CacheStats {
    /// All evictions: Kafka's meter `IncrementalFetchSessionEvictionsPerSec` counts these.
    pub const fn evictions(&self) -> u64 {
        self.evicted_stale + self.evicted_unprivileged + self.evicted_smaller
    }

    pub(super) const fn add(&mut self, counters: &ShardCounters) {
        self.created += counters.created;
        self.refused += counters.refused;
        self.closed += counters.closed;
        self.over_limit += counters.over_limit;
        self.evicted_stale += counters.evicted_stale;
        self.evicted_unprivileged += counters.evicted_unprivileged;
        self.evicted_smaller += counters.evicted_smaller;
        self.not_found += counters.not_found;
        self.invalid_epoch += counters.invalid_epoch;
        self.topic_id_error += counters.topic_id_error;
    }
}
