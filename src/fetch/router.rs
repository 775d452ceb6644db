//! Which shard a session belongs to.

use super::config::CacheConfig;

/// Deals sessions out to shards and finds them again by their ids (KAFKA-9401).
///
/// Shard k issues the ids from max(1, k·R) up to but not including (k + 1)·R, where R is 2147483647
/// over the number of shards, rounded down.
#[derive(Clone, Debug)]
pub struct ShardRouter {
    shards: u32,
    /// How many ids a shard has.
    range: u32,
    counter: i32,
}

impl ShardRouter {
    /// A router over the shards that `config` describes.
    pub const fn of_config(config: &CacheConfig) -> Self {
        Self::new(config.shards, config.first_shard)
    }

    /// The first session goes to shard `counter` modulo the number of shards, which is not 0.
    pub(super) const fn new(shards: u32, counter: i32) -> Self {
        Self { shards, range: i32::MAX.cast_unsigned() / shards, counter }
    }

    /// The ids of each shard: from the first up to but not including the second.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (i32, i32)> + use<> {
        let first = |shard: u32, range: u32| (shard * range).cast_signed();
        let range = self.range;
        (0..self.shards).map(move |shard| (first(shard, range).max(1), first(shard + 1, range)))
    }

    /// The shard that could have issued this id. Ids that none issues have none.
    pub fn shard_of(&self, session_id: i32) -> Option<usize> {
        let shard = session_id.cast_unsigned().checked_div(self.range)?;
        (session_id > 0 && shard < self.shards).then_some(shard as usize)
    }

    /// The shard of the next new session. The counter wraps around.
    pub fn next_shard(&mut self) -> usize {
        let counter = (self.counter & i32::MAX).cast_unsigned();
        self.counter = self.counter.wrapping_add(1);
        counter.checked_rem(self.shards).unwrap_or(0) as usize
    }

    /// Where the counter stands.
    pub(super) const fn counter(&self) -> i32 {
        self.counter
    }
}
