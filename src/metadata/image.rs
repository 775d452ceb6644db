//! What a machine may ask of the cluster's metadata.

use crate::topic::TopicId;
use alloc::vec::Vec;
use core::fmt;

/// The cluster's metadata as of one offset of the metadata log.
///
/// A host that keeps its own metadata implements this over it; the answers must not change while a call borrows the
/// image. [`ClusterImage`](super::ClusterImage) is a ready implementation.
pub trait MetadataImage {
    /// The offset in the metadata log up to which the image is made; 0 for an image of nothing.
    fn offset(&self) -> i64;

    /// The topic with this id, if it exists.
    fn topic_by_id(&self, id: TopicId) -> Option<TopicView<'_>>;

    /// The topic with this name, if it exists.
    fn topic_by_name(&self, name: &str) -> Option<TopicView<'_>>;

    /// The rack of a broker: `None` if the broker is not registered, or registered without a rack. A broker that is
    /// fenced or shutting down is still registered.
    fn rack(&self, broker: i32) -> Option<&str>;
}

/// The partitions of one topic.
pub trait Partitions: Sync {
    /// How many partitions the topic has; not negative.
    fn count(&self) -> i32;

    /// The brokers that hold a replica of this partition, the preferred leader first; `None` if the topic has no such
    /// partition.
    fn replicas(&self, partition: i32) -> Option<&[i32]>;
}

/// The replicas of each partition, from partition 0.
impl<R: AsRef<[i32]> + Sync> Partitions for Vec<R> {
    fn count(&self) -> i32 {
        i32::try_from(self.len()).unwrap_or(i32::MAX)
    }

    fn replicas(&self, partition: i32) -> Option<&[i32]> {
        self.get(usize::try_from(partition).ok()?).map(R::as_ref)
    }
}

/// A topic of an image, borrowed from it.
#[derive(Clone, Copy)]
pub struct TopicView<'a> {
    id: TopicId,
    name: &'a str,
    partitions: &'a dyn Partitions,
}

impl<'a> TopicView<'a> {
    /// The topic with this id, name and partitions.
    pub const fn new(id: TopicId, name: &'a str, partitions: &'a dyn Partitions) -> Self {
        Self { id, name, partitions }
    }

    /// The topic's id.
    pub const fn id(self) -> TopicId {
        self.id
    }

    /// The topic's name.
    pub const fn name(self) -> &'a str {
        self.name
    }

    /// How many partitions the topic has.
    pub fn partition_count(self) -> i32 {
        self.partitions.count()
    }

    /// The brokers that hold a replica of this partition, the preferred leader first; `None` if the topic has no such
    /// partition.
    pub fn replicas(self, partition: i32) -> Option<&'a [i32]> {
        self.partitions.replicas(partition)
    }
}

impl fmt::Debug for TopicView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicView")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("partition_count", &self.partition_count())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec;

    #[test]
    fn a_list_of_replica_lists_is_the_partitions_of_a_topic() {
        let partitions = vec![vec![1, 2], vec![3]];
        let topic = TopicView::new(TopicId::from_u128(7), "orders", &partitions);
        assert_eq!(topic.partition_count(), 2);
        assert_eq!(topic.replicas(0), Some(&[1, 2][..]));
        assert_eq!(topic.replicas(1), Some(&[3][..]));
        assert_eq!(
            (topic.replicas(2), topic.replicas(-1), topic.replicas(i32::MIN)),
            (None, None, None)
        );
        assert_eq!(
            format!("{topic:?}"),
            r#"TopicView { id: TopicId(AAAAAAAAAAAAAAAAAAAABw), name: "orders", partition_count: 2 }"#,
        );
    }
}
