//! The replica of a partition that the broker holds.

use crate::tracking::progress::Progress;
use kafka_coordination::TopicId;
use std::collections::{BTreeMap, BTreeSet};

/// The broker ids of the two followers.
pub(crate) const FOLLOWERS: [i32; 2] = [1, 2];

/// Who gets no data at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Throttled {
    Nobody,
    /// Followers that are not in sync, as in Kafka. They are visited anyway.
    OutOfSync,
    /// All followers: a stricter host.
    Followers,
}

/// A log, its place in the cluster, and what is asked of the broker about it.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) topic_id: TopicId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) high_watermark: i64,
    pub(crate) last_stable: i64,
    pub(crate) is_leader: bool,
    pub(crate) leader_epoch: i32,
    /// Where the present leader epoch starts; what lies before is of earlier ones.
    pub(crate) epoch_start: i64,
    pub(crate) is_offline: bool,
    pub(crate) replicas: BTreeSet<i32>,
    pub(crate) in_sync: BTreeSet<i32>,
    /// The rack whose consumers are sent to a closer replica.
    pub(crate) closer_in: Option<u8>,
    pub(crate) throttled: Throttled,
    /// What lies before this offset is in the remote tier.
    pub(crate) remote_end: i64,
    /// Whether the remote tier answers at once.
    pub(crate) is_remote_ready: bool,
}

/// What the leader knows of its followers, by broker id, topic and partition.
pub(crate) type FollowerProgress = BTreeMap<(i32, String, i32), Progress>;

impl Log {
    pub(crate) fn new(topic_id: TopicId) -> Self {
        Self {
            topic_id,
            start: 0,
            end: 0,
            high_watermark: 0,
            last_stable: 0,
            is_leader: true,
            leader_epoch: 1,
            epoch_start: 0,
            is_offline: false,
            replicas: BTreeSet::from(FOLLOWERS),
            in_sync: BTreeSet::from(FOLLOWERS),
            closer_in: None,
            throttled: Throttled::Nobody,
            remote_end: 0,
            is_remote_ready: false,
        }
    }

    /// The size in bytes of the batch at an offset: one record each.
    const fn batch_size(offset: i64) -> i64 {
        10 + offset.rem_euclid(3) * 10
    }

    /// The batches from an offset up to an end that fit a limit; one of any size if `min_one`.
    /// Their bytes, and how many they are.
    pub(crate) fn batches(from: i64, end: i64, limit: i64, min_one: bool) -> (i64, i64) {
        let (mut bytes, mut count) = (0, 0);
        while from + count < end {
            let size = Self::batch_size(from + count);
            if bytes + size > limit && !(min_one && count == 0) {
                break;
            }
            bytes += size;
            count += 1;
        }
        (bytes, count)
    }

    pub(crate) fn truncate(&mut self, end: i64) {
        self.end = end.clamp(self.start, self.end);
        self.high_watermark = self.high_watermark.min(self.end);
        self.last_stable = self.last_stable.min(self.high_watermark);
        self.epoch_start = self.epoch_start.min(self.end);
        self.remote_end = self.remote_end.min(self.end);
    }
}
