//! What all connections share: the topics, the fetch sessions, and who waits for what.

use crate::args::Args;
use crate::faults::Faults;
use crate::fetch::Waiting;
use crate::log::{Appended, Log, LogConfig};
use crate::producer_ids::ProducerIds;
use crate::random::HostRandom;
use crate::stats::{Cached, Stats};
use crate::storage::{Store, StoredTopic};
use crate::topics::{Topic, Topics};
use crate::transactions::Coordinator;
use kafka_coordination::fetch::{CacheConfig, Change, ChangeTracking, FetchCache, Marked};
use kafka_coordination::producer::{ExpiryTime, ProducerConfig};
use kafka_coordination::{Clock, ErrorCode, Monotonic, SystemClock, Timestamp, TopicId, TopicName};
use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The id of this broker, the only one of its cluster.
pub(crate) const NODE_ID: i32 = 1;

/// The most partitions in all fetch sessions together: about 100 bytes of memory each.
const MAX_CACHED_PARTITIONS: u64 = 4_000_000;

/// The most producers that are known in a partition. About 200 bytes of memory each; beyond, those are forgotten of which
/// nothing was heard for the longest time.
const MAX_PRODUCERS: u32 = 100_000;

/// The state of the broker.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) args: Args,
    pub(crate) cluster_id: String,
    pub(crate) stats: Stats,
    pub(crate) waiting: Waiting,
    pub(crate) transactions: Coordinator,
    pub(crate) faults: Faults,
    /// Locked for single calls, never while the broker reads or waits.
    pub(crate) cache: Mutex<FetchCache>,
    pub(crate) random: Mutex<HostRandom>,
    topics: Mutex<Topics>,
    logs: LogConfig,
    producer_ids: ProducerIds,
    store: Option<Store>,
    clock: SystemClock,
}

impl Broker {
    pub(crate) fn new(args: Args) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut random = HostRandom::new();
        // One lock guards the cache, so one shard is enough, and holds exactly as many sessions as asked for.
        let config = CacheConfig::default()
            .with_shards(1)?
            .with_slots(args.sessions)?
            .with_cached_partitions_max(MAX_CACHED_PARTITIONS)
            .with_hash_seed(random.draw())
            .with_change_tracking(ChangeTracking::On);
        // By the append's time, for the records' is the clients' choice: with old ones their retries would soon be taken
        // for new batches.
        let producers = ProducerConfig::default()
            .with_expiry_time(ExpiryTime::Append)
            .with_hash_seed(random.draw())
            .with_producers_max(MAX_PRODUCERS)?;
        let logs = LogConfig {
            retention_bytes: args.retention_bytes,
            segment_bytes: args.segment_bytes,
            producers,
        };
        let (clock, stats) = (SystemClock::new(), Stats::default());
        let mut cluster_id = format!("{:032x}", random.bits());
        let (mut topics, mut transactions) = (Topics::default(), Coordinator::default());
        let directory = args.data_dir.as_ref();
        let store = directory.map(|it| Store::open(it, cluster_id.clone())).transpose()?;
        if let Some(store) = &store {
            cluster_id = store.cluster_id();
            transactions = store.coordinator()?;
            topics = store.restore(&logs, &stats.recovery, clock.timestamp())?;
        }
        let broker = Self {
            faults: Faults::new(args.drop_responses, args.seed),
            args,
            cluster_id,
            stats,
            waiting: Waiting::default(),
            transactions,
            cache: Mutex::new(FetchCache::new(config)),
            random: Mutex::new(random),
            topics: Mutex::new(topics),
            logs,
            producer_ids: ProducerIds::new(store.is_some()),
            store,
            clock,
        };
        // What was decided before a crash happens now.
        broker.transactions.tend(&broker);
        Ok(broker)
    }

    /// The host's monotonic time.
    pub(crate) fn now(&self) -> Monotonic {
        self.clock.monotonic()
    }

    /// The host's wall-clock time.
    pub(crate) fn timestamp(&self) -> Timestamp {
        self.clock.timestamp()
    }

    /// The topics as they are now.
    pub(crate) fn topics(&self) -> Topics {
        lock(&self.topics).clone()
    }

    /// A producer id that no producer has had.
    pub(crate) fn new_producer_id(&self) -> Result<i64, ErrorCode> {
        let id = self.producer_ids.next(self.store.as_ref());
        id.map_err(|_| ErrorCode::CoordinatorNotAvailable)
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
            let topic =
                Topic { id, name: TopicName::from(name), logs: self.new_logs(id, 0..count)? };
            self.store_topic(&topic)?;
            topics.put(topic)?
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
            topic.logs.extend(self.new_logs(topic.id, topic.logs.len()..count)?);
            self.store_topic(&topic)?;
            topics.put(topic)?
        };
        self.topic_changed(&topic);
        Ok(())
    }

    /// Deletes a topic and its records.
    pub(crate) fn delete_topic(&self, id: TopicId) -> Result<Arc<Topic>, ErrorCode> {
        let topic = {
            let mut topics = lock(&self.topics);
            topics.by_id(id).ok_or(ErrorCode::UnknownTopicId)?;
            let forgotten = self.store.as_ref().map_or(Ok(()), |store| store.forget_topic(id));
            forgotten.map_err(|_| ErrorCode::KafkaStorageError)?;
            topics.remove(id)?
        };
        topic.logs.iter().for_each(|log| lock(log).delete());
        if let Some(store) = &self.store {
            // What is left goes at the next start.
            let _ = store.delete_logs(id);
        }
        self.topic_changed(&topic);
        Ok(topic)
    }

    /// Tells fetches, those that wait and those to come, that a partition has changed. The change itself comes first.
    pub(crate) fn partition_changed(&self, topic: &Topic, partition: i32, change: Change) {
        self.waiting.wake_partition(&topic.name, partition);
        let wake = |marked: Marked| self.waiting.wake_session(marked.session_id);
        lock(&self.cache).mark(topic.id, &topic.name, partition, change, wake);
    }

    /// The same for what an append has changed.
    pub(crate) fn appended(&self, topic: &Topic, partition: i32, appended: Appended) {
        self.partition_changed(topic, partition, Change::HighWatermark);
        if appended.start_moved {
            self.partition_changed(topic, partition, Change::LogStartOffset);
        }
    }

    fn topic_changed(&self, topic: &Topic) {
        for partition in topic.partitions() {
            self.partition_changed(topic, partition, Change::Metadata);
        }
    }

    /// What the fetch session cache holds.
    pub(crate) fn cached(&self) -> Cached {
        let stats = lock(&self.cache).stats();
        Cached {
            sessions: stats.sessions,
            partitions: stats.partitions,
            evictions: stats.evictions(),
        }
    }

    /// The logs of new partitions of a topic.
    fn new_logs(
        &self,
        topic: TopicId,
        partitions: Range<usize>,
    ) -> Result<Vec<Arc<Mutex<Log>>>, ErrorCode> {
        let Some(store) = &self.store else {
            let log = |_| Arc::new(Mutex::new(Log::new(&self.logs)));
            return Ok(partitions.map(log).collect());
        };
        let logs = store.logs(topic, partitions, &self.logs, self.timestamp(), drop);
        logs.map_err(|_| ErrorCode::KafkaStorageError)
    }

    /// Stores what a topic is to be, before it is.
    fn store_topic(&self, topic: &Topic) -> Result<(), ErrorCode> {
        let Some(store) = &self.store else { return Ok(()) };
        let stored = StoredTopic { name: topic.name.to_string(), partitions: topic.logs.len() };
        store.put_topic(topic.id, stored).map_err(|_| ErrorCode::KafkaStorageError)
    }
}

/// Locks a mutex. A task that panicked while it held the lock left whole values behind: every critical section of this
/// broker makes its change in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
