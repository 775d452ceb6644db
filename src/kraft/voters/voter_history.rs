//! The voter sets of a log.

use super::log_history::{HistoryError, LogHistory};
use super::voter_set::VoterSet;

/// The voter sets that a log holds, and the static one that holds while there are none. Kafka:
/// `VoterSetHistory`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VoterHistory {
    static_voters: VoterSet,
    history: LogHistory<VoterSet>,
}

impl VoterHistory {
    /// No voter set in the log; the static one may be empty.
    pub const fn new(static_voters: VoterSet) -> Self {
        Self { static_voters, history: LogHistory::new() }
    }

    /// Adds the voter set of the record at `offset`. O(1), and O(n) for the voters.
    ///
    /// A set whose majorities do not overlap those of the set before is taken all the same: that is
    /// how a quorum is rebuilt after a disaster (KAFKA-17973).
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn add_at(&mut self, offset: i64, voters: VoterSet) -> Result<(), HistoryError> {
        let overlaps = self.last_entry().is_none_or(|(before, previous)| {
            before < 0 || previous.has_overlapping_majority(&voters)
        });
        self.history.add_at(offset, voters)?;
        if !overlaps {
            let voters = self.last_value();
            tracing::warn!(offset, %voters, "majorities of these and the voters before do not overlap");
        }
        Ok(())
    }

    /// The set that the log holds at `offset`, whose record may stand there; never the static one.
    pub fn value_at_or_before(&self, offset: i64) -> Option<&VoterSet> {
        self.history.value_at_or_before(offset)
    }

    /// The last set of the log and its offset.
    pub fn last_entry(&self) -> Option<(i64, &VoterSet)> {
        self.history.last_entry()
    }

    /// The offset of the last set of the log; `None` if the static one holds.
    pub fn last_offset(&self) -> Option<i64> {
        self.last_entry().map(|(offset, _)| offset)
    }

    /// The last set of the log, else the static one: the set in force.
    pub fn last_value(&self) -> &VoterSet {
        self.last_entry().map_or(&self.static_voters, |(_, voters)| voters)
    }

    /// The set that holds while the log has none.
    pub const fn static_voters(&self) -> &VoterSet {
        &self.static_voters
    }

    /// Drops the sets from `end_offset` on, which is where the log now ends.
    pub fn truncate_new_entries(&mut self, end_offset: i64) {
        self.history.truncate_new_entries(end_offset);
    }

    /// Drops the sets that no longer hold at `start_offset` or behind it.
    pub fn truncate_old_entries(&mut self, start_offset: i64) {
        self.history.truncate_old_entries(start_offset);
    }

    /// Drops the sets of the log.
    pub fn clear(&mut self) {
        self.history.clear();
    }

    /// The sets of the log with their offsets, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &VoterSet)> {
        self.history.iter()
    }
}
