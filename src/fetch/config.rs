//! How a session cache is set up.

use thiserror::Error;

/// The most partitions that a limit may name: what a request of 2^31 bytes can list.
const PARTITIONS_MAX: u32 = 1 << 27;

/// How a [`FetchCache`](super::FetchCache) is set up. The defaults are Kafka's; limits that Kafka
/// does not have are off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    pub(super) slots: u32,
    pub(super) shards: u32,
    pub(super) eviction_ms: i64,
    pub(super) first_shard: i32,
    pub(super) hash_seed: u64,
    pub(super) tracking: ChangeTracking,
    pub(super) limits: Limits,
}

/// What a shard enforces by itself; the sums over all shards are the cache's to enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) session_partitions: u32,
    pub(super) cached_partitions: u64,
    pub(super) principal_sessions: u32,
    pub(super) detached_sessions: u32,
    pub(super) detached_partitions: u32,
}

/// Whether the host tells the cache which partitions change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "on or off")]
pub enum ChangeTracking {
    /// It does not: each fetch visits every partition of its session, as in Kafka.
    #[default]
    Off,
    /// It marks each change by [`FetchCache::mark`](super::FetchCache::mark): a fetch visits the
    /// partitions that may have something to answer, and answers the same.
    On,
}

/// Why a setting was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is out of its range.
    #[error("{name} is {value}, not in {min}..={max}")]
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: i64,
        /// The least legal value.
        min: i64,
        /// The greatest legal value.
        max: i64,
    },
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            slots: 1000,
            shards: 8,
            eviction_ms: 120_000,
            first_shard: 0,
            hash_seed: 0,
            tracking: ChangeTracking::Off,
            limits: Limits {
                session_partitions: PARTITIONS_MAX,
                cached_partitions: u64::MAX,
                principal_sessions: u32::MAX,
                detached_sessions: 32,
                detached_partitions: 1 << 17,
            },
        }
    }
}

impl CacheConfig {
    /// How many sessions the cache holds: Kafka's `max.incremental.fetch.session.cache.slots`.
    ///
    /// 0 to 2147483647, by default 1000. Each shard gets this over the number of shards, rounded
    /// down: with the default of 8 shards, 1001 slots are 1000, and 7 are none.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`].
    pub fn with_slots(mut self, slots: u32) -> Result<Self, ConfigError> {
        self.slots = in_range("slots", slots, 0, i32::MAX.cast_unsigned())?;
        Ok(self)
    }

    /// How many shards there are, 1 to 1024, by default 8. Shard k issues the session ids from
    /// max(1, k·R) up to but not including (k + 1)·R, where R is 2147483647 over the number of
    /// shards, rounded down (KAFKA-9401).
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`].
    pub fn with_shards(mut self, shards: u32) -> Result<Self, ConfigError> {
        self.shards = in_range("shards", shards, 1, 1024)?;
        Ok(self)
    }

    /// How long a session must be idle before it is stale, and how old before a bigger one may
    /// take its place, in milliseconds: 0 and above, by default 120000.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`].
    pub fn with_eviction_ms(mut self, eviction_ms: i64) -> Result<Self, ConfigError> {
        if eviction_ms < 0 {
            let (value, max) = (eviction_ms, i64::MAX);
            return Err(ConfigError::OutOfRange { name: "eviction_ms", value, min: 0, max });
        }
        self.eviction_ms = eviction_ms;
        Ok(self)
    }

    /// Where the counter that deals sessions out to shards starts; by default 0.
    #[must_use]
    pub const fn with_first_shard(mut self, counter: i32) -> Self {
        self.first_shard = counter;
        self
    }

    /// The seed of the hash tables, whose keys clients choose: draw it at random. By default 0.
    /// No answer depends on it.
    #[must_use]
    pub const fn with_hash_seed(mut self, seed: u64) -> Self {
        self.hash_seed = seed;
        self
    }

    /// Whether the host marks changes; by default it does not.
    #[must_use]
    pub const fn with_change_tracking(mut self, tracking: ChangeTracking) -> Self {
        self.tracking = tracking;
        self
    }

    /// The most partitions in one session, 1 to 134217728 (the default, which no request can
    /// exceed).
    ///
    /// A request that would create a bigger one is answered without a session. A session that
    /// grows beyond it is removed: the request is answered, the next one gets
    /// `FETCH_SESSION_ID_NOT_FOUND` (70).
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`].
    pub fn with_session_partitions_max(mut self, partitions: u32) -> Result<Self, ConfigError> {
        self.limits.session_partitions =
            in_range("session_partitions_max", partitions, 1, PARTITIONS_MAX)?;
        Ok(self)
    }

    /// The most partitions cached by all sessions together; by default without limit. Exceeding
    /// it is answered as with [`with_session_partitions_max`](Self::with_session_partitions_max).
    #[must_use]
    pub const fn with_cached_partitions_max(mut self, partitions: u64) -> Self {
        self.limits.cached_partitions = partitions;
        self
    }

    /// The most sessions that one principal may have; by default without limit. A request that
    /// would create another is answered without a session (KAFKA-12797).
    #[must_use]
    pub const fn with_principal_sessions_max(mut self, sessions: u32) -> Self {
        self.limits.principal_sessions = sessions;
        self
    }

    /// How much each shard keeps of sessions that were removed while a fetch of theirs waited, so
    /// that it is still answered: by default 32 sessions with 131072 partitions together. Beyond
    /// that the oldest are dropped, and their fetch is answered `INVALID_FETCH_SESSION_EPOCH` (71).
    #[must_use]
    pub const fn with_detached_max(mut self, sessions: u32, partitions: u32) -> Self {
        self.limits.detached_sessions = sessions;
        self.limits.detached_partitions = partitions;
        self
    }
}

fn in_range(name: &'static str, value: u32, min: u32, max: u32) -> Result<u32, ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    let (value, min, max) = (i64::from(value), i64::from(min), i64::from(max));
    Err(ConfigError::OutOfRange { name, value, min, max })
}
