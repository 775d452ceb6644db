//! What the cluster's metadata log is in Kafka: which topics there are, and which producer ids were given out.

use super::{DataDir, Journal};
use kafka_coordination::TopicId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// How many producer ids are set aside at once. Those that are left when the process ends are never given out.
const BLOCK: i64 = 1_000;

/// A topic, without its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredTopic {
    pub(crate) name: String,
    pub(crate) partitions: usize,
}

/// The metadata as it is stored.
#[derive(Debug)]
pub(super) struct Metadata {
    journal: Journal,
    cluster_id: String,
    topics: BTreeMap<TopicId, StoredTopic>,
    /// The first producer id that is not set aside.
    producer_ids: i64,
}

impl Metadata {
    /// Reads what is stored. A cluster that is new gets this id.
    pub(super) fn open(directory: &DataDir, cluster_id: String) -> io::Result<Self> {
        let (journal, records) = directory.journal("metadata")?;
        let mut metadata = Self { journal, cluster_id, topics: BTreeMap::new(), producer_ids: 0 };
        for record in &records {
            metadata.replay(record).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("no metadata: {record}"))
            })?;
        }
        let stored = directory.topics()?;
        if records.is_empty() && !stored.is_empty() {
            let text = "there are logs, but no metadata of them";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        // The process may have ended between the record of a deletion and the deletion.
        for topic in stored.into_iter().filter(|id| !metadata.topics.contains_key(id)) {
            directory.delete_topic(topic)?;
        }
        metadata.rewrite()?;
        Ok(metadata)
    }

    pub(super) fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = (TopicId, &StoredTopic)> {
        self.topics.iter().map(|(id, topic)| (*id, topic))
    }

    /// Stores a topic, or how many partitions it has from now on.
    pub(super) fn put_topic(&mut self, id: TopicId, topic: StoredTopic) -> io::Result<()> {
        self.journal.append(&topic_record(id, &topic))?;
        self.topics.insert(id, topic);
        self.shorten();
        Ok(())
    }

    /// Stores that a topic is no more. Its logs are to be deleted next.
    pub(super) fn delete_topic(&mut self, id: TopicId) -> io::Result<()> {
        self.journal.append(&json!({ "deleted_topic": id.to_string() }))?;
        self.topics.remove(&id);
        self.shorten();
        Ok(())
    }

    /// Sets producer ids aside that were never given out.
    pub(super) fn take_producer_ids(&mut self) -> io::Result<Range<i64>> {
        let first = self.producer_ids;
        self.journal.append(&producer_ids_record(first + BLOCK))?;
        self.producer_ids = first + BLOCK;
        self.shorten();
        Ok(first..first + BLOCK)
    }

    fn shorten(&mut self) {
        if self.journal.is_long() {
            // If it fails, the journal only stays longer than it need be.
            let _ = self.rewrite();
        }
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let head =
            [json!({ "cluster_id": self.cluster_id }), producer_ids_record(self.producer_ids)];
        let topics = self.topics.iter().map(|(id, topic)| topic_record(*id, topic));
        self.journal.rewrite(head.into_iter().chain(topics))
    }

    fn replay(&mut self, record: &Value) -> Option<()> {
        if let Some(id) = record.get("cluster_id") {
            id.as_str()?.clone_into(&mut self.cluster_id);
        } else if let Some(next) = record.get("producer_ids") {
            self.producer_ids = next.as_i64()?;
        } else if let Some(id) = record.get("topic") {
            let topic = StoredTopic {
                name: record.get("name")?.as_str()?.to_owned(),
                partitions: record.get("partitions")?.as_u64()?.try_into().ok()?,
            };
            self.topics.insert(id.as_str()?.parse().ok()?, topic);
        } else {
            let id = record.get("deleted_topic")?.as_str()?.parse().ok()?;
            self.topics.remove(&id);
        }
        Some(())
    }
}

fn topic_record(id: TopicId, topic: &StoredTopic) -> Value {
    json!({ "topic": id.to_string(), "name": topic.name, "partitions": topic.partitions })
}

fn producer_ids_record(next: i64) -> Value {
    json!({ "producer_ids": next })
}
