//! The aborted transactions of a log, which readers of committed records leave out: Kafka's transaction index.

use bytes::{Buf, BufMut};
use kafka_coordination::producer::CompletedTransaction;
use std::collections::VecDeque;

/// One aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aborted {
    pub(crate) producer_id: i64,
    /// The offset of its first record.
    pub(crate) first_offset: i64,
    /// The offset of its marker.
    pub(crate) last_offset: i64,
    /// The last stable offset when it had ended: no later entry starts below it.
    pub(crate) last_stable_offset: i64,
}

impl Aborted {
    /// The bytes of an entry in a transaction index.
    pub(super) const SIZE: usize = 34;

    /// The only version of entries.
    const VERSION: i16 = 0;

    /// The entry of a transaction that has ended, unless it was committed.
    pub(super) fn of(completed: &CompletedTransaction, last_stable_offset: i64) -> Option<Self> {
        let &CompletedTransaction { producer_id, first_offset, last_offset, is_aborted } =
            completed;
        is_aborted.then_some(Self { producer_id, first_offset, last_offset, last_stable_offset })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::SIZE);
        bytes.put_i16(Self::VERSION);
        bytes.put_i64(self.producer_id);
        bytes.put_i64(self.first_offset);
        bytes.put_i64(self.last_offset);
        bytes.put_i64(self.last_stable_offset);
        bytes
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let is_known = bytes.try_get_i16().ok()? == Self::VERSION;
        let aborted = Self {
            producer_id: bytes.try_get_i64().ok()?,
            first_offset: bytes.try_get_i64().ok()?,
            last_offset: bytes.try_get_i64().ok()?,
            last_stable_offset: bytes.try_get_i64().ok()?,
        };
        is_known.then_some(aborted)
    }
}

/// All that are at least in part in the log, in the order of their markers.
#[derive(Debug, Default)]
pub(super) struct AbortedTransactions(VecDeque<Aborted>);

impl AbortedTransactions {
    pub(super) fn push(&mut self, aborted: Aborted) {
        self.0.push_back(aborted);
    }

    /// Those with records from offset `from` on and below `until`.
    pub(super) fn within(&self, from: i64, until: i64) -> Vec<Aborted> {
        let mut found = Vec::new();
        let first = self.0.partition_point(|aborted| aborted.last_offset < from);
        for aborted in self.0.range(first..) {
            if aborted.first_offset < until {
                found.push(*aborted);
            }
            if aborted.last_stable_offset >= until {
                break;
            }
        }
        found
    }

    /// Drops those whose markers are not below an offset.
    pub(super) fn forget_from(&mut self, offset: i64) {
        self.0.truncate(self.0.partition_point(|aborted| aborted.last_offset < offset));
    }

    /// Drops those whose records are all below the start of the log.
    pub(super) fn forget_before(&mut self, start: i64) {
        let gone = self.0.partition_point(|aborted| aborted.last_offset < start);
        self.0.drain(..gone);
    }
}
