//! What time brings: time-outs, requests that are due, records to write.

use super::{Context, Fatal, Replica};
use crate::kraft::epoch::{EpochState, ReplicaState, Verdict};
use crate::kraft::rpc::{
    AddVoterRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, Request, UpdateVoterRequest,
    VoteRequest,
};
use crate::kraft::voters::ReplicaKey;
use crate::random::Random;
use crate::time::Monotonic;
use alloc::vec::Vec;

impl Replica {
    /// Does what is due: lets time-outs expire, sends requests, writes records. O(1), some nanoseconds, if nothing is.
    pub fn handle_timeout(&mut self, random: &mut dyn Random, now: Monotonic) {
        if self.is_idle(now) {
            return;
        }
        self.run(now, random, |replica, context| {
            if replica.complete_shutdown(context) {
                replica.wake = None;
                return Ok(());
            }
            replica.expire_parked(context);
            let generation = replica.quorum.generation();
            let wait_ms = replica.poll_state(context)?;
            replica.feed_application()?;
            // A state that was just entered has something to do of its own. Without a time-out elections follow each other,
            // but not in one moment.
            let is_restless = replica.config.quorum.election_timeout_ms == 0;
            let is_new = generation != replica.quorum.generation();
            let wait_ms = if is_new { i64::from(is_restless) } else { wait_ms };
            let waits = [Some(wait_ms), replica.parked.wait_ms(now), replica.shutdown_wait_ms(now)];
            let wait_ms = waits.into_iter().flatten().min().unwrap_or(i64::MAX);
            replica.wake = (wait_ms < i64::MAX).then(|| now.saturating_add(wait_ms));
            Ok(())
        });
    }

    /// Whether nothing is due. That a follower may tell of itself wakes nobody up, as with Kafka, but is done when somebody
    /// asks.
    fn is_idle(&self, now: Monotonic) -> bool {
        let is_due = match self.quorum.state() {
            EpochState::Follower(follower) => follower.update_voter_due(now),
            _ => false,
        };
        !is_due && self.wake.is_none_or(|wake| wake > now)
    }

    /// Gives the milliseconds until there is something to do again.
    fn poll_state(&mut self, context: &mut Context<'_>) -> Result<i64, Fatal> {
        let now = context.now;
        let is_observer = self.is_observer();
        match self.quorum.state() {
            EpochState::Unattached(_) if is_observer => Ok(self.fetch_from_bootstrap(context)),
            EpochState::Unattached(_) if self.shutdown.is_some() => Ok(i64::MAX),
            EpochState::Unattached(state) => match state.remaining_election_ms(now) {
                0 if self.is_log_busy => Ok(i64::MAX),
                0 => self.become_prospective(context).map(|()| 0),
                remaining => Ok(self.fetch_from_bootstrap(context).min(remaining)),
            },
            EpochState::Prospective(state) => match state.remaining_election_ms(now) {
                0 if self.shutdown.is_none() => self.lose_election(context).map(|()| 0),
                0 => Ok(self.request_votes(context)),
                remaining => Ok(self.request_votes(context).min(remaining)),
            },
            EpochState::Candidate(state) => match state.remaining_election_ms(now) {
                0 if self.shutdown.is_none() => self.become_prospective(context).map(|()| 0),
                0 => Ok(self.request_votes(context)),
                remaining => Ok(self.request_votes(context).min(remaining)),
            },
            EpochState::Leader(_) => self.poll_leader(context),
            EpochState::Follower(_) if is_observer => Ok(self.poll_observer(context)),
            EpochState::Follower(_) => self.poll_voter(context),
            EpochState::Resigned(_) => self.poll_resigned(context),
        }
    }

    /// Asks every voter that has not answered yet for its vote.
    fn request_votes(&mut self, context: &Context<'_>) -> i64 {
        let (tally, is_pre_vote) = match self.quorum.state() {
            EpochState::Prospective(state) => (state.tally(), true),
            EpochState::Candidate(state) => (state.tally(), false),
            _ => return i64::MAX,
        };
        if tally.is_rejected() {
            return i64::MAX;
        }
        let Some(candidate) = self.config.quorum.local_key() else { return i64::MAX };
        let voters: Vec<ReplicaKey> = tally.voters(Verdict::Unrecorded).collect();
        let mut wait_ms = i64::MAX;
        for voter in voters {
            // It may have left the voters meanwhile.
            let Some(node) = self.voter_node(voter.id) else { continue };
            let request = Request::Vote(VoteRequest {
                voter: Some(voter),
                candidate,
                epoch: self.quorum.epoch(),
                log_end: self.log.end(),
                is_pre_vote,
            });
            wait_ms = wait_ms.min(self.maybe_send(node, request, context).wait_ms);
        }
        wait_ms
    }

    fn poll_leader(&mut self, context: &mut Context<'_>) -> Result<i64, Fatal> {
        let now = context.now;
        let is_shutting_down = self.shutdown.is_some();
        let Some(leader) = self.leader_mut() else { return Ok(i64::MAX) };
        let gives_up =
            leader.is_resignation_requested() || leader.check_quorum_remaining_ms(now) == 0;
        if is_shutting_down || gives_up {
            return self.resign_leadership(context).map(|()| 0);
        }
        let change_wait = self.poll_changes(context);
        let append_wait = self.write_appends(context)?;
        let begin_wait = self.begin_quorum_epoch(context);
        let Some(leader) = self.leader_mut() else { return Ok(0) };
        let check_wait = leader.check_quorum_remaining_ms(now);
        // A removal that was just committed may have asked for it.
        if leader.is_resignation_requested() {
            return Ok(0);
        }
        Ok([change_wait, append_wait, begin_wait, check_wait].into_iter().min().unwrap_or(i64::MAX))
    }

    /// Tells voters that do not fetch who leads.
    fn begin_quorum_epoch(&mut self, context: &Context<'_>) -> i64 {
        let now = context.now;
        if self.quorum.is_only_voter(self.latest_voters()) {
            return i64::MAX;
        }
        let Some(leader) = self.leader_mut() else { return i64::MAX };
        let remaining = leader.begin_quorum_remaining_ms(now);
        if remaining > 0 {
            return remaining;
        }
        let targets: Vec<ReplicaKey> =
            leader.begin_quorum_targets(now).map(ReplicaState::key).collect();
        leader.restart_begin_quorum(now);
        let mut wait_ms = leader.begin_quorum_remaining_ms(now);
        let (epoch, local) = (leader.epoch(), leader.local().clone());
        for voter in targets {
            let Some(node) = self.voter_node(voter.id) else { continue };
            let request = Request::BeginQuorumEpoch(BeginQuorumEpochRequest {
                voter: Some(voter),
                leader_id: local.key.id,
                epoch,
                leader_endpoints: local.endpoints.clone(),
            });
            wait_ms = wait_ms.min(self.maybe_send(node, request, context).wait_ms);
        }
        wait_ms
    }

    fn poll_voter(&mut self, context: &mut Context<'_>) -> Result<i64, Fatal> {
        let now = context.now;
        let EpochState::Follower(follower) = self.quorum.state() else { return Ok(i64::MAX) };
        let remaining = follower.remaining_fetch_ms(now);
        if remaining == 0 {
            // Where its log ends, and whether it is a voter, is known when the log is as it is to be.
            if self.is_log_busy {
                return Ok(i64::MAX);
            }
            return self.become_prospective(context).map(|()| 0);
        }
        let wait_ms = if follower.update_voter_due(now) {
            self.update_voter(context)
        } else {
            self.fetch_from_best(context)
        };
        Ok(wait_ms.min(remaining))
    }

    /// Tells the leader of this voter's endpoints and versions, if the leader does not know them.
    fn update_voter(&mut self, context: &mut Context<'_>) -> i64 {
        let now = context.now;
        let EpochState::Follower(follower) = self.quorum.state() else { return i64::MAX };
        let local = self.config.quorum.local_node();
        let is_needed = if self.control.kraft_version().is_reconfiguration_supported() {
            local.as_ref().is_some_and(|local| self.control.voters().voter_needs_update(local))
        } else {
            !follower.has_updated_leader()
        };
        let Some(local) = local.filter(|_| is_needed) else {
            if let Some(follower) = self.follower_mut() {
                follower.restart_update_voter(now);
            }
            return self.fetch_from_best(context);
        };
        let request = Request::UpdateVoter(UpdateVoterRequest {
            leader_epoch: self.quorum.epoch(),
            voter: local.key,
            endpoints: local.endpoints,
            supported_versions: local.supported_versions,
        });
        self.send_change(request, context)
    }

    /// Sends a request that changes voters to the leader; the next one is considered a while after it was sent.
    fn send_change(&mut self, request: Request, context: &Context<'_>) -> i64 {
        let sent = self.send_to_leader(request, context);
        if sent.correlation.is_none() {
            return sent.wait_ms;
        }
        if let Some(follower) = self.follower_mut() {
            follower.restart_update_voter(context.now);
        }
        // A fetch from somebody else may be in flight, and be given up earlier.
        sent.wait_ms.min(self.connections.bootstrap_backoff_ms(context.now))
    }

    fn poll_observer(&mut self, context: &mut Context<'_>) -> i64 {
        let EpochState::Follower(follower) = self.quorum.state() else { return i64::MAX };
        let may_join = self.config.can_become_voter
            && self.config.auto_join
            && self.control.kraft_version().is_reconfiguration_supported();
        let local = self.config.quorum.local_node();
        match local.filter(|_| may_join && follower.update_voter_due(context.now)) {
            None => self.fetch_from_best(context),
            Some(local) => {
                // Another directory of this node is a voter still: it has to go first.
                let request = match self.control.voters().get(local.key.id) {
                    Some(old) => Request::RemoveVoter(old.key),
                    None => Request::AddVoter(AddVoterRequest {
                        timeout_ms: i32::try_from(self.config.request_timeout_ms)
                            .unwrap_or(i32::MAX),
                        voter: local.key,
                        endpoints: local.endpoints,
                    }),
                };
                self.send_change(request, context)
            }
        }
    }

    fn poll_resigned(&mut self, context: &mut Context<'_>) -> Result<i64, Fatal> {
        let EpochState::Resigned(state) = self.quorum.state() else { return Ok(i64::MAX) };
        let remaining = state.remaining_election_ms(context.now);
        let unacknowledged = state.unacknowledged().to_vec();
        let candidates = state.preferred_successors().to_vec();
        let (epoch, leader_id) = (self.quorum.epoch(), self.quorum.state().leader_id());
        let mut wait_ms = i64::MAX;
        for voter in unacknowledged {
            let (Some(node), Some(leader_id)) = (self.voter_node(voter), leader_id) else {
                continue;
            };
            let request = Request::EndQuorumEpoch(EndQuorumEpochRequest {
                leader_id,
                epoch,
                preferred_candidates: candidates.clone(),
                leader_endpoints: self.config.quorum.local_endpoints.clone(),
            });
            wait_ms = wait_ms.min(self.maybe_send(node, request, context).wait_ms);
        }
        if self.shutdown.is_some() {
            return Ok(wait_ms);
        }
        if remaining == 0 {
            let next =
                epoch.checked_add(1).ok_or(crate::kraft::quorum::TransitionError::LastEpoch)?;
            return self.become_unattached(next, None, context).map(|()| 0);
        }
        Ok(wait_ms.min(remaining))
    }
}
