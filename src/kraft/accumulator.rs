//! The records that a leader is to write, in batches.

use super::records::ControlRecord;
use super::rpc::{BatchContent, LogBatch};
use super::timer::Timer;
use crate::time::Monotonic;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use bytes::Bytes;
use thiserror::Error;

/// Records cannot be appended; nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The replica does not lead in that epoch.
    #[error("the replica does not lead in epoch {epoch}")]
    NotLeader {
        /// The epoch that was named.
        epoch: i32,
    },
    /// The epoch is above the replica's.
    #[error("epoch {epoch} is still to come")]
    FutureEpoch {
        /// The epoch that was named.
        epoch: i32,
    },
    /// There are no records.
    #[error("there are no records")]
    Empty,
    /// So many batches wait already that no more are taken.
    #[error("{waiting} batches wait to be written")]
    TooManyBatches {
        /// How many.
        waiting: usize,
    },
    /// The records do not fit into one batch, and are never split.
    #[error("{bytes} bytes of records do not fit into a batch of {limit}")]
    TooLarge {
        /// The bytes of a batch with just these records.
        bytes: usize,
        /// The most that a batch may have.
        limit: usize,
    },
    /// There is no offset left for them.
    #[error("no offsets are left")]
    OffsetsExhausted,
}

/// The bytes of a batch without records.
const BATCH_HEADER: usize = 61;

/// The bytes of a record's attributes, its difference of time (0), its key's length (none) and its count of headers (0).
const RECORD_FIXED: usize = 4;

/// The batch that is being filled.
#[derive(Clone, Debug)]
struct Open {
    base_offset: i64,
    records: Vec<Bytes>,
    bytes: usize,
}

/// What a leader is to write in its epoch. Kafka: `BatchAccumulator`.
///
/// Records of one append stand in one batch. Those that are only prepared wait until they are scheduled, and what is
/// behind them waits too. Bounded: the batches that wait, and the bytes of each.
#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    epoch: i32,
    linger_ms: i64,
    max_batch_bytes: usize,
    max_batches: usize,
    next_offset: i64,
    open: Option<Open>,
    completed: VecDeque<LogBatch>,
    linger: Option<Timer>,
    /// The first offset that is prepared and not scheduled: nothing is written from there on.
    prepared: Option<i64>,
}

impl Accumulator {
    pub(super) fn new(
        epoch: i32,
        next_offset: i64,
        linger_ms: u32,
        max_batch_bytes: usize,
        max_batches: usize,
    ) -> Self {
        Self {
            epoch,
            linger_ms: linger_ms.into(),
            max_batch_bytes,
            max_batches,
            next_offset,
            open: None,
            completed: VecDeque::new(),
            linger: None,
            prepared: None,
        }
    }

    /// Takes records to be written once they are scheduled. Gives the offset of the last one.
    pub(super) fn prepare(
        &mut self,
        epoch: i32,
        records: Vec<Bytes>,
        now: Monotonic,
    ) -> Result<i64, AppendError> {
        if epoch < self.epoch {
            return Err(AppendError::NotLeader { epoch });
        }
        if epoch > self.epoch {
            return Err(AppendError::FutureEpoch { epoch });
        }
        if records.is_empty() {
            return Err(AppendError::Empty);
        }
        let waiting = self.completed.len();
        if waiting >= self.max_batches {
            return Err(AppendError::TooManyBatches { waiting });
        }
        let next_offset = self.offset_after(records.len())?;

        let first = self.open.as_ref().map_or(0, |open| open.records.len());
        let bytes = encoded_size(first, &records);
        let fits = self
            .open
            .as_ref()
            .is_none_or(|open| open.bytes.saturating_add(bytes) <= self.max_batch_bytes);
        let alone = BATCH_HEADER.saturating_add(encoded_size(0, &records));
        if alone > self.max_batch_bytes && (!fits || self.open.is_none()) {
            return Err(AppendError::TooLarge { bytes: alone, limit: self.max_batch_bytes });
        }
        if !fits {
            self.complete();
        }

        self.prepared.get_or_insert(self.next_offset);
        match &mut self.open {
            Some(open) => {
                open.records.extend(records);
                open.bytes = open.bytes.saturating_add(bytes);
            }
            None => self.open = Some(Open { base_offset: self.next_offset, records, bytes: alone }),
        }
        self.linger.get_or_insert_with(|| Timer::new(self.linger_ms, now));
        self.next_offset = next_offset;
        Ok(next_offset.saturating_sub(1))
    }

    /// Lets everything that is prepared be written when its time has come.
    pub(super) const fn schedule(&mut self) {
        self.prepared = None;
    }

    /// Takes a control batch, which waits for nothing but for what is before it. Gives the offset of its first record.
    pub(super) fn control(&mut self, records: Vec<ControlRecord>) -> Result<i64, AppendError> {
        if records.is_empty() {
            return Err(AppendError::Empty);
        }
        let next_offset = self.offset_after(records.len())?;
        self.complete();
        let base_offset = core::mem::replace(&mut self.next_offset, next_offset);
        self.completed.push_back(LogBatch {
            base_offset,
            last_offset: next_offset.saturating_sub(1),
            epoch: self.epoch,
            content: BatchContent::Control(records),
        });
        Ok(base_offset)
    }

    fn offset_after(&self, records: usize) -> Result<i64, AppendError> {
        let after =
            i64::try_from(records).ok().and_then(|count| self.next_offset.checked_add(count));
        after.ok_or(AppendError::OffsetsExhausted)
    }

    /// The open batch waits to be written.
    fn complete(&mut self) {
        self.linger = None;
        if let Some(Open { base_offset, records, .. }) = self.open.take() {
            self.completed.push_back(LogBatch {
                base_offset,
                last_offset: self.next_offset.saturating_sub(1),
                epoch: self.epoch,
                content: BatchContent::Records(records),
            });
        }
    }

    fn is_writable(&self, batch: &LogBatch) -> bool {
        self.prepared.is_none_or(|prepared| batch.last_offset < prepared)
    }

    /// Milliseconds until [`drain`](Self::drain) is due: 0, it is; [`i64::MAX`], nothing waits for time to pass.
    pub(super) fn drain_in_ms(&self, now: Monotonic) -> i64 {
        if self.completed.front().is_some_and(|batch| self.is_writable(batch)) {
            return 0;
        }
        self.linger.map_or(i64::MAX, |linger| linger.remaining_ms(now))
    }

    /// The batches to write now, in order.
    pub(super) fn drain(&mut self) -> Vec<LogBatch> {
        self.complete();
        let held = self.completed.iter().position(|batch| !self.is_writable(batch));
        self.completed.drain(..held.unwrap_or(self.completed.len())).collect()
    }
}

/// The bytes that records have in a batch that holds `first` records already.
fn encoded_size(first: usize, records: &[Bytes]) -> usize {
    let sizes = (first..).zip(records).map(|(place, value)| {
        let length = value.len();
        let body = RECORD_FIXED
            .saturating_add(varint_size(place))
            .saturating_add(varint_size(length))
            .saturating_add(length);
        body.saturating_add(varint_size(body))
    });
    sizes.fold(0, usize::saturating_add)
}

/// The bytes that a number has as a zigzag varint.
const fn varint_size(number: usize) -> usize {
    let bits = (usize::BITS - number.leading_zeros()) as usize + 1;
    bits.div_ceil(7)
}
