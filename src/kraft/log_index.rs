//! What a replica knows of its log without reading it: where it starts and ends, its epochs, its snapshots.

use super::offset_and_epoch::OffsetAndEpoch;
use alloc::vec::Vec;
use thiserror::Error;

/// Where a fetcher's log stands beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPosition {
    /// Both have the same records up to there.
    Valid,
    /// They part at the latest there.
    Diverging(OffsetAndEpoch),
    /// What follows is in no log any more: this snapshot has it.
    Snapshot(OffsetAndEpoch),
}

/// A log would lose committed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("truncation to {offset} is below the high watermark {high_watermark}")]
pub struct BelowHighWatermark {
    /// Where the log would end.
    pub offset: i64,
    /// Up to where it is committed.
    pub high_watermark: i64,
}

/// A mirror of the log's bounds, the offsets at which its epochs start, and its snapshots. O(epochs + snapshots).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogIndex {
    start_offset: i64,
    end_offset: i64,
    high_watermark: i64,
    /// Epochs and where they start, both ascending.
    epochs: Vec<(i32, i64)>,
    /// Ascending.
    snapshots: Vec<OffsetAndEpoch>,
}

impl LogIndex {
    /// An empty log that starts at 0.
    pub const fn new() -> Self {
        Self {
            start_offset: 0,
            end_offset: 0,
            high_watermark: 0,
            epochs: Vec::new(),
            snapshots: Vec::new(),
        }
    }

    /// An empty log that starts where its latest snapshot ends.
    pub fn after_snapshot(snapshot: OffsetAndEpoch) -> Self {
        let offset = snapshot.offset;
        let mut index = Self {
            start_offset: offset,
            end_offset: offset,
            high_watermark: offset,
            ..Self::new()
        };
        index.snapshots.push(snapshot);
        index
    }

    /// The first offset that the log has.
    pub const fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// The offset that the next record gets.
    pub const fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// Up to where the log is known to be committed, exclusive; it never goes back.
    pub const fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// The snapshots, the oldest first.
    pub fn snapshots(&self) -> &[OffsetAndEpoch] {
        &self.snapshots
    }

    /// The latest snapshot.
    pub fn latest_snapshot(&self) -> Option<OffsetAndEpoch> {
        self.snapshots.last().copied()
    }

    /// The epoch at the end of the log: that of its last record, or of a leader that has not written yet.
    pub fn last_fetched_epoch(&self) -> i32 {
        let snapshot = || self.latest_snapshot().map_or(0, |snapshot| snapshot.epoch);
        self.epochs.last().map_or_else(snapshot, |(epoch, _)| *epoch)
    }

    /// Where the log ends: what votes compare.
    pub fn end(&self) -> OffsetAndEpoch {
        OffsetAndEpoch::new(self.end_offset, self.last_fetched_epoch())
    }

    /// The largest epoch up to `epoch` that the log has, and where it ends.
    pub fn end_offset_for_epoch(&self, epoch: i32) -> OffsetAndEpoch {
        let above = self.epochs.partition_point(|(known, _)| *known <= epoch);
        let next = self.epochs.get(above);
        let last = above.checked_sub(1).and_then(|place| self.epochs.get(place));
        match (last, next) {
            (_, None) => self.end(),
            (Some((epoch, _)), Some((_, end))) => OffsetAndEpoch::new(*end, *epoch),
            (None, Some((_, start))) => {
                let snapshot = self.snapshots.iter().find(|snapshot| snapshot.offset == *start);
                OffsetAndEpoch::new(*start, snapshot.map_or(epoch, |snapshot| snapshot.epoch))
            }
        }
    }

    /// Whether a log that ends at `offset` in `epoch` is a part of this one.
    pub fn position(&self, offset: i64, epoch: i32) -> LogPosition {
        if self.start_offset == 0 && offset == 0 {
            return LogPosition::Valid;
        }
        if let (Some(earliest), Some(latest)) = (self.snapshots.first(), self.snapshots.last()) {
            let is_before = offset < self.start_offset
                || offset == self.start_offset && epoch != earliest.epoch
                || epoch < earliest.epoch;
            if is_before {
                return LogPosition::Snapshot(*latest);
            }
        }
        let end = self.end_offset_for_epoch(epoch);
        if end.epoch != epoch || end.offset < offset {
            return LogPosition::Diverging(end);
        }
        LogPosition::Valid
    }

    /// Where this log has to be cut, told that its leader's log parts from it at `diverging`.
    pub fn truncation_offset(&self, diverging: OffsetAndEpoch) -> i64 {
        if diverging.epoch == 0 {
            return diverging.offset.min(self.end_offset);
        }
        let own = self.end_offset_for_epoch(diverging.epoch);
        if own.epoch == diverging.epoch { own.offset.min(diverging.offset) } else { own.offset }
    }

    /// A leader's epoch starts at the log's end, before its first record.
    pub fn start_epoch(&mut self, epoch: i32) {
        if self.epochs.last().is_none_or(|(last, _)| *last < epoch) {
            // An epoch that has no records is no part of the log.
            self.epochs.retain(|(_, start)| *start < self.end_offset);
            self.epochs.push((epoch, self.end_offset));
        }
    }

    /// A batch was appended that ends with `last_offset`.
    pub fn append(&mut self, last_offset: i64, epoch: i32) {
        self.start_epoch(epoch);
        self.end_offset = last_offset.saturating_add(1);
    }

    /// The log was cut and ends at `end_offset`.
    ///
    /// # Errors
    ///
    /// Committed records would be lost; nothing changes.
    pub fn truncate_to(&mut self, end_offset: i64) -> Result<(), BelowHighWatermark> {
        if end_offset < self.high_watermark {
            return Err(BelowHighWatermark {
                offset: end_offset,
                high_watermark: self.high_watermark,
            });
        }
        self.end_offset = self.end_offset.min(end_offset);
        self.epochs.retain(|(_, start)| *start < end_offset);
        Ok(())
    }

    /// The log is committed up to `offset`.
    pub fn set_high_watermark(&mut self, offset: i64) {
        self.high_watermark = self.high_watermark.max(offset.min(self.end_offset));
    }

    /// A snapshot was made or found.
    pub fn add_snapshot(&mut self, snapshot: OffsetAndEpoch) {
        if let Err(place) = self.snapshots.binary_search(&snapshot) {
            self.snapshots.insert(place, snapshot);
        }
    }

    /// Whether a snapshot that is not there yet is ahead of the whole log, and has all that is committed: installed, it takes
    /// the log's place.
    pub fn is_behind(&self, snapshot: OffsetAndEpoch) -> bool {
        self.end() < snapshot && self.high_watermark <= snapshot.offset
    }

    /// The latest snapshot, if it is ahead of the whole log, takes its place: the log is empty and starts at its end.
    /// Gives whether it did.
    pub fn truncate_to_latest_snapshot(&mut self) -> bool {
        let newest = self.epochs.last().map_or(0, |(epoch, _)| *epoch);
        let end = OffsetAndEpoch::new(self.end_offset, newest);
        let Some(latest) = self.latest_snapshot().filter(|latest| end < *latest) else {
            return false;
        };
        *self = Self::after_snapshot(latest);
        true
    }

    /// Records below `snapshot` were deleted, and older snapshots. Gives whether that is allowed: it is in the log's
    /// committed part, and there is such a snapshot.
    pub fn delete_before(&mut self, snapshot: OffsetAndEpoch) -> bool {
        let offset = snapshot.offset;
        let allowed = self.snapshots.contains(&snapshot)
            && self.start_offset < offset
            && offset <= self.high_watermark;
        if allowed {
            self.start_offset = offset;
            self.snapshots.retain(|known| *known >= snapshot);
            let first =
                self.epochs.partition_point(|(_, start)| *start <= offset).saturating_sub(1);
            self.epochs.drain(..first);
            if let Some((_, start)) = self.epochs.first_mut() {
                *start = (*start).max(offset);
            }
        }
        allowed
    }
}
