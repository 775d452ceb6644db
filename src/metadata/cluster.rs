//! An image of the cluster in memory.

use super::changes::{ChangedTopic, ImageChanges};
use super::delta::{Change, ImageDelta};
use super::error::ImageError;
use super::image::{MetadataImage, Partitions, TopicView};
use super::names::TopicNames;
use crate::topic::{TopicId, TopicName};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::fmt;
use rpds::{RedBlackTreeMapSync, VectorSync};

/// The cluster's metadata, held in memory and changed by [`ImageDelta`]s.
///
/// A persistent value: a clone is O(1), shares everything, and is not touched by later changes to the original. Nothing
/// of it is copied by a delta but the paths to what the delta changes, so a delta costs as much on an image of 100,000
/// topics as on a small one, up to the logarithm.
#[derive(Clone, Default)]
pub struct ClusterImage {
    offset: i64,
    topics: RedBlackTreeMapSync<TopicId, Topic>,
    /// Invariant: holds exactly the names of `topics`, each with the id of its topic.
    ids: RedBlackTreeMapSync<TopicName, TopicId>,
    /// The registered brokers, each with its rack.
    brokers: RedBlackTreeMapSync<i32, Option<Arc<str>>>,
}

#[derive(Clone)]
struct Topic {
    name: TopicName,
    /// The replicas of each partition, from partition 0. Invariant: no more than `i32::MAX` of them.
    partitions: VectorSync<Arc<[i32]>>,
}

impl ClusterImage {
    /// An image of nothing, at offset 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the image as the delta says, and tells what is different now.
    ///
    /// The changes take effect in their order, so a topic may be deleted and created anew under its name. They do so
    /// all together or not at all. Costs O(*c* log *n*) for *c* changes on *n* topics, partitions and brokers.
    ///
    /// # Errors
    ///
    /// The first [`ImageError`] that is met; the image is then as it was.
    pub fn apply(&mut self, delta: &ImageDelta) -> Result<ImageChanges, ImageError> {
        if delta.offset < self.offset {
            return Err(ImageError::OffsetGoesBack { offset: delta.offset, image: self.offset });
        }
        let mut next = self.clone();
        let mut touched = Touched::default();
        for change in &delta.changes {
            next.change(change, &mut touched)?;
        }
        next.offset = delta.offset;
        let changes = touched.difference(self, &next);
        *self = next;
        Ok(changes)
    }

    /// How many topics there are.
    pub fn topic_count(&self) -> usize {
        self.topics.size()
    }

    /// Every topic, in the order of their names.
    pub fn topics(&self) -> impl Iterator<Item = TopicView<'_>> {
        self.ids.values().filter_map(|&id| self.topic_by_id(id))
    }

    /// Every registered broker with its rack, in the order of their ids.
    pub fn brokers(&self) -> impl Iterator<Item = (i32, Option<&str>)> {
        self.brokers.iter().map(|(&broker, rack)| (broker, rack.as_deref()))
    }

    fn change(&mut self, change: &Change, touched: &mut Touched) -> Result<(), ImageError> {
        match change {
            Change::CreateTopic { id, name } => self.create_topic(*id, name, touched),
            Change::DeleteTopic { id } => self.delete_topic(*id, touched),
            Change::AddPartition { id, partition, replicas } => {
                self.add_partition(*id, *partition, replicas, touched)
            }
            Change::SetReplicas { id, partition, replicas } => {
                self.set_replicas(*id, *partition, replicas, touched)
            }
            Change::RegisterBroker { broker, rack } => {
                self.register_broker(*broker, rack.as_ref(), touched)
            }
            Change::UnregisterBroker { broker } => self.unregister_broker(*broker, touched),
        }
    }

    fn create_topic(
        &mut self,
        id: TopicId,
        name: &TopicName,
        touched: &mut Touched,
    ) -> Result<(), ImageError> {
        if id.is_zero() {
            return Err(ImageError::ZeroTopicId { name: name.clone() });
        }
        if name.is_empty() {
            return Err(ImageError::EmptyTopicName { id });
        }
        if let Some(&existing) = self.ids.get(name) {
            return Err(ImageError::TopicExists { name: name.clone(), id, existing });
        }
        if let Some(topic) = self.topics.get(&id) {
            return Err(ImageError::TopicIdInUse {
                id,
                name: name.clone(),
                existing: topic.name.clone(),
            });
        }
        self.ids.insert_mut(name.clone(), id);
        self.topics
            .insert_mut(id, Topic { name: name.clone(), partitions: VectorSync::new_sync() });
        touched.topics.insert(id);
        Ok(())
    }

    fn delete_topic(&mut self, id: TopicId, touched: &mut Touched) -> Result<(), ImageError> {
        let topic = self.topics.get(&id).ok_or(ImageError::UnknownTopic { id })?;
        self.ids.remove_mut(&topic.name);
        self.topics.remove_mut(&id);
        touched.topics.insert(id);
        Ok(())
    }

    fn add_partition(
        &mut self,
        id: TopicId,
        partition: i32,
        replicas: &Arc<[i32]>,
        touched: &mut Touched,
    ) -> Result<(), ImageError> {
        let topic = self.topics.get_mut(&id).ok_or(ImageError::UnknownTopic { id })?;
        let next = topic.count();
        if partition != next || next == i32::MAX {
            return Err(ImageError::NotNextPartition { id, partition, next });
        }
        check_replicas(id, partition, replicas)?;
        topic.partitions.push_back_mut(Arc::clone(replicas));
        touched.topics.insert(id);
        Ok(())
    }

    fn set_replicas(
        &mut self,
        id: TopicId,
        partition: i32,
        replicas: &Arc<[i32]>,
        touched: &mut Touched,
    ) -> Result<(), ImageError> {
        let topic = self.topics.get_mut(&id).ok_or(ImageError::UnknownTopic { id })?;
        let count = topic.count();
        let slot =
            usize::try_from(partition).ok().and_then(|index| topic.partitions.get_mut(index));
        let slot = slot.ok_or(ImageError::UnknownPartition { id, partition, count })?;
        check_replicas(id, partition, replicas)?;
        if slot != replicas {
            *slot = Arc::clone(replicas);
            touched.topics.insert(id);
        }
        Ok(())
    }

    fn register_broker(
        &mut self,
        broker: i32,
        rack: Option<&Arc<str>>,
        touched: &mut Touched,
    ) -> Result<(), ImageError> {
        if broker < 0 {
            return Err(ImageError::NegativeBrokerId { broker });
        }
        self.brokers.insert_mut(broker, rack.cloned());
        touched.brokers.insert(broker);
        Ok(())
    }

    fn unregister_broker(&mut self, broker: i32, touched: &mut Touched) -> Result<(), ImageError> {
        if !self.brokers.remove_mut(&broker) {
            return Err(ImageError::UnknownBroker { broker });
        }
        touched.brokers.insert(broker);
        Ok(())
    }
}

/// No replica on a negative broker id, and none twice on a broker. A partition may have none: some hosts keep data
/// elsewhere than on brokers.
fn check_replicas(id: TopicId, partition: i32, replicas: &[i32]) -> Result<(), ImageError> {
    let mut seen = BTreeSet::new();
    match replicas.iter().find(|&&broker| broker < 0 || !seen.insert(broker)) {
        Some(&broker) => Err(ImageError::InvalidReplica { id, partition, broker }),
        None => Ok(()),
    }
}

/// The topics and brokers that a delta may have changed: what to compare in the images before and after.
#[derive(Default)]
struct Touched {
    topics: BTreeSet<TopicId>,
    brokers: BTreeSet<i32>,
}

impl Touched {
    fn difference(self, before: &ClusterImage, after: &ClusterImage) -> ImageChanges {
        let mut changes = ImageChanges::default();
        for id in self.topics {
            let named = |image: &ClusterImage| {
                image.topics.get(&id).map(|topic| ChangedTopic { id, name: topic.name.clone() })
            };
            match (named(before), named(after)) {
                (Some(before), Some(after)) if before == after => changes.changed.push(after),
                // An id that was freed and taken by a topic of another name is in both lists.
                (before, after) => {
                    changes.deleted.extend(before);
                    changes.created.extend(after);
                }
            }
        }
        changes.racks.extend(
            self.brokers.into_iter().filter(|&broker| before.rack(broker) != after.rack(broker)),
        );
        changes
    }
}

impl Partitions for Topic {
    fn count(&self) -> i32 {
        i32::try_from(self.partitions.len()).unwrap_or(i32::MAX)
    }

    fn replicas(&self, partition: i32) -> Option<&[i32]> {
        self.partitions.get(usize::try_from(partition).ok()?).map(|replicas| &**replicas)
    }
}

/// Each look-up costs O(log *n*).
impl MetadataImage for ClusterImage {
    fn offset(&self) -> i64 {
        self.offset
    }

    fn topic_by_id(&self, id: TopicId) -> Option<TopicView<'_>> {
        self.topics.get(&id).map(|topic| TopicView::new(id, &topic.name, topic))
    }

    fn topic_by_name(&self, name: &str) -> Option<TopicView<'_>> {
        self.topic_by_id(*self.ids.get(name)?)
    }

    fn rack(&self, broker: i32) -> Option<&str> {
        self.brokers.get(&broker)?.as_deref()
    }
}

impl TopicNames for ClusterImage {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self.topics.get(&id).map(|topic| topic.name.clone())
    }
}

/// Sizes only: an image may hold hundreds of thousands of topics.
impl fmt::Debug for ClusterImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterImage")
            .field("offset", &self.offset)
            .field("topics", &self.topics.size())
            .field("brokers", &self.brokers.size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    const ORDERS: TopicId = TopicId::from_u128(7);
    const USERS: TopicId = TopicId::from_u128(8);

    fn delta(offset: i64, describe: impl FnOnce(&mut ImageDelta) -> &mut ImageDelta) -> ImageDelta {
        let mut delta = ImageDelta::new(offset);
        describe(&mut delta);
        delta
    }

    /// Orders with the partitions [1, 2] and [2, 3]; broker 1 in a rack, broker 2 without; offset 10.
    fn image() -> ClusterImage {
        let mut image = ClusterImage::new();
        let changes = image.apply(&delta(10, |d| {
            d.create_topic(ORDERS, "orders")
                .add_partition(ORDERS, 0, &[1, 2])
                .add_partition(ORDERS, 1, &[2, 3])
                .register_broker(1, Some("north"))
                .register_broker(2, None)
        }));
        assert!(changes.is_ok());
        image
    }

    fn topic(id: TopicId, name: &str) -> ChangedTopic {
        ChangedTopic { id, name: name.into() }
    }

    #[test]
    fn an_image_of_nothing_knows_nothing() {
        let image = ClusterImage::new();
        assert_eq!((image.offset(), image.topic_count()), (0, 0));
        assert!(image.topic_by_id(ORDERS).is_none() && image.topic_by_name("orders").is_none());
        assert_eq!(image.rack(1), None);
    }

    #[test]
    fn topics_are_found_by_id_and_by_name_with_their_partitions() {
        let image = image();
        for topic in [image.topic_by_id(ORDERS), image.topic_by_name("orders")] {
            let topic = topic.unwrap();
            assert_eq!((topic.id(), topic.name(), topic.partition_count()), (ORDERS, "orders", 2));
            assert_eq!(
                (topic.replicas(0), topic.replicas(1)),
                (Some(&[1, 2][..]), Some(&[2, 3][..]))
            );
            assert_eq!((topic.replicas(2), topic.replicas(-1)), (None, None));
        }
        assert_eq!(image.topic_name(ORDERS).as_deref(), Some("orders"));
        assert_eq!((image.rack(1), image.rack(2), image.rack(3)), (Some("north"), None, None));
        assert_eq!(image.brokers().collect::<Vec<_>>(), [(1, Some("north")), (2, None)]);
        assert_eq!(image.offset(), 10);
    }

    #[test]
    fn topics_are_listed_by_name() {
        let mut image = image();
        image.apply(&delta(11, |d| d.create_topic(TopicId::from_u128(99), "accounts"))).unwrap();
        assert_eq!(image.topics().map(TopicView::name).collect::<Vec<_>>(), ["accounts", "orders"]);
        assert_eq!(image.topic_count(), 2);
    }

    #[test]
    fn a_topic_may_be_deleted_and_created_anew_under_its_name() {
        let mut image = image();
        let recreate = delta(11, |d| {
            d.delete_topic(ORDERS).create_topic(USERS, "orders").add_partition(USERS, 0, &[3])
        });
        let changes = image.apply(&recreate).unwrap();
        assert_eq!(changes.deleted(), [topic(ORDERS, "orders")]);
        assert_eq!(changes.created(), [topic(USERS, "orders")]);
        assert_eq!(changes.changed(), []);
        assert!(image.topic_by_id(ORDERS).is_none());
        assert_eq!(image.topic_by_name("orders").unwrap().replicas(0), Some(&[3][..]));
    }

    #[test]
    fn an_id_that_moves_to_another_name_counts_as_deleted_and_created() {
        let mut image = image();
        let changes = image
            .apply(&delta(11, |d| d.delete_topic(ORDERS).create_topic(ORDERS, "users")))
            .unwrap();
        assert_eq!(changes.deleted(), [topic(ORDERS, "orders")]);
        assert_eq!(changes.created(), [topic(ORDERS, "users")]);
        assert!(image.topic_by_name("orders").is_none());
    }

    #[test]
    fn partitions_added_and_replicas_moved_change_a_topic() {
        let mut image = image();
        let changes = image.apply(&delta(11, |d| d.add_partition(ORDERS, 2, &[1]))).unwrap();
        assert_eq!(changes.changed(), [topic(ORDERS, "orders")]);
        let changes = image.apply(&delta(12, |d| d.set_replicas(ORDERS, 0, &[2, 1]))).unwrap();
        assert_eq!(changes.changed(), [topic(ORDERS, "orders")]);
        assert_eq!(changes.created().len() + changes.deleted().len() + changes.racks().len(), 0);
        assert_eq!(image.topic_by_id(ORDERS).unwrap().replicas(0), Some(&[2, 1][..]));
        assert_eq!(image.topic_by_id(ORDERS).unwrap().partition_count(), 3);
    }

    #[test]
    fn what_stays_the_same_is_no_change() {
        let mut image = image();
        let nothing = delta(11, |d| {
            d.set_replicas(ORDERS, 0, &[1, 2])
                .register_broker(1, Some("north"))
                .unregister_broker(2)
                .create_topic(USERS, "users")
                .add_partition(USERS, 0, &[1])
                .delete_topic(USERS)
        });
        let changes = image.apply(&nothing).unwrap();
        assert!(changes.is_empty(), "{changes:?}");
        assert_eq!(image.offset(), 11);
    }

    #[test]
    fn a_rack_changes_when_a_broker_registers_anew_or_leaves() {
        let mut image = image();
        let changes = image
            .apply(&delta(11, |d| {
                d.register_broker(1, Some("south")).register_broker(2, Some("north"))
            }))
            .unwrap();
        assert_eq!(changes.racks(), [1, 2]);
        assert_eq!(changes.changed(), []);
        let changes = image.apply(&delta(12, |d| d.unregister_broker(1))).unwrap();
        assert_eq!(changes.racks(), [1]);
        assert_eq!((image.rack(1), image.rack(2)), (None, Some("north")));
    }

    #[test]
    fn a_clone_keeps_its_answers() {
        let mut image = image();
        let before = image.clone();
        image
            .apply(&delta(11, |d| {
                d.set_replicas(ORDERS, 1, &[9]).register_broker(1, Some("south"))
            }))
            .unwrap();
        image.apply(&delta(12, |d| d.delete_topic(ORDERS))).unwrap();
        assert_eq!(before.topic_by_name("orders").unwrap().replicas(1), Some(&[2, 3][..]));
        assert_eq!((before.rack(1), before.offset()), (Some("north"), 10));
    }

    /// The error for a delta that is tried on [`image`].
    fn refusal(describe: impl FnOnce(&mut ImageDelta) -> &mut ImageDelta) -> ImageError {
        image().apply(&delta(11, describe)).unwrap_err()
    }

    #[test]
    fn a_delta_to_an_earlier_offset_is_refused() {
        let back = ImageError::OffsetGoesBack { offset: 9, image: 10 };
        assert_eq!(image().apply(&ImageDelta::new(9)), Err(back));
        assert_eq!(image().apply(&ImageDelta::new(10)), Ok(ImageChanges::default()));
    }

    #[test]
    fn topics_that_cannot_be_created_or_are_not_there_are_refused() {
        let name = TopicName::from("zero");
        assert_eq!(
            refusal(|d| d.create_topic(TopicId::ZERO, "zero")),
            ImageError::ZeroTopicId { name }
        );
        assert_eq!(
            refusal(|d| d.create_topic(USERS, "")),
            ImageError::EmptyTopicName { id: USERS }
        );
        let exists = ImageError::TopicExists { name: "orders".into(), id: USERS, existing: ORDERS };
        assert_eq!(refusal(|d| d.create_topic(USERS, "orders")), exists);
        let in_use = ImageError::TopicIdInUse {
            id: ORDERS,
            name: "users".into(),
            existing: "orders".into(),
        };
        assert_eq!(refusal(|d| d.create_topic(ORDERS, "users")), in_use);
        let unknown = ImageError::UnknownTopic { id: USERS };
        assert_eq!(refusal(|d| d.delete_topic(USERS)), unknown);
        assert_eq!(refusal(|d| d.add_partition(USERS, 0, &[])), unknown);
        assert_eq!(refusal(|d| d.set_replicas(USERS, 0, &[])), unknown);
    }

    #[test]
    fn partitions_out_of_order_or_not_there_are_refused() {
        let id = ORDERS;
        for partition in [i32::MIN, -1, 0, 1, 3, i32::MAX] {
            let error = refusal(|d| d.add_partition(id, partition, &[1]));
            assert_eq!(error, ImageError::NotNextPartition { id, partition, next: 2 });
        }
        for partition in [i32::MIN, -1, 2, i32::MAX] {
            let error = refusal(|d| d.set_replicas(id, partition, &[1]));
            assert_eq!(error, ImageError::UnknownPartition { id, partition, count: 2 });
        }
    }

    #[test]
    fn brokers_that_cannot_be_or_are_not_there_are_refused() {
        let id = ORDERS;
        let twice = ImageError::InvalidReplica { id, partition: 1, broker: 1 };
        assert_eq!(refusal(|d| d.set_replicas(id, 1, &[1, 4, 1])), twice);
        let negative = ImageError::InvalidReplica { id, partition: 2, broker: -4 };
        assert_eq!(refusal(|d| d.add_partition(id, 2, &[1, -4])), negative);
        assert_eq!(
            refusal(|d| d.register_broker(-1, None)),
            ImageError::NegativeBrokerId { broker: -1 }
        );
        assert_eq!(refusal(|d| d.unregister_broker(3)), ImageError::UnknownBroker { broker: 3 });
    }

    #[test]
    fn a_delta_that_fails_late_changes_nothing() {
        let mut image = image();
        let bad = delta(11, |d| {
            d.delete_topic(ORDERS)
                .create_topic(USERS, "users")
                .register_broker(1, None)
                .unregister_broker(77)
        });
        assert_eq!(image.apply(&bad), Err(ImageError::UnknownBroker { broker: 77 }));
        assert_eq!(image.topics().map(TopicView::id).collect::<Vec<_>>(), [ORDERS]);
        assert_eq!((image.rack(1), image.offset()), (Some("north"), 10));
    }

    #[test]
    fn errors_and_images_are_readable() {
        let error = ImageError::TopicExists { name: "orders".into(), id: USERS, existing: ORDERS };
        assert_eq!(
            error.to_string(),
            "topic orders exists with the id AAAAAAAAAAAAAAAAAAAABw, and was to be created with AAAAAAAAAAAAAAAAAAAACA",
        );
        assert_eq!(
            format!("{:?}", image()),
            "ClusterImage { offset: 10, topics: 1, brokers: 2, .. }"
        );
    }
}
