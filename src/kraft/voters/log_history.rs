//! What a log says at each of its offsets.

use alloc::vec::Vec;

use thiserror::Error;

/// Values that records of a log set, each from its record's offset on, until the next. Kafka:
/// `TreeMapLogHistory`.
///
/// Offsets start at -1, which is where the content of the bootstrap checkpoint stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHistory<T> {
    /// By ascending offset, each once.
    entries: Vec<(i64, T)>,
}

impl<T> LogHistory<T> {
    /// The lowest offset: that of the bootstrap checkpoint.
    pub const BOOTSTRAP_OFFSET: i64 = -1;

    /// No value.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds the value of the record at `offset`. O(1).
    ///
    /// # Errors
    /// [`HistoryError`] if the offset is below -1 or not above that of the last value.
    pub fn add_at(&mut self, offset: i64, value: T) -> Result<(), HistoryError> {
        if offset < Self::BOOTSTRAP_OFFSET {
            return Err(HistoryError::Offset { offset });
        }
        if let Some(&(last, _)) = self.entries.last()
            && offset <= last
        {
            return Err(HistoryError::NotAbove { offset, last });
        }
        self.entries.push((offset, value));
        Ok(())
    }

    /// The value that holds at `offset`, which its own record counts to. O(log n).
    pub fn value_at_or_before(&self, offset: i64) -> Option<&T> {
        let after = self.entries.partition_point(|&(at, _)| at <= offset);
        self.entries.get(after.checked_sub(1)?).map(|(_, value)| value)
    }

    /// The last value and its offset. O(1).
    pub fn last_entry(&self) -> Option<(i64, &T)> {
        self.entries.last().map(|(offset, value)| (*offset, value))
    }

    /// Drops the values from `end_offset` on, which is where the log now ends.
    pub fn truncate_new_entries(&mut self, end_offset: i64) {
        self.entries.truncate(self.entries.partition_point(|&(at, _)| at < end_offset));
    }

    /// Drops the values that no longer hold at `start_offset` or behind it. O(n).
    pub fn truncate_old_entries(&mut self, start_offset: i64) {
        let after = self.entries.partition_point(|&(at, _)| at <= start_offset);
        self.entries.drain(..after.saturating_sub(1));
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The values with their offsets, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &T)> {
        self.entries.iter().map(|(offset, value)| (*offset, value))
    }

    /// How many values there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<T> Default for LogHistory<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a value cannot be added to a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// No record is at that offset.
    #[error("offset {offset} is below -1")]
    Offset {
        /// The offset.
        offset: i64,
    },
    /// Offsets of one history rise.
    #[error("offset {offset} is not above {last}")]
    NotAbove {
        /// The offset.
        offset: i64,
        /// The offset of the last value.
        last: i64,
    },
}
