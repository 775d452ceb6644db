//! The transaction coordinator: which producer a transactional id has, which partitions are in its transaction, and how
//! that ends.
//!
//! It is the crate's machine for producers seen from the other side: it gives out the epochs that the machine fences by,
//! answers the verifications that the machine asks for, and appends the markers that end transactions in the machine.
//!
//! This is as much of a coordinator as clients need, of `transaction.version` 0. There is one broker, so it coordinates
//! all transactional ids, and its coordinator epoch never changes.

mod record;
#[cfg(test)]
mod tests;
mod transaction;
mod verify;

use crate::batch::Batch;
use crate::broker::{Broker, lock};
use crate::storage::Journal;
use crate::topics::Topic;
use kafka_coordination::fetch::Change;
use kafka_coordination::producer::{EndMarker, MarkerKind, Origin};
use kafka_coordination::{ErrorCode, TopicId};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
pub(crate) use transaction::Producer;
use transaction::{State, Transaction};
pub(crate) use verify::Request;

/// Kafka's `transaction.max.timeout.ms`.
const MAX_TIMEOUT_MS: i32 = 900_000;
/// The most transactional ids, which clients choose.
const MAX_IDS: usize = 100_000;

const COORDINATOR_EPOCH: i32 = 0;

/// All transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Coordinator(Mutex<Transactions>);

#[derive(Debug, Default)]
struct Transactions {
    by_id: HashMap<String, Transaction>,
    journal: Option<Journal>,
}

impl Coordinator {
    /// A coordinator that remembers what its journal says, and writes on there.
    pub(crate) fn open(journal: Journal, records: &[Value]) -> io::Result<Self> {
        let mut transactions = Transactions { by_id: HashMap::new(), journal: Some(journal) };
        for record in records {
            let (id, transaction) = record::read(record)?;
            transactions.by_id.insert(id, transaction);
        }
        transactions.rewrite()?;
        Ok(Self(Mutex::new(transactions)))
    }

    /// Gives a transactional id its producer, with an epoch that fences those before it. A transaction that one of them
    /// left open is aborted, and the client has to ask again.
    pub(crate) fn init_producer(
        &self,
        broker: &Broker,
        id: &str,
        timeout_ms: i32,
        expected: Option<Producer>,
    ) -> Result<Producer, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        if !(1..=MAX_TIMEOUT_MS).contains(&timeout_ms) {
            return Err(ErrorCode::InvalidTransactionTimeout);
        }
        let mut transactions = lock(&self.0);
        let mut transaction = match transactions.by_id.get(id) {
            Some(known) => known.clone(),
            None if transactions.by_id.len() >= MAX_IDS => return Err(ErrorCode::PolicyViolation),
            None => Transaction::new(broker.new_producer_id()?),
        };
        transaction.check_expected(expected)?;
        match transaction.state {
            State::Ending(_) => Err(ErrorCode::ConcurrentTransactions),
            State::Ongoing => {
                transactions.abort(broker, id)?;
                Err(ErrorCode::ConcurrentTransactions)
            }
            State::Empty | State::Ended(_) => {
                transaction.raise_epoch(expected, || broker.new_producer_id())?;
                transaction.timeout_ms = timeout_ms;
                transaction.state = State::Empty;
                let producer = transaction.producer;
                transactions.put(id, transaction)?;
                Ok(producer)
            }
        }
    }

    /// Adds partitions to the transaction of a producer, which begins with them.
    pub(crate) fn add_partitions(
        &self,
        broker: &Broker,
        id: &str,
        producer: Producer,
        partitions: &[(TopicId, i32)],
    ) -> Result<(), ErrorCode> {
        let mut transactions = lock(&self.0);
        let mut transaction = transactions.find(id)?.clone();
        transaction.check(producer)?;
        if transaction.add(partitions, broker.timestamp())? {
            transactions.put(id, transaction)?;
        }
        Ok(())
    }

    /// Ends the transaction of a producer. Once that is stored it happens, whatever else happens to this process.
    pub(crate) fn end(
        &self,
        broker: &Broker,
        id: &str,
        producer: Producer,
        kind: MarkerKind,
    ) -> Result<(), ErrorCode> {
        let mut transactions = lock(&self.0);
        let mut transaction = transactions.find(id)?.clone();
        transaction.check(producer)?;
        if transaction.decide(kind)? {
            transactions.put(id, transaction)?;
            transactions.complete(broker, id);
        }
        Ok(())
    }

    /// Aborts the transactions that have taken too long, and goes on with those whose markers could not be written: after
    /// a restart, or because the disk had failed.
    pub(crate) fn tend(&self, broker: &Broker) {
        let now = broker.timestamp();
        let mut transactions = lock(&self.0);
        let is_due = |it: &Transaction| it.is_overdue(now) || matches!(it.state, State::Ending(_));
        let due = transactions.by_id.iter().filter(|(_, transaction)| is_due(transaction));
        let due: Vec<_> = due.map(|(id, transaction)| (id.clone(), transaction.state)).collect();
        for (id, state) in due {
            match state {
                State::Ending(_) => transactions.complete(broker, &id),
                // What could not be stored has not happened, and is tried again.
                _ => {
                    let _ = transactions.abort(broker, &id);
                }
            }
        }
    }
}

impl Transactions {
    fn find(&self, id: &str) -> Result<&Transaction, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        self.by_id.get(id).ok_or(ErrorCode::InvalidProducerIdMapping)
    }

    /// Stores a transaction: all of it or, with the error, nothing.
    fn put(&mut self, id: &str, transaction: Transaction) -> Result<(), ErrorCode> {
        if let Some(journal) = &mut self.journal {
            let appended = journal.append(&record::write(id, &transaction));
            appended.map_err(|_| ErrorCode::CoordinatorNotAvailable)?;
        }
        match self.by_id.get_mut(id) {
            Some(known) => *known = transaction,
            None => drop(self.by_id.insert(id.to_owned(), transaction)),
        }
        if self.journal.as_ref().is_some_and(Journal::is_long) {
            // It only stays longer than it need be.
            let _ = self.rewrite();
        }
        Ok(())
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let records = self.by_id.iter().map(|(id, transaction)| record::write(id, transaction));
        self.journal.as_mut().map_or(Ok(()), |journal| journal.rewrite(records))
    }

    /// Aborts a transaction without its producer, which is fenced.
    fn abort(&mut self, broker: &Broker, id: &str) -> Result<(), ErrorCode> {
        let mut transaction = self.find(id)?.clone();
        transaction.fence();
        transaction.decide(MarkerKind::Abort)?;
        self.put(id, transaction)?;
        self.complete(broker, id);
        Ok(())
    }

    /// Writes the markers that are not written yet, and ends the transaction if none is left.
    fn complete(&mut self, broker: &Broker, id: &str) {
        let Some(transaction) = self.by_id.get_mut(id) else { return };
        let State::Ending(kind) = transaction.state else { return };
        let (topics, producer) = (broker.topics(), transaction.producer);
        let timestamp = broker.timestamp();
        let marker = EndMarker { kind, coordinator_epoch: COORDINATOR_EPOCH, timestamp };
        transaction.partitions.retain(|(topic, partition)| {
            // A topic that was deleted needs no marker, and one that is refused will not be taken later.
            topics.by_id(*topic).is_some_and(|topic| {
                let written = write_marker(broker, topic, *partition, producer, marker);
                written == Err(ErrorCode::KafkaStorageError)
            })
        });
        if !transaction.partitions.is_empty() {
            return;
        }
        let ended = Transaction { state: State::Ended(kind), ..transaction.clone() };
        // If this is not stored, the markers are written again, which ends nothing a second time.
        let _ = self.put(id, ended);
    }
}

/// Ends a producer's transaction in one partition.
pub(crate) fn write_marker(
    broker: &Broker,
    topic: &Topic,
    partition: i32,
    producer: Producer,
    marker: EndMarker,
) -> Result<(), ErrorCode> {
    let log = topic.log(partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let batch = Batch::marker(producer.id, producer.epoch, marker);
    let batch = batch.map_err(|_| ErrorCode::UnknownServerError)?;
    let appended = lock(log).append(batch, Origin::Coordinator, None, marker.timestamp);
    let appended = appended.map_err(|refusal| refusal.code)?;
    broker.appended(topic, partition, appended);
    // What readers of committed records may read has moved with the end of the log.
    broker.partition_changed(topic, partition, Change::LastStableOffset);
    Ok(())
}
