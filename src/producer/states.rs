//! The producers of one partition log.

use alloc::boxed::Box;
use core::mem;

use tracing::debug;

use super::append::{Append, Stage, Staged, Step, started};
use super::batch::{Batch, Origin};
use super::config::{ExpiryTime, ProducerConfig};
use super::entry::{ProducerEntry, TransactionChange};
use super::error::{AppendError, CommitError};
use super::judgement::{Circumstances, Verdict, judge};
use super::snapshots::Snapshots;
use super::table::{NEVER, ProducerTable};
use super::transaction::Transactions;
use super::verification::{
    Asked, EpochBump, Guard, Verification, VerificationError, Verifications,
};
use crate::time::Timestamp;

/// What a partition's log knows of its producers: Kafka's `ProducerStateManager`.
///
/// See the [module](super) for how an append goes, and for its invariants.
#[derive(Debug)]
pub struct ProducerStates {
    pub(super) config: ProducerConfig,
    pub(super) table: ProducerTable,
    pub(super) transactions: Transactions,
    pub(super) verifications: Verifications,
    pub(super) snapshots: Snapshots,
    /// The end of the log prefix that this state covers, while no ended transaction waits to be
    /// confirmed; else where it will be after that.
    pub(super) end_offset: i64,
    /// What `map_end_offset` is while an ended transaction waits to be confirmed.
    pub(super) confirmed_end_offset: i64,
    /// Counts changes of producers, by which appends are found to be out of date.
    pub(super) revision: u64,
    spare: Option<Box<Stage>>,
}

impl ProducerStates {
    /// The state of an empty log that knows of no snapshots.
    pub fn new(config: ProducerConfig) -> Self {
        Self {
            table: ProducerTable::new(config.hash_seed),
            transactions: Transactions::new(),
            verifications: Verifications::new(config.first_guard, config.hash_seed),
            snapshots: Snapshots::new(),
            end_offset: 0,
            confirmed_end_offset: 0,
            revision: 0,
            spare: None,
            config,
        }
    }

    /// How the producers are kept.
    pub const fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// Keeps them otherwise from now on. What is there stays: a lower limit or a shorter expiration
    /// takes effect with the next new producer, expiry or load. Guards, and with them the first one,
    /// go on, and so does the hash seed.
    pub fn reconfigure(&mut self, config: ProducerConfig) {
        self.config = config;
    }

    /// Begins an append. O(1).
    #[inline]
    pub const fn begin(&self, origin: Origin) -> Append {
        Append {
            origin,
            guard: None,
            transaction_version: None,
            revision: self.revision,
            end_offset: -1,
            staged: Staged::Nothing,
        }
    }

    /// Decides on the next batch of an append, given what was pushed before. O(1).
    ///
    /// A batch that is refused or a duplicate leaves the append as it was. Whoever wants all batches
    /// or none drops the append then, as Kafka does.
    ///
    /// Deviation: each batch is judged by what the batches before it left behind. Kafka looks in part
    /// at the state before the append, and would take a client's gap or duplicate inside of one; its
    /// broker allows clients one batch only.
    ///
    /// # Errors
    /// [`AppendError`].
    #[inline]
    pub fn push(&mut self, append: &mut Append, batch: &Batch) -> Result<Verdict, AppendError> {
        if append.revision != self.revision {
            return Err(AppendError::Superseded);
        }
        if batch.base_offset < append.end_offset {
            let &Batch { base_offset, last_offset, .. } = batch;
            return Err(AppendError::Offsets { base_offset, last_offset });
        }
        if !matches!(append.staged, Staged::Nothing) {
            return self.push_next(append, batch);
        }
        let slot = self.table.find(batch.producer_id);
        let verification = self.verifications.get(batch.producer_id);
        let verdict = self.judge(append, batch, self.entry(slot), verification, slot.is_none())?;
        match verdict {
            Verdict::Duplicate(_) => return Ok(verdict),
            Verdict::NoProducer => {}
            Verdict::New => {
                let ends = verification.filter(|it| !it.outlives(batch));
                let step = Step::new(batch, slot, ends.map(Verification::guard));
                append.staged = Staged::One(step);
            }
        }
        append.end_offset = batch.last_offset + 1;
        Ok(verdict)
    }

    #[inline]
    pub(super) fn entry(&self, slot: Option<u32>) -> &ProducerEntry {
        slot.and_then(|slot| self.table.entry(slot)).unwrap_or(&ProducerEntry::UNKNOWN)
    }

    /// Decides on a batch that is not the first of its append.
    #[inline(never)]
    fn push_next(&mut self, append: &mut Append, batch: &Batch) -> Result<Verdict, AppendError> {
        if let Staged::One(step) = append.staged {
            let mut stage = self.spare.take().unwrap_or_default();
            stage.push(&step, self.entry(step.slot()));
            append.staged = Staged::Many(stage);
        }
        let slot = self.table.find(batch.producer_id);
        let mut verification = self.verifications.get(batch.producer_id);
        let staged = append.stage().and_then(|stage| stage.find(batch.producer_id)).copied();
        let verdict = if let Some(staged) = &staged {
            verification = verification.filter(|it| staged.verified != Some(it.guard()));
            self.judge(append, batch, &staged.entry, verification, false)?
        } else {
            self.judge(append, batch, self.entry(slot), verification, slot.is_none())?
        };
        match verdict {
            Verdict::Duplicate(_) => return Ok(verdict),
            Verdict::NoProducer => {}
            Verdict::New => {
                let ends = verification.filter(|it| !it.outlives(batch));
                let step = Step::new(batch, slot, ends.map(Verification::guard));
                if let Staged::Many(stage) = &mut append.staged {
                    stage.push(&step, self.entry(slot));
                }
            }
        }
        append.end_offset = batch.last_offset + 1;
        Ok(verdict)
    }

    #[inline]
    fn judge(
        &self,
        append: &Append,
        batch: &Batch,
        entry: &ProducerEntry,
        verification: Option<&Verification>,
        is_new: bool,
    ) -> Result<Verdict, AppendError> {
        let circumstances = Circumstances {
            origin: append.origin,
            guard: append.guard,
            transaction_version: append.transaction_version,
            verification,
            verify: self.config.verify,
            first_sequence: self.config.first_sequence,
        };
        let verdict = judge(entry, batch, &circumstances)?;
        if verdict == Verdict::New {
            let starts = entry.current_transaction().is_none()
                && batch.is_transactional()
                && !batch.is_marker();
            if starts && self.transactions.contains(batch.base_offset) {
                return Err(AppendError::TransactionOffset { first_offset: batch.base_offset });
            }
            if is_new && append.origin != Origin::Replication {
                self.check_room(append)?;
            }
        }
        Ok(verdict)
    }

    /// Whether another new producer finds room, or one that may be forgotten for it.
    fn check_room(&self, append: &Append) -> Result<(), AppendError> {
        let (new, open) = append.stage().map_or((0, 0), |stage| (stage.new, stage.open));
        let (producers, max) = (self.table.len(), self.config.producers_max);
        let open = self.transactions.ongoing_count().saturating_add_signed(open);
        if producers + new >= max as usize && open + new >= max as usize {
            return Err(AppendError::TooManyProducers { producers, max });
        }
        Ok(())
    }

    /// Whether an append can still be committed: the producers are as they were when it was begun.
    pub const fn is_current(&self, append: &Append) -> bool {
        append.revision == self.revision
    }

    /// Follows an append whose batches the log has written. `now` is of meaning with
    /// [`ExpiryTime::Append`]. O(1) a batch; allocates nothing for one batch of a known producer.
    ///
    /// Transactions that it ended wait in [`next_completed`](Self::next_completed) to be confirmed.
    ///
    /// # Errors
    /// [`CommitError`] if the producers changed since the append was begun.
    pub fn commit(&mut self, mut append: Append, now: Timestamp) -> Result<(), CommitError> {
        if append.revision != self.revision {
            return Err(CommitError);
        }
        match &append.staged {
            Staged::Nothing => {}
            Staged::One(step) => {
                self.commit_one(step, now)?;
                self.revision += 1;
            }
            Staged::Many(_) => {
                if let Staged::Many(stage) = mem::replace(&mut append.staged, Staged::Nothing) {
                    self.commit_many(stage, now)?;
                }
                self.revision += 1;
            }
        }
        if append.end_offset >= 0 {
            self.end_offset = append.end_offset;
        }
        self.settle();
        Ok(())
    }

    #[inline]
    fn commit_one(&mut self, step: &Step, now: Timestamp) -> Result<(), CommitError> {
        let batch = &step.batch();
        let change = if let Some(slot) = step.slot() {
            let is_its = self.table.id(slot) == Some(batch.producer_id);
            let place = self.table.slot_mut(slot).filter(|_| is_its);
            let (entry, stamp) = place.ok_or(CommitError)?;
            let change = entry.apply(batch);
            *stamp = stamp_of(&self.config, entry, now);
            change
        } else {
            if self.excess(1) > 0 {
                if self.table.find(batch.producer_id).is_some() {
                    return Err(CommitError);
                }
                self.make_room(1);
            }
            let mut entry = ProducerEntry::UNKNOWN;
            let change = entry.apply(batch);
            let stamp = stamp_of(&self.config, &entry, now);
            if !self.table.insert(batch.producer_id, &entry, stamp) {
                return Err(CommitError);
            }
            change
        };
        match change {
            TransactionChange::Unchanged => {}
            TransactionChange::Started => self.transactions.start(started(batch)),
            TransactionChange::Completed(completed) => self.transactions.end(completed),
        }
        if let Some(guard) = step.verified {
            self.verifications.remove_guarded(batch.producer_id, guard);
        }
        Ok(())
    }

    fn commit_many(&mut self, mut stage: Box<Stage>, now: Timestamp) -> Result<(), CommitError> {
        let is_ours = stage.producers.iter().all(|staged| match staged.slot {
            Some(slot) => self.table.id(slot) == Some(staged.id),
            None => self.table.find(staged.id).is_none(),
        });
        if !is_ours {
            return Err(CommitError);
        }
        for staged in &stage.producers {
            if let Some((entry, stamp)) = staged.slot.and_then(|slot| self.table.slot_mut(slot)) {
                *entry = staged.entry;
                *stamp = stamp_of(&self.config, entry, now);
            }
        }
        // Only now may slots move.
        self.make_room(stage.new);
        for staged in &stage.producers {
            if staged.slot.is_none() {
                let stamp = stamp_of(&self.config, &staged.entry, now);
                self.table.insert(staged.id, &staged.entry, stamp);
            }
            if let Some(guard) = staged.verified {
                self.verifications.remove_guarded(staged.id, guard);
            }
        }
        for transaction in stage.started.drain(..) {
            self.transactions.start(transaction);
        }
        for completed in stage.completed.drain(..) {
            self.transactions.end(completed);
        }
        stage.clear();
        self.spare = Some(stage);
        Ok(())
    }

    /// Moves the end of what is covered on, unless an ended transaction waits to be confirmed.
    #[inline]
    pub(super) fn settle(&mut self) {
        if !self.transactions.has_ended() {
            self.confirmed_end_offset = self.end_offset;
        }
    }

    /// Starts the verification of a transaction with its coordinator, or joins one that is pending:
    /// on the leader, before a batch is appended that may start a transaction here. O(1).
    ///
    /// Answers the guard to present with the append once the coordinator has agreed; `None` if there
    /// is nothing to verify, as the transaction is open here.
    ///
    /// `sequence` is the batch's first; -1 for commits of offsets.
    ///
    /// Deviation: sequences are compared around their wrap, and another client version than before
    /// makes a new verification with a new guard; Kafka compares plain integers, and goes on by the
    /// rules of the first request.
    ///
    /// # Errors
    /// [`VerificationError`].
    pub fn start_verification(
        &mut self,
        producer_id: i64,
        sequence: i32,
        epoch: i16,
        epoch_bump: EpochBump,
        now: Timestamp,
    ) -> Result<Option<Guard>, VerificationError> {
        if producer_id < 0 {
            return Ok(None);
        }
        let asked = Asked { producer_id, sequence, epoch, epoch_bump };
        let entry = self.table.get(producer_id).unwrap_or(&ProducerEntry::UNKNOWN);
        let started = self.verifications.start(entry, asked, self.config.producers_max, now);
        if let Err(error) = &started {
            debug!(producer_id, %error, "verification refused");
        }
        started
    }

    /// The pending verification of a producer.
    pub fn verification(&self, producer_id: i64) -> Option<&Verification> {
        self.verifications.get(producer_id)
    }

    /// All pending verifications, in no particular order.
    pub fn verifications(&self) -> impl Iterator<Item = (i64, &Verification)> {
        self.verifications.iter()
    }

    /// Gives a verification up that the coordinator refused for good; answers whether it was the
    /// pending one.
    ///
    /// Kafka keeps it, and with it the sequence that was asked for: a late copy of an old batch then
    /// blocks the producer's next transaction. Whoever wants Kafka's answers to the letter does not
    /// call it.
    pub fn abandon_verification(&mut self, producer_id: i64, guard: Guard) -> bool {
        self.verifications.remove_guarded(producer_id, guard)
    }

    /// Removes the pending verification of a producer, whatever its guard.
    pub fn clear_verification(&mut self, producer_id: i64) {
        self.verifications.remove(producer_id);
    }

    /// Removes all pending verifications: when this broker stops to lead the partition. Truncating and
    /// loading keep them, as in Kafka.
    pub fn clear_verifications(&mut self) {
        self.verifications.clear();
    }

    /// Whether a transaction of that producer and epoch is open. O(1).
    pub fn has_ongoing_transaction(&self, producer_id: i64, epoch: i16) -> bool {
        self.table.get(producer_id).is_some_and(|entry| entry.is_in_transaction(epoch))
    }

    /// What is known of a producer. O(1).
    pub fn producer(&self, producer_id: i64) -> Option<&ProducerEntry> {
        self.table.get(producer_id)
    }

    /// How many producers are known.
    pub const fn producer_count(&self) -> usize {
        self.table.len()
    }

    /// All producers by ascending id, overdue ones too: what `DescribeProducers` answers. O(n), or
    /// O(n log n) if they did not come in that order.
    pub fn producers(&self) -> impl Iterator<Item = (i64, &ProducerEntry)> {
        let slots = self.table.sorted().into_iter();
        slots.filter_map(|slot| Some((self.table.id(slot)?, self.table.entry(slot)?)))
    }

    /// Whether there are neither producers nor transactions that are not replicated.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0 && !self.transactions.has_unreplicated()
    }

    /// The end, exclusive, of the log prefix that this state covers.
    pub const fn map_end_offset(&self) -> i64 {
        self.confirmed_end_offset
    }

    /// Says that this state covers the log up to `offset`, exclusive, because nothing between
    /// concerns a producer: before a snapshot when a segment is rolled, to its base offset.
    pub fn set_map_end_offset(&mut self, offset: i64) {
        self.end_offset = offset;
        self.settle();
    }
}

/// The stamp that expiry goes by.
#[inline]
pub(super) fn stamp_of(config: &ProducerConfig, entry: &ProducerEntry, now: Timestamp) -> i64 {
    if entry.current_transaction().is_some() {
        return NEVER;
    }
    let stamp = match config.expiry_time {
        ExpiryTime::Record => entry.last_timestamp(),
        ExpiryTime::Append => now,
    };
    stamp.as_millis().min(NEVER - 1)
}
