//! What outlives the process: files below `--data-dir`.
//!
//! ```text
//! lock                                  held by the broker that runs
//! metadata.journal                      the cluster's id, topics, and producer ids that were given out
//! transactions.journal                  what the transaction coordinator knows
//! topics/ID/PARTITION/                  a log, in files with Kafka's names and bytes:
//!   00000000000000000000.log              record batches from that offset on
//!   00000000000000000000.txnindex         aborted transactions whose markers are among them
//!   00000000000000000100.snapshot         the producers, as of that offset
//! ```
//!
//! The directory of a topic has its id for a name, because names return. Every change is in the operating system's hands
//! before it is answered, so that it outlives the process; a power failure is another matter, for nothing is forced to
//! the disk. So a write takes microseconds, and is made where it is due, under the lock of what it changes. A log that is
//! written to keeps one file open.

mod directory;
mod journal;
mod metadata;
#[cfg(test)]
mod tests;

use crate::broker::lock;
use crate::log::{Log, LogConfig, Recovered};
use crate::stats::Recovery;
use crate::topics::{Topic, Topics};
use crate::transactions::Coordinator;
use directory::DataDir;
pub(crate) use journal::Journal;
use kafka_coordination::{Timestamp, TopicId, TopicName};
use metadata::Metadata;
pub(crate) use metadata::StoredTopic;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Everything that is stored.
#[derive(Debug)]
pub(crate) struct Store {
    directory: DataDir,
    metadata: Mutex<Metadata>,
}

impl Store {
    /// Opens the store, of which no other process may be using the directory. A cluster that is new gets this id.
    pub(crate) fn open(root: &Path, cluster_id: String) -> io::Result<Self> {
        let directory = DataDir::open(root)?;
        let metadata = Mutex::new(Metadata::open(&directory, cluster_id)?);
        Ok(Self { directory, metadata })
    }

    pub(crate) fn cluster_id(&self) -> String {
        lock(&self.metadata).cluster_id().to_owned()
    }

    /// All topics with their logs, as they were.
    pub(crate) fn restore(
        &self,
        config: &LogConfig,
        recovery: &Recovery,
        now: Timestamp,
    ) -> io::Result<Topics> {
        let mut topics = Topics::default();
        for (id, StoredTopic { name, partitions }) in lock(&self.metadata).topics() {
            let logs = self.logs(id, 0..*partitions, config, now, |it| recovery.add(it))?;
            let put = topics.put(Topic { id, name: TopicName::from(name.as_str()), logs });
            put.map_err(|error| io::Error::other(format!("topic {name}: {}", error.name())))?;
        }
        Ok(topics)
    }

    /// Opens logs of a topic, or those that are to be; tells what it took.
    pub(crate) fn logs(
        &self,
        topic: TopicId,
        partitions: Range<usize>,
        config: &LogConfig,
        now: Timestamp,
        mut tell: impl FnMut(Recovered),
    ) -> io::Result<Vec<Arc<Mutex<Log>>>> {
        let open = |partition: usize| {
            let directory = self.directory.partition(topic, partition);
            let (log, recovered) = Log::open(config, directory, now)?;
            tell(recovered);
            Ok(Arc::new(Mutex::new(log)))
        };
        partitions.map(open).collect()
    }

    /// Stores a topic, or how many partitions it has from now on.
    pub(crate) fn put_topic(&self, id: TopicId, topic: StoredTopic) -> io::Result<()> {
        lock(&self.metadata).put_topic(id, topic)
    }

    /// Stores that a topic is no more.
    pub(crate) fn forget_topic(&self, id: TopicId) -> io::Result<()> {
        lock(&self.metadata).delete_topic(id)
    }

    /// Deletes the logs of a topic that was forgotten. What is left of them goes at the next start.
    pub(crate) fn delete_logs(&self, id: TopicId) -> io::Result<()> {
        self.directory.delete_topic(id)
    }

    /// The transaction coordinator as it was.
    pub(crate) fn coordinator(&self) -> io::Result<Coordinator> {
        let (journal, records) = self.directory.journal("transactions")?;
        Coordinator::open(journal, &records)
    }

    /// Producer ids that were never given out.
    pub(crate) fn take_producer_ids(&self) -> io::Result<Range<i64>> {
        lock(&self.metadata).take_producer_ids()
    }
}
