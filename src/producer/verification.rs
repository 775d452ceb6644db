//! Verification of transactions with their coordinator (KIP-890): what is pending, and the guards
//! that tie an append to the verification it waited for.

use core::cmp::Ordering;
use core::num::NonZeroU64;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use thiserror::Error;

use super::batch::Batch;
use super::entry::ProducerEntry;
use super::sequence::compare;
use crate::error_code::ErrorCode;
use crate::time::Timestamp;

/// Ties an append to one verification. No two verifications of a partition have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard(NonZeroU64);

impl Guard {
    /// The guard of that number.
    pub const fn new(number: NonZeroU64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0.get()
    }

    pub(super) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Whether the request that asks for a verification comes from a client of transaction version 2,
/// whose epoch each end of a transaction raises: `Produce` from version 12, `TxnOffsetCommit` from 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "it does or does not")]
pub enum EpochBump {
    /// It does.
    Supported,
    /// It does not.
    Unsupported,
}

/// A transaction of which the coordinator is being asked: Kafka's `VerificationStateEntry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verification {
    created: Timestamp,
    guard: Guard,
    lowest_sequence: i32,
    epoch: i16,
    epoch_bump: EpochBump,
}

impl Verification {
    /// A verification of these values, for hosts that keep it elsewhere.
    pub const fn new(
        guard: Guard,
        sequence: i32,
        epoch: i16,
        epoch_bump: EpochBump,
        created: Timestamp,
    ) -> Self {
        Self { created, guard, lowest_sequence: sequence, epoch, epoch_bump }
    }

    /// When it was first asked for. Asking again does not renew it.
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// What an append must present.
    pub const fn guard(&self) -> Guard {
        self.guard
    }

    /// The lowest sequence that was asked for in this epoch; higher ones wait (KAFKA-14920).
    pub const fn lowest_sequence(&self) -> i32 {
        self.lowest_sequence
    }

    /// The highest epoch that was asked for.
    pub const fn epoch(&self) -> i16 {
        self.epoch
    }

    /// Whether it was asked for by a client of transaction version 2.
    pub const fn supports_epoch_bump(&self) -> bool {
        matches!(self.epoch_bump, EpochBump::Supported)
    }

    /// Follows another request of the same producer.
    pub fn observe(&mut self, sequence: i32, epoch: i16) {
        let is_lower = compare(sequence, self.lowest_sequence) == Ordering::Less;
        if epoch > self.epoch || (epoch == self.epoch && is_lower) {
            self.epoch = epoch;
            self.lowest_sequence = sequence;
        }
    }

    /// Whether it survives this batch, which was accepted: it does if the batch does not belong to a
    /// transaction, or ends the transaction before the one that is verified (KAFKA-18575).
    pub const fn outlives(&self, batch: &Batch) -> bool {
        !batch.is_transactional()
            || (batch.is_marker()
                && self.supports_epoch_bump()
                && batch.producer_epoch == self.epoch)
    }
}

/// Why a verification cannot be started. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerificationError {
    /// The producer was fenced (KAFKA-18042).
    #[error("epoch {epoch} of producer {producer_id} is fenced by {current}")]
    StaleEpoch {
        /// The producer.
        producer_id: i64,
        /// The epoch of the request.
        epoch: i16,
        /// The epoch that the producer is known to have.
        current: i16,
    },
    /// The bound on producers holds for pending verifications too.
    #[error("{max} verifications are pending, as many as may be")]
    TooMany {
        /// The limit.
        max: u32,
    },
}

impl VerificationError {
    /// 47, or at the bound 19, which clients retry.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::StaleEpoch { .. } => ErrorCode::InvalidProducerEpoch,
            Self::TooMany { .. } => ErrorCode::NotEnoughReplicas,
        }
    }
}

/// The pending verifications of a partition.
#[derive(Clone, Debug)]
pub(super) struct Verifications {
    pending: HashMap<i64, Verification, FixedState>,
    next_guard: Guard,
}

/// A request for a verification.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) producer_id: i64,
    pub(super) sequence: i32,
    pub(super) epoch: i16,
    pub(super) epoch_bump: EpochBump,
}

impl Verifications {
    pub(super) fn new(first_guard: Guard, seed: u64) -> Self {
        let pending = HashMap::with_hasher(FixedState::with_seed(seed));
        Self { pending, next_guard: first_guard }
    }

    #[inline]
    pub(super) fn get(&self, producer_id: i64) -> Option<&Verification> {
        // Mostly nothing is pending, and then nothing is hashed.
        if self.pending.is_empty() { None } else { self.pending.get(&producer_id) }
    }

    pub(super) const fn next_guard(&self) -> Guard {
        self.next_guard
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &Verification)> {
        self.pending.iter().map(|(&producer_id, verification)| (producer_id, verification))
    }

    /// Starts or joins a verification of this producer, of which `entry` is known.
    pub(super) fn start(
        &mut self,
        entry: &ProducerEntry,
        asked: Asked,
        max: u32,
        now: Timestamp,
    ) -> Result<Option<Guard>, VerificationError> {
        let Asked { producer_id, sequence, epoch, epoch_bump } = asked;
        if epoch < entry.epoch() {
            let current = entry.epoch();
            return Err(VerificationError::StaleEpoch { producer_id, epoch, current });
        }
        if entry.is_in_transaction(epoch) {
            return Ok(None);
        }
        if let Some(pending) = self.pending.get_mut(&producer_id)
            && (pending.epoch_bump == epoch_bump || epoch < pending.epoch)
        {
            pending.observe(sequence, epoch);
            return Ok(Some(pending.guard));
        }
        if self.pending.len() >= max as usize && !self.pending.contains_key(&producer_id) {
            return Err(VerificationError::TooMany { max });
        }
        let guard = self.next_guard;
        self.next_guard = guard.next();
        let new = Verification::new(guard, sequence, epoch, epoch_bump, now);
        self.pending.insert(producer_id, new);
        Ok(Some(guard))
    }

    /// Enters a verification as it was exported.
    pub(super) fn insert(&mut self, producer_id: i64, verification: Verification) {
        self.pending.insert(producer_id, verification);
    }

    pub(super) fn remove(&mut self, producer_id: i64) {
        self.pending.remove(&producer_id);
    }

    /// Removes the verification that has this guard.
    pub(super) fn remove_guarded(&mut self, producer_id: i64, guard: Guard) -> bool {
        let has_it = self.get(producer_id).is_some_and(|pending| pending.guard == guard);
        if has_it {
            self.pending.remove(&producer_id);
        }
        has_it
    }

    /// Removes those that are at least this old.
    pub(super) fn expire(&mut self, age_ms: i64, now: Timestamp) {
        let now = now.as_millis();
        self.pending.retain(|_, it| now.saturating_sub(it.created.as_millis()) < age_ms);
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }
}
