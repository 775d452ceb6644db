//! `UpdateRaftVoter`.

use super::admission::admit_update;
use super::decision::{LogVoters, check_update};
use super::error::ChangeError;
use super::pending::Probed;
use super::request::{RequestId, UpdateVoter};
use super::voter_changes::{VoterChanges, current_leader};
use crate::kraft::epoch::Leader;
use crate::kraft::voters::{Endpoint, SupportedVersions, VoterNode};
use crate::time::Monotonic;

impl VoterChanges {
    /// A voter tells of itself. What is refused is answered, in the order of [`admit_update`] and
    /// [`check_update`]; otherwise the voter is asked at its new endpoint what it supports.
    ///
    /// Deviation: the leader's own id is refused as an invalid request, after the key. It ends Kafka's
    /// process.
    pub fn update_voter(
        &mut self,
        request: RequestId,
        update: &UpdateVoter<'_>,
        leader: &Leader,
        log: LogVoters<'_>,
        now: Monotonic,
    ) {
        self.handle_timeout(leader, now);
        let (supported_versions, endpoint) = match self.check_update(update, leader, log) {
            Ok(checked) => checked,
            Err(error) => {
                let current = current_leader(leader, &update.listener);
                return self.answer(request, Err(error), Some(current));
            }
        };
        let (key, endpoints) = (update.voter, update.endpoints.clone());
        let voter = VoterNode { key, endpoints, supported_versions };
        self.probe(request, Some(update.listener.clone()), Probed::Update(voter), endpoint, now);
    }

    /// What the voter says to support, and where it is to be asked.
    fn check_update(
        &self,
        update: &UpdateVoter<'_>,
        leader: &Leader,
        log: LogVoters<'_>,
    ) -> Result<(SupportedVersions, Endpoint), ChangeError> {
        let supported = admit_update(update, &self.receiver(leader))?;
        let id = update.voter.id;
        if id == leader.local().key.id {
            return Err(ChangeError::VoterIsLeader { id });
        }
        let situation = self.situation(leader, log);
        let endpoint = check_update(&situation, &update.endpoints, &self.config.default_listener)?;
        Ok((supported, endpoint.clone()))
    }
}
