//! What changes of the cluster mean for groups.

use super::Subscriptions;
use super::topic::Known;
use crate::group::brokers::Brokers;
use crate::group::registry::Named;
use crate::metadata::{ChangedTopic, ImageChanges, MetadataImage, TopicView};
use alloc::vec::Vec;
use tracing::debug;

impl Subscriptions {
    /// Follows a change of the image, and names the groups that must refresh, each once, in no particular order, which
    /// is the same for the same calls: those subscribed to a topic that was created, changed or deleted, or that has a
    /// replica on a broker whose rack changed. The host
    /// [asks each for it](super::super::GroupMetadata::request_refresh).
    ///
    /// `image` is the one after the change. Every change must be told, or [`refresh_all`](Self::refresh_all) called.
    /// Nothing is computed before a group asks.
    ///
    /// O(changed topics and the groups on them); if racks changed, also O(topics with subscriptions) for a word each, and
    /// O(replicas) of those that the word does not exclude.
    ///
    /// Deviation: racks. A broker that registers anew with another rack, or is unregistered, changes no topic in Kafka's
    /// view, which goes on with the old hash until something else changes the topic or its coordinator.
    pub fn on_image_changes(
        &mut self,
        changes: &ImageChanges,
        image: &(impl MetadataImage + ?Sized),
    ) -> impl ExactSizeIterator<Item = &str> {
        let topics = [changes.created(), changes.changed(), changes.deleted()];
        let names = topics.into_iter().flatten().map(|ChangedTopic { name, .. }| name.as_str());
        self.on_metadata_update(names, changes.racks(), image)
    }

    /// As [`on_image_changes`](Self::on_image_changes), for hosts with metadata of their own: the names of all topics
    /// that were created, changed or deleted, and all brokers that have another rack than before, or one no more. More
    /// than these cost time, and bump nothing.
    pub fn on_metadata_update<'t>(
        &mut self,
        topics: impl IntoIterator<Item = &'t str>,
        racks: &[i32],
        image: &(impl MetadataImage + ?Sized),
    ) -> impl ExactSizeIterator<Item = &str> {
        self.offset = image.offset();
        self.start_update();
        for name in topics {
            if let Some(topic) = self.topics.find(name) {
                self.change(topic);
            }
        }
        if !racks.is_empty() {
            self.change_racks(racks, image);
        }
        self.affected()
    }

    /// Forgets every hash and names every group: if the image changed in ways that were not told, as when it was loaded
    /// from a snapshot. O(topics and groups).
    pub fn refresh_all(
        &mut self,
        image: &(impl MetadataImage + ?Sized),
    ) -> impl ExactSizeIterator<Item = &str> {
        self.offset = image.offset();
        self.start_update();
        self.hasher.forget_racks();
        let topics: Vec<_> = self.topics.iter_mut().map(|(number, _)| number).collect();
        for topic in topics {
            self.change(topic);
        }
        self.affected()
    }

    fn start_update(&mut self) {
        self.update += 1;
        self.affected.clear();
    }

    fn affected(&self) -> impl ExactSizeIterator<Item = &str> {
        self.affected.iter().map(|&group| self.groups.get(group).map_or("", Named::name))
    }

    /// Forgets a topic's hash, and adds its groups to those that must refresh.
    fn change(&mut self, number: u32) {
        let Self { topics, groups, affected, update, .. } = self;
        let Some(topic) = topics.get_mut(number) else { return };
        topic.known = Known::Nothing;
        for &group in &topic.groups {
            if let Some(entry) = groups.get_mut(group).filter(|entry| entry.update != *update) {
                entry.update = *update;
                affected.push(group);
            }
        }
        if topic.groups.is_empty() {
            topics.remove(number);
        }
    }

    fn change_racks(&mut self, racks: &[i32], image: &(impl MetadataImage + ?Sized)) {
        self.hasher.forget_racks();
        let mut racks: Vec<_> = racks.into();
        racks.sort_unstable();
        let mut brokers = Brokers::default();
        for &broker in &racks {
            brokers.insert(broker);
        }
        let has_replica = |topic: TopicView<'_>| {
            let mut partitions = 0..topic.partition_count();
            partitions.any(|partition| {
                let replicas = topic.replicas(partition).unwrap_or_default();
                replicas.iter().any(|broker| racks.binary_search(broker).is_ok())
            })
        };
        let mut changed = Vec::new();
        for (number, topic) in self.topics.iter_mut() {
            let may_be_on_them = match topic.known {
                Known::Nothing => true,
                Known::Missing => false,
                Known::Exists { brokers: on, .. } => on.may_meet(brokers),
            };
            if may_be_on_them && image.topic_by_name(&topic.name).is_some_and(has_replica) {
                changed.push(number);
            }
        }
        debug!(brokers = racks.len(), topics = changed.len(), "racks changed");
        for topic in changed {
            self.change(topic);
        }
    }
}
