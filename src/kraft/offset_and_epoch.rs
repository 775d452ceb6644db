//! Where a log or a snapshot ends.

use core::cmp::Ordering;
use core::fmt;

/// The end of a log prefix: the offset behind its last record and that record's epoch. Kafka:
/// `OffsetAndEpoch`.
///
/// It names a snapshot of that prefix, and tells which of two logs is ahead: ordered by epoch, then
/// by offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OffsetAndEpoch {
    /// The offset, exclusive.
    pub offset: i64,
    /// The epoch of the last record before it.
    pub epoch: i32,
}

impl OffsetAndEpoch {
    /// The id of the bootstrap checkpoint, which formatting writes and no leader hands out.
    pub const BOOTSTRAP: Self = Self::new(0, 0);

    /// The end at `offset`, in `epoch`.
    pub const fn new(offset: i64, epoch: i32) -> Self {
        Self { offset, epoch }
    }
}

impl Ord for OffsetAndEpoch {
    fn cmp(&self, other: &Self) -> Ordering {
        self.epoch.cmp(&other.epoch).then(self.offset.cmp(&other.offset))
    }
}

impl PartialOrd for OffsetAndEpoch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Writes `offset-epoch`, padded with zeros as in the names of snapshot files, which end in
/// `.checkpoint`.
impl fmt::Display for OffsetAndEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}-{:010}", self.offset, self.epoch)
    }
}
