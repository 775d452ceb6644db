//! Which snapshot files there are, and which of them are kept.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The offsets of a partition's snapshot files: a mirror of the directory that the host keeps.
///
/// A snapshot covers the log up to its offset, exclusive, which is the number in the file's name.
/// Methods that drop snapshots answer their offsets; the host deletes the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    offsets: BTreeSet<i64>,
    /// The offset of the snapshot that was written or loaded last.
    last: i64,
}

impl Snapshots {
    /// None.
    pub const fn new() -> Self {
        Self { offsets: BTreeSet::new(), last: 0 }
    }

    /// The lowest offset.
    pub fn oldest(&self) -> Option<i64> {
        self.offsets.first().copied()
    }

    /// The highest offset.
    pub fn latest(&self) -> Option<i64> {
        self.offsets.last().copied()
    }

    /// Whether there is one of exactly this offset. Its absence is normal: logs from before Kafka 2.8
    /// lack some.
    pub fn contains(&self, offset: i64) -> bool {
        self.offsets.contains(&offset)
    }

    /// All offsets, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = i64> + '_ {
        self.offsets.iter().copied()
    }

    /// The offset of the snapshot that was written or loaded last.
    pub const fn last_taken(&self) -> i64 {
        self.last
    }

    /// The newest snapshot of at most `offset`.
    pub(super) fn latest_until(&self, offset: i64) -> Option<i64> {
        self.offsets.range(..=offset).next_back().copied()
    }

    /// Takes what the directory holds for the truth. Negative offsets are of no snapshot.
    pub(super) fn list(&mut self, offsets: impl IntoIterator<Item = i64>) {
        self.offsets = offsets.into_iter().filter(|&offset| offset >= 0).collect();
    }

    pub(super) fn insert(&mut self, offset: i64) {
        self.offsets.insert(offset);
        self.last = offset;
    }

    pub(super) const fn set_last(&mut self, offset: i64) {
        self.last = offset;
    }

    pub(super) fn remove(&mut self, offset: i64) -> bool {
        self.offsets.remove(&offset)
    }

    /// Drops all that are `unwanted`; answers their offsets, ascending.
    pub(super) fn remove_all(&mut self, unwanted: impl Fn(i64) -> bool) -> Vec<i64> {
        let removed: Vec<_> = self.iter().filter(|&offset| unwanted(offset)).collect();
        self.offsets.retain(|&offset| !unwanted(offset));
        removed
    }

    /// Drops those that belong to no segment. The highest of them stays if it is above all segments:
    /// that of a clean shutdown, at the log's end.
    pub(super) fn remove_stray(&mut self, segments: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let bases: BTreeSet<_> = segments.into_iter().collect();
        let stray = self.iter().rev().find(|offset| !bases.contains(offset));
        let kept = stray.filter(|offset| bases.last().is_none_or(|last| offset > last));
        self.remove_all(|offset| !bases.contains(&offset) && Some(offset) != kept)
    }
}
