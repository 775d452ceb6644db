//! How far the replicas' logs go, and with them the commits.

use super::{Leader, LeaderError};
use crate::kraft::voters::{ReplicaKey, VoterSet};
use crate::time::Monotonic;

/// How recently a replica must have fetched to be added, in milliseconds: an hour.
pub const CAUGHT_UP_WITHIN_MS: i64 = 3_600_000;

impl Leader {
    /// The leader's own log ends at `end_offset` after an append, which may have changed the voters:
    /// `voters` are the last ones in it. Returns the high watermark if it moved.
    ///
    /// `voters` is compared with what is known: cheaply, if it is a clone of it. O(1) if the voters stay the same, O(voters²) otherwise.
    ///
    /// # Errors
    /// - [`LeaderError::EndOffsetWentBack`]: a leader's log does not get shorter.
    pub fn appended(
        &mut self,
        end_offset: i64,
        voters: &VoterSet,
    ) -> Result<Option<i64>, LeaderError> {
        let known = self.end_offset();
        if let Some(from) = known.filter(|&from| end_offset < from) {
            return Err(LeaderError::EndOffsetWentBack { from, to: end_offset });
        }
        if end_offset < 0 {
            return Err(LeaderError::NegativeOffset { offset: end_offset });
        }
        if known.is_none() {
            self.flushed = None;
        }
        self.replicas.known_or_new(self.local.key).end_offset = Some(end_offset);
        if self.replicas.set_voters(voters) {
            return Ok(self.advance_high_watermark());
        }
        Ok(None)
    }

    /// The leader's own log is on disk up to `end_offset`, exclusive, and counts so far for commits.
    /// Returns the high watermark if it moved. O(voters).
    ///
    /// Deviation: Kafka counts what is appended, before it is flushed, so that what a single voter
    /// has told as committed may be lost.
    ///
    /// # Errors
    /// - [`LeaderError::EndOffsetWentBack`]: less than was flushed.
    /// - [`LeaderError::BeyondEnd`]: more than was appended.
    pub fn flushed(&mut self, end_offset: i64) -> Result<Option<i64>, LeaderError> {
        if let Some(from) = self.flushed.filter(|&from| end_offset < from) {
            return Err(LeaderError::EndOffsetWentBack { from, to: end_offset });
        }
        if let Some(end) = self.end_offset().filter(|&end| end_offset > end) {
            return Err(LeaderError::BeyondEnd { offset: end_offset, end });
        }
        self.flushed = Some(end_offset);
        Ok(self.advance_high_watermark())
    }

    /// A replica fetched from `offset`, validly: neither did its log diverge nor was it sent to a
    /// snapshot. Returns the high watermark if it moved.
    ///
    /// A negative id is no replica and leaves no trace. An offset below that of an earlier fetch is
    /// taken: the replica has lost its disk. O(voters), or O(log observers); no allocation but for an
    /// observer that is new.
    ///
    /// # Errors
    /// - [`LeaderError::IsLeader`]: the leader does not fetch from itself.
    /// - [`LeaderError::NegativeOffset`].
    pub fn fetched(
        &mut self,
        replica: ReplicaKey,
        offset: i64,
        now: Monotonic,
    ) -> Result<Option<i64>, LeaderError> {
        if replica.id < 0 {
            return Ok(None);
        }
        if replica.id == self.id() {
            return Err(LeaderError::IsLeader { id: replica.id });
        }
        if offset < 0 {
            return Err(LeaderError::NegativeOffset { offset });
        }
        let leader_end = self.replicas.known_or_new(self.local.key).end_offset;
        let Some(voter) = self.replicas.voter_of(&replica) else {
            self.replicas.observers.fetching(replica, now).fetched(offset, leader_end, now);
            self.restart_check_quorum(now);
            return Ok(None);
        };
        voter.state.fetched(offset, leader_end, now);
        voter.has_fetched = true;
        self.restart_check_quorum(now);
        // Who is not past the high watermark does not move it.
        if self.high_watermark().is_some_and(|mark| offset <= mark) {
            return Ok(None);
        }
        Ok(self.advance_high_watermark())
    }

    /// A replica was heard of otherwise than by a fetch of records: it fetched a snapshot, or updated
    /// its entry among the voters. If it is a voter that counts for check-quorum. O(voters).
    ///
    /// # Errors
    /// - [`LeaderError::IsLeader`].
    pub fn heard_from(&mut self, replica: ReplicaKey, now: Monotonic) -> Result<(), LeaderError> {
        if replica.id == self.id() {
            return Err(LeaderError::IsLeader { id: replica.id });
        }
        if let Some(voter) = self.replicas.voter_mut(replica.id) {
            voter.has_fetched |= voter.state.key.matches(&replica);
        }
        self.restart_check_quorum(now);
        Ok(())
    }

    /// The voter with this id answered `BeginQuorumEpoch`.
    ///
    /// Deviation: an id that is not a voter, as one that was removed meanwhile, is ignored; it ends
    /// Kafka's process.
    pub fn acknowledged(&mut self, voter_id: i32) {
        if let Some(voter) = self.replicas.voter_mut(voter_id) {
            voter.state.has_acknowledged = true;
        }
    }

    /// Whether a replica may be added to the voters: it is an observer, was once known to have all
    /// that the leader had, and fetched within [`CAUGHT_UP_WITHIN_MS`].
    ///
    /// Deviation: Kafka takes times up to 0 of its clock for "never".
    pub fn is_caught_up(&self, replica: &ReplicaKey, now: Monotonic) -> bool {
        let Some(state) = self.replicas.observers.get(replica) else { return false };
        state.last_caught_up.is_some() && !state.is_silent_for(CAUGHT_UP_WITHIN_MS, now)
    }

    fn advance_high_watermark(&mut self) -> Option<i64> {
        let (leader, flushed) = (self.local.key, self.flushed);
        let ends = self.replicas.voters.iter().map(|voter| {
            let is_leader = voter.state.key.matches(&leader);
            let end = voter.state.end_offset;
            (if is_leader { end.min(flushed) } else { end }).unwrap_or(-1)
        });
        self.high_watermark.advance(ends)
    }
}
