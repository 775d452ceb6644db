//! A partition's log, in memory: whole record batches in the order of their offsets.

use crate::batch::{self, Batch};
use bytes::Bytes;
use std::collections::VecDeque;

/// The leader epoch of every partition: there is one broker, and it has led from the start.
pub(crate) const LEADER_EPOCH: i32 = 0;

/// One partition's records.
#[derive(Debug)]
pub(crate) struct Log {
    start: i64,
    end: i64,
    batches: VecDeque<Stored>,
    bytes: usize,
    retention_bytes: usize,
}

#[derive(Debug)]
struct Stored {
    base: i64,
    next: i64,
    max_timestamp: i64,
    bytes: Bytes,
}

/// What an append did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    pub(crate) start: i64,
    /// Whether old batches went to make room.
    pub(crate) start_moved: bool,
}

/// What a read found.
#[derive(Debug)]
pub(crate) struct Read {
    /// The batches, which are shared with the log.
    pub(crate) batches: Vec<Bytes>,
    /// How many bytes they have together.
    pub(crate) size: usize,
    /// Whether there are more records than the limit let through.
    pub(crate) has_more: bool,
}

/// The offset asked for is not in the log.
#[derive(Debug)]
pub(crate) struct OutOfRange;

impl Log {
    pub(crate) fn new(retention_bytes: usize) -> Self {
        Self { start: 0, end: 0, batches: VecDeque::new(), bytes: 0, retention_bytes }
    }

    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    /// The offset of the next record. With one replica it is the high watermark too.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// Appends a batch, and drops the oldest ones while the log is over its retention.
    pub(crate) fn append(&mut self, batch: Batch) -> Appended {
        let base = self.end;
        self.end += batch.len;
        let max_timestamp = batch.max_timestamp;
        let bytes = batch.place(base, LEADER_EPOCH);
        self.bytes += bytes.len();
        self.batches.push_back(Stored { base, next: self.end, max_timestamp, bytes });
        let before = self.start;
        while self.bytes > self.retention_bytes
            && self.batches.len() > 1
            && let Some(oldest) = self.batches.pop_front()
        {
            self.bytes -= oldest.bytes.len();
            self.start = oldest.next;
        }
        Appended { base_offset: base, start: self.start, start_moved: self.start != before }
    }

    /// Reads whole batches from the one that holds `offset` on, together at most `max_bytes`. With `at_least_one` the
    /// first may be larger.
    pub(crate) fn read(
        &self,
        offset: i64,
        max_bytes: usize,
        at_least_one: bool,
    ) -> Result<Read, OutOfRange> {
        if offset < self.start || offset > self.end {
            return Err(OutOfRange);
        }
        let first = self.batches.partition_point(|batch| batch.next <= offset);
        let mut read = Read { batches: Vec::new(), size: 0, has_more: false };
        for batch in self.batches.range(first..) {
            let size = read.size + batch.bytes.len();
            if size > max_bytes && !(at_least_one && read.batches.is_empty()) {
                read.has_more = true;
                break;
            }
            read.size = size;
            read.batches.push(batch.bytes.clone());
        }
        Ok(read)
    }

    /// The first record with this timestamp or a later one, as timestamp and offset.
    pub(crate) fn find_timestamp(&self, timestamp: i64) -> Option<(i64, i64)> {
        let stored = self.batches.iter().find(|batch| batch.max_timestamp >= timestamp)?;
        let stamp = batch::stamps(&stored.bytes).find(|stamp| stamp.timestamp >= timestamp)?;
        Some((stamp.timestamp, stored.base + stamp.offset_delta))
    }

    /// The first of the records with the largest timestamp, as timestamp and offset.
    pub(crate) fn find_max_timestamp(&self) -> Option<(i64, i64)> {
        let largest = self.batches.iter().map(|batch| batch.max_timestamp).max()?;
        self.find_timestamp(largest)
    }
}
