//! A session that was exported comes back.

use super::entries::{NO_SLOT, Pending, Want};
use super::{FetcherSession, SessionPartition};
use crate::fetch::request::FetchMetadata;
use crate::fetch::request::PartitionRequest;
use crate::topic::{TopicId, TopicName};
use thiserror::Error;

/// Why no session can have the state that it was to be restored to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// No next epoch is below -1, and none is above 0 without a session.
    #[error("the epoch {} cannot follow in the session {}", .next.epoch, .next.session_id)]
    Epoch {
        /// The metadata that was given.
        next: FetchMetadata,
    },
    /// A session holds a partition once.
    #[error("partition {partition} of topic {topic:?} is listed twice")]
    DuplicatePartition {
        /// The topic's name.
        topic: TopicName,
        /// The partition's index.
        partition: i32,
    },
    /// An id stands for one name.
    #[error("topic id {id:?} is named twice")]
    DuplicateTopicId {
        /// The id.
        id: TopicId,
    },
    /// The all-zero id stands for no topic.
    #[error("the all-zero topic id has the name {topic:?}")]
    ZeroTopicId {
        /// The name.
        topic: TopicName,
    },
    /// An id stands for a topic of the session.
    #[error("no partition belongs to topic {topic:?} of topic id {id:?}")]
    UnusedTopicId {
        /// The id.
        id: TopicId,
        /// Its name.
        topic: TopicName,
    },
    /// If any ids have names, then those of all partitions have.
    #[error("topic id {id:?} of partition {partition} of topic {topic:?} has no name")]
    UnnamedTopicId {
        /// The id, or the all-zero id.
        id: TopicId,
        /// The topic's name.
        topic: TopicName,
        /// The partition's index.
        partition: i32,
    },
}

impl FetcherSession {
    /// A session with the state that another one exported: its [`next_metadata`](Self::next_metadata),
    /// [`partitions`](Self::partitions) and [`topic_names`](Self::topic_names). The seed need not be the same.
    ///
    /// O(partitions + ids).
    ///
    /// # Errors
    ///
    /// [`RestoreError`] for the first thing that no session can hold.
    pub fn restore<'a>(
        hash_seed: u64,
        next: FetchMetadata,
        partitions: impl IntoIterator<Item = SessionPartition<'a>>,
        topic_names: impl IntoIterator<Item = (TopicId, &'a TopicName)>,
    ) -> Result<Self, RestoreError> {
        let has_session = next.session_id != FetchMetadata::INVALID_SESSION_ID;
        if next.epoch < FetchMetadata::FINAL_EPOCH || !(next.is_full() || has_session) {
            return Err(RestoreError::Epoch { next });
        }
        let mut session = Self::new(hash_seed);
        session.next = next;
        for partition in partitions {
            session.restore_partition(partition)?;
        }
        session.restore_topic_names(topic_names)?;
        Ok(session)
    }

    fn restore_partition(&mut self, restored: SessionPartition<'_>) -> Result<(), RestoreError> {
        let SessionPartition { id, topic: name, partition, params } = restored;
        let topic = self.topics.intern(name);
        if self.entries.find(topic, partition).is_some() {
            return Err(RestoreError::DuplicatePartition { topic: name.clone(), partition });
        }
        let want = Want::new(id, &PartitionRequest { partition, params });
        self.topics.entry_added(topic);
        self.order.push(self.entries.insert(topic, want, Pending::NOTHING));
        Ok(())
    }

    fn restore_topic_names<'a>(
        &mut self,
        topic_names: impl IntoIterator<Item = (TopicId, &'a TopicName)>,
    ) -> Result<(), RestoreError> {
        let generation = self.next_generation();
        self.known_ids.built(Some(generation));
        let mut has_names = false;
        for (id, name) in topic_names {
            has_names = true;
            if id.is_zero() {
                return Err(RestoreError::ZeroTopicId { topic: name.clone() });
            }
            if self.known_ids.topic(id).is_some() {
                return Err(RestoreError::DuplicateTopicId { id });
            }
            let Some(topic) = self.topics.find(name) else {
                return Err(RestoreError::UnusedTopicId { id, topic: name.clone() });
            };
            self.known_ids.name(id, NO_SLOT, topic, generation);
        }
        self.known_ids.built(has_names.then_some(generation));
        if !has_names {
            return Ok(());
        }
        let unnamed =
            |partition: &SessionPartition<'_>| self.known_ids.topic(partition.id).is_none();
        let Some(partition) = self.partitions().find(unnamed) else { return Ok(()) };
        Err(RestoreError::UnnamedTopicId {
            id: partition.id,
            topic: partition.topic.clone(),
            partition: partition.partition,
        })
    }
}
