//! The map from topic ids to topic names.

use crate::topic::{TopicId, TopicName};

/// What the broker's metadata knows of topic ids, at one moment.
pub trait TopicNames {
    /// The name of the topic with this id, if the metadata knows it.
    fn topic_name(&self, id: TopicId) -> Option<TopicName>;
}

impl<F: Fn(TopicId) -> Option<TopicName>> TopicNames for F {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self(id)
    }
}
