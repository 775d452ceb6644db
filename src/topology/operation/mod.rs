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
    /// The groups that it has to itself.
    pub(super) group_ids: Vec<Arc<str>>,
    pub(super) kind: Kind,
    /// Whether its shard left: then it writes no more, and ends when the plugin answers.
    pub(super) is_lost: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Push(Push),
    Deletion(Deletion),
    /// The plugin has not what it should: the belief becomes uncertain.
    Doubt,
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
    Calling(Vec<Deleting>),
    Finalizing(Vec<Deleting>),
}

/// A group in a deletion whose barrier is committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Deleting {
    pub(super) group_id: Arc<str>,
    /// Whether the plugin deleted it; `None` until it says so.
    pub(super) is_deleted: Option<bool>,
}

impl Operation {
    /// How many answers of the plugin it waits for.
    pub(super) fn awaited_calls(&self) -> usize {
        match &self.kind {
            Kind::Push(push) => usize::from(push.step == PushStep::Calling),
            Kind::Deletion(Deletion { step: DeletionStep::Calling(groups), .. }) => {
                groups.iter().filter(|it| it.is_deleted.is_none()).count()
            }
            _ => 0,
        }
    }
}
