//! A topic that groups are subscribed to.

use crate::group::brokers::Brokers;
use crate::group::hasher::TopicHasher;
use crate::group::registry::Named;
use crate::group::topic_hash::TopicHash;
use crate::metadata::MetadataImage;
use crate::topic::TopicName;
use alloc::collections::BTreeSet;

/// A topic by name.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) name: TopicName,
    /// Numbers of the groups that are subscribed to it.
    pub(super) groups: BTreeSet<u32>,
    pub(super) known: Known,
}

/// What is known of a topic in the current image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It has to be looked up.
    Nothing,
    /// It does not exist.
    Missing,
    /// It exists, and has a replica on none but these brokers.
    Exists { hash: TopicHash, brokers: Brokers },
}

impl Topic {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.into(), groups: BTreeSet::new(), known: Known::Nothing }
    }

    /// Looks the topic up, and remembers the answer unless the image is older than that of the last update.
    pub(super) fn look_up(
        &mut self,
        image: &(impl MetadataImage + ?Sized),
        offset: i64,
        hasher: &mut TopicHasher,
        computed: &mut u64,
    ) -> Known {
        let known = image.topic_by_name(&self.name).map_or(Known::Missing, |topic| {
            *computed += 1;
            // The racks that the hasher knows are those of the last update's image.
            let is_current = image.offset() == offset;
            let (hash, brokers) = if is_current {
                hasher.hash_with_known_racks(image, topic)
            } else {
                hasher.hash_with_other_racks(image, topic)
            };
            Known::Exists { hash, brokers }
        });
        if image.offset() >= offset {
            self.known = known;
        }
        known
    }

    pub(super) const fn hash(&self) -> Option<TopicHash> {
        match self.known {
            Known::Exists { hash, .. } => Some(hash),
            Known::Nothing | Known::Missing => None,
        }
    }
}

impl Named for Topic {
    fn name(&self) -> &str {
        &self.name
    }
}
