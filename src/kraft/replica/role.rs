//! Changing roles, with what belongs to it.

use super::{Context, Fatal, Replica};
use crate::error_code::ErrorCode;
use crate::kraft::accumulator::Accumulator;
use crate::kraft::change::{ChangeConfig, VoterChanges};
use crate::kraft::effect::Effect;
use crate::kraft::epoch::EpochState;
use crate::kraft::quorum::Transition;
use crate::kraft::voters::{Endpoints, ReplicaKey};

impl Replica {
    /// Makes a transition: what has to be durable goes first.
    fn enter(&mut self, transition: Transition, context: &Context<'_>) {
        if let Some(persist) = transition.persist() {
            self.effect(Effect::Persist(persist.clone()));
        }
        let state = transition.next();
        tracing::debug!(state = ?state.kind(), epoch = state.epoch(), leader = ?state.leader_id(), "transition");
        let Ok(left) = self.quorum.commit(transition) else { return };
        if let EpochState::Leader(leader) = left {
            if let Some(mut changes) = self.changes.take() {
                changes.close(&leader);
                self.carry_out_last(changes);
            }
            self.accumulator = None;
            self.probe = None;
        }
        if !matches!(self.quorum.state(), EpochState::Follower(_)) {
            self.drop_download();
        }
        self.wake = Some(context.now);
    }

    pub(super) fn become_unattached(
        &mut self,
        epoch: i32,
        leader_id: Option<i32>,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        let transition = self.quorum.to_unattached(
            epoch,
            leader_id,
            self.latest_voters(),
            &mut context.random,
            context.now,
        )?;
        self.enter(transition, context);
        self.fail_parked(ErrorCode::NotLeaderOrFollower);
        self.tell_leader_change();
        self.connections.reset_all();
        Ok(())
    }

    pub(super) fn add_vote(
        &mut self,
        key: ReplicaKey,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        let epoch = self.quorum.epoch();
        let transition = self.quorum.add_vote(
            epoch,
            key,
            self.latest_voters(),
            &mut context.random,
            context.now,
        )?;
        self.enter(transition, context);
        Ok(())
    }

    pub(super) fn become_prospective(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        let transition =
            self.quorum.to_prospective(self.latest_voters(), &mut context.random, context.now)?;
        self.enter(transition, context);
        self.connections.reset_all();
        self.count_votes(context)
    }

    fn become_candidate(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        let transition =
            self.quorum.to_candidate(self.latest_voters(), &mut context.random, context.now)?;
        self.enter(transition, context);
        self.tell_leader_change();
        self.connections.reset_all();
        self.count_votes(context)
    }

    /// A peer does not know pre-votes: the candidacy begins without them.
    pub(super) fn skip_pre_votes(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        self.become_candidate(context)
    }

    /// Goes on if a majority has granted its vote, or back if none is left.
    pub(super) fn count_votes(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        match self.quorum.state() {
            EpochState::Prospective(state) if state.tally().is_granted() => {
                self.become_candidate(context)
            }
            EpochState::Prospective(state) if state.tally().is_rejected() => {
                self.lose_election(context)
            }
            EpochState::Candidate(state) if state.tally().is_granted() => {
                self.become_leader(context)
            }
            _ => Ok(()),
        }
    }

    /// A prospective replica would not be elected: it goes back to the leader that it knows, if it does.
    pub(super) fn lose_election(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        let epoch = self.quorum.epoch();
        let state = self.quorum.state();
        let leader = state.leader_id();
        let endpoints = state.leader_endpoints().cloned().unwrap_or_default();
        match leader {
            Some(leader_id) if !endpoints.is_empty() => {
                self.become_follower(epoch, leader_id, endpoints, context)
            }
            _ => self.become_unattached(epoch, leader, context),
        }
    }

    fn become_leader(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        let end_offset = self.log.end_offset();
        let transition = self.quorum.to_leader(end_offset, self.latest_voters(), context.now)?;
        let EpochState::Leader(leader) = transition.next() else { return Ok(()) };
        let epoch = leader.epoch();
        let granting = leader.granting_voters().iter().copied();
        let records = self.control.epoch_start(leader.local(), granting)?;
        self.enter(transition, context);

        self.log.start_epoch(epoch);
        self.effect(Effect::StartEpoch { epoch });
        let config = &self.config;
        let mut accumulator = Accumulator::new(
            epoch,
            end_offset,
            config.append_linger_ms,
            config.max_batch_bytes,
            config.max_batches,
        );
        // It cannot fail: the log does not end at the largest offset.
        let _base_offset = accumulator.control(records);
        self.accumulator = Some(accumulator);
        let changes = ChangeConfig::new(config.cluster_id.clone(), config.listener.clone());
        self.changes =
            Some(VoterChanges::new(changes.with_request_timeout_ms(config.request_timeout_ms)));
        self.connections.reset_all();
        Ok(())
    }

    pub(super) fn become_follower(
        &mut self,
        epoch: i32,
        leader_id: i32,
        endpoints: Endpoints,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        let transition = self.quorum.to_follower(
            epoch,
            leader_id,
            endpoints,
            self.latest_voters(),
            context.now,
        )?;
        self.drop_download();
        self.enter(transition, context);
        self.tell_leader_change();
        self.connections.reset_all();
        self.fail_parked(ErrorCode::NotLeaderOrFollower);
        Ok(())
    }

    pub(super) fn resign_leadership(&mut self, context: &mut Context<'_>) -> Result<(), Fatal> {
        let EpochState::Leader(leader) = self.quorum.state() else { return Ok(()) };
        let successors = leader.preferred_successors();
        // Told while this replica still leads: the epoch has no other leader.
        self.fail_parked(ErrorCode::NotLeaderOrFollower);
        let transition = self.quorum.to_resigned(
            successors,
            self.latest_voters(),
            &mut context.random,
            context.now,
        )?;
        self.enter(transition, context);
        self.connections.reset_all();
        Ok(())
    }

    /// Takes over what a message says of the leader, if that is newer than what is known. It does not name this replica,
    /// nor another leader of the epoch than the one that is known.
    pub(super) fn maybe_transition(
        &mut self,
        leader_id: Option<i32>,
        epoch: i32,
        endpoints: Endpoints,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        let known = self.quorum.state().leader_id();
        if epoch > self.quorum.epoch() {
            return match leader_id {
                Some(leader_id) if !endpoints.is_empty() => {
                    self.become_follower(epoch, leader_id, endpoints, context)
                }
                _ => self.become_unattached(epoch, leader_id, context),
            };
        }
        let Some(leader_id) = leader_id else { return Ok(()) };
        let known_endpoints = self.quorum.state().leader_endpoints().map_or(0, Endpoints::len);
        if known.is_none() {
            return self.learn_leader(leader_id, endpoints, context);
        }
        if endpoints.len() > known_endpoints && known != self.config.quorum.local_id {
            return self.become_follower(epoch, leader_id, endpoints, context);
        }
        Ok(())
    }

    /// Takes over who leads this epoch; nobody was known to.
    pub(super) fn learn_leader(
        &mut self,
        leader_id: i32,
        endpoints: Endpoints,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        let epoch = self.quorum.epoch();
        if !endpoints.is_empty() {
            return self.become_follower(epoch, leader_id, endpoints, context);
        }
        let transition = self.quorum.learn_leader(leader_id, self.latest_voters(), context.now)?;
        self.enter(transition, context);
        self.tell_leader_change();
        self.connections.reset_all();
        Ok(())
    }

    /// Whether a message names another leader of this epoch than the one that is known.
    pub(super) fn is_contradicted_by(&self, named: Option<i32>, epoch: i32) -> bool {
        let known = self.quorum.state().leader_id();
        epoch == self.quorum.epoch() && named.is_some() && known.is_some() && named != known
    }
}
