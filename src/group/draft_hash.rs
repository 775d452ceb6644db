//! The topic hash of KIP-1101's first draft, which no release of Kafka computes.

use crate::metadata::{MetadataImage, TopicView};
use alloc::collections::BTreeSet;
use core::fmt;

/// What the draft seeds its hash with.
const SEED: u32 = 104_729;

/// What the draft multiplies with.
const FACTOR: i64 = 63;

/// A topic's hash by the formula in the first text of KIP-1101: sums of 64-bit hashes, computed without any order.
///
/// To study and to compare with, not to store: **no release of Kafka stores or computes it**, and it compares equal to
/// no [`TopicHash`](super::TopicHash). It is weak: racks that change places between partitions, as when two replicas
/// are swapped, leave it as it was, so a group would not be rebalanced.
///
/// The 64-bit hash is the lower half of `MurmurHash3_x64_128` from the crate `murmur3`, seed 104729. The draft took the
/// 64-bit function of the class `Murmur3` in Kafka's module for streams, a variant of its own with one lane, which gives
/// other numbers for every text.
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DraftTopicHash(i64);

impl DraftTopicHash {
    /// The hash of a topic whose brokers have the racks that `image` says. O(replicas log replicas of a partition).
    ///
    /// With K the hash, U the exclusive or of the id's four words of 32 bits as a signed number, and everything modulo
    /// 2^64: 63 (63 (63 U + K(name)) + K(count)) + Σ (63 K(partition) + Σ K(rack)). Each rack counts once a partition.
    pub fn of(image: &(impl MetadataImage + ?Sized), topic: TopicView<'_>) -> Self {
        let count = topic.partition_count();
        let mut head = times(i64::from(fold(topic.id().as_u128())));
        head = times(head.wrapping_add(murmur3(topic.name().as_bytes())));
        head = times(head.wrapping_add(number(count)));
        let mut sum = 0_i64;
        for partition in 0..count {
            sum = sum.wrapping_add(times(number(partition)));
            let replicas = topic.replicas(partition).unwrap_or_default();
            let racks = replicas.iter().filter_map(|&broker| image.rack(broker));
            for rack in racks.collect::<BTreeSet<_>>() {
                sum = sum.wrapping_add(murmur3(rack.as_bytes()));
            }
        }
        Self(head.wrapping_add(sum))
    }

    /// The number.
    pub const fn as_i64(self) -> i64 {
        self.0
    }
}

impl fmt::Debug for DraftTopicHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DraftTopicHash({})", self.0)
    }
}

const fn times(value: i64) -> i64 {
    value.wrapping_mul(FACTOR)
}

/// Java's hash code of a UUID: the exclusive or of its words.
fn fold(bits: u128) -> i32 {
    let bytes = bits.to_be_bytes();
    let words = bytes.as_chunks().0.iter().map(|word| i32::from_be_bytes(*word));
    words.fold(0, |sum, word| sum ^ word)
}

fn number(value: i32) -> i64 {
    murmur3(&value.to_be_bytes())
}

/// The lower half of `MurmurHash3_x64_128`.
fn murmur3(mut bytes: &[u8]) -> i64 {
    // Reading from memory does not fail.
    let hash = murmur3::murmur3_x64_128(&mut bytes, SEED).unwrap_or_default();
    hash.to_le_bytes().first_chunk().map_or(0, |lower| i64::from_le_bytes(*lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_lower_half_of_the_canonical_one() {
        assert_eq!(murmur3(b""), -7_122_613_646_888_064_702);
        assert_eq!(murmur3(b"foo"), 1_549_004_116_575_605_779);
        assert_eq!(murmur3(b"0123456789abcdefg"), -6_253_751_916_947_851_771);
    }

    #[test]
    fn ids_are_folded_as_java_does() {
        assert_eq!(fold(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10), 16);
        assert_eq!(fold(0x8f3c_5a1e_7b2d_4906_badc_0ffe_e0dd_f00d), -1_374_622_485);
        assert_eq!(fold(u128::MAX << 64), 0);
        assert_eq!(fold(1 << 127), i32::MIN);
    }
}
