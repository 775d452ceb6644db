//! One producer in a snapshot.

use crate::producer::entry::{NO_OFFSET, ProducerEntry};
use crate::producer::sequence::NO_SEQUENCE;
use crate::producer::window::{CachedBatch, Window};
use crate::time::Timestamp;

/// What a snapshot holds of a producer: of its batches the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the fields of version 1, the only one")]
pub struct SnapshotEntry {
    /// The producer's id, 0 and above.
    pub producer_id: i64,
    /// Its epoch; -1 if none is known.
    pub producer_epoch: i16,
    /// The last sequence of its newest batch; -1 without sequence or batch.
    pub last_sequence: i32,
    /// The last offset of its newest batch; -1 without.
    pub last_offset: i64,
    /// That batch's last offset less its first, 0 and above; 0 without.
    pub offset_delta: i32,
    /// Its last timestamp, in ms; -1 if there is none.
    pub timestamp: i64,
    /// The coordinator epoch of its last marker; -1 if there was none.
    pub coordinator_epoch: i32,
    /// The first offset of its open transaction; -1 without.
    pub current_txn_first_offset: i64,
}

impl SnapshotEntry {
    /// What a snapshot holds of this producer.
    pub fn new(producer_id: i64, entry: &ProducerEntry) -> Self {
        let newest = entry.window().newest();
        Self {
            producer_id,
            producer_epoch: entry.epoch(),
            last_sequence: newest.map_or(NO_SEQUENCE, |batch| batch.last_sequence),
            last_offset: newest.map_or(NO_OFFSET, |batch| batch.last_offset),
            offset_delta: newest.map_or(0, |batch| batch.offset_delta),
            timestamp: entry.last_timestamp().as_millis(),
            coordinator_epoch: entry.coordinator_epoch(),
            current_txn_first_offset: entry.current_transaction().unwrap_or(NO_OFFSET),
        }
    }
}

impl From<&SnapshotEntry> for ProducerEntry {
    /// What is known of a producer after its snapshot was loaded: a batch without offset is none.
    fn from(saved: &SnapshotEntry) -> Self {
        let timestamp = Timestamp::from_millis(saved.timestamp);
        let newest = (saved.last_offset >= 0).then_some(CachedBatch {
            last_sequence: saved.last_sequence,
            last_offset: saved.last_offset,
            offset_delta: saved.offset_delta,
            timestamp,
        });
        Self::new(
            saved.producer_epoch,
            saved.coordinator_epoch,
            timestamp,
            Some(saved.current_txn_first_offset),
            Window::from_iter(newest),
        )
    }
}
