//! The exact size of a fetch response on the wire, without encoding it.

use super::response::PartitionRead;

/// Adds up a response of one version, partition by partition.
#[derive(Debug)]
pub(super) struct ResponseSize {
    version: i16,
    /// What each partition takes beside what depends on its content.
    fixed: u64,
    topics: u64,
    /// Partitions of the topic at hand.
    partitions: u64,
    bytes: u64,
}

/// From this version on lengths are varints and structs end with tags.
const FIRST_FLEXIBLE: i16 = 12;
const FIRST_WITH_TOPIC_IDS: i16 = super::request::FIRST_VERSION_WITH_TOPIC_IDS;

impl ResponseSize {
    pub(super) const fn new(version: i16) -> Self {
        // Index, error and high watermark, then what came with later versions.
        let mut fixed = 14;
        if version >= 4 {
            fixed += 8;
        }
        if version >= 5 {
            fixed += 8;
        }
        if version >= 11 {
            fixed += 4;
        }
        if version >= FIRST_FLEXIBLE {
            fixed += 1;
        } else {
            fixed += if version >= 4 { 4 + 4 } else { 4 };
        }
        Self { version, fixed, topics: 0, partitions: 0, bytes: 0 }
    }

    const fn is_flexible(&self) -> bool {
        self.version >= FIRST_FLEXIBLE
    }

    /// Opens a topic element. `name_len` is the length of the topic's name in bytes, which counts
    /// below version 13.
    pub(super) fn topic(&mut self, name_len: usize) {
        self.close_topic();
        self.topics += 1;
        self.bytes += if self.version >= FIRST_WITH_TOPIC_IDS {
            16
        } else if self.is_flexible() {
            compact(name_len as u64) + name_len as u64
        } else {
            2 + name_len as u64
        };
    }

    fn close_topic(&mut self) {
        if self.topics > 0 {
            self.bytes += if self.is_flexible() { compact(self.partitions) + 1 } else { 4 };
        }
        self.partitions = 0;
    }

    /// Adds a partition to the open topic element.
    #[inline]
    pub(super) fn partition(&mut self, read: &PartitionRead) {
        self.partitions += 1;
        let records = u64::from(read.records_size());
        self.bytes += self.fixed + records;
        if self.is_flexible() {
            self.bytes += compact(records) + 1;
        }
        if read.has_sized_fields() {
            self.fields(read);
        }
    }

    /// Adds what most partitions do not have; the null list of aborted transactions is in.
    fn fields(&mut self, read: &PartitionRead) {
        let aborted = u64::from(read.aborted_transactions().unwrap_or(0));
        if self.is_flexible() {
            if read.aborted_transactions().is_some() {
                self.bytes += compact(aborted) + 17 * aborted - 1;
            }
            self.bytes += if read.has_diverging_epoch() { 15 } else { 0 };
            self.bytes += if read.has_current_leader() { 11 } else { 0 };
            self.bytes += if read.has_snapshot_id() { 15 } else { 0 };
        } else if self.version >= 4 {
            self.bytes += 16 * aborted;
        }
    }

    /// The size of the whole response with its length prefix, without a header and without node
    /// endpoints.
    pub(super) fn total(mut self) -> u64 {
        self.close_topic();
        let mut bytes = 4 + self.bytes;
        if self.version >= 1 {
            bytes += 4;
        }
        if self.version >= 7 {
            bytes += 6;
        }
        bytes + if self.is_flexible() { compact(self.topics) + 1 } else { 4 }
    }
}

/// The length of a compact length or count: an unsigned varint of one more.
const fn compact(count: u64) -> u64 {
    let bits = 64 - (count + 1).leading_zeros() as u64;
    bits.div_ceil(7)
}
