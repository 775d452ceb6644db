//! The topics of the broker: the crate's image of the cluster, and the logs of what the image names.
//!
//! A [`Topics`] is one state of both. A request takes the current one, which costs no copy, and sees nothing of later
//! changes, so that all its decisions rest on one image.

use crate::broker::NODE_ID;
use crate::log::Log;
use kafka_coordination::metadata::{
    ClusterImage, ImageChanges, ImageDelta, ImageError, MetadataImage, TopicNames, TopicView,
};
use kafka_coordination::{ErrorCode, TopicId, TopicName};
use rpds::HashTrieMapSync;
use std::sync::{Arc, Mutex};

/// The most partitions that the broker holds: clients may create topics, and each partition takes memory.
const MAX_PARTITIONS: usize = 100_000;
/// The longest name of a topic.
pub(crate) const MAX_NAME: usize = 249;

/// A topic and its partitions' logs.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) id: TopicId,
    pub(crate) name: TopicName,
    pub(crate) logs: Vec<Arc<Mutex<Log>>>,
}

impl Topic {
    pub(crate) fn log(&self, partition: i32) -> Option<&Arc<Mutex<Log>>> {
        self.logs.get(usize::try_from(partition).ok()?)
    }

    /// The partitions' indexes.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = i32> + use<> {
        0..i32::try_from(self.logs.len()).unwrap_or(i32::MAX)
    }
}

/// All topics, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topics {
    image: ClusterImage,
    /// Invariant: holds the topics of the image, each with as many logs as it has partitions.
    stored: HashTrieMapSync<TopicId, Arc<Topic>>,
    /// What the last change did.
    changes: Arc<ImageChanges>,
    partitions: usize,
}

impl TopicNames for Topics {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self.image.topic_name(id)
    }
}

impl Topics {
    /// The topics as the cluster's metadata has them, by name.
    pub(crate) fn views(&self) -> impl Iterator<Item = TopicView<'_>> {
        self.image.topics()
    }

    /// The cluster's metadata, for the machines of the crate.
    pub(crate) fn image(&self) -> &ClusterImage {
        &self.image
    }

    /// How these topics differ from those before them.
    pub(crate) fn changes(&self) -> &ImageChanges {
        &self.changes
    }

    pub(crate) fn view_by_id(&self, id: TopicId) -> Option<TopicView<'_>> {
        self.image.topic_by_id(id)
    }

    pub(crate) fn view_by_name(&self, name: &str) -> Option<TopicView<'_>> {
        self.image.topic_by_name(name)
    }

    pub(crate) fn by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.stored.get(&id)
    }

    /// All topics with their logs, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.stored.values()
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_id(self.view_by_name(name)?.id())
    }

    /// Whether a topic of this name and size may be created.
    pub(crate) fn check_new(&self, name: &str, partitions: i32) -> Result<usize, ErrorCode> {
        if !is_valid_name(name) {
            return Err(ErrorCode::InvalidTopicException);
        }
        if self.view_by_name(name).is_some() {
            return Err(ErrorCode::TopicAlreadyExists);
        }
        self.check_room(0, partitions)
    }

    /// Whether this topic may grow to so many partitions.
    pub(crate) fn check_growth(&self, topic: &Topic, partitions: i32) -> Result<usize, ErrorCode> {
        self.check_room(topic.logs.len(), partitions)
    }

    fn check_room(&self, from: usize, to: i32) -> Result<usize, ErrorCode> {
        let to = usize::try_from(to).map_err(|_| ErrorCode::InvalidPartitions)?;
        if to <= from {
            return Err(ErrorCode::InvalidPartitions);
        }
        if to - from > MAX_PARTITIONS.saturating_sub(self.partitions) {
            return Err(ErrorCode::PolicyViolation);
        }
        Ok(to)
    }

    /// Puts in a topic, or the logs that a topic has more than before.
    pub(crate) fn put(&mut self, topic: Topic) -> Result<Arc<Topic>, ErrorCode> {
        let mut delta = self.next_delta();
        let before = self.by_id(topic.id).map_or(0, |before| before.logs.len());
        if before == 0 {
            delta.create_topic(topic.id, topic.name.clone());
        }
        for partition in topic.partitions().skip(before) {
            delta.add_partition(topic.id, partition, &[NODE_ID]);
        }
        self.apply(&delta)?;
        self.partitions += topic.logs.len() - before;
        let topic = Arc::new(topic);
        self.stored.insert_mut(topic.id, Arc::clone(&topic));
        Ok(topic)
    }

    /// Takes a topic out.
    pub(crate) fn remove(&mut self, id: TopicId) -> Result<Arc<Topic>, ErrorCode> {
        let mut delta = self.next_delta();
        delta.delete_topic(id);
        let topic = self.by_id(id).cloned().ok_or(ErrorCode::UnknownTopicId)?;
        self.apply(&delta)?;
        self.partitions -= topic.logs.len();
        self.stored.remove_mut(&id);
        Ok(topic)
    }

    /// A change of a topic that is none of its partitions or replicas, as of its leaders.
    pub(crate) fn touch(&mut self, id: TopicId) -> Result<(), ErrorCode> {
        let topic = self.by_id(id).ok_or(ErrorCode::UnknownTopicId)?;
        let mut delta = self.next_delta();
        for partition in topic.partitions() {
            delta.set_replicas(id, partition, &[]).set_replicas(id, partition, &[NODE_ID]);
        }
        self.apply(&delta)
    }

    fn apply(&mut self, delta: &ImageDelta) -> Result<(), ErrorCode> {
        self.changes = Arc::new(self.image.apply(delta).map_err(|error| code(&error))?);
        Ok(())
    }

    fn next_delta(&self) -> ImageDelta {
        ImageDelta::new(self.image.offset() + 1)
    }
}

fn code(error: &ImageError) -> ErrorCode {
    match error {
        ImageError::TopicExists { .. } => ErrorCode::TopicAlreadyExists,
        ImageError::UnknownTopic { .. } => ErrorCode::UnknownTopicId,
        _ => ErrorCode::UnknownServerError,
    }
}

fn is_valid_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= MAX_NAME
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}
