//! A group coordinator with nothing around it: a cluster, groups and their heartbeats.

use kafka_coordination::group::{
    GroupChange, GroupMetadata, GroupUpdate, MetadataHash, REFRESH_INTERVAL_MS, Subscriptions,
    TopicHash,
};
use kafka_coordination::metadata::{ClusterImage, ImageDelta, MetadataImage};
use kafka_coordination::{Monotonic, TopicId};
use std::collections::BTreeMap;

pub(crate) const ORDERS: TopicId = TopicId::from_u128((1 << 64) + 2);
pub(crate) const PAYMENTS: TopicId = TopicId::from_u128(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);

/// Brokers 1, 2 and 3 in the racks eu-1a, eu-1b and eu-1c.
pub(crate) const RACKS: [&str; 3] = ["eu-1a", "eu-1b", "eu-1c"];

pub(crate) struct Coordinator {
    pub(crate) image: ClusterImage,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) groups: BTreeMap<String, GroupMetadata>,
    pub(crate) now: i64,
}

impl Coordinator {
    /// A cluster of three brokers without topics.
    pub(crate) fn new() -> Self {
        let mut coordinator = Self {
            image: ClusterImage::new(),
            subscriptions: Subscriptions::new(1),
            groups: BTreeMap::new(),
            now: 1_000,
        };
        coordinator.change(|delta| {
            for (broker, rack) in (1..).zip(RACKS) {
                delta.register_broker(broker, Some(rack));
            }
        });
        coordinator
    }

    /// The same with orders, on each two of the brokers.
    pub(crate) fn with_orders() -> Self {
        let mut coordinator = Self::new();
        coordinator.create(ORDERS, "orders", &[&[1, 2], &[2, 3], &[3, 1]]);
        coordinator
    }

    /// Changes the cluster; answers the groups that must refresh, in the order of their ids.
    pub(crate) fn change(&mut self, describe: impl FnOnce(&mut ImageDelta)) -> Vec<String> {
        let mut delta = ImageDelta::new(self.image.offset() + 1);
        describe(&mut delta);
        let changes = self.image.apply(&delta).unwrap();
        let groups = self.subscriptions.on_image_changes(&changes, &self.image);
        let mut groups: Vec<String> = groups.map(String::from).collect();
        groups.sort();
        for group in &groups {
            if let Some(metadata) = self.groups.get_mut(group) {
                metadata.request_refresh();
            }
        }
        groups
    }

    pub(crate) fn create(&mut self, id: TopicId, name: &str, replicas: &[&[i32]]) -> Vec<String> {
        self.change(|delta| {
            delta.create_topic(id, name);
            for (partition, replicas) in (0..).zip(replicas) {
                delta.add_partition(id, partition, replicas);
            }
        })
    }

    /// A change notice for topics of which nothing that matters changed: leaders, ISRs.
    pub(crate) fn notice(&mut self, topics: &[&str]) -> Vec<String> {
        let topics = topics.iter().copied();
        let groups = self.subscriptions.on_metadata_update(topics, &[], &self.image);
        let mut groups: Vec<String> = groups.map(String::from).collect();
        groups.sort();
        for group in &groups {
            self.groups.get_mut(group).unwrap().request_refresh();
        }
        groups
    }

    pub(crate) fn now(&self) -> Monotonic {
        Monotonic::from_millis(self.now)
    }

    /// A group that is new, or read from the log.
    pub(crate) fn load(&mut self, group: &str, epoch: i32, hash: i64, topics: &[&str]) {
        let metadata = GroupMetadata::new(epoch, MetadataHash::from_i64(hash));
        self.groups.insert(group.into(), metadata);
        self.subscriptions.subscribe(group, topics);
    }

    /// A member joins or subscribes anew: another subscription of the group, and a bump to the epoch that comes back.
    pub(crate) fn subscribe(&mut self, group: &str, topics: &[&str]) -> i32 {
        let new = GroupMetadata::new(1, MetadataHash::NONE);
        self.groups.entry(group.into()).or_insert(new);
        self.subscriptions.subscribe(group, topics);
        self.refresh(group, GroupChange::Changed).epoch()
    }

    /// A heartbeat that brings nothing new; the update, if the group refreshed.
    pub(crate) fn heartbeat(&mut self, group: &str) -> Option<GroupUpdate> {
        let has_expired = self.groups[group].has_expired(self.now());
        has_expired.then(|| self.refresh(group, GroupChange::Unchanged))
    }

    /// Heartbeats that bring nothing new: whether the first bumped, after which none does.
    pub(crate) fn bumps(&mut self, group: &str) -> bool {
        let is_bump = self.heartbeat(group).is_some_and(|update| update.is_bump());
        for _ in 0..3 {
            assert_eq!(self.heartbeat(group), None, "one heartbeat settles it");
        }
        is_bump
    }

    pub(crate) fn decide(&mut self, group: &str, change: GroupChange) -> GroupUpdate {
        let hash = self.subscriptions.metadata_hash(group, &self.image);
        self.groups[group].decide_refresh(hash, change, self.now()).unwrap()
    }

    fn refresh(&mut self, group: &str, change: GroupChange) -> GroupUpdate {
        let update = self.decide(group, change);
        let metadata = self.groups.get_mut(group).unwrap();
        metadata.commit(update).unwrap();
        update
    }

    /// Members leave, these topics are left; the group's epoch from then on.
    pub(crate) fn leave(&mut self, group: &str, topics: &[&str]) -> i32 {
        self.subscriptions.subscribe(group, topics);
        let hash = self.subscriptions.metadata_hash(group, &self.image);
        let metadata = self.groups.get_mut(group).unwrap();
        let update = metadata.decide_leave(Some(hash)).unwrap();
        metadata.commit(update).unwrap();
        update.epoch()
    }

    pub(crate) fn metadata(&mut self, group: &str) -> &mut GroupMetadata {
        self.groups.get_mut(group).unwrap()
    }

    pub(crate) fn epoch(&self, group: &str) -> i32 {
        self.groups[group].epoch()
    }

    pub(crate) fn stored(&self, group: &str) -> i64 {
        self.groups[group].metadata_hash().as_i64()
    }

    /// The hash of a topic, as it is remembered.
    pub(crate) fn known(&self, topic: &str) -> Option<i64> {
        self.subscriptions.topic_hash(topic).map(TopicHash::as_i64)
    }

    /// The hash of a topic, as it is.
    pub(crate) fn topic(&self, topic: &str) -> i64 {
        TopicHash::of(&self.image, topic).unwrap().as_i64()
    }

    /// Lets the deadline pass.
    pub(crate) fn wait(&mut self) {
        self.now += REFRESH_INTERVAL_MS;
    }
}
