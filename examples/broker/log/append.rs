//! Appending, and how a broker embeds the producer states.
//!
//! 1. `begin` and `push` of the [`ProducerStates`] decide: the batch is new, it was written before, or it must
//!    not be written.
//! 2. The log writes the batch. If that fails, the append is dropped, and nothing has happened.
//! 3. `commit` follows. Transactions that the batch has ended are entered into the index, if they were
//!    aborted, and then confirmed.
//!
//! All under the log's lock: one log appends one batch after the other.

use super::aborted::Aborted;
use super::{LEADER_EPOCH, Log, Stored};
use crate::batch::{Batch, Refusal};
use bytes::Bytes;
use kafka_coordination::producer::{
    EpochBump, Guard, Origin, ProducerStates, TransactionVersion, Verdict,
};
use kafka_coordination::wire::producer::{BatchHeader, RecordBatch};
use kafka_coordination::{ErrorCode, Timestamp};
use std::io;

/// What an append did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    /// The log's start.
    pub(crate) start: i64,
    /// Whether old batches went to make room.
    pub(crate) start_moved: bool,
    /// Whether the batch was there already, so that nothing was written.
    pub(crate) is_duplicate: bool,
}

impl Log {
    /// Appends a batch, and drops the oldest ones while the log is over its retention.
    pub(crate) fn append(
        &mut self,
        batch: Batch,
        origin: Origin,
        guard: Option<Guard>,
        now: Timestamp,
    ) -> Result<Appended, Refusal> {
        if self.is_deleted {
            return Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, "the topic is deleted"));
        }
        let bytes = batch.place(self.end, LEADER_EPOCH);
        let record_batch = RecordBatch::read(&bytes)?;
        let (header, batch) = (*record_batch.header(), record_batch.producer_batch()?);

        // This broker's clients and coordinator are at transaction version 0.
        let append = self.producers.begin(origin).with_guard(guard);
        let mut append = append.with_transaction_version(TransactionVersion::V0);
        match self.producers.push(&mut append, &batch) {
            Ok(Verdict::New | Verdict::NoProducer) => {}
            Ok(Verdict::Duplicate(known)) => {
                return Ok(Appended {
                    base_offset: known.first_offset(),
                    start: self.start,
                    start_moved: false,
                    is_duplicate: true,
                });
            }
            Err(error) => return Err(Refusal::of(error.code(), &error)),
        }

        self.write(&bytes).map_err(|error| storage_error(&error))?;
        self.store(&header, bytes);

        // The lock is held from the decision on, so the producers are as they were.
        self.producers
            .commit(append, now)
            .map_err(|error| Refusal::of(ErrorCode::UnknownServerError, &error))?;
        self.complete_transactions().map_err(|error| storage_error(&error))?;
        // There is one replica, and it has the batch.
        self.producers.on_high_watermark(self.end);

        let start_moved = self.retain();
        if start_moved {
            self.producers.on_log_start(self.start);
        }
        // What cannot be deleted or saved now can be later; until then there is more to read after a restart.
        let _ = self.tidy(start_moved);
        Ok(Appended {
            base_offset: header.base_offset,
            start: self.start,
            start_moved,
            is_duplicate: false,
        })
    }

    pub(super) fn store(&mut self, header: &BatchHeader, bytes: Bytes) {
        let base = self.end;
        self.end = header.last_offset() + 1;
        self.bytes += bytes.len();
        let max_timestamp = header.max_timestamp.as_millis();
        self.batches.push_back(Stored { base, next: self.end, max_timestamp, bytes });
    }

    /// Enters into the index what the last batch has ended, so that readers may pass it.
    pub(super) fn complete_transactions(&mut self) -> io::Result<()> {
        while let Some((completed, last_stable_offset)) = self.producers.next_completed() {
            if let Some(aborted) = Aborted::of(&completed, last_stable_offset) {
                self.files.as_ref().map_or(Ok(()), |files| files.append_aborted(&aborted))?;
                self.aborted.push(aborted);
            }
            self.producers.confirm_completed();
        }
        Ok(())
    }

    /// Starts the verification that this batch's transaction may start here (KIP-890); `None` if it has started already.
    pub(crate) fn start_verification(
        &mut self,
        header: &BatchHeader,
        now: Timestamp,
    ) -> Result<Option<Guard>, Refusal> {
        let &BatchHeader { producer_id, base_sequence, producer_epoch, .. } = header;
        let bump = EpochBump::Unsupported;
        let states = &mut self.producers;
        let started =
            states.start_verification(producer_id, base_sequence, producer_epoch, bump, now);
        started.map_err(|error| Refusal::of(error.code(), &error))
    }

    /// Gives a verification up that the coordinator has refused for good.
    pub(crate) fn abandon_verification(&mut self, producer_id: i64, guard: Guard) {
        self.producers.abandon_verification(producer_id, guard);
    }

    /// What is known of the producers.
    pub(crate) fn producers(&self) -> &ProducerStates {
        &self.producers
    }

    /// Forgets the producers that have reached their age.
    pub(crate) fn expire_producers(&mut self, now: Timestamp) {
        self.producers.expire(now);
    }
}

/// What clients send again.
fn storage_error(error: &io::Error) -> Refusal {
    Refusal::of(ErrorCode::KafkaStorageError, error)
}
