//! Computes topic hashes.

use crate::group::brokers::Brokers;
use crate::group::racks::{RackIndex, Racks, put_text};
use crate::group::topic_hash::{TopicHash, xxh3};
use crate::metadata::{MetadataImage, TopicView};
use alloc::vec::Vec;
use core::hash::Hasher as _;
use twox_hash::xxhash3_64::{DEFAULT_SECRET_LENGTH, RawHasher, SecretBuffer};
use uuid::Uuid;

/// The first byte: it would change with the formula.
const MAGIC: u8 = 0;

/// The buffer's bytes are hashed when they are so many, so that a topic of any size takes no more memory.
const CHUNK: usize = 1 << 16;

/// Computes [`TopicHash`]es and keeps the buffers for the next one.
///
/// # Layout
///
/// The hash is XXH3-64, seed 0, over
///
/// ```text
/// magic 0 | id | name | count | (partition | (length | rack)*)*
/// ```
///
/// - numbers are little-endian: 4 bytes each, and the id in two halves of 8, the more significant first;
/// - a name or rack is its UTF-16 code units, 2 bytes each, and then how many they are; that number stands before a
///   rack too;
/// - partitions are numbered from 0; the racks of one are those of all brokers that hold a replica, registered and with
///   a rack, whether alive or not, as often as they occur, in the order of their code units.
///
/// The number of racks is not in it, so racks with control characters in their names can make two layouts equal: kept
/// as it is, because what Kafka stored has to compare equal.
#[derive(Clone, Debug, Default)]
pub struct TopicHasher {
    buffer: Vec<u8>,
    racks: Racks,
    /// The racks of one partition.
    of_partition: Vec<RackIndex>,
}

impl TopicHasher {
    /// A hasher with empty buffers.
    pub const fn new() -> Self {
        Self { buffer: Vec::new(), racks: Racks::new(), of_partition: Vec::new() }
    }

    /// The hash of a topic whose brokers have the racks that `image` says. O(replicas); allocates nothing once the
    /// buffers have grown to the racks, and to the topic or 64 KiB.
    ///
    /// Deviation: a partition that is missing between others counts as one without racks. Kafka fails with
    /// an unknown server error.
    ///
    /// ```
    /// use kafka_coordination::TopicId;
    /// use kafka_coordination::group::TopicHasher;
    /// use kafka_coordination::metadata::{ClusterImage, TopicView};
    ///
    /// let partitions: Vec<Vec<i32>> = Vec::new();
    /// let id = TopicId::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
    /// let foo = TopicView::new(id, "foo", &partitions);
    /// let hash = TopicHasher::new().topic_hash(&ClusterImage::new(), foo);
    /// assert_eq!(hash.as_i64(), 7_546_849_754_459_004_307);
    /// ```
    pub fn topic_hash(
        &mut self,
        image: &(impl MetadataImage + ?Sized),
        topic: TopicView<'_>,
    ) -> TopicHash {
        self.with_image(image).topic_hash(topic)
    }

    /// Hashes topics of one image: the rack of each broker is looked up once for all of them.
    pub fn with_image<'a, I: MetadataImage + ?Sized>(
        &'a mut self,
        image: &'a I,
    ) -> ImageHasher<'a, I> {
        self.forget_racks();
        ImageHasher { hasher: self, image }
    }

    /// The hash, and where the topic has replicas, if no rack changed since [`forget_racks`](Self::forget_racks).
    pub(super) fn hash_with_known_racks(
        &mut self,
        image: &(impl MetadataImage + ?Sized),
        topic: TopicView<'_>,
    ) -> (TopicHash, Brokers) {
        let count = topic.partition_count();
        let mut brokers = Brokers::default();
        let mut large = None;
        self.buffer.clear();
        self.put_head(topic, count);
        for partition in 0..count {
            if self.buffer.len() >= CHUNK {
                self.flush(&mut large);
            }
            self.buffer.extend_from_slice(&partition.to_le_bytes());
            let replicas = topic.replicas(partition).unwrap_or_default();
            self.put_racks(image, replicas, &mut brokers);
        }
        let hash = large.map_or_else(
            || xxh3(&self.buffer),
            |mut hasher| {
                hasher.write(&self.buffer);
                hasher.finish().cast_signed()
            },
        );
        (TopicHash::from_i64(hash), brokers)
    }

    /// The same for an image with other racks, which are forgotten again.
    pub(super) fn hash_with_other_racks(
        &mut self,
        image: &(impl MetadataImage + ?Sized),
        topic: TopicView<'_>,
    ) -> (TopicHash, Brokers) {
        self.forget_racks();
        let hash = self.hash_with_known_racks(image, topic);
        self.forget_racks();
        hash
    }

    pub(super) fn forget_racks(&mut self) {
        self.racks.clear();
    }

    fn put_head(&mut self, topic: TopicView<'_>, count: i32) {
        let (high, low) = Uuid::from(topic.id()).as_u64_pair();
        self.buffer.push(MAGIC);
        self.buffer.extend_from_slice(&high.to_le_bytes());
        self.buffer.extend_from_slice(&low.to_le_bytes());
        put_text(&mut self.buffer, topic.name());
        self.buffer.extend_from_slice(&count.to_le_bytes());
    }

    #[inline]
    fn put_racks(
        &mut self,
        image: &(impl MetadataImage + ?Sized),
        replicas: &[i32],
        brokers: &mut Brokers,
    ) {
        let Self { buffer, racks, of_partition } = self;
        of_partition.clear();
        for &broker in replicas {
            brokers.insert(broker);
            of_partition.extend(racks.of_broker(broker, |broker| image.rack(broker)));
        }
        racks.put(of_partition, buffer);
    }

    /// Hashes what is in the buffer, to which more will follow.
    #[inline(never)]
    fn flush(&mut self, large: &mut Option<RawHasher<[u8; DEFAULT_SECRET_LENGTH]>>) {
        if large.is_none() {
            // Seed 0 makes this secret the default one.
            let secret = SecretBuffer::with_seed(0, [0; DEFAULT_SECRET_LENGTH]);
            *large = secret.ok().map(RawHasher::new);
        }
        if let Some(hasher) = large {
            hasher.write(&self.buffer);
            self.buffer.clear();
        }
    }
}

/// A [`TopicHasher`] with an image, made by [`TopicHasher::with_image`].
#[derive(Debug)]
pub struct ImageHasher<'a, I: ?Sized> {
    hasher: &'a mut TopicHasher,
    image: &'a I,
}

impl<I: MetadataImage + ?Sized> ImageHasher<'_, I> {
    /// As [`TopicHasher::topic_hash`].
    pub fn topic_hash(&mut self, topic: TopicView<'_>) -> TopicHash {
        self.hasher.hash_with_known_racks(self.image, topic).0
    }
}
