//! The two hashes that Kafka 4.1 and later store.

use crate::group::hasher::TopicHasher;
use crate::group::name_order::compare_names;
use crate::metadata::MetadataImage;
use alloc::vec::Vec;
use core::fmt;
use twox_hash::XxHash3_64;

/// The hash of one topic that exists: its id, name, partitions and the racks of their replicas, by XXH3-64 (KIP-1101).
///
/// Equal, bit for bit, to what Kafka 4.1 and later compute: `Utils.computeTopicHash`. Made by
/// [`TopicHasher`] or [`of`](Self::of). Kafka says 0 for a topic that does not exist; here there is no hash of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicHash(i64);

impl TopicHash {
    /// The hash with this number, as it was stored or computed elsewhere.
    pub const fn from_i64(hash: i64) -> Self {
        Self(hash)
    }

    /// The number, as Kafka stores and prints it.
    pub const fn as_i64(self) -> i64 {
        self.0
    }

    /// The hash of a topic; `None` if the image does not have it.
    ///
    /// For one topic now and then. Whoever hashes many keeps a [`TopicHasher`], which keeps its buffers.
    pub fn of(image: &(impl MetadataImage + ?Sized), topic: &str) -> Option<Self> {
        let topic = image.topic_by_name(topic)?;
        Some(TopicHasher::new().topic_hash(image, topic))
    }
}

impl fmt::Debug for TopicHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicHash({})", self.0)
    }
}

/// The hash of all existing topics that a group is subscribed to: the `MetadataHash` of the group's metadata record
/// (KIP-1101), by XXH3-64 over their [`TopicHash`]es in the order of their names.
///
/// Equal to what Kafka 4.1 and later store: `Utils.computeGroupHash`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetadataHash(i64);

impl MetadataHash {
    /// No topic that the group is subscribed to exists. A group written before Kafka 4.1 has this one too.
    pub const NONE: Self = Self(0);

    /// The hash with this number, as it was read from a record.
    pub const fn from_i64(hash: i64) -> Self {
        Self(hash)
    }

    /// The number, as Kafka stores it.
    pub const fn as_i64(self) -> i64 {
        self.0
    }

    /// The hash of topics, given in any order, each name once, without those that do not exist.
    ///
    /// O(n log n) comparisons of names; [`Subscriptions`](super::Subscriptions) keeps them in order instead.
    ///
    /// ```
    /// use kafka_coordination::group::{MetadataHash, TopicHash};
    ///
    /// let (bar, foo) = (TopicHash::from_i64(123), TopicHash::from_i64(456));
    /// let hash = MetadataHash::of([("foo", foo), ("bar", bar)]);
    /// assert_eq!(hash.as_i64(), 1_482_712_172_080_382_793);
    /// assert_eq!(MetadataHash::of([]), MetadataHash::NONE);
    /// ```
    pub fn of<'a>(topics: impl IntoIterator<Item = (&'a str, TopicHash)>) -> Self {
        let mut topics: Vec<_> = topics.into_iter().collect();
        topics.sort_unstable_by(|a, b| compare_names(a.0, b.0));
        let mut bytes = Vec::with_capacity(topics.len() * size_of::<TopicHash>());
        for (_, hash) in topics {
            bytes.extend_from_slice(&hash.0.to_le_bytes());
        }
        Self::of_bytes(&bytes)
    }

    /// The hash of what [`TopicHash::as_i64`] gives for each topic in order, little-endian.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::NONE } else { Self(xxh3(bytes)) }
    }
}

impl fmt::Debug for MetadataHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetadataHash({})", self.0)
    }
}

/// XXH3-64 with the default secret and seed 0, as the signed number that Java has.
pub(super) fn xxh3(bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot(bytes).cast_signed()
}
