//! What a delta changed in an image.

use crate::topic::{TopicId, TopicName};
use alloc::vec::Vec;

/// A topic that a delta created, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangedTopic {
    /// The topic's id.
    pub id: TopicId,
    /// The topic's name.
    pub name: TopicName,
}

/// What a delta changed in an image: the difference between the image before and the image after.
///
/// A topic that was created and deleted within the delta is not mentioned. Topics stand in the order of their ids,
/// brokers in the order of theirs, each once in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageChanges {
    pub(super) created: Vec<ChangedTopic>,
    pub(super) changed: Vec<ChangedTopic>,
    pub(super) deleted: Vec<ChangedTopic>,
    pub(super) racks: Vec<i32>,
}

impl ImageChanges {
    /// Topics that exist after the delta and did not before.
    pub fn created(&self) -> &[ChangedTopic] {
        &self.created
    }

    /// Topics that exist before and after, and have partitions or replicas that they did not have. A replica change
    /// that was taken back within the delta counts.
    pub fn changed(&self) -> &[ChangedTopic] {
        &self.changed
    }

    /// Topics that existed before the delta and do not after. A topic that was deleted and created anew under its name
    /// is among the deleted with its old id, and among the created with its new one.
    pub fn deleted(&self) -> &[ChangedTopic] {
        &self.deleted
    }

    /// Brokers whose rack, as [`MetadataImage::rack`](super::MetadataImage::rack) gives it, is another than before.
    /// Topics whose replicas they hold are not among the [`changed`](Self::changed) for that.
    pub fn racks(&self) -> &[i32] {
        &self.racks
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.created.is_empty()
            && self.changed.is_empty()
            && self.deleted.is_empty()
            && self.racks.is_empty()
    }
}
