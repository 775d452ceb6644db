//! How far the log is committed.

use alloc::vec::Vec;

/// The largest end offset that a majority has reached, of the end offset of each voter; `None` if no
/// majority is known to have reached any.
///
/// A leader commits it if it wrote below it itself: see [`Leader::high_watermark`](super::Leader::high_watermark).
/// -1 stands for a voter whose end offset is not known. Reorders `ends`, so that nothing is
/// allocated. O(voters).
///
/// ```
/// use kafka_coordination::kraft::majority_end_offset;
///
/// assert_eq!(majority_end_offset(&mut [20, 15, 10]), Some(15));
/// assert_eq!(majority_end_offset(&mut [20, 15, 15, 10]), Some(15));
/// assert_eq!(majority_end_offset(&mut [20, -1]), None);
/// ```
pub fn majority_end_offset(ends: &mut [i64]) -> Option<i64> {
    let place = ends.len() / 2;
    if place >= ends.len() {
        return None;
    }
    let (_, &mut end, _) = ends.select_nth_unstable_by(place, |one, other| other.cmp(one));
    (end >= 0).then_some(end)
}

/// The committed end of the log, and memory to find it in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HighWatermark {
    epoch_start_offset: i64,
    offset: Option<i64>,
    /// What the selection reorders; kept, so that it is allocated once.
    scratch: Vec<i64>,
}

impl HighWatermark {
    /// Not known yet, in an epoch that starts at this offset.
    pub(super) const fn new(epoch_start_offset: i64) -> Self {
        Self { epoch_start_offset, offset: None, scratch: Vec::new() }
    }

    pub(super) const fn offset(&self) -> Option<i64> {
        self.offset
    }

    /// Moves to what a majority of voters has reached, if that is ahead and a record of the leader's
    /// own epoch lies below; returns the offset if it moved. `ends`: see [`majority_end_offset`].
    pub(super) fn advance(&mut self, ends: impl Iterator<Item = i64>) -> Option<i64> {
        self.scratch.clear();
        self.scratch.extend(ends);
        let candidate = majority_end_offset(&mut self.scratch)?;
        self.scratch.clear();
        if candidate <= self.offset.unwrap_or(self.epoch_start_offset) {
            return None;
        }
        self.offset = Some(candidate);
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::{HighWatermark, majority_end_offset};

    #[test]
    fn without_voters_nothing_is_committed() {
        assert_eq!(majority_end_offset(&mut []), None);
    }

    #[test]
    fn the_candidate_is_the_median_or_the_one_below() {
        assert_eq!(majority_end_offset(&mut [15]), Some(15));
        assert_eq!(majority_end_offset(&mut [15, 11]), Some(11));
        assert_eq!(majority_end_offset(&mut [10, 16, 15]), Some(15));
        assert_eq!(majority_end_offset(&mut [16, 10, 16, 16]), Some(16));
        assert_eq!(majority_end_offset(&mut [0, -1, 0]), Some(0));
        assert_eq!(majority_end_offset(&mut [-1, -1, 9]), None);
    }

    #[test]
    fn an_earlier_epoch_is_committed_by_a_record_of_the_own_one() {
        let mut mark = HighWatermark::new(10);
        assert_eq!(mark.advance([15, 10].into_iter()), None);
        assert_eq!(mark.advance([15, 11].into_iter()), Some(11));
        assert_eq!(mark.advance([15, 11].into_iter()), None);
        assert_eq!(mark.advance([15, 15, 9].into_iter()), Some(15));
        assert_eq!(mark.advance([15, 12, 9].into_iter()), None);
        assert_eq!(mark.offset(), Some(15));
    }
}
