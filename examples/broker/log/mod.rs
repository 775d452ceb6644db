//! A partition's log: whole record batches in the order of their offsets, and what is known of the producers that wrote
//! them. All of it is in memory; with `--data-dir` it is written to files too, from which it is opened again.
//!
//! [`append`] is where the broker asks the crate's machine for producers, [`recovery`] where it rebuilds what that knows.

mod aborted;
mod append;
mod files;
mod recovery;
mod reload;
mod snapshots;
#[cfg(test)]
mod tests;

use crate::batch;
pub(crate) use aborted::Aborted;
use aborted::AbortedTransactions;
pub(crate) use append::Appended;
use bytes::Bytes;
use files::Files;
use kafka_coordination::producer::{ProducerConfig, ProducerStates};
pub(crate) use recovery::Recovered;
use std::collections::VecDeque;

/// The leader epoch of every partition: there is one broker, and it has led from the start.
pub(crate) const LEADER_EPOCH: i32 = 0;

/// How logs are kept.
#[derive(Clone, Debug)]
pub(crate) struct LogConfig {
    /// The bytes to keep of a log.
    pub(crate) retention_bytes: usize,
    /// The bytes of a segment, the unit in which files are deleted.
    pub(crate) segment_bytes: u64,
    pub(crate) producers: ProducerConfig,
}

/// One partition's records.
#[derive(Debug)]
pub(crate) struct Log {
    start: i64,
    end: i64,
    batches: VecDeque<Stored>,
    bytes: usize,
    retention_bytes: usize,
    producers: ProducerStates,
    aborted: AbortedTransactions,
    files: Option<Files>,
    batches_since_snapshot: usize,
    is_deleted: bool,
}

#[derive(Debug)]
struct Stored {
    base: i64,
    next: i64,
    max_timestamp: i64,
    bytes: Bytes,
}

/// How far a reader may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// To the high watermark.
    Uncommitted,
    /// To the last stable offset, and with the list of aborted transactions.
    Committed,
}

impl From<i8> for Isolation {
    /// The isolation level of a request.
    fn from(level: i8) -> Self {
        if level == 1 { Self::Committed } else { Self::Uncommitted }
    }
}

/// What a reader wants of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) offset: i64,
    pub(crate) max_bytes: usize,
    /// Whether the first batch may be over the limit.
    pub(crate) at_least_one: bool,
    pub(crate) isolation: Isolation,
}

/// What a read found.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// The batches, which are shared with the log.
    pub(crate) batches: Vec<Bytes>,
    /// How many bytes they have together.
    pub(crate) size: usize,
    /// Whether there are more records than the limit let through.
    pub(crate) has_more: bool,
    /// For a reader of committed records: the aborted transactions among the batches.
    pub(crate) aborted: Option<Vec<Aborted>>,
}

/// The offset asked for is not in the log.
#[derive(Debug)]
pub(crate) struct OutOfRange;

impl Log {
    /// An empty log, in memory.
    pub(crate) fn new(config: &LogConfig) -> Self {
        Self {
            start: 0,
            end: 0,
            batches: VecDeque::new(),
            bytes: 0,
            retention_bytes: config.retention_bytes,
            producers: ProducerStates::new(config.producers.clone()),
            aborted: AbortedTransactions::default(),
            files: None,
            batches_since_snapshot: 0,
            is_deleted: false,
        }
    }

    /// Ends the log: nothing is appended any more.
    pub(crate) fn delete(&mut self) {
        self.is_deleted = true;
        self.files = None;
    }

    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    /// The offset of the next record. With one replica it is the high watermark too.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// Where readers of committed records stop: the first offset of an open transaction, or the end.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        self.producers.last_stable_offset(self.end, self.start)
    }

    /// The offset, exclusive, to which such a reader may read.
    pub(crate) fn readable_until(&self, isolation: Isolation) -> i64 {
        match isolation {
            Isolation::Uncommitted => self.end,
            Isolation::Committed => self.last_stable_offset(),
        }
    }

    /// Reads whole batches from the one that holds the wish's offset on.
    pub(crate) fn read(&self, wish: Wish) -> Result<Read, OutOfRange> {
        let Wish { offset, max_bytes, at_least_one, isolation } = wish;
        if offset < self.start || offset > self.end {
            return Err(OutOfRange);
        }
        let until = self.readable_until(isolation);
        let first = self.batches.partition_point(|batch| batch.next <= offset);
        let mut read = Read::default();
        let mut read_until = offset;
        // A transaction starts with a batch, so that the last stable offset is never inside of one.
        for batch in self.batches.range(first..).take_while(|batch| batch.next <= until) {
            let size = read.size + batch.bytes.len();
            if size > max_bytes && !(at_least_one && read.batches.is_empty()) {
                read.has_more = true;
                break;
            }
            read.size = size;
            read.batches.push(batch.bytes.clone());
            read_until = batch.next;
        }
        if isolation == Isolation::Committed {
            read.aborted = Some(self.aborted.within(offset, read_until));
        }
        Ok(read)
    }

    /// The first record with this timestamp or a later one, as timestamp and offset.
    pub(crate) fn find_timestamp(&self, timestamp: i64) -> Option<(i64, i64)> {
        let stored = self.batches.iter().find(|batch| batch.max_timestamp >= timestamp)?;
        let stamp = batch::stamps(&stored.bytes).find(|stamp| stamp.timestamp >= timestamp)?;
        Some((stamp.timestamp, stored.base + i64::from(stamp.offset_delta)))
    }

    /// The first of the records with the largest timestamp, as timestamp and offset.
    pub(crate) fn find_max_timestamp(&self) -> Option<(i64, i64)> {
        let largest = self.batches.iter().map(|batch| batch.max_timestamp).max()?;
        self.find_timestamp(largest)
    }

    /// Drops the oldest batches while the log is over its retention; whether there were any.
    fn retain(&mut self) -> bool {
        let before = self.start;
        while self.bytes > self.retention_bytes
            && self.batches.len() > 1
            && let Some(oldest) = self.batches.pop_front()
        {
            self.bytes -= oldest.bytes.len();
            self.start = oldest.next;
        }
        self.aborted.forget_before(self.start);
        self.start != before
    }
}
