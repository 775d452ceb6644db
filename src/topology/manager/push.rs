//! Pushes: barrier, set, and the write of what came of it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::TopologyManager;
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topology::barrier::{self, Caller, Mark};
use crate::topology::call::Barrier;
use crate::topology::ending::{SetOutcome, answered, settle};
use crate::topology::epoch::{StoredEpoch, TopologyEpoch};
use crate::topology::group::Groups;
use crate::topology::operation::{
    Atomicity, BeliefWrite, Effect, Kind, OperationId, Push, PushStep,
};
use crate::topology::push::{PushError, PushRequest};

/// What an admitted push begins with.
struct Admitted {
    epoch: TopologyEpoch,
    step: PushStep,
    beliefs: Vec<BeliefWrite>,
}

impl TopologyManager {
    /// Takes a push; [`Effect::AnswerPush`] answers it, at once or later. O(1).
    ///
    /// Deviation: it is validated by the latest state, and in one step with the barrier. Kafka
    /// validates by committed members first, and writes the barrier for whatever group is there then.
    /// And if the plugin has the description already, it is not called again.
    pub fn push(
        &mut self,
        request: &PushRequest<'_>,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> OperationId {
        let operation = self.new_operation();
        match self.admit(request, groups, now) {
            Ok(Admitted { epoch, step, beliefs }) => {
                let group_id = request.group_id.into();
                self.begin(operation, Kind::Push(Push { group_id, epoch, step }));
                self.write(operation, Atomicity::Atomic, beliefs);
            }
            Err(error) => {
                // Until the plugin may be called nobody is asked anyway.
                if error == PushError::Busy && self.may_call(now) {
                    let epoch = request.topology_epoch;
                    self.pushes.arm_if_not_active(request.group_id, epoch, random, now);
                }
                self.effect(Effect::AnswerPush { operation, result: Err(error) });
            }
        }
        operation
    }

    fn admit(
        &self,
        request: &PushRequest<'_>,
        groups: &impl Groups,
        now: Monotonic,
    ) -> Result<Admitted, PushError> {
        if !self.config.has_plugin() {
            return Err(PushError::NoPlugin);
        }
        if self.shard.is_none() {
            request.check_fields()?;
            return Err(PushError::Write(ErrorCode::NotCoordinator));
        }
        let group_id = request.group_id;
        let latest = groups.latest(group_id);
        let epoch = request
            .validate(latest.as_ref(), |member_id| groups.has_member(group_id, member_id))?;
        if self.busy.contains_key(group_id) {
            return Err(PushError::Busy);
        }
        if latest.is_some_and(|group| group.belief.stored == StoredEpoch::Held(epoch)) {
            return Ok(Admitted { epoch, step: PushStep::Confirming, beliefs: Vec::new() });
        }
        if !self.may_call(now) {
            return Err(PushError::Busy);
        }
        let group_id: Arc<str> = group_id.into();
        let mut beliefs = Vec::new();
        match barrier::mark(latest.as_ref(), Caller::Push) {
            Mark::Refused => return Err(PushError::GroupNotFound((*group_id).into())),
            Mark::Covered => {}
            Mark::Write(belief) => {
                beliefs.push(BeliefWrite { group_id: group_id.clone(), belief });
            }
        }
        Ok(Admitted { epoch, step: PushStep::Marking(Barrier::new(group_id)), beliefs })
    }

    /// The write or wait of a push ended.
    pub(super) fn push_written(
        &mut self,
        id: OperationId,
        push: Push,
        result: Result<(), ErrorCode>,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> Option<Push> {
        let Push { group_id, epoch, step } = push;
        match (step, result) {
            (PushStep::Marking(barrier), Ok(())) => {
                let token = self.call(id, 0, now);
                let call = barrier.committed().set(epoch, token);
                self.effect(Effect::Set { operation: id, call });
                return Some(Push { group_id, epoch, step: PushStep::Calling });
            }
            (PushStep::Calling, _) => {
                return Some(Push { group_id, epoch, step: PushStep::Calling });
            }
            (PushStep::Marking(_) | PushStep::Confirming, Err(error)) => {
                self.refuse_push(id, answered(error));
            }
            (PushStep::Confirming, Ok(())) => {
                self.pushes.clear(&group_id, epoch.get());
                self.effect(Effect::AnswerPush { operation: id, result: Ok(()) });
            }
            (PushStep::Recording(outcome), result) => {
                // Nothing is kept of groups that are not there.
                if result.is_ok() || groups.latest(&group_id).is_some() {
                    settle(&mut self.pushes, &group_id, epoch, result, random, now);
                }
                let result = match result {
                    Ok(()) => failure(outcome).map_or(Ok(()), Err),
                    Err(error) => Err(PushError::Write(answered(error))),
                };
                self.effect(Effect::AnswerPush { operation: id, result });
            }
        }
        None
    }

    /// The plugin's set ended. The push goes on if it has something to write.
    pub(super) fn set_answered(
        &mut self,
        id: OperationId,
        push: Push,
        outcome: SetOutcome,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> Option<Push> {
        let Push { group_id, epoch, .. } = push;
        let latest = groups.latest(&group_id);
        let belief = match (&outcome, latest) {
            (SetOutcome::Transient(_), latest) => {
                if latest.is_some() {
                    self.pushes.arm_or_extend(&group_id, epoch.get(), random, now);
                }
                let result = failure(outcome).map_or(Ok(()), Err);
                self.effect(Effect::AnswerPush { operation: id, result });
                return None;
            }
            (_, None) => {
                self.pushes.clear_group(&group_id);
                let error = PushError::GroupNotFound((*group_id).into());
                self.effect(Effect::AnswerPush { operation: id, result: Err(error) });
                return None;
            }
            (SetOutcome::Stored, Some(group)) => barrier::after_set(group.belief, epoch),
            (SetOutcome::Permanent(_), Some(group)) => barrier::after_refusal(group.belief, epoch),
        };
        let write = BeliefWrite { group_id: group_id.clone(), belief };
        self.write(id, Atomicity::Atomic, [write].into());
        Some(Push { group_id, epoch, step: PushStep::Recording(outcome) })
    }

    /// The plugin's set ended after its shard left: nothing is written.
    pub(super) fn answer_lost_push(&mut self, operation: OperationId, outcome: SetOutcome) {
        match outcome {
            SetOutcome::Transient(_) => {
                let result = failure(outcome).map_or(Ok(()), Err);
                self.effect(Effect::AnswerPush { operation, result });
            }
            _ => self.refuse_push(operation, ErrorCode::NotCoordinator),
        }
    }

    pub(super) fn refuse_push(&mut self, operation: OperationId, code: ErrorCode) {
        self.effect(Effect::AnswerPush { operation, result: Err(PushError::Write(code)) });
    }
}

/// What the client is told, unless the description is stored.
fn failure(outcome: SetOutcome) -> Option<PushError> {
    match outcome {
        SetOutcome::Stored => None,
        SetOutcome::Permanent(message) | SetOutcome::Transient(message) => {
            Some(PushError::Failed(message))
        }
    }
}
