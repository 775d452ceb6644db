//! What causes deletions: the cleanup, `DeleteGroups`, and classic members that join.

use alloc::sync::Arc;
use alloc::vec::Vec;
use tracing::debug;

use super::TopologyManager;
use crate::error_code::ErrorCode;
use crate::time::Monotonic;
use crate::topology::barrier::{self, Caller, Mark};
use crate::topology::call::Barrier;
use crate::topology::epoch::StoredEpoch;
use crate::topology::group::{Groups, Life};
use crate::topology::operation::{
    Atomicity, BeliefWrite, Deletion, DeletionStep, Effect, Kind, OperationId, Trigger,
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
        self.counters.cleanup_began();
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
        self.counters.cleanup_found(eligible.len());
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
}
