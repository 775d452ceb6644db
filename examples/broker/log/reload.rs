//! From which snapshot a log's producers are rebuilt.
//!
//! A snapshot holds only the last batch of a producer, but a client that was not answered sends its last five again, and
//! a batch that is not known any more would be stored twice. So the snapshot is an older one: of those that wrote last,
//! five batches are read again. Who has been silent for longer has nothing in flight.

use super::Log;
use kafka_coordination::producer::{ReloadFrom, WINDOW};
use kafka_coordination::wire::producer::RecordBatch;
use std::collections::HashMap;

impl Log {
    pub(super) fn reload_from(&self) -> ReloadFrom {
        let usable = self.start + 1..=self.end;
        let snapshots = self.producers.snapshots().iter().filter(|offset| usable.contains(offset));
        let snapshots: Vec<_> = snapshots.collect();
        let before_newest = snapshots.iter().nth_back(1).copied();
        let needed = self.windows_start(before_newest.unwrap_or(self.start));
        match snapshots.iter().rfind(|offset| **offset <= needed).or_else(|| snapshots.first()) {
            Some(&offset) if offset <= needed || self.start > 0 => ReloadFrom::AtMost(offset),
            // The log is all there.
            _ => ReloadFrom::LogStart,
        }
    }

    /// The offset from which the log holds the last five batches of every producer that has written at or behind `tail`.
    fn windows_start(&self, tail: i64) -> i64 {
        let mut wanted: HashMap<i64, usize> = HashMap::new();
        let mut unfilled = 0;
        let mut start = tail;
        for stored in self.batches.iter().rev() {
            if stored.base < tail && unfilled == 0 {
                break;
            }
            let Ok(batch) = RecordBatch::read(&stored.bytes) else { break };
            let header = batch.header();
            if header.producer_id < 0 || header.is_control {
                continue;
            }
            if stored.base >= tail {
                wanted.entry(header.producer_id).or_insert_with(|| {
                    unfilled += 1;
                    WINDOW
                });
            }
            if let Some(left) = wanted.get_mut(&header.producer_id).filter(|left| **left > 0) {
                *left -= 1;
                unfilled -= usize::from(*left == 0);
                start = start.min(stored.base);
            }
        }
        start
    }
}
