//! Cleanup, `DeleteGroups` and conversion: barrier, delete, and the write that makes it known.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tracing::debug;

use super::TopologyManager;
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topology::barrier::{self, Caller, Mark};
use crate::topology::call::Barrier;
use crate::topology::ending::answered;
use crate::topology::epoch::StoredEpoch;
use crate::topology::group::{Groups, Life};
use crate::topology::operation::{
    Atomicity, BeliefWrite, Deleting, Deletion, DeletionStep, Effect, Kind, OperationId, Progress,
    Trigger,
};

/// What became of a tick of the cleanup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "it starts, has nothing to do, or must not start")]
pub enum Cleanup {
    /// A cycle is under way; [`Effect::CleanupEnded`] ends it.
    Started(OperationId),
    /// No group needs one now.
    Idle,
    /// The cycle before is not through.
    Skipped,
}

/// What a classic join does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "it goes on, is sent away, or waits")]
pub enum ClassicJoin {
    /// It is none of this manager's business: go on. If the group is an empty streams group, it may be
    /// converted.
    Admitted,
    /// Answer [`ErrorCode::RebalanceInProgress`], on which the client joins again.
    Refused,
    /// The plugin is asked first; [`Effect::Join`] or [`Effect::RefuseJoin`] tells.
    Pending(OperationId),
}

/// The groups that got a barrier, and what must be written for them.
#[derive(Default)]
struct Marked {
    barriers: Vec<Barrier>,
    beliefs: Vec<BeliefWrite>,
}

impl TopologyManager {
    /// Starts a cleanup of groups that are empty, have no offsets, and whose description the plugin
    /// may hold. [`handle_timeout`](Self::handle_timeout) does so in time.
    ///
    /// O(k log k), where k is [`uncleaned_count`](Self::uncleaned_count), whatever other groups there are.
    pub fn start_cleanup(&mut self, groups: &impl Groups, now: Monotonic) -> Cleanup {
        if !self.is_active() {
            return Cleanup::Idle;
        }
        if self.cycle.is_some() {
            debug!("topology description cleanup skipped: the cycle before is not through");
            return Cleanup::Skipped;
        }
        self.counters.cleanup_cycles += 1;
        if !self.may_call(now) {
            return Cleanup::Idle;
        }
        let mut eligible = Vec::new();
        self.uncleaned.retain(|group_id| {
            let is_wanted = groups.committed(group_id).is_some_and(|it| it.wants_cleanup());
            if is_wanted && !groups.has_offsets(group_id) {
                eligible.push(group_id.clone());
            }
            is_wanted || groups.latest(group_id).is_some_and(|it| it.wants_cleanup())
        });
        eligible.sort_unstable();
        if eligible.is_empty() {
            return Cleanup::Idle;
        }
        self.counters.cleanup_eligible += eligible.len() as u64;
        // It may be that none of them wants it any more, by records that are still to be committed.
        let marked = self.mark_batch(eligible.iter(), groups);
        let operation = self.new_operation();
        self.begin_deletion(operation, Trigger::Cleanup, Atomicity::Split, marked);
        self.cycle = Some(operation);
        Cleanup::Started(operation)
    }

    /// Takes the groups of a `DeleteGroups` request that belong to this shard;
    /// [`Effect::DeleteGroups`] or [`Effect::RefuseDeleteGroups`] tells how it goes on, at once if
    /// there is nothing to be deleted from the plugin. O(groups).
    pub fn delete_groups(
        &mut self,
        group_ids: impl IntoIterator<Item = impl Into<Arc<str>>>,
        groups: &impl Groups,
        now: Monotonic,
    ) -> OperationId {
        let operation = self.new_operation();
        let requested: Vec<Arc<str>> = group_ids.into_iter().map(Into::into).collect();
        if self.config.has_plugin() && self.shard.is_none() {
            let code = ErrorCode::NotCoordinator;
            self.effect(Effect::RefuseDeleteGroups { operation, code });
            return operation;
        }
        let marked = if self.config.has_plugin() && self.may_call(now) {
            self.mark_batch(requested.iter(), groups)
        } else {
            Marked::default()
        };
        let trigger = Trigger::DeleteGroups(requested);
        if marked.barriers.is_empty() {
            self.end_deletion(operation, trigger, &[]);
        } else {
            self.begin_deletion(operation, trigger, Atomicity::Split, marked);
        }
        operation
    }

    /// A classic member wants to join: whether the plugin must forget the group first. To be asked
    /// only if the join would be let in. O(1); nothing happens for groups of other kinds.
    ///
    /// Deviation: Kafka asks the plugin for joins that it refuses afterwards, too.
    pub fn classic_join(
        &mut self,
        group_id: &str,
        groups: &impl Groups,
        now: Monotonic,
    ) -> ClassicJoin {
        let latest = groups.latest(group_id);
        if !self.is_active()
            || latest.is_none_or(|group| group.life == Life::Live)
            || self.may_remove(group_id, latest.as_ref())
        {
            return ClassicJoin::Admitted;
        }
        let window = StoredEpoch::Uncertain.to_record();
        if !self.may_call(now) || self.conversions.is_active(group_id, window, now) {
            return ClassicJoin::Refused;
        }
        let group_id: Arc<str> = group_id.into();
        let marked = self.mark_batch([&group_id], groups);
        if marked.barriers.is_empty() {
            return ClassicJoin::Refused;
        }
        let operation = self.new_operation();
        let trigger = Trigger::Conversion(group_id);
        self.begin_deletion(operation, trigger, Atomicity::Atomic, marked);
        ClassicJoin::Pending(operation)
    }

    /// The barriers of those groups that have something to delete and no other operation.
    fn mark_batch<'a>(
        &self,
        group_ids: impl IntoIterator<Item = &'a Arc<str>>,
        groups: &impl Groups,
    ) -> Marked {
        let mut marked = Marked::default();
        let mut seen = hashbrown::HashSet::with_hasher(self.busy.hasher().clone());
        for group_id in group_ids {
            if self.busy.contains_key(group_id) || !seen.insert(group_id) {
                continue;
            }
            match barrier::mark(groups.latest(group_id).as_ref(), Caller::Delete) {
                Mark::Refused => continue,
                Mark::Covered => {}
                Mark::Write(belief) => {
                    marked.beliefs.push(BeliefWrite { group_id: group_id.clone(), belief });
                }
            }
            marked.barriers.push(Barrier::new(group_id.clone()));
        }
        marked
    }

    fn begin_deletion(
        &mut self,
        operation: OperationId,
        trigger: Trigger,
        atomicity: Atomicity,
        marked: Marked,
    ) {
        let step = DeletionStep::Marking(marked.barriers);
        self.begin(operation, Kind::Deletion(Deletion { trigger, step }));
        self.write(operation, atomicity, marked.beliefs);
    }

    /// The write or wait of a deletion ended.
    pub(super) fn deletion_written(
        &mut self,
        id: OperationId,
        deletion: Deletion,
        result: Result<(), ErrorCode>,
        now: Monotonic,
    ) -> Option<Deletion> {
        let Deletion { trigger, step } = deletion;
        match (step, result) {
            (DeletionStep::Marking(barriers), Ok(())) if barriers.is_empty() => {
                self.end_deletion(id, trigger, &[]);
            }
            (DeletionStep::Marking(barriers), Ok(())) => {
                let mut groups = Vec::with_capacity(barriers.len());
                for barrier in barriers {
                    let group_id = barrier.group_id().clone();
                    let token = self.call(id, groups.len(), now);
                    self.effect(Effect::Delete(barrier.committed().delete(token)));
                    groups.push(Deleting { group_id, progress: Progress::Called });
                }
                let awaited = groups.len();
                return Some(Deletion { trigger, step: DeletionStep::Calling { groups, awaited } });
            }
            (DeletionStep::Marking(_), Err(error)) => {
                debug!(operation = id.0, %error, "barrier of topology descriptions failed");
                self.refuse_deletion(id, &trigger, answered(error));
            }
            (step @ DeletionStep::Calling { .. }, _) => return Some(Deletion { trigger, step }),
            (DeletionStep::Finalizing(groups), result) => {
                if let Err(error) = result {
                    // What is uncertain still is deleted again by the next who comes.
                    debug!(operation = id.0, %error, "topology descriptions not finalized");
                }
                self.end_deletion(id, trigger, &groups);
            }
        }
        None
    }

    /// A delete of the plugin ended.
    pub(super) fn delete_answered(
        &mut self,
        id: OperationId,
        deletion: Deletion,
        index: usize,
        is_done: bool,
    ) -> Deletion {
        let Deletion { trigger, mut step } = deletion;
        if let DeletionStep::Calling { groups, awaited } = &mut step
            && let Some(group) = groups.get_mut(index)
        {
            group.progress = if is_done { Progress::Deleted } else { Progress::Failed };
            *awaited = awaited.saturating_sub(1);
            // Nobody waits for the slowest of them.
            let group_id = group.group_id.clone();
            if self.busy.get(&group_id) == Some(&id) {
                self.busy.remove(&group_id);
                if is_done {
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
            let latest = groups.latest(group_id);
            if *progress == Progress::Deleted {
                self.yielded.remove(group_id);
                self.busy.insert(group_id.clone(), id);
                if let Some(belief) = latest.and_then(|group| barrier::after_delete(group.belief)) {
                    beliefs.push(BeliefWrite { group_id: group_id.clone(), belief });
                }
            }
            if *progress != Progress::Failed {
                self.pushes.clear_group(group_id);
                self.conversions.clear_group(group_id);
            } else if matches!(trigger, Trigger::Conversion(_)) && latest.is_some() {
                let window = StoredEpoch::Uncertain.to_record();
                self.conversions.arm_if_not_active(group_id, window, random, now);
            }
        }
        if called.iter().all(|it| it.progress == Progress::Failed) {
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
