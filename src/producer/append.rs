//! An append between its decision and its commit.

use alloc::boxed::Box;
use alloc::vec::Vec;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::batch::{Batch, Content, EndMarker, MarkerKind, Origin, Position, TransactionVersion};
use super::entry::{ProducerEntry, TransactionChange};
use super::transaction::{CompletedTransaction, OngoingTransaction};
use super::verification::Guard;
use crate::time::Timestamp;

/// Batches that are to be written together, and what they will change.
///
/// [`ProducerStates::begin`](super::ProducerStates::begin) makes it,
/// [`push`](super::ProducerStates::push) decides on one batch after the other, and
/// [`commit`](super::ProducerStates::commit) follows the log's write. Dropping it is a clean abort.
#[derive(Debug)]
#[must_use = "an append that is not committed changes nothing"]
pub struct Append {
    pub(super) origin: Origin,
    pub(super) guard: Option<Guard>,
    pub(super) transaction_version: Option<TransactionVersion>,
    /// What the producers' revision was when it was begun.
    pub(super) revision: u64,
    /// The offset after the last batch; below 0 if there is none.
    pub(super) end_offset: i64,
    pub(super) staged: Staged,
}

/// What an append will change of producers.
#[derive(Debug)]
pub(super) enum Staged {
    Nothing,
    /// One batch, the usual case, is applied in place.
    One(Step),
    /// Several are applied to copies.
    Many(Box<Stage>),
}

/// An accepted batch, packed: an append is moved into its commit.
///
/// It is made of single fields. The caller has just written the batch so, and reading it back in
/// larger pieces would wait for those writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) producer_id: i64,
    base_offset: i64,
    last_offset: i64,
    timestamp: i64,
    /// Data: the base sequence. Marker: the coordinator epoch.
    number: i32,
    /// Where the producer is, or [`NEW`].
    slot: u32,
    epoch: i16,
    kind: Kind,
    position: Option<Position>,
    /// The verification that ends with it.
    pub(super) verified: Option<Guard>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Transactional,
    Marker(MarkerKind),
    Emptied,
}

/// The slot of a producer that is not known yet.
const NEW: u32 = u32::MAX;

impl Step {
    #[inline]
    pub(super) fn new(batch: &Batch, slot: Option<u32>, verified: Option<Guard>) -> Self {
        let (kind, number, timestamp) = match batch.content {
            Content::Data { base_sequence, max_timestamp, is_transactional: false } => {
                (Kind::Plain, base_sequence, max_timestamp)
            }
            Content::Data { base_sequence, max_timestamp, is_transactional: true } => {
                (Kind::Transactional, base_sequence, max_timestamp)
            }
            Content::Marker(EndMarker { kind, coordinator_epoch, timestamp }) => {
                (Kind::Marker(kind), coordinator_epoch, timestamp)
            }
            Content::EmptiedMarker { max_timestamp } => (Kind::Emptied, 0, max_timestamp),
        };
        Self {
            producer_id: batch.producer_id,
            base_offset: batch.base_offset,
            last_offset: batch.last_offset,
            timestamp: timestamp.as_millis(),
            number,
            slot: slot.unwrap_or(NEW),
            epoch: batch.producer_epoch,
            kind,
            position: if matches!(kind, Kind::Transactional) { batch.position } else { None },
            verified,
        }
    }

    /// Where its producer is; `None`: it is new.
    #[inline]
    pub(super) fn slot(&self) -> Option<u32> {
        if self.slot == NEW { None } else { Some(self.slot) }
    }

    #[inline]
    pub(super) fn batch(&self) -> Batch {
        let (number, timestamp) = (self.number, Timestamp::from_millis(self.timestamp));
        let data = |is_transactional| Content::Data {
            base_sequence: number,
            max_timestamp: timestamp,
            is_transactional,
        };
        Batch {
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            base_offset: self.base_offset,
            last_offset: self.last_offset,
            content: match self.kind {
                Kind::Plain => data(false),
                Kind::Transactional => data(true),
                Kind::Marker(kind) => {
                    Content::Marker(EndMarker { kind, coordinator_epoch: number, timestamp })
                }
                Kind::Emptied => Content::EmptiedMarker { max_timestamp: timestamp },
            },
            position: self.position,
        }
    }
}

/// Copies of the producers that an append of several batches changes.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) producers: Vec<StagedProducer>,
    /// Where in `producers` each one is.
    by_id: HashMap<i64, usize, FixedState>,
    /// How many of them are new.
    pub(super) new: usize,
    /// How many more of the others have a transaction open than before.
    pub(super) open: isize,
    pub(super) started: Vec<OngoingTransaction>,
    pub(super) completed: Vec<CompletedTransaction>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct StagedProducer {
    pub(super) id: i64,
    pub(super) slot: Option<u32>,
    pub(super) entry: ProducerEntry,
    /// The verification that ends.
    pub(super) verified: Option<Guard>,
}

/// How many places of a list a [`Stage`] keeps for the next append.
const KEPT: usize = 1024;

impl Append {
    /// Presents the guard of the verification that the append waited for.
    pub const fn with_guard(mut self, guard: Option<Guard>) -> Self {
        self.guard = guard;
        self
    }

    /// Tells at which level its markers were written. From the coordinator it must be told; what is
    /// replicated or read back goes without.
    pub const fn with_transaction_version(mut self, version: TransactionVersion) -> Self {
        self.transaction_version = Some(version);
        self
    }

    /// Who appends.
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// The offset after the last batch that was accepted; `None` if none was.
    pub const fn end_offset(&self) -> Option<i64> {
        if self.end_offset < 0 { None } else { Some(self.end_offset) }
    }

    /// Copies of the producers that it changes, if it has more than one batch.
    pub(super) fn stage(&self) -> Option<&Stage> {
        match &self.staged {
            Staged::Many(stage) => Some(stage),
            Staged::Nothing | Staged::One(_) => None,
        }
    }
}

impl Stage {
    /// The staged copy of a producer.
    pub(super) fn find(&self, producer_id: i64) -> Option<&StagedProducer> {
        self.producers.get(*self.by_id.get(&producer_id)?)
    }

    /// Applies a batch to the copy of its producer, whose entry is `committed`.
    pub(super) fn push(&mut self, step: &Step, committed: &ProducerEntry) {
        let (id, batch, slot, verified) =
            (step.producer_id, step.batch(), step.slot(), step.verified);
        let at = *self.by_id.entry(id).or_insert_with(|| {
            self.producers.push(StagedProducer { id, slot, entry: *committed, verified: None });
            self.new += usize::from(slot.is_none());
            self.producers.len() - 1
        });
        let Some(producer) = self.producers.get_mut(at) else {
            return;
        };
        producer.verified = verified.or(producer.verified);
        producer.entry.restage(&batch, committed);
        let is_known = isize::from(producer.slot.is_some());
        match producer.entry.apply(&batch) {
            TransactionChange::Unchanged => {}
            TransactionChange::Started => {
                self.open += is_known;
                self.started.push(started(&batch));
            }
            TransactionChange::Completed(completed) => {
                self.open -= is_known;
                self.completed.push(completed);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.producers.clear();
        self.producers.shrink_to(KEPT);
        self.by_id.clear();
        self.by_id.shrink_to(KEPT);
        (self.new, self.open) = (0, 0);
        self.started.clear();
        self.started.shrink_to(KEPT);
        self.completed.clear();
        self.completed.shrink_to(KEPT);
    }
}

/// The transaction that starts with this batch.
pub(super) const fn started(batch: &Batch) -> OngoingTransaction {
    OngoingTransaction {
        first_offset: batch.base_offset,
        producer_id: batch.producer_id,
        position: batch.position,
    }
}
