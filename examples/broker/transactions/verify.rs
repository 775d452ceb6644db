//! The question whether a transaction may start in a partition (KIP-890), between the machine and the coordinator.
//!
//! 1. Under the log's lock, [`Log::start_verification`] gives a guard, unless the transaction is open there already.
//! 2. Under its own lock, the coordinator says whether the partition is in the transaction.
//! 3. Under the log's lock again, the append presents the guard. If the transaction has ended meanwhile, so has the
//!    verification, and the batch is refused: no transaction starts that nobody ends.

use super::Coordinator;
use super::transaction::Producer;
use crate::batch::{Batch, Refusal};
use crate::broker::{Broker, lock};
use crate::log::{Appended, Log};
use kafka_coordination::producer::Origin;
use kafka_coordination::wire::producer::BatchHeader;
use kafka_coordination::{ErrorCode, TopicId};
use std::sync::Mutex;

/// The first version of Produce whose clients know `TRANSACTION_ABORTABLE`.
const FIRST_WITH_ABORTABLE: i16 = 11;

/// What a produce request says for all of its batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) version: i16,
    pub(crate) transactional_id: Option<&'a str>,
}

impl Coordinator {
    /// Appends a client's batch to the log of this partition, verified if it is of a transaction.
    pub(crate) fn append(
        &self,
        broker: &Broker,
        request: Request<'_>,
        partition: (TopicId, i32),
        log: &Mutex<Log>,
        batch: Batch,
    ) -> Result<Appended, Refusal> {
        let now = broker.timestamp();
        let header = batch.header;
        let mut guard = None;
        if header.is_transactional
            && header.producer_id >= 0
            && let Some(id) = request.transactional_id
        {
            guard = lock(log).start_verification(&header, now)?;
            if let Some(pending) = guard
                && let Err(error) = self.verify(id, &header, partition)
            {
                if !error.is_retriable() {
                    lock(log).abandon_verification(header.producer_id, pending);
                }
                let text = "the coordinator does not know of this transaction here";
                return Err(Refusal::new(told_to_producer(error, request.version), text));
            }
        }
        lock(log).append(batch, Origin::Client, guard, now)
    }

    fn verify(
        &self,
        id: &str,
        header: &BatchHeader,
        partition: (TopicId, i32),
    ) -> Result<(), ErrorCode> {
        let transactions = lock(&self.0);
        let transaction = transactions.find(id)?;
        transaction.check(Producer { id: header.producer_id, epoch: header.producer_epoch })?;
        transaction.verify(partition)
    }
}

/// What a producer is told for the coordinator's answer: codes that clients of its version know how to go on from.
fn told_to_producer(error: ErrorCode, version: i16) -> ErrorCode {
    match error {
        // Retried without asking for the partition's leader again.
        ErrorCode::ConcurrentTransactions => ErrorCode::NotEnoughReplicas,
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionAbortable if version < FIRST_WITH_ABORTABLE => {
            ErrorCode::InvalidTxnState
        }
        other => other,
    }
}
