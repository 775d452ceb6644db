//! Operations on the plugin as they are under way: barrier, plugin call, final write.
//!
//! Each step is a value that only the step before can make. What happens next is decided by the
//! [manager](super::TopologyManager), which has one operation a group at a time.

mod effect;

pub use effect::{Atomicity, BeliefWrite, Effect};

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::call::Barrier;
use super::ending::SetOutcome;
use super::epoch::TopologyEpoch;

/// Names an operation of a manager; no two have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub(super) u64);

impl OperationId {
    /// Its number: operations are counted from 0.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// An operation under way, as it is exported: a value that can only be handed back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    pub(super) kind: Kind,
    /// Whether its shard left: then it writes no more, and ends when the plugin answers.
    pub(super) is_lost: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Push(Push),
    Deletion(Deletion),
    /// The plugin has not what it should: the belief becomes uncertain.
    Doubt(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Push {
    pub(super) group_id: Arc<str>,
    pub(super) epoch: TopologyEpoch,
    pub(super) step: PushStep,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PushStep {
    /// The plugin has the description already, if what says so is committed.
    Confirming,
    Marking(Barrier),
    Calling,
    Recording(SetOutcome),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Deletion {
    pub(super) trigger: Trigger,
    pub(super) step: DeletionStep,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trigger {
    Cleanup,
    /// With all groups that are to be deleted.
    DeleteGroups(Vec<Arc<str>>),
    Conversion(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum DeletionStep {
    Marking(Vec<Barrier>),
    Calling {
        groups: Vec<Deleting>,
        /// How many of them are [`Progress::Called`].
        awaited: usize,
    },
    Finalizing(Vec<Deleting>),
}

/// A group in a deletion whose barrier is committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Deleting {
    pub(super) group_id: Arc<str>,
    pub(super) progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Progress {
    /// The plugin owes an answer.
    Called,
    /// The plugin deleted it, which is still to be written.
    Deleted,
    /// The plugin failed.
    Failed,
    /// The plugin deleted it, and then another operation began on it, which has the last word.
    Overtaken,
    /// The plugin was not called: the shard left before.
    Uncalled,
}

impl Operation {
    /// The groups that it has to itself.
    pub(super) fn held(&self) -> Vec<Arc<str>> {
        let with = |groups: &[Deleting], progress| {
            let held = groups.iter().filter(|it| it.progress == progress);
            held.map(|it| it.group_id.clone()).collect()
        };
        match &self.kind {
            Kind::Push(Push { group_id, .. }) | Kind::Doubt(group_id) => [group_id.clone()].into(),
            Kind::Deletion(deletion) => match &deletion.step {
                DeletionStep::Marking(barriers) => {
                    barriers.iter().map(|it| it.group_id().clone()).collect()
                }
                DeletionStep::Calling { groups, .. } => with(groups, Progress::Called),
                DeletionStep::Finalizing(groups) => with(groups, Progress::Deleted),
            },
        }
    }

    /// How many answers of the plugin it waits for.
    pub(super) fn awaited_calls(&self) -> usize {
        match &self.kind {
            Kind::Push(push) => usize::from(push.step == PushStep::Calling),
            Kind::Deletion(Deletion { step: DeletionStep::Calling { awaited, .. }, .. }) => {
                *awaited
            }
            _ => 0,
        }
    }

    /// Whether it waits for the plugin's answer about the group in this place.
    pub(super) fn awaits(&self, index: usize) -> bool {
        match &self.kind {
            Kind::Push(push) => index == 0 && push.step == PushStep::Calling,
            Kind::Deletion(Deletion { step: DeletionStep::Calling { groups, .. }, .. }) => {
                groups.get(index).is_some_and(|it| it.progress == Progress::Called)
            }
            _ => false,
        }
    }

    /// Whether it waits for the plugin to set this epoch of this group.
    pub(super) fn awaits_set(&self, of: &Arc<str>, set: TopologyEpoch) -> bool {
        matches!(&self.kind, Kind::Push(Push { group_id, epoch, step: PushStep::Calling })
            if group_id == of && *epoch == set)
    }

    /// Whether it waits for the plugin to delete this group, which has this place.
    pub(super) fn awaits_delete(&self, of: &Arc<str>, index: usize) -> bool {
        matches!(&self.kind, Kind::Deletion(Deletion { step: DeletionStep::Calling { groups, .. }, .. })
            if groups.get(index).is_some_and(|it| it.group_id == *of))
    }

    /// The groups that it gave free before it was through with them, each with its place.
    pub(super) fn yielded(&self) -> impl Iterator<Item = (usize, &Arc<str>)> {
        let groups = match &self.kind {
            Kind::Deletion(Deletion { step: DeletionStep::Calling { groups, .. }, .. }) => {
                &**groups
            }
            _ => &[],
        };
        let yielded = groups.iter().enumerate().filter(|(_, it)| it.progress == Progress::Deleted);
        yielded.map(|(index, it)| (index, &it.group_id))
    }

    /// Whether it is a cleanup cycle.
    pub(super) const fn is_cleanup(&self) -> bool {
        matches!(&self.kind, Kind::Deletion(Deletion { trigger: Trigger::Cleanup, .. }))
    }
}
