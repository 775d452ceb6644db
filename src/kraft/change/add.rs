//! `AddRaftVoter`.

use super::admission::admit_add;
use super::decision::{LogVoters, Progress, check_add};
use super::error::ChangeError;
use super::pending::Probed;
use super::request::{AddVoter, RequestId};
use super::voter_changes::VoterChanges;
use crate::kraft::epoch::Leader;
use crate::kraft::voters::{Endpoint, ReplicaKey};
use crate::time::Monotonic;

impl VoterChanges {
    /// A request to add a voter. What is refused is answered, in the order of [`admit_add`] and
    /// [`check_add`]; otherwise the voter is asked what it supports.
    pub fn add_voter(
        &mut self,
        request: RequestId,
        add: &AddVoter<'_>,
        leader: &Leader,
        log: LogVoters<'_>,
        now: Monotonic,
    ) {
        self.handle_timeout(leader, now);
        let endpoint = match self.check_add(add, leader, log) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.answer(request, Err(error), None),
        };
        let probed = Probed::Add {
            voter: add.voter,
            endpoints: add.endpoints.clone(),
            acknowledge: add.acknowledge,
        };
        self.probe(request, None, probed, endpoint, now);
    }

    /// Where the voter is to be asked.
    fn check_add(
        &self,
        add: &AddVoter<'_>,
        leader: &Leader,
        log: LogVoters<'_>,
    ) -> Result<Endpoint, ChangeError> {
        let endpoint = admit_add(add, &self.receiver(leader))?;
        check_add(&self.situation(leader, log), add.voter)?;
        Ok(endpoint.clone())
    }

    /// Whether a new voter has caught up with the leader.
    pub(super) fn progress(&self, voter: &ReplicaKey, leader: &Leader, now: Monotonic) -> Progress {
        let end = |replica| leader.replica(replica).and_then(|state| state.end_offset());
        let lag = match (end(voter), leader.end_offset()) {
            (Some(end), Some(leader_end)) => leader_end.saturating_sub(end),
            _ => 0,
        };
        let is_near = lag <= 0 || lag.unsigned_abs() <= self.config.lag_max;
        if is_near && leader.is_caught_up(voter, now) {
            Progress::CaughtUp
        } else {
            Progress::Behind
        }
    }
}
