//! What is read of a record batch that is to be appended.

use super::sequence::{NO_SEQUENCE, last_sequence};
use crate::time::Timestamp;

/// Who appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "Kafka's AppendOrigin")]
pub enum Origin {
    /// A producer, through a produce request to the leader.
    Client,
    /// A group, share or transaction coordinator on the leader.
    Coordinator,
    /// The leader, through this follower's fetches; or the log itself, when it is read back.
    Replication,
    /// The leader of the metadata log.
    RaftLeader,
}

/// The level of the feature `transaction.version` that a marker was written at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionVersion(u8);

impl TransactionVersion {
    /// The level before the feature.
    pub const V0: Self = Self(0);
    /// A new format of the transaction log; as `V0` here.
    pub const V1: Self = Self(1);
    /// Each end of a transaction raises the producer epoch (KIP-890).
    pub const V2: Self = Self(2);

    /// That level.
    pub const fn new(level: u8) -> Self {
        Self(level)
    }

    /// The level.
    pub const fn level(self) -> u8 {
        self.0
    }

    /// Whether the coordinator raises the producer epoch at each end of a transaction.
    pub const fn raises_epoch(self) -> bool {
        self.0 >= 2
    }
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "committed or not")]
pub enum MarkerKind {
    /// What was written is taken back.
    Abort,
    /// What was written stands.
    Commit,
}

/// The record of a control batch that ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "Kafka's EndTransactionMarker and its timestamp")]
pub struct EndMarker {
    /// How it ends.
    pub kind: MarkerKind,
    /// The epoch of the transaction coordinator that ends it: 0 and above from a coordinator, any in
    /// a log.
    pub coordinator_epoch: i32,
    /// The record's timestamp, not the batch's.
    pub timestamp: Timestamp,
}

/// What a batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "data or control")]
pub enum Content {
    /// Records of a client or coordinator.
    Data {
        /// The sequence of the first record; -1 if there is none.
        base_sequence: i32,
        /// The highest record timestamp, or the append time if the topic keeps that instead.
        max_timestamp: Timestamp,
        /// Whether it belongs to a transaction.
        is_transactional: bool,
    },
    /// The end of a transaction.
    Marker(EndMarker),
    /// The header of an end of a transaction whose record the log cleaner has removed.
    EmptiedMarker {
        /// The highest timestamp that the header still tells; -1 if it tells none.
        max_timestamp: Timestamp,
    },
}

/// Where a batch lies in the log's files. Kept for the host, never looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    clippy::exhaustive_structs,
    reason = "what Kafka's LogOffsetMetadata holds beside the offset"
)]
pub struct Position {
    /// The base offset of the segment.
    pub segment_base_offset: i64,
    /// The place in the segment, in bytes.
    pub byte: i32,
}

/// The header of a batch whose offsets are assigned, and of a marker what its record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the fields of a record batch")]
pub struct Batch {
    /// The producer's id; below 0 if the batch has no producer.
    pub producer_id: i64,
    /// The producer's epoch; -1 if the batch has no producer.
    pub producer_epoch: i16,
    /// The offset of the first record, 0 and above, even if compaction removed that record.
    pub base_offset: i64,
    /// The offset of the last record, at most 2147483647 above the first.
    pub last_offset: i64,
    /// What it holds.
    pub content: Content,
    /// Where it will lie, if the host wants to be told where the first unstable batch is.
    pub position: Option<Position>,
}

impl Batch {
    /// Its last offset less its first, if both are legal.
    #[inline]
    pub(super) fn offset_delta(&self) -> Option<i32> {
        let delta = self.last_offset.checked_sub(self.base_offset)?;
        let is_legal = self.base_offset >= 0 && self.last_offset < i64::MAX && delta >= 0;
        i32::try_from(delta).ok().filter(|_| is_legal)
    }

    /// Whether it belongs to a transaction, as data or as its end.
    pub const fn is_transactional(&self) -> bool {
        !matches!(self.content, Content::Data { is_transactional: false, .. })
    }

    /// Whether it ends a transaction, or did before it was emptied.
    pub const fn is_marker(&self) -> bool {
        !matches!(self.content, Content::Data { .. })
    }

    /// The sequence of its last record; -1 if it has none.
    pub fn last_sequence(&self) -> i32 {
        match (self.content, self.offset_delta()) {
            (Content::Data { base_sequence, .. }, Some(delta)) => {
                last_sequence(base_sequence, delta)
            }
            _ => NO_SEQUENCE,
        }
    }
}
