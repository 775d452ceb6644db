//! Subscriptions leave and enter.

use super::Subscriptions;
use crate::group::name_order::compare_names;
use crate::topic::TopicName;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use thiserror::Error;

/// The subscription of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupSubscription {
    /// The group's id.
    pub group: String,
    /// What it is subscribed to, existing or not: at least one topic, in the order of their UTF-16 code units.
    pub topics: Vec<TopicName>,
}

impl GroupSubscription {
    /// The group's subscription to these topics.
    pub fn new(group: impl Into<String>, topics: Vec<TopicName>) -> Self {
        Self { group: group.into(), topics }
    }
}

/// Why subscriptions cannot enter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SubscriptionsError {
    /// A group is there twice.
    #[error("group {group} has two subscriptions")]
    DuplicateGroup {
        /// The group's id.
        group: String,
    },
    /// A group has no topics: then it has no subscription.
    #[error("group {group} is subscribed to nothing")]
    NoTopics {
        /// The group's id.
        group: String,
    },
    /// A topic is not behind the one before it.
    #[error("group {group} is subscribed to {topic}, which does not come after {previous}")]
    Order {
        /// The group's id.
        group: String,
        /// The topic.
        topic: TopicName,
        /// The one before it.
        previous: TopicName,
    },
}

impl Subscriptions {
    /// Everything that the subscriptions hold and that an image does not give again: hashes are not here, they are
    /// computed when first asked for. In no particular order, which is the same for the same calls.
    pub fn export(&self) -> impl Iterator<Item = GroupSubscription> {
        self.groups.iter().map(|group| GroupSubscription {
            group: String::from(&*group.id),
            topics: self.names(group).cloned().collect(),
        })
    }

    /// Subscriptions that were exported. Each group must [refresh](super::super::GroupMetadata::has_expired) with its
    /// next heartbeat, as after its coordinator moved.
    ///
    /// # Errors
    /// The first [`SubscriptionsError`] that is met.
    pub fn import(
        hash_seed: u64,
        groups: impl IntoIterator<Item = GroupSubscription>,
    ) -> Result<Self, SubscriptionsError> {
        let mut subscriptions = Self::new(hash_seed);
        for GroupSubscription { group, topics } in groups {
            if topics.is_empty() {
                return Err(SubscriptionsError::NoTopics { group });
            }
            if subscriptions.groups.find(&group).is_some() {
                return Err(SubscriptionsError::DuplicateGroup { group });
            }
            for (previous, topic) in topics.iter().zip(topics.iter().skip(1)) {
                if compare_names(previous, topic) != Ordering::Less {
                    let (topic, previous) = (topic.clone(), previous.clone());
                    return Err(SubscriptionsError::Order { group, topic, previous });
                }
            }
            subscriptions.subscribe(&group, topics);
        }
        Ok(subscriptions)
    }
}
