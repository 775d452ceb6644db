//! What all connections share: the topics, the fetch sessions, and who waits for what.

use crate::args::Args;
use crate::fetch::Waiting;
use crate::groups::{GroupConfig, Groups};
use crate::log::Log;
use crate::random::HostRandom;
use crate::stats::{Cached, Stats};
use crate::topics::{Topic, Topics};
use kafka_coordination::fetch::{
    CacheConfig, Change, ChangeTracking, ConfigError, FetchCache, Marked,
};
use kafka_coordination::{Clock, ErrorCode, Monotonic, SystemClock, TopicId, TopicName};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The id of this broker, the only one of its cluster.
pub(crate) const NODE_ID: i32 = 1;

/// The most partitions in all fetch sessions together: about 100 bytes of memory each.
const MAX_CACHED_PARTITIONS: u64 = 4_000_000;

/// The state of the broker.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) args: Args,
    pub(crate) cluster_id: String,
    pub(crate) stats: Stats,
    pub(crate) waiting: Waiting,
    pub(crate) groups: Groups,
    /// Locked for single calls, never while the broker reads or waits.
    pub(crate) cache: Mutex<FetchCache>,
    pub(crate) random: Mutex<HostRandom>,
    topics: Mutex<Topics>,
    next_producer_id: AtomicI64,
    clock: SystemClock,
}

impl Broker {
    pub(crate) fn new(args: Args) -> Result<Self, ConfigError> {
        let mut random = HostRandom::new();
        // One lock guards the cache, so one shard is enough, and holds exactly as many sessions as asked for.
        let config = CacheConfig::default()
            .with_shards(1)?
            .with_slots(args.sessions)?
            .with_cached_partitions_max(MAX_CACHED_PARTITIONS)
            .with_hash_seed(random.draw())
            .with_change_tracking(ChangeTracking::On);
        let groups = GroupConfig {
            initial_rebalance_delay_ms: args.rebalance_delay_ms,
            consumer_heartbeat_ms: args.heartbeat_ms,
            ..GroupConfig::default()
        };
        let topics = Topics::default();
        let groups = Groups::new(groups, topics.clone(), random.draw());
        let cluster_id = format!("{:032x}", random.bits());
        Ok(Self {
            args,
            cluster_id,
            stats: Stats::default(),
            waiting: Waiting::default(),
            groups,
            cache: Mutex::new(FetchCache::new(config)),
            random: Mutex::new(random),
            topics: Mutex::new(topics),
            next_producer_id: AtomicI64::new(0),
            clock: SystemClock::new(),
        })
    }

    /// The host's monotonic time.
    pub(crate) fn now(&self) -> Monotonic {
        self.clock.monotonic()
    }

    /// The topics as they are now.
    pub(crate) fn topics(&self) -> Topics {
        lock(&self.topics).clone()
    }

    /// A producer id that no producer has had.
    pub(crate) fn new_producer_id(&self) -> i64 {
        self.next_producer_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Creates a topic.
    pub(crate) fn create_topic(
        &self,
        name: &str,
        partitions: i32,
    ) -> Result<Arc<Topic>, ErrorCode> {
        let id = TopicId::from_u128(lock(&self.random).bits());
        self.create_topic_as(id, name, partitions)
    }

    /// Creates a topic with this id.
    pub(crate) fn create_topic_as(
        &self,
        id: TopicId,
        name: &str,
        partitions: i32,
    ) -> Result<Arc<Topic>, ErrorCode> {
        let topic = {
            let mut topics = lock(&self.topics);
            let count = topics.check_new(name, partitions)?;
            let topic = topics.put(Topic {
                id,
                name: TopicName::from(name),
                logs: (0..count).map(|_| self.new_log()).collect(),
            })?;
            self.tell_groups(&topics);
            topic
        };
        self.topic_changed(&topic);
        Ok(topic)
    }

    /// Gives a topic more partitions.
    pub(crate) fn grow_topic(&self, name: &str, partitions: i32) -> Result<(), ErrorCode> {
        let topic = {
            let mut topics = lock(&self.topics);
            let old = topics.by_name(name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
            let count = topics.check_growth(old, partitions)?;
            let mut topic = Topic::clone(old);
            topic.logs.resize_with(count, || self.new_log());
            let topic = topics.put(topic)?;
            self.tell_groups(&topics);
            topic
        };
        self.topic_changed(&topic);
        Ok(())
    }

    /// Deletes a topic and its records.
    pub(crate) fn delete_topic(&self, id: TopicId) -> Result<Arc<Topic>, ErrorCode> {
        let topic = {
            let mut topics = lock(&self.topics);
            let topic = topics.remove(id)?;
            self.tell_groups(&topics);
            topic
        };
        self.topic_changed(&topic);
        Ok(topic)
    }

    /// Tells fetches, those that wait and those to come, that a partition has changed. The change itself comes first.
    pub(crate) fn partition_changed(&self, topic: &Topic, partition: i32, change: Change) {
        self.waiting.wake_partition(&topic.name, partition);
        let wake = |marked: Marked| self.waiting.wake_session(marked.session_id);
        lock(&self.cache).mark(topic.id, &topic.name, partition, change, wake);
    }

    /// Does to a topic what a change of its leaders would do: it is told to the groups, and changes nothing for them.
    pub(crate) fn touch_topic(&self, id: TopicId) -> Result<(), ErrorCode> {
        let mut topics = lock(&self.topics);
        topics.touch(id)?;
        self.tell_groups(&topics);
        Ok(())
    }

    /// Tells the groups of each change of the topics, which are still locked so that it happens in order.
    fn tell_groups(&self, topics: &Topics) {
        self.groups.with(|coordinator| coordinator.topics_changed(topics.clone()));
    }

    fn topic_changed(&self, topic: &Topic) {
        for partition in topic.partitions() {
            self.partition_changed(topic, partition, Change::Metadata);
        }
    }

    /// What the fetch session cache and the groups hold.
    pub(crate) fn cached(&self) -> Cached {
        let stats = lock(&self.cache).stats();
        Cached {
            sessions: stats.sessions,
            partitions: stats.partitions,
            evictions: stats.evictions(),
            groups: self.groups.with(|coordinator| coordinator.counts()),
        }
    }

    fn new_log(&self) -> Arc<Mutex<Log>> {
        Arc::new(Mutex::new(Log::new(self.args.retention_bytes)))
    }
}

/// Locks a mutex. A task that panicked while it held the lock left whole values behind: every critical section of this
/// broker makes its change in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
