//! Topics that groups consume (KIP-1101): one hash of all that matters of them, and what a change of the cluster means for
//! a group.
//!
//! A group must get a new assignment when a topic that it is subscribed to is created, deleted, created anew, gets more
//! partitions, or has a replica in another rack. Its coordinator keeps no topics with the group to find out: the group's
//! record holds one number, the [metadata hash](MetadataHash), and another number is a change. For consumer groups
//! (KIP-848), share groups (KIP-932) and streams groups (KIP-1071) alike.
//!
//! # Vocabulary
//!
//! | term | meaning |
//! | --- | --- |
//! | [topic hash](TopicHash) | XXH3-64 over a topic's id, name, partitions and their racks |
//! | [metadata hash](MetadataHash) | XXH3-64 over the topic hashes of a group's existing topics, in the order of names; 0 if there are none |
//! | [subscription](Subscriptions) | the names that a group's members ask for, existing or not |
//! | [group epoch](GroupMetadata::epoch) | counts assignments that became due; a bump asks for a new one |
//! | refresh | the metadata hash is computed and compared |
//! | [deadline](RefreshDeadline) | until when a heartbeat may leave that out |
//!
//! # A heartbeat
//!
//! ```
//! use kafka_coordination::group::{GroupChange, GroupMetadata, MetadataHash, Subscriptions};
//! use kafka_coordination::metadata::{ClusterImage, ImageDelta};
//! use kafka_coordination::{Monotonic, TopicId};
//!
//! // The cluster's metadata, and one value for the subscriptions of all groups.
//! let mut image = ClusterImage::new();
//! let mut subscriptions = Subscriptions::new(7);
//! // What stands with each group; this one is new.
//! let mut group = GroupMetadata::new(1, MetadataHash::NONE);
//! let now = Monotonic::from_millis(1_000);
//!
//! // A member joins, which alone bumps the group's epoch.
//! subscriptions.subscribe("billing", ["orders"]);
//! let hash = subscriptions.metadata_hash("billing", &image);
//! let update = group.decide_refresh(hash, GroupChange::Changed, now)?;
//! assert!(update.is_bump());
//! // ... the record with `update.epoch()` and `update.metadata_hash()` is written here ...
//! group.commit(update)?;
//!
//! // Heartbeats that change nothing cost this much.
//! assert!(!group.has_expired(now));
//!
//! // The topic is created. Groups that it concerns are told to refresh with their next heartbeat.
//! let orders = TopicId::from_u128(1);
//! let mut delta = ImageDelta::new(1);
//! delta.create_topic(orders, "orders").add_partition(orders, 0, &[1]);
//! let changes = image.apply(&delta)?;
//! let concerned: Vec<_> = subscriptions.on_image_changes(&changes, &image).collect();
//! assert_eq!(concerned, ["billing"]);
//! group.request_refresh();
//!
//! assert!(group.has_expired(now));
//! let hash = subscriptions.metadata_hash("billing", &image);
//! let update = group.decide_refresh(hash, GroupChange::Unchanged, now)?;
//! assert!(update.is_bump(), "the hash is another");
//! group.commit(update)?;
//! assert_eq!(group.epoch(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What else happens
//!
//! | when | call |
//! | --- | --- |
//! | members leave or are fenced | [`subscribe`](Subscriptions::subscribe) what is left, then [`decide_leave`](GroupMetadata::decide_leave) |
//! | a heartbeat, and the members have regular expressions | [`RegexRefresh::is_due`] |
//! | a regular expression was resolved | `subscribe`, then [`decide_refresh`](GroupMetadata::decide_refresh); [`commit`](GroupMetadata::commit) if it bumps |
//! | a classic group becomes a consumer group | [`GroupMetadata::new`] with the generation and the hash of the members' topics |
//! | the log of groups is read | `subscribe`, and [`GroupMetadata::new`] or [`load`](GroupMetadata::load) |
//! | a record could not be written, and its effect was shown already | [`roll_back`](Subscriptions::roll_back), `load` |
//! | a consumer group refreshed whose log has a record of before Kafka 4.1 | write the tombstone of [that record](crate::group_record::GroupRecordType::ConsumerGroupPartitionMetadata) after the group's |
//! | a group is gone, or its shard moved away | [`remove`](Subscriptions::remove) |
//! | changes of the image were missed | [`refresh_all`](Subscriptions::refresh_all) |
//!
//! The records that hold epoch and hash are in [`group_record`](crate::group_record).
//!
//! # Invariants
//!
//! - GS-1: a topic hash depends on the topic's id and name, and for each partition on the racks of its replicas, each as
//!   often as it occurs; not on the order of replicas, or on how the image came about.
//! - GS-2: another id, name, number of partitions or rack of a replica gives another topic hash; only racks with control
//!   characters in their names can pass for other racks.
//! - GS-3: a metadata hash depends on the topic hashes in the order of names, not on the order in which they are given;
//!   two hashes that change places give another one.
//! - GS-4: after any changes that were told, each topic hash that is known is that of the image.
//! - GS-5: unless a subscription was rolled back, hashes are known of topics only that exist and have a group.
//! - GS-6: a topic's groups are those whose topics it is among.
//! - GS-7: a heartbeat after a change either bumps the epoch by one, with another hash, or leaves epoch and hash alone.
//! - GS-8: after a heartbeat that refreshed, the metadata has not expired, up to the deadline.
//! - GS-9: after a bump was taken back the metadata has expired, until a hash is computed anew.
//! - GS-10: a group that is read from its record bumps with its first refresh only if the image changed since the record.
//! - GS-11: the metadata hash is 0 if and only if none of the group's topics exists.
//! - GS-12: the metadata hash is the one that is computed from nothing but the image and the names.
//! - GS-13: of the groups with a topic that differs between two images, each is named by the change that lies between.
//!
mod brokers;
#[cfg(feature = "std")]
mod draft_hash;
mod group_metadata;
mod hasher;
mod name_order;
mod racks;
mod regex;
mod registry;
mod subscriptions;
mod topic_hash;

#[cfg(feature = "std")]
pub use draft_hash::DraftTopicHash;
pub use group_metadata::{
    GroupChange, GroupMetadata, GroupMetadataError, GroupMetadataState, GroupUpdate,
    REFRESH_INTERVAL_MS, RefreshDeadline,
};
pub use hasher::{ImageHasher, TopicHasher};
pub use regex::{GroupRegexes, NewTopics, RegexRefresh, RegexRefreshError};
pub use subscriptions::{GroupSubscription, Subscriptions, SubscriptionsError};
pub use topic_hash::{MetadataHash, TopicHash};
