//! What is remembered of one producer, and how an accepted batch changes it.

use super::batch::{Batch, Content, EndMarker, MarkerKind};
use super::sequence::last_sequence;
use super::transaction::CompletedTransaction;
use super::window::{CachedBatch, Window};
use crate::time::Timestamp;

/// "No producer epoch": of a producer that is not known.
pub(super) const NO_EPOCH: i16 = -1;

/// "No transaction" in memory and in snapshots.
pub(super) const NO_OFFSET: i64 = -1;

/// What is remembered of one producer: Kafka's `ProducerStateEntry`.
///
/// A plain value of some 150 bytes, for hosts that keep it elsewhere than in
/// [`ProducerStates`](super::ProducerStates): [`judge`](super::judge) decides on a batch,
/// [`apply`](Self::apply) follows once it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    window: Window,
    last_timestamp: Timestamp,
    /// -1: no transaction is open.
    transaction: i64,
    coordinator_epoch: i32,
    epoch: i16,
}

/// What an applied batch means for transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a batch starts one, ends one, or neither")]
pub enum TransactionChange {
    /// Nothing: no transaction, or one that goes on, or the end of an empty one.
    Unchanged,
    /// One starts with the batch, whose base offset is its first.
    Started,
    /// One ends with the batch.
    Completed(CompletedTransaction),
}

impl ProducerEntry {
    /// A producer that nothing is known of.
    pub const UNKNOWN: Self = Self {
        window: Window::EMPTY,
        last_timestamp: Timestamp::from_millis(-1),
        transaction: NO_OFFSET,
        coordinator_epoch: -1,
        epoch: NO_EPOCH,
    };

    /// An entry of these values: the epoch and the coordinator epoch are -1 and above, the first
    /// offset of an open transaction 0 and above (below, there is none).
    pub const fn new(
        epoch: i16,
        coordinator_epoch: i32,
        last_timestamp: Timestamp,
        current_transaction: Option<i64>,
        window: Window,
    ) -> Self {
        let transaction = match current_transaction {
            Some(first_offset) if first_offset >= 0 => first_offset,
            _ => NO_OFFSET,
        };
        Self { window, last_timestamp, transaction, coordinator_epoch, epoch }
    }

    /// Whether nothing is known of the producer, so that any epoch and sequence are taken of it.
    pub const fn is_unknown(&self) -> bool {
        self.epoch == NO_EPOCH
    }

    /// The producer's epoch; -1 if it is not known.
    pub const fn epoch(&self) -> i16 {
        self.epoch
    }

    /// The coordinator epoch of the last marker; -1 if there was none.
    pub const fn coordinator_epoch(&self) -> i32 {
        self.coordinator_epoch
    }

    /// The highest timestamp of the last batch, or that of the last marker, whichever came last.
    /// Not a maximum: it may go back. -1 if there was neither.
    pub const fn last_timestamp(&self) -> Timestamp {
        self.last_timestamp
    }

    /// The first offset of the transaction that is open.
    pub const fn current_transaction(&self) -> Option<i64> {
        if self.transaction < 0 { None } else { Some(self.transaction) }
    }

    /// Whether a transaction of that epoch is open. One of another epoch does not count.
    pub const fn is_in_transaction(&self, epoch: i16) -> bool {
        self.transaction >= 0 && self.epoch == epoch
    }

    /// The last five batches of this epoch.
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// Takes another epoch, higher or lower: batches of the old one are forgotten. An open
    /// transaction stays.
    #[inline]
    fn set_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.window.clear();
            self.epoch = epoch;
        }
    }

    /// Takes the epoch of a batch that is about to be applied to this staged copy of `committed`.
    ///
    /// Coming back to the committed epoch within one append finds the committed batches again, as in
    /// Kafka, which merges what it staged. Only a replica meets it, from a leader that had lost its
    /// state.
    pub(super) fn restage(&mut self, batch: &Batch, committed: &Self) {
        let is_emptied = matches!(batch.content, Content::EmptiedMarker { .. });
        if self.epoch != batch.producer_epoch && !is_emptied {
            self.set_epoch(batch.producer_epoch);
            if committed.epoch == self.epoch {
                self.window = committed.window;
            }
        }
    }

    /// Follows a batch that was accepted and written.
    ///
    /// An emptied marker raises the epoch.
    ///
    /// Deviation: in Kafka it does nothing to a known producer, so that a log read back from its
    /// start fences less than before the cleaner came, and makes an entry without epoch of an
    /// unknown one.
    #[inline]
    pub fn apply(&mut self, batch: &Batch) -> TransactionChange {
        match batch.content {
            Content::Data { base_sequence, max_timestamp, is_transactional } => {
                let offset_delta = batch.offset_delta().unwrap_or_default();
                self.set_epoch(batch.producer_epoch);
                self.window.push(CachedBatch {
                    last_sequence: last_sequence(base_sequence, offset_delta),
                    last_offset: batch.last_offset,
                    offset_delta,
                    timestamp: max_timestamp,
                });
                self.last_timestamp = max_timestamp;
                if is_transactional && self.transaction < 0 {
                    self.transaction = batch.base_offset;
                    return TransactionChange::Started;
                }
                TransactionChange::Unchanged
            }
            Content::Marker(marker) => self.apply_marker(batch, marker),
            Content::EmptiedMarker { max_timestamp } => {
                if self.is_unknown() {
                    self.last_timestamp = max_timestamp;
                }
                if batch.producer_epoch > self.epoch {
                    self.set_epoch(batch.producer_epoch);
                }
                TransactionChange::Unchanged
            }
        }
    }

    fn apply_marker(&mut self, batch: &Batch, marker: EndMarker) -> TransactionChange {
        let change = match self.current_transaction() {
            Some(first_offset) => TransactionChange::Completed(CompletedTransaction {
                producer_id: batch.producer_id,
                first_offset,
                last_offset: batch.base_offset,
                is_aborted: marker.kind == MarkerKind::Abort,
            }),
            None => TransactionChange::Unchanged,
        };
        self.set_epoch(batch.producer_epoch);
        self.coordinator_epoch = marker.coordinator_epoch;
        self.transaction = NO_OFFSET;
        self.last_timestamp = marker.timestamp;
        change
    }
}
