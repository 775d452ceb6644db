//! The exact state, as values that leave and enter.

use alloc::vec::Vec;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use thiserror::Error;

use super::config::{ExpiryTime, ProducerConfig};
use super::entry::ProducerEntry;
use super::states::{ProducerStates, stamp_of};
use super::transaction::{CompletedTransaction, OngoingTransaction, UnreplicatedTransaction};
use super::verification::{Guard, Verification};
use crate::time::Timestamp;

/// All that [`ProducerStates`] hold, beside their configuration: what a snapshot file holds, and
/// what it loses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an exact state has no optional parts")]
pub struct PartitionState {
    /// The producers, by ascending id.
    pub producers: Vec<ProducerState>,
    /// The transactions without marker and those that ended unconfirmed, by first offset.
    pub ongoing: Vec<OngoingTransaction>,
    /// The transactions that ended and are not confirmed, in the order of the log.
    pub unconfirmed: Vec<CompletedTransaction>,
    /// The transactions whose marker is not replicated, by first offset.
    pub unreplicated: Vec<UnreplicatedTransaction>,
    /// The pending verifications, by producer id.
    pub verifications: Vec<(i64, Verification)>,
    /// The guard of the next verification.
    pub next_guard: Guard,
    /// The end, exclusive, of the log prefix that the state covers.
    pub map_end_offset: i64,
    /// The same after all transactions that ended are confirmed.
    pub end_offset: i64,
    /// The offsets of the snapshot files, ascending.
    pub snapshots: Vec<i64>,
    /// The offset of the snapshot that was written or loaded last.
    pub last_snapshot_offset: i64,
}

/// One producer of a [`PartitionState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an exact state has no optional parts")]
pub struct ProducerState {
    /// Its id, 0 and above.
    pub producer_id: i64,
    /// What is known of it.
    pub entry: ProducerEntry,
    /// When it was heard of last, by the time that expiry goes by. With [`ExpiryTime::Record`], and
    /// while a transaction is open, its last timestamp.
    pub heard_of: Timestamp,
}

/// Why a state cannot be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProducerStateError {
    /// A producer has an id or epoch below the legal ones.
    #[error("producer {producer_id} has epoch {epoch}")]
    Producer {
        /// Its id.
        producer_id: i64,
        /// Its epoch.
        epoch: i16,
    },
    /// Two producers have one id.
    #[error("producer {producer_id} occurs twice")]
    DuplicateProducer {
        /// The id.
        producer_id: i64,
    },
    /// A batch of a producer is not possible.
    #[error("producer {producer_id} has no possible batch that ends at {last_offset}")]
    Batch {
        /// The producer.
        producer_id: i64,
        /// The batch's last offset.
        last_offset: i64,
    },
    /// A transaction is not that of its producer, or starts where another does, or has no offset
    /// that a log has.
    #[error("the transaction at offset {first_offset} of producer {producer_id} is not possible")]
    Transaction {
        /// The producer.
        producer_id: i64,
        /// Where the transaction starts.
        first_offset: i64,
    },
    /// A verification is of no producer, its guard is still to be given, or another has it too.
    #[error("the verification of producer {producer_id} with guard {guard} is not possible")]
    Verification {
        /// The producer.
        producer_id: i64,
        /// The guard's number.
        guard: u64,
    },
    /// An offset is negative, or the covered prefix ends elsewhere than unconfirmed transactions
    /// allow.
    #[error("offset {offset} is not possible")]
    Offset {
        /// The offset.
        offset: i64,
    },
}

impl ProducerStates {
    /// The exact state. O(n), sorting aside.
    pub fn export(&self) -> PartitionState {
        let by_append = self.config.expiry_time == ExpiryTime::Append;
        let slots = self.table.sorted().into_iter();
        let producers = slots.filter_map(|slot| {
            let (producer_id, entry) = (self.table.id(slot)?, *self.table.entry(slot)?);
            let is_open = entry.current_transaction().is_some();
            let stamp = self.table.stamp(slot).filter(|_| by_append && !is_open);
            let heard_of = stamp.map_or_else(|| entry.last_timestamp(), Timestamp::from_millis);
            Some(ProducerState { producer_id, entry, heard_of })
        });
        let mut verifications: Vec<_> = { self.verifications.iter() }
            .map(|(producer_id, verification)| (producer_id, *verification))
            .collect();
        verifications.sort_unstable_by_key(|(producer_id, _)| *producer_id);
        PartitionState {
            producers: producers.collect(),
            ongoing: self.transactions.ongoing().copied().collect(),
            unconfirmed: self.transactions.ended().copied().collect(),
            unreplicated: self.transactions.unreplicated().copied().collect(),
            verifications,
            next_guard: self.verifications.next_guard(),
            map_end_offset: self.confirmed_end_offset,
            end_offset: self.end_offset,
            snapshots: self.snapshots.iter().collect(),
            last_snapshot_offset: self.snapshots.last_taken(),
        }
    }

    /// Enters an exact state. O(n). The configuration's first guard is not used.
    ///
    /// # Errors
    /// [`ProducerStateError`], for each invariant that the state breaks.
    pub fn import(
        config: ProducerConfig,
        state: &PartitionState,
    ) -> Result<Self, ProducerStateError> {
        state.check()?;
        let mut states = Self::new(config.with_first_guard(state.next_guard));
        for &ProducerState { producer_id, entry, heard_of } in &state.producers {
            let stamp = stamp_of(&states.config, &entry, heard_of);
            states.table.insert(producer_id, &entry, stamp);
        }
        for &transaction in &state.ongoing {
            states.transactions.start(transaction);
        }
        for &completed in &state.unconfirmed {
            states.transactions.end(completed);
        }
        // By marker, as they came.
        let mut unreplicated = state.unreplicated.clone();
        unreplicated.sort_by_key(|transaction| transaction.last_offset);
        for transaction in unreplicated {
            states.transactions.add_unreplicated(transaction);
        }
        for &(producer_id, verification) in &state.verifications {
            states.verifications.insert(producer_id, verification);
        }
        states.end_offset = state.end_offset;
        states.confirmed_end_offset = state.map_end_offset;
        states.snapshots.list(state.snapshots.iter().copied());
        states.snapshots.set_last(state.last_snapshot_offset);
        Ok(states)
    }
}

impl PartitionState {
    fn check(&self) -> Result<(), ProducerStateError> {
        self.check_producers()?;
        self.check_transactions()?;
        self.check_verifications()?;
        let offsets = [self.map_end_offset, self.end_offset, self.last_snapshot_offset];
        let negative = offsets.iter().chain(&self.snapshots).find(|&&offset| offset < 0);
        if let Some(&offset) = negative {
            return Err(ProducerStateError::Offset { offset });
        }
        if self.unconfirmed.is_empty() && self.map_end_offset != self.end_offset {
            return Err(ProducerStateError::Offset { offset: self.map_end_offset });
        }
        Ok(())
    }

    fn check_producers(&self) -> Result<(), ProducerStateError> {
        let mut ids = set(self.producers.len());
        for &ProducerState { producer_id, entry, .. } in &self.producers {
            let epoch = entry.epoch();
            if producer_id < 0 || epoch < -1 {
                return Err(ProducerStateError::Producer { producer_id, epoch });
            }
            if !ids.insert(producer_id) {
                return Err(ProducerStateError::DuplicateProducer { producer_id });
            }
            for batch in entry.window().iter() {
                let last_offset = batch.last_offset;
                let is_legal = batch.last_sequence >= -1
                    && (0..=last_offset).contains(&i64::from(batch.offset_delta));
                if !is_legal {
                    return Err(ProducerStateError::Batch { producer_id, last_offset });
                }
            }
        }
        Ok(())
    }

    fn check_transactions(&self) -> Result<(), ProducerStateError> {
        let mut owners =
            HashMap::with_capacity_and_hasher(self.ongoing.len(), FixedState::default());
        for &OngoingTransaction { first_offset, producer_id, .. } in &self.ongoing {
            if first_offset < 0 || owners.insert(first_offset, producer_id).is_some() {
                return Err(ProducerStateError::Transaction { producer_id, first_offset });
            }
        }
        let mut accounted = set(self.ongoing.len());
        let mut account = |producer_id: i64, first_offset: i64| {
            let is_its = owners.get(&first_offset) == Some(&producer_id);
            if is_its && accounted.insert(first_offset) {
                return Ok(());
            }
            Err(ProducerStateError::Transaction { producer_id, first_offset })
        };
        for producer in &self.producers {
            if let Some(first_offset) = producer.entry.current_transaction() {
                account(producer.producer_id, first_offset)?;
            }
        }
        for ended in &self.unconfirmed {
            let &CompletedTransaction { producer_id, first_offset, last_offset, .. } = ended;
            account(producer_id, first_offset)?;
            check_span(producer_id, first_offset, last_offset)?;
        }
        let orphan = { self.ongoing.iter() }.find(|it| !accounted.contains(&it.first_offset));
        if let Some(&OngoingTransaction { first_offset, producer_id, .. }) = orphan {
            return Err(ProducerStateError::Transaction { producer_id, first_offset });
        }
        let mut starts = set(self.unreplicated.len());
        for it in &self.unreplicated {
            let &UnreplicatedTransaction { first_offset, producer_id, last_offset, .. } = it;
            check_span(producer_id, first_offset, last_offset)?;
            if owners.contains_key(&first_offset) || !starts.insert(first_offset) {
                return Err(ProducerStateError::Transaction { producer_id, first_offset });
            }
        }
        Ok(())
    }

    fn check_verifications(&self) -> Result<(), ProducerStateError> {
        let (mut ids, mut guards) = (set(0), set(0));
        for &(producer_id, verification) in &self.verifications {
            let guard = verification.guard();
            let number = guard.number();
            let is_legal = producer_id >= 0
                && number < self.next_guard.number()
                && ids.insert(producer_id)
                && guards.insert(number.cast_signed());
            if !is_legal {
                return Err(ProducerStateError::Verification { producer_id, guard: number });
            }
        }
        Ok(())
    }
}

const fn check_span(
    producer_id: i64,
    first_offset: i64,
    last_offset: i64,
) -> Result<(), ProducerStateError> {
    if first_offset >= 0 && last_offset >= 0 && last_offset < i64::MAX {
        return Ok(());
    }
    Err(ProducerStateError::Transaction { producer_id, first_offset })
}

fn set(capacity: usize) -> HashSet<i64, FixedState> {
    HashSet::with_capacity_and_hasher(capacity, FixedState::default())
}
