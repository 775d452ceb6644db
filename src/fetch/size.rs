//! The exact size of a fetch response on the wire, without encoding it.

use super::response::PartitionRead;

/// From this version on lengths are varints and structs end with tags.
const FIRST_FLEXIBLE: i16 = 12;
const FIRST_WITH_TOPIC_IDS: i16 = super::request::FIRST_VERSION_WITH_TOPIC_IDS;

/// What the parts of a response take in one version of the Fetch API, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseSize {
    version: i16,
    is_flexible: bool,
    /// What each partition takes beside what depends on its content.
    partition: u64,
}

impl ResponseSize {
    pub(super) const fn new(version: i16) -> Self {
        let is_flexible = version >= FIRST_FLEXIBLE;
        // Index, error and high watermark, then what came with later versions: the last stable
        // offset, the log start offset, the preferred replica.
        let mut partition = 14;
        if version >= 4 {
            partition += 8;
        }
        if version >= 5 {
            partition += 8;
        }
        if version >= 11 {
            partition += 4;
        }
        // The null list of aborted transactions, the length of the records, the tags.
        partition += if is_flexible {
            1 + 1
        } else if version >= 4 {
            4 + 4
        } else {
            4
        };
        Self { version, is_flexible, partition }
    }

    /// A topic element without its [`partitions`](Self::partitions). The length of the topic's name
    /// counts below version 13.
    #[inline]
    pub(super) fn topic(self, name_len: impl FnOnce() -> u64) -> u64 {
        if self.version >= FIRST_WITH_TOPIC_IDS { 16 + 1 } else { self.named_topic(name_len()) }
    }

    #[inline(never)]
    const fn named_topic(self, name_len: u64) -> u64 {
        if self.is_flexible { compact(name_len) + name_len + 1 } else { 2 + name_len }
    }

    /// That many partitions of one topic, without their [`content`](Self::content). There is no
    /// topic element without one.
    #[inline]
    pub(super) const fn partitions(self, count: u64) -> u64 {
        let length = match (count, self.is_flexible) {
            (0, _) => 0,
            (_, true) => compact(count),
            (_, false) => 4,
        };
        length + count * self.partition
    }

    /// What of a partition depends on what was read.
    #[inline]
    pub(super) fn content(self, read: &PartitionRead) -> u64 {
        let records = u64::from(read.records_size());
        let mut bytes = records;
        if self.is_flexible {
            bytes += compact(records);
        }
        if read.has_sized_fields() {
            bytes += self.sized_fields(read);
        }
        bytes
    }

    /// What most partitions do not have.
    #[cold]
    fn sized_fields(self, read: &PartitionRead) -> u64 {
        let aborted = read.aborted_transactions().map(u64::from);
        if !self.is_flexible {
            return if self.version >= 4 { 16 * aborted.unwrap_or(0) } else { 0 };
        }
        // Instead of the null list, which took a byte.
        let mut bytes = aborted.map_or(0, |count| compact(count) + 17 * count - 1);
        bytes += if read.has_diverging_epoch() { 15 } else { 0 };
        bytes += if read.has_current_leader() { 11 } else { 0 };
        bytes += if read.has_snapshot_id() { 15 } else { 0 };
        bytes
    }

    /// A whole response with that many topic elements of that size together: with its length
    /// prefix, without a header and without node endpoints.
    pub(super) const fn total(self, topics: u64, bytes: u64) -> u64 {
        let mut total = 4 + bytes;
        if self.version >= 1 {
            total += 4;
        }
        if self.version >= 7 {
            total += 6;
        }
        total + if self.is_flexible { compact(topics) + 1 } else { 4 }
    }
}

/// The length of a compact length or count: an unsigned varint of one more.
#[inline]
const fn compact(count: u64) -> u64 {
    let bits = 64 - (count + 1).leading_zeros() as u64;
    // Bits over 7, rounded up, for up to 64 bits.
    (bits * 9 + 64) >> 6
}
