//! What the host tells of its streams groups.

use super::epoch::{Belief, TopologyEpoch};

/// Whether a group has members. A static member that left for a while is still one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "it has or has not")]
pub enum Life {
    /// It has at least one.
    Live,
    /// It has none.
    Empty,
}

/// A streams group, as far as its description is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "plain values, made by the host")]
pub struct StreamsGroup {
    /// The epoch of its topology; `None` if it has none yet.
    pub current: Option<TopologyEpoch>,
    /// What its metadata record says of its description.
    pub belief: Belief,
    /// Whether it has members.
    pub life: Life,
}

impl StreamsGroup {
    /// Whether it has no members, and the plugin may hold something of it. If it has no offsets either,
    /// it is to be cleaned up; a classic member that joins it has to wait for that.
    pub const fn wants_cleanup(&self) -> bool {
        matches!(self.life, Life::Empty) && self.belief.stored.wants_delete()
    }
}

/// The groups of a shard, which are the host's. Each method answers `None` or `false` for ids of no
/// group, and of groups that are no streams groups.
pub trait Groups {
    /// The group with everything that was written, committed or not.
    fn latest(&self, group_id: &str) -> Option<StreamsGroup>;

    /// The group as of the last committed offset.
    fn committed(&self, group_id: &str) -> Option<StreamsGroup>;

    /// Whether the group has that member, with everything that was written.
    fn has_member(&self, group_id: &str, member_id: &str) -> bool;

    /// Whether offsets of the group are committed, or pending in a transaction: then its description
    /// is not cleaned up yet.
    fn has_offsets(&self, group_id: &str) -> bool;
}

impl<G: Groups + ?Sized> Groups for &G {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        (**self).latest(group_id)
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        (**self).committed(group_id)
    }

    fn has_member(&self, group_id: &str, member_id: &str) -> bool {
        (**self).has_member(group_id, member_id)
    }

    fn has_offsets(&self, group_id: &str) -> bool {
        (**self).has_offsets(group_id)
    }
}
