//! Changes to an image, as the metadata log reports them.

use crate::topic::{TopicId, TopicName};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The changes that lead from one image to a later one, in the order of the metadata log.
///
/// Each method stands for a record of Kafka's metadata log, so a host that reads one calls them as it reads. Nothing is
/// checked here: [`ClusterImage::apply`](super::ClusterImage::apply) checks the whole against the image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct ImageDelta {
    pub(super) offset: i64,
    pub(super) changes: Vec<Change>,
}

/// One change to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    CreateTopic { id: TopicId, name: TopicName },
    DeleteTopic { id: TopicId },
    AddPartition { id: TopicId, partition: i32, replicas: Arc<[i32]> },
    SetReplicas { id: TopicId, partition: i32, replicas: Arc<[i32]> },
    RegisterBroker { broker: i32, rack: Option<Arc<str>> },
    UnregisterBroker { broker: i32 },
}

impl ImageDelta {
    /// A delta without changes that leads to `offset`, the offset of its last record in the metadata log.
    pub const fn new(offset: i64) -> Self {
        Self { offset, changes: Vec::new() }
    }

    /// Creates a topic without partitions. (Kafka: `TopicRecord`.)
    pub fn create_topic(&mut self, id: TopicId, name: impl Into<TopicName>) -> &mut Self {
        self.push(Change::CreateTopic { id, name: name.into() })
    }

    /// Deletes a topic with its partitions; its name is free again at once. (Kafka: `RemoveTopicRecord`.)
    pub fn delete_topic(&mut self, id: TopicId) -> &mut Self {
        self.push(Change::DeleteTopic { id })
    }

    /// Adds the topic's next partition, whose number is the count of those there are. (Kafka: `PartitionRecord`.)
    pub fn add_partition(&mut self, id: TopicId, partition: i32, replicas: &[i32]) -> &mut Self {
        self.push(Change::AddPartition { id, partition, replicas: replicas.into() })
    }

    /// Gives a partition these replicas, the preferred leader first. (Kafka: `PartitionChangeRecord`.)
    pub fn set_replicas(&mut self, id: TopicId, partition: i32, replicas: &[i32]) -> &mut Self {
        self.push(Change::SetReplicas { id, partition, replicas: replicas.into() })
    }

    /// Registers a broker, or registers it anew with another rack. (Kafka: `RegisterBrokerRecord`.)
    pub fn register_broker(&mut self, broker: i32, rack: Option<&str>) -> &mut Self {
        self.push(Change::RegisterBroker { broker, rack: rack.map(Arc::from) })
    }

    /// Takes a broker out of the cluster; partitions may go on naming it as a replica. (Kafka:
    /// `UnregisterBrokerRecord`.)
    pub fn unregister_broker(&mut self, broker: i32) -> &mut Self {
        self.push(Change::UnregisterBroker { broker })
    }

    fn push(&mut self, change: Change) -> &mut Self {
        self.changes.push(change);
        self
    }
}
