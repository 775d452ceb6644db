//! Why a delta does not fit an image.

use crate::topic::{TopicId, TopicName};
use thiserror::Error;

/// An [`ImageDelta`](super::ImageDelta) does not fit the [`ClusterImage`](super::ClusterImage) that it was to be
/// applied to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The delta leads back in the metadata log.
    #[error("a delta to offset {offset} on an image at offset {image}")]
    OffsetGoesBack {
        /// The delta's offset.
        offset: i64,
        /// The image's offset.
        image: i64,
    },
    /// A topic to create has the id zero, which stands for "no id".
    #[error("topic {name} has the id zero")]
    ZeroTopicId {
        /// The topic's name.
        name: TopicName,
    },
    /// A topic to create has an empty name, which stands for "no name".
    #[error("topic {id} has no name")]
    EmptyTopicName {
        /// The topic's id.
        id: TopicId,
    },
    /// A topic to create has the id of a topic that exists.
    #[error("topic {name} has the id {id} of topic {existing}")]
    TopicIdInUse {
        /// The id.
        id: TopicId,
        /// The name of the topic to create.
        name: TopicName,
        /// The name of the topic that has the id.
        existing: TopicName,
    },
    /// A topic to create has the name of a topic that exists.
    #[error("topic {name} exists with the id {existing}, and was to be created with {id}")]
    TopicExists {
        /// The name.
        name: TopicName,
        /// The id of the topic to create.
        id: TopicId,
        /// The id of the topic that has the name.
        existing: TopicId,
    },
    /// No topic has this id.
    #[error("no topic has the id {id}")]
    UnknownTopic {
        /// The id.
        id: TopicId,
    },
    /// A partition to add is not the next one: partitions are added in order, and never taken away.
    #[error("partition {partition} of topic {id} cannot be added, the next one is {next}")]
    NotNextPartition {
        /// The topic's id.
        id: TopicId,
        /// The partition that was to be added.
        partition: i32,
        /// The only partition that can be added.
        next: i32,
    },
    /// The topic has no such partition.
    #[error("topic {id} has {count} partitions, not one of number {partition}")]
    UnknownPartition {
        /// The topic's id.
        id: TopicId,
        /// The partition's number.
        partition: i32,
        /// How many partitions the topic has.
        count: i32,
    },
    /// A replica is on a negative broker id, or twice on the same broker.
    #[error(
        "partition {partition} of topic {id} cannot have a replica on broker {broker}: negative, or there twice"
    )]
    InvalidReplica {
        /// The topic's id.
        id: TopicId,
        /// The partition's number.
        partition: i32,
        /// The broker's id.
        broker: i32,
    },
    /// A broker to register has a negative id.
    #[error("a broker id of {broker} is negative")]
    NegativeBrokerId {
        /// The id.
        broker: i32,
    },
    /// No broker with this id is registered.
    #[error("broker {broker} is not registered")]
    UnknownBroker {
        /// The id.
        broker: i32,
    },
}
