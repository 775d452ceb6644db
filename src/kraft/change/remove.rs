//! `RemoveRaftVoter`.

use super::admission::admit_remove;
use super::decision::{LogVoters, decide_remove};
use super::error::ChangeError;
use super::pending::Stage;
use super::request::{Acknowledge, RemoveVoter, RequestId};
use super::voter_changes::VoterChanges;
use crate::kraft::epoch::Leader;
use crate::kraft::voters::VoterSet;
use crate::time::Monotonic;

impl VoterChanges {
    /// A request to remove a voter, the leader too. What is refused is answered, in the order of
    /// [`admit_remove`] and [`decide_remove`]; otherwise the new voters are written.
    pub fn remove_voter(
        &mut self,
        request: RequestId,
        remove: &RemoveVoter<'_>,
        leader: &Leader,
        log: LogVoters<'_>,
        now: Monotonic,
    ) {
        self.handle_timeout(leader, now);
        match self.check_remove(remove, leader, log) {
            Ok(voters) => {
                self.begin(request, None, Stage::Writing(Acknowledge::Committed), now);
                self.append(None, Some(voters));
            }
            Err(error) => self.answer(request, Err(error), None),
        }
    }

    fn check_remove(
        &self,
        remove: &RemoveVoter<'_>,
        leader: &Leader,
        log: LogVoters<'_>,
    ) -> Result<VoterSet, ChangeError> {
        admit_remove(remove, &self.receiver(leader))?;
        decide_remove(&self.situation(leader, log), &remove.voter)
    }
}
