//! One transactional id: its producer, and how far its transaction has come. No I/O is here.
//!
//! ```text
//!            add partitions            decided, and stored          all markers written
//!   Empty ───────────────────▶ Ongoing ──────────────────▶ Ending ─────────────────────▶ Ended
//!                                 ▲                                                        │
//!                                 └──────────────────── add partitions ◀───────────────────┘
//! ```

use kafka_coordination::producer::MarkerKind;
use kafka_coordination::{ErrorCode, Timestamp, TopicId};
use std::collections::BTreeSet;

/// No epoch, no producer.
pub(super) const NONE: i16 = -1;
/// From this epoch on a producer needs a new id: the one above is left for fencing it.
const LAST_EPOCH: i16 = i16::MAX - 1;

/// How far a transaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The producer has not begun one.
    Empty,
    Ongoing,
    /// How it ends is decided, and its markers are being written.
    Ending(MarkerKind),
    Ended(MarkerKind),
}

/// A producer as a client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Producer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

/// What is known of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    pub(super) producer: Producer,
    /// The producer before its client asked for the next epoch, or id: asked again, it gets the same answer.
    pub(super) previous: Producer,
    pub(super) timeout_ms: i32,
    pub(super) state: State,
    /// The partitions that are in the transaction and have no marker yet.
    pub(super) partitions: BTreeSet<(TopicId, i32)>,
    /// When the transaction was begun.
    pub(super) started: Timestamp,
}

impl Transaction {
    /// That of a producer that has no epoch yet.
    pub(super) fn new(producer_id: i64) -> Self {
        let nobody = Producer { id: -1, epoch: NONE };
        Self {
            producer: Producer { id: producer_id, epoch: NONE },
            previous: nobody,
            timeout_ms: 0,
            state: State::Empty,
            partitions: BTreeSet::new(),
            started: Timestamp::from_millis(-1),
        }
    }

    /// Whether a request is of the current producer.
    pub(super) fn check(&self, producer: Producer) -> Result<(), ErrorCode> {
        if producer.id != self.producer.id {
            return Err(ErrorCode::InvalidProducerIdMapping);
        }
        if producer.epoch != self.producer.epoch {
            return Err(ErrorCode::ProducerFenced);
        }
        Ok(())
    }

    /// Whether a client that goes on as `expected` may ask for its next epoch.
    pub(super) fn check_expected(&self, expected: Option<Producer>) -> Result<(), ErrorCode> {
        let Some(expected) = expected.filter(|_| self.producer.epoch != NONE) else {
            return Ok(());
        };
        let was_rotated = expected.id == self.previous.id && expected.epoch >= LAST_EPOCH;
        if expected.id == self.producer.id || was_rotated {
            return Ok(());
        }
        Err(ErrorCode::ProducerFenced)
    }

    /// Gives the producer its next epoch, or the id that `new_id` draws if there is none, and fences all others.
    pub(super) fn raise_epoch(
        &mut self,
        expected: Option<Producer>,
        new_id: impl FnOnce() -> Result<i64, ErrorCode>,
    ) -> Result<(), ErrorCode> {
        let current = self.producer;
        let last = match expected {
            None => NONE,
            Some(expected) if current.epoch == NONE || expected.epoch == current.epoch => {
                current.epoch
            }
            // The same question again: its answer was lost.
            Some(expected) if expected.epoch == self.previous.epoch => return Ok(()),
            Some(_) => return Err(ErrorCode::ProducerFenced),
        };
        self.producer = if current.epoch < LAST_EPOCH {
            Producer { epoch: current.epoch + 1, ..current }
        } else {
            Producer { id: new_id()?, epoch: 0 }
        };
        self.previous = Producer { id: current.id, epoch: last };
        Ok(())
    }

    /// Fences the producer, whose transaction is to be aborted without it.
    pub(super) fn fence(&mut self) {
        self.previous.epoch = NONE;
        self.producer.epoch = self.producer.epoch.saturating_add(1);
    }

    /// Adds partitions, and begins the transaction if need be; whether that changes anything.
    pub(super) fn add(
        &mut self,
        partitions: &[(TopicId, i32)],
        now: Timestamp,
    ) -> Result<bool, ErrorCode> {
        match self.state {
            State::Ending(_) => return Err(ErrorCode::ConcurrentTransactions),
            State::Ongoing if partitions.iter().all(|it| self.partitions.contains(it)) => {
                return Ok(false);
            }
            State::Ongoing => {}
            State::Empty | State::Ended(_) => self.started = now,
        }
        self.state = State::Ongoing;
        self.partitions.extend(partitions);
        Ok(true)
    }

    /// Whether a partition is in the transaction, so that it may start there (KIP-890).
    pub(super) fn verify(&self, partition: (TopicId, i32)) -> Result<(), ErrorCode> {
        match self.state {
            State::Ending(_) => Err(ErrorCode::ConcurrentTransactions),
            _ if self.partitions.contains(&partition) => Ok(()),
            _ => Err(ErrorCode::TransactionAbortable),
        }
    }

    /// Decides how the transaction ends; whether that is news.
    pub(super) fn decide(&mut self, kind: MarkerKind) -> Result<bool, ErrorCode> {
        match self.state {
            State::Ongoing => {
                self.state = State::Ending(kind);
                Ok(true)
            }
            State::Ending(decided) if decided == kind => Err(ErrorCode::ConcurrentTransactions),
            State::Ended(decided) if decided == kind => Ok(false),
            _ => Err(ErrorCode::InvalidTxnState),
        }
    }

    /// Whether the transaction has taken longer than its producer said it may.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.state == State::Ongoing && now.millis_since(self.started) > self.timeout_ms.into()
    }
}
