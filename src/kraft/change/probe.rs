//! What a voter says that it supports.

use super::decision::{LogVoters, UpdatedVoters, decide_add, decide_update};
use super::effect::{Connection, ProbeId, ProbeOutcome};
use super::error::ChangeError;
use super::pending::{Probed, Stage};
use super::request::Acknowledge;
use super::voter_changes::VoterChanges;
use crate::kraft::epoch::{Leader, Upgrade};
use crate::kraft::voters::{SupportedVersions, VoterNode};
use crate::time::Monotonic;

impl VoterChanges {
    /// What became of a question to a voter. Returns how the connection by which it went goes on.
    ///
    /// What is not the answer that is waited for is ignored: the change is over, or goes on already.
    pub fn probed(
        &mut self,
        id: ProbeId,
        outcome: ProbeOutcome,
        leader: &mut Leader,
        log: LogVoters<'_>,
        now: Monotonic,
    ) -> Connection {
        self.handle_timeout(leader, now);
        let probed = match self.pending.as_ref().map(|pending| &pending.stage) {
            Some(Stage::Probing(awaited, probed)) if *awaited == id => probed.clone(),
            _ => return Connection::Free,
        };
        let id = probed.voter_id();
        let supported = match outcome {
            ProbeOutcome::Supports(supported) => supported,
            ProbeOutcome::NotSent => {
                self.finish(Err(ChangeError::Unreachable { id }), leader);
                return Connection::Free;
            }
            ProbeOutcome::Failed(error) => {
                self.finish(Err(ChangeError::ProbeFailed { id, error }), leader);
                return Connection::BackOff;
            }
        };
        let gone_on = match probed {
            Probed::Add { voter, endpoints, acknowledge } => {
                let progress = self.progress(&voter, leader, now);
                decide_add(log, voter, endpoints, supported, progress)
                    .map(|voters| self.write(voters, acknowledge))
            }
            Probed::Update(voter) => self.go_on_updating(voter, supported, leader, log, now),
        };
        if let Err(error) = gone_on {
            self.finish(Err(error), leader);
        }
        Connection::Free
    }

    /// An update is written, or at level 0 of `kraft.version` done.
    fn go_on_updating(
        &mut self,
        voter: VoterNode,
        supported: Option<SupportedVersions>,
        leader: &mut Leader,
        log: LogVoters<'_>,
        now: Monotonic,
    ) -> Result<(), ChangeError> {
        let key = voter.key;
        let situation = self.situation(leader, log);
        match decide_update(&situation, leader.volatile_voters(), voter, supported)? {
            // While it waits for its answer the voter does not fetch, and the commit may need it.
            UpdatedVoters::Write(voters) => self.write(voters, Acknowledge::Appended),
            UpdatedVoters::Keep(voters) => {
                leader.set_upgrade(Upgrade::Collecting(voters));
                self.finish(Ok(()), leader);
            }
        }
        // It cannot fail: the leader's own id is refused when the request comes.
        let _ = leader.heard_from(key, now);
        Ok(())
    }
}
