//! Changes of voters, tied to the log and the network.

use super::{Context, Replica};
use crate::error_code::ErrorCode;
use crate::kraft::accumulator::AppendError;
use crate::kraft::change::{
    AddVoter, ChangeEffect, ChangeError, Connection, CurrentLeader, LogVoters, ProbeId,
    ProbeOutcome, Receiver, ReceiverRole, RemoveVoter, RequestId, UpdateVoter, VoterChanges,
    admit_add, admit_remove, admit_update,
};
use crate::kraft::effect::Reply;
use crate::kraft::epoch::{EpochState, Leader};
use crate::kraft::records::ControlRecord;
use crate::kraft::requests::Correlation;
use crate::kraft::rpc::{Node, Request};
use crate::kraft::voters::{ListenerName, SupportedVersions};
use crate::random::Random;
use crate::time::Monotonic;
use alloc::vec::Vec;

impl Replica {
    /// Answers an `AddRaftVoter`, now or when the voter is added.
    pub fn handle_add_voter(
        &mut self,
        id: RequestId,
        request: &AddVoter<'_>,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            let admitted = admit_add(request, &replica.receiver()).map(drop);
            replica.take_change(id, admitted, None, context, |changes, leader, log| {
                changes.add_voter(id, request, leader, log, now);
            });
            Ok(())
        });
    }

    /// Answers a `RemoveRaftVoter`, now or when the voter is removed.
    pub fn handle_remove_voter(
        &mut self,
        id: RequestId,
        request: &RemoveVoter<'_>,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            let admitted = admit_remove(request, &replica.receiver());
            replica.take_change(id, admitted, None, context, |changes, leader, log| {
                changes.remove_voter(id, request, leader, log, now);
            });
            Ok(())
        });
    }

    /// Answers an `UpdateRaftVoter`, now or when the voter has been asked what it supports.
    pub fn handle_update_voter(
        &mut self,
        id: RequestId,
        request: &UpdateVoter<'_>,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            let admitted = admit_update(request, &replica.receiver()).map(drop);
            let leader = Some(replica.current_leader(&request.listener));
            replica.take_change(id, admitted, leader, context, |changes, leader, log| {
                changes.update_voter(id, request, leader, log, now);
            });
            Ok(())
        });
    }

    /// Refuses a request, naming `leader`, or lets the changes take it up.
    fn take_change(
        &mut self,
        id: RequestId,
        admitted: Result<(), ChangeError>,
        leader: Option<CurrentLeader>,
        context: &mut Context<'_>,
        act: impl FnOnce(&mut VoterChanges, &mut Leader, LogVoters<'_>),
    ) {
        if admitted.is_err() {
            self.reply(id, Reply::VoterChange { result: admitted, leader });
            return;
        }
        self.with_changes(context, act);
        self.wake = Some(context.now);
    }

    fn receiver(&self) -> Receiver<'_> {
        let role = match self.quorum.state() {
            EpochState::Leader(_) if self.shutdown.is_some() => ReceiverRole::LeaderShuttingDown,
            EpochState::Leader(_) => ReceiverRole::Leader,
            _ => ReceiverRole::Other,
        };
        Receiver {
            cluster_id: &self.config.cluster_id,
            default_listener: &self.config.listener,
            epoch: self.quorum.epoch(),
            role,
        }
    }

    /// The leader, for who asked at this listener.
    fn current_leader(&self, listener: &ListenerName) -> CurrentLeader {
        let state = self.quorum.state();
        CurrentLeader {
            id: state.leader_id().unwrap_or(-1),
            epoch: state.epoch(),
            endpoint: state
                .leader_endpoints()
                .and_then(|endpoints| endpoints.get(listener))
                .cloned(),
        }
    }

    /// Lets the changes of this leadership, if it is one, do something, and carries out what comes of it.
    fn with_changes<T>(
        &mut self,
        context: &mut Context<'_>,
        act: impl FnOnce(&mut VoterChanges, &mut Leader, LogVoters<'_>) -> T,
    ) -> Option<T> {
        let log = LogVoters::from(&self.control);
        let result = match (&mut self.changes, self.quorum.state_mut()) {
            (Some(changes), EpochState::Leader(leader)) => Some(act(changes, leader, log)),
            _ => None,
        };
        self.carry_out_changes(context);
        result
    }

    fn carry_out_changes(&mut self, context: &mut Context<'_>) {
        while let Some(effect) = self.changes.as_mut().and_then(VoterChanges::poll_effect) {
            match effect {
                ChangeEffect::Answer { request, result, leader } => {
                    self.reply(request, Reply::VoterChange { result, leader });
                }
                ChangeEffect::Probe { id, voter_id, endpoint } => {
                    let node = Node::at(voter_id, &endpoint);
                    match self.maybe_send(node, Request::ApiVersions, context).correlation {
                        Some(correlation) => self.probe = Some((correlation, id)),
                        None => {
                            let _connection =
                                self.probe_outcome(id, ProbeOutcome::NotSent, context);
                        }
                    }
                }
                ChangeEffect::Append { id, records } => {
                    let last = i64::try_from(records.len()).unwrap_or(i64::MAX).saturating_sub(1);
                    let queued = self.queue_control(records);
                    match (queued, self.changes.as_mut(), self.quorum.state_mut()) {
                        (Ok(base), Some(changes), EpochState::Leader(leader)) => {
                            changes.appended(id, base.saturating_add(last), leader);
                        }
                        // What cannot be written ends this leadership.
                        (_, _, EpochState::Leader(leader)) => leader.request_resignation(),
                        _ => {}
                    }
                }
            }
        }
    }

    fn queue_control(&mut self, records: Vec<ControlRecord>) -> Result<i64, AppendError> {
        let epoch = self.quorum.epoch();
        self.accumulator.as_mut().ok_or(AppendError::NotLeader { epoch })?.control(records)
    }

    /// Answers who waits for a change of a leader that leaves.
    pub(super) fn end_changes(&mut self) {
        if let (Some(mut changes), EpochState::Leader(leader)) =
            (self.changes.take(), self.quorum.state())
        {
            changes.close(leader);
            self.carry_out_last(changes);
        }
    }

    /// Carries out what is left of the changes of a leadership that is over: answers.
    pub(super) fn carry_out_last(&mut self, mut changes: VoterChanges) {
        while let Some(effect) = changes.poll_effect() {
            if let ChangeEffect::Answer { request, result, leader } = effect {
                self.reply(request, Reply::VoterChange { result, leader });
            }
        }
    }

    /// Gives up a change whose time is over. Gives the milliseconds until the running one's is.
    pub(super) fn poll_changes(&mut self, context: &mut Context<'_>) -> i64 {
        let now = context.now;
        self.with_changes(context, |changes, leader, _| changes.handle_timeout(leader, now));
        let deadline = self.changes.as_ref().and_then(VoterChanges::next_deadline);
        deadline.map_or(i64::MAX, |deadline| deadline.millis_since(now))
    }

    /// More is committed; a leader that is no voter any more is to resign.
    pub(super) fn changes_see_high_watermark(&mut self, context: &mut Context<'_>) {
        let resigns = self.with_changes(context, |changes, leader, log| {
            changes.high_watermark_moved(leader, log);
            leader.is_resignation_requested()
        });
        if resigns == Some(true) {
            self.wake = Some(context.now);
        }
    }

    pub(super) fn is_probe(&self, correlation: Correlation) -> bool {
        self.probe.is_some_and(|(probe, _)| probe == correlation)
    }

    /// A voter has said what it supports, or has not. Gives whether its connection is free.
    pub(super) fn probe_answered(
        &mut self,
        answer: Result<Option<SupportedVersions>, ErrorCode>,
        context: &mut Context<'_>,
    ) -> bool {
        let Some((_, id)) = self.probe.take() else { return true };
        let outcome = match answer {
            Ok(supported) => ProbeOutcome::Supports(supported),
            Err(error) => ProbeOutcome::Failed(error),
        };
        self.probe_outcome(id, outcome, context) == Connection::Free
    }

    fn probe_outcome(
        &mut self,
        id: ProbeId,
        outcome: ProbeOutcome,
        context: &mut Context<'_>,
    ) -> Connection {
        let now = context.now;
        let connection = self.with_changes(context, |changes, leader, log| {
            changes.probed(id, outcome, leader, log, now)
        });
        connection.unwrap_or(Connection::Free)
    }
}
