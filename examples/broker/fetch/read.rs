//! The read stage: from partitions to their records, within the limits of the request.

use crate::broker::lock;
use crate::log::{Aborted, Isolation, LEADER_EPOCH, Read, Wish};
use crate::topics::Topics;
use bytes::Bytes;
use kafka_coordination::fetch::{FetchParams, FetchPartition, PartitionRead, Slot};
use kafka_coordination::{ErrorCode, TopicId, TopicName};
use kafka_protocol::messages::FetchRequest;

/// Kafka's `fetch.max.bytes`.
const MAX_BYTES: usize = 55 << 20;

/// A partition to read, by itself: the cache is not locked while the broker reads.
#[derive(Debug)]
pub(super) struct Wanted {
    slot: Slot,
    pub(super) topic_id: TopicId,
    pub(super) topic: Option<TopicName>,
    pub(super) partition: i32,
    params: FetchParams,
}

impl From<FetchPartition<'_>> for Wanted {
    fn from(partition: FetchPartition<'_>) -> Self {
        Self {
            slot: partition.slot,
            topic_id: partition.topic_id,
            topic: partition.topic.cloned(),
            partition: partition.partition,
            params: partition.params,
        }
    }
}

/// How many bytes the client takes, and from how many on it does not wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    max_bytes: usize,
    min_bytes: usize,
}

impl Limits {
    pub(super) fn of(request: &FetchRequest) -> Self {
        let max_bytes = at_least_zero(request.max_bytes).min(MAX_BYTES);
        Self { max_bytes, min_bytes: at_least_zero(request.min_bytes).min(max_bytes) }
    }
}

fn at_least_zero(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

/// What was found for a partition, beside what the cache needs to know.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) topic_id: TopicId,
    pub(super) topic: Option<TopicName>,
    pub(super) partition: i32,
    pub(super) error: ErrorCode,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) log_start: i64,
    pub(super) aborted: Option<Vec<Aborted>>,
    pub(super) batches: Vec<Bytes>,
}

/// One pass over the partitions: what goes to the cache, and beside each what goes to the client.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) reads: Vec<PartitionRead>,
    pub(super) found: Vec<Found>,
    bytes: usize,
    /// Partitions that could not even be looked for. They do not shorten the wait.
    pub(super) missing: usize,
    /// Whether a read has failed, which the client should know at once.
    has_failed: bool,
}

/// How a partition cannot be read.
enum Failure {
    /// The topic's id is unknown.
    NoName,
    /// The metadata lacks the partition.
    NoPartition,
    /// The log refuses the read.
    Refused(ErrorCode),
}

/// A log's answer to a read.
struct Records {
    high_watermark: i64,
    last_stable_offset: i64,
    log_start: i64,
    read: Read,
}

/// Reads for one request.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) is_follower: bool,
    pub(super) isolation: Isolation,
    pub(super) limits: Limits,
}

impl Reader {
    /// Reads the partitions in their order, the first of them with records even if these are over the limit. Partitions
    /// that cannot be looked for come last, unresolved ids first.
    pub(super) fn read(&self, topics: &Topics, wanted: &[Wanted]) -> Pass {
        let mut pass = Pass::default();
        let (mut unresolved, mut missing) = (Vec::new(), Vec::new());
        for wanted in wanted {
            let limit = self.limits.max_bytes.saturating_sub(pass.bytes);
            match self.read_one(topics, wanted, limit, pass.bytes == 0) {
                Ok(records) => pass.succeeded(wanted, records),
                Err(Failure::Refused(error)) => {
                    pass.has_failed = true;
                    pass.failed(wanted, error);
                }
                Err(Failure::NoName) => unresolved.push(wanted),
                Err(Failure::NoPartition) => missing.push(wanted),
            }
        }
        pass.missing = unresolved.len() + missing.len();
        for wanted in unresolved {
            pass.failed(wanted, ErrorCode::UnknownTopicId);
        }
        for wanted in missing {
            pass.failed(wanted, ErrorCode::UnknownTopicOrPartition);
        }
        pass
    }

    fn read_one(
        &self,
        topics: &Topics,
        wanted: &Wanted,
        limit: usize,
        at_least_one: bool,
    ) -> Result<Records, Failure> {
        let name = wanted.topic.as_ref().ok_or(Failure::NoName)?;
        let topic = topics.by_name(name).ok_or(Failure::NoPartition)?;
        let log = topic.log(wanted.partition).ok_or(Failure::NoPartition)?;
        if !wanted.topic_id.is_zero() && wanted.topic_id != topic.id {
            return Err(Failure::Refused(ErrorCode::InconsistentTopicId));
        }
        if wanted.params.leader_epoch.is_some_and(|epoch| epoch > LEADER_EPOCH) {
            return Err(Failure::Refused(ErrorCode::UnknownLeaderEpoch));
        }
        if self.is_follower {
            // No other broker is a replica of anything here.
            return Err(Failure::Refused(ErrorCode::NotLeaderOrFollower));
        }
        let limit = limit.min(at_least_zero(wanted.params.max_bytes));
        let log = lock(log);
        let wish = Wish {
            offset: wanted.params.fetch_offset,
            max_bytes: limit,
            at_least_one,
            isolation: self.isolation,
        };
        match log.read(wish) {
            Ok(read) => Ok(Records {
                high_watermark: log.end(),
                last_stable_offset: log.last_stable_offset(),
                log_start: log.start(),
                read,
            }),
            Err(_) => Err(Failure::Refused(ErrorCode::OffsetOutOfRange)),
        }
    }
}

impl Pass {
    fn succeeded(&mut self, wanted: &Wanted, found: Records) {
        let Read { batches, size, has_more, aborted } = found.read;
        self.bytes += size;
        let mut read = PartitionRead::new(wanted.slot, found.high_watermark, found.log_start)
            .with_records(u32::try_from(size).unwrap_or(u32::MAX));
        if has_more {
            read = read.with_revisit();
        }
        self.reads.push(read);
        self.found.push(Found {
            topic_id: wanted.topic_id,
            topic: wanted.topic.clone(),
            partition: wanted.partition,
            error: ErrorCode::None,
            high_watermark: found.high_watermark,
            last_stable_offset: found.last_stable_offset,
            log_start: found.log_start,
            aborted,
            batches,
        });
    }

    fn failed(&mut self, wanted: &Wanted, error: ErrorCode) {
        self.reads.push(PartitionRead::failed(wanted.slot, error));
        self.found.push(Found {
            topic_id: wanted.topic_id,
            topic: wanted.topic.clone(),
            partition: wanted.partition,
            error,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start: -1,
            aborted: None,
            batches: Vec::new(),
        });
    }

    /// Whether the client should have its answer now. `partitions` counts the whole session: with change tracking an idle
    /// session has nothing to read, which is a reason to wait and not to answer. (Partitions with errors are visited each
    /// time, so that the missing ones are all in the pass.)
    pub(super) fn is_due(&self, reader: &Reader, partitions: usize) -> bool {
        self.missing >= partitions || self.has_failed || self.bytes >= reader.limits.min_bytes
    }
}
