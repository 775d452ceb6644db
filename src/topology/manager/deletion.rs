//! How a deletion goes on, whoever caused it.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tracing::debug;

use super::TopologyManager;
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topology::barrier;
use crate::topology::ending::answered;
use crate::topology::epoch::StoredEpoch;
use crate::topology::group::Groups;
use crate::topology::operation::{
    Atomicity, BeliefWrite, Deleting, Deletion, DeletionStep, Effect, OperationId, Progress,
    Trigger,
};

impl TopologyManager {
    /// The write or wait of a deletion ended.
    pub(super) fn deletion_written(
        &mut self,
        id: OperationId,
        deletion: Deletion,
        result: Result<(), ErrorCode>,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> Option<Deletion> {
        let Deletion { trigger, step } = deletion;
        match (step, result) {
            (DeletionStep::Marking(barriers), Ok(())) if barriers.is_empty() => {
                self.end_deletion(id, trigger, &[]);
            }
            (DeletionStep::Marking(barriers), Ok(())) => {
                let mut called = Vec::with_capacity(barriers.len());
                for barrier in barriers {
                    let group_id = barrier.group_id().clone();
                    let token = self.call(id, called.len(), now);
                    self.effect(Effect::Delete(barrier.committed().delete(token)));
                    called.push(Deleting { group_id, progress: Progress::Called });
                }
                let step = DeletionStep::Calling { awaited: called.len(), groups: called };
                return Some(Deletion { trigger, step });
            }
            (DeletionStep::Marking(_), Err(error)) => {
                debug!(operation = id.0, %error, "barrier of topology descriptions failed");
                self.refuse_deletion(id, &trigger, answered(error));
            }
            (step @ DeletionStep::Calling { .. }, _) => return Some(Deletion { trigger, step }),
            (DeletionStep::Finalizing(called), result) => {
                if let Err(error) = result {
                    // What is uncertain still is deleted again by the next who comes.
                    debug!(operation = id.0, %error, "topology descriptions not finalized");
                    self.hold_conversion(&trigger, groups, random, now);
                }
                self.end_deletion(id, trigger, &called);
            }
        }
        None
    }

    /// Sends classic members away for a while that would have the plugin called again at once.
    fn hold_conversion(
        &mut self,
        trigger: &Trigger,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        // Nothing is kept of groups that are not there.
        if let Trigger::Conversion(group_id) = trigger
            && groups.latest(group_id).is_some()
        {
            let window = StoredEpoch::Uncertain.to_record();
            self.conversions.arm_if_not_active(group_id, window, random, now);
        }
    }

    /// A delete of the plugin ended, or will not be made.
    pub(super) fn delete_answered(
        &mut self,
        id: OperationId,
        deletion: Deletion,
        index: usize,
        progress: Progress,
    ) -> Deletion {
        let Deletion { trigger, mut step } = deletion;
        if let DeletionStep::Calling { groups, awaited } = &mut step
            && let Some(group) = groups.get_mut(index)
        {
            group.progress = progress;
            *awaited = awaited.saturating_sub(1);
            // Nobody waits for the slowest of them.
            let group_id = group.group_id.clone();
            if self.busy.get(&group_id) == Some(&id) {
                self.busy.remove(&group_id);
                if progress == Progress::Deleted {
                    self.pushes.clear_group(&group_id);
                    self.conversions.clear_group(&group_id);
                    self.yielded.insert(group_id, (id, index));
                }
            }
        }
        Deletion { trigger, step }
    }

    /// All deletes of the plugin ended. The deletion goes on if it has something to write.
    pub(super) fn deletes_answered(
        &mut self,
        id: OperationId,
        trigger: Trigger,
        called: Vec<Deleting>,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> Option<Deletion> {
        let mut beliefs = Vec::new();
        for Deleting { group_id, progress } in &called {
            if *progress == Progress::Deleted {
                self.yielded.remove(group_id);
                self.busy.insert(group_id.clone(), id);
                let latest = groups.latest(group_id);
                if let Some(belief) = latest.and_then(|group| barrier::after_delete(group.belief)) {
                    beliefs.push(BeliefWrite { group_id: group_id.clone(), belief });
                }
            }
        }
        if called.iter().all(|it| it.progress == Progress::Failed) {
            self.hold_conversion(&trigger, groups, random, now);
            self.end_deletion(id, trigger, &called);
            return None;
        }
        let atomicity = match trigger {
            Trigger::Conversion(_) => Atomicity::Atomic,
            Trigger::Cleanup | Trigger::DeleteGroups(_) => Atomicity::Split,
        };
        self.write(id, atomicity, beliefs);
        Some(Deletion { trigger, step: DeletionStep::Finalizing(called) })
    }

    /// The barrier could not be written.
    pub(super) fn refuse_deletion(
        &mut self,
        operation: OperationId,
        trigger: &Trigger,
        code: ErrorCode,
    ) {
        self.effect(match trigger {
            Trigger::Cleanup => Effect::CleanupEnded { operation },
            Trigger::DeleteGroups(_) => Effect::RefuseDeleteGroups { operation, code },
            Trigger::Conversion(_) => Effect::RefuseJoin { operation, code },
        });
    }

    /// All that was to be deleted is, or failed.
    pub(super) fn end_deletion(
        &mut self,
        operation: OperationId,
        trigger: Trigger,
        groups: &[Deleting],
    ) {
        let failed = groups.iter().filter(|it| it.progress == Progress::Failed);
        let failed: BTreeSet<_> = failed.map(|it| &it.group_id).collect();
        let is_failed = |group_id: &Arc<str>| failed.contains(group_id);
        let effect = match trigger {
            Trigger::Cleanup => Effect::CleanupEnded { operation },
            Trigger::DeleteGroups(requested) => {
                let (failed, remaining) = requested.into_iter().partition(is_failed);
                Effect::DeleteGroups { operation, failed, remaining }
            }
            Trigger::Conversion(group_id) if is_failed(&group_id) => {
                Effect::RefuseJoin { operation, code: ErrorCode::RebalanceInProgress }
            }
            Trigger::Conversion(group_id) => Effect::Join { operation, group_id },
        };
        self.effect(effect);
    }
}
