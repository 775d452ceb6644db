//! Calls of the plugin, which only a committed barrier makes.

use alloc::sync::Arc;

use super::epoch::TopologyEpoch;

/// Orders the plugin calls of a group, across all of its coordinators: a plugin that keeps the highest
/// token of each group, also after a delete, and ignores calls with lower ones, is safe from calls of
/// an old coordinator that arrive late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    leader_epoch: i32,
    number: u64,
}

impl Token {
    /// The token of these numbers, as a plugin keeps them.
    pub const fn new(leader_epoch: i32, number: u64) -> Self {
        Self { leader_epoch, number }
    }

    /// The leader epoch of the shard when the call was made: compared first.
    pub const fn leader_epoch(self) -> i32 {
        self.leader_epoch
    }

    /// Counts the calls of one leader epoch: compared next.
    pub const fn number(self) -> u64 {
        self.number
    }
}

/// A barrier that was handed out to be written, and may not be durable yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Barrier {
    group_id: Arc<str>,
}

/// A barrier that is durable: what it takes to call the plugin.
#[derive(Debug)]
pub(super) struct Committed {
    group_id: Arc<str>,
}

impl Barrier {
    pub(super) const fn new(group_id: Arc<str>) -> Self {
        Self { group_id }
    }

    pub(super) const fn group_id(&self) -> &Arc<str> {
        &self.group_id
    }

    /// The log says that it is committed.
    pub(super) fn committed(self) -> Committed {
        Committed { group_id: self.group_id }
    }
}

impl Committed {
    pub(super) fn set(self, epoch: TopologyEpoch, token: Token) -> SetCall {
        SetCall { group_id: self.group_id, epoch, token }
    }

    pub(super) fn delete(self, token: Token) -> DeleteCall {
        DeleteCall { group_id: self.group_id, token }
    }
}

/// A call of the plugin: keep the description of this epoch. It cannot be made but by a committed
/// barrier:
///
/// ```compile_fail,E0451
/// # use kafka_coordination::topology::{SetCall, Token};
/// fn forge(token: Token, epoch: kafka_coordination::topology::TopologyEpoch) -> SetCall {
///     SetCall { group_id: "g".into(), epoch, token }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetCall {
    group_id: Arc<str>,
    epoch: TopologyEpoch,
    token: Token,
}

impl SetCall {
    /// The group.
    pub const fn group_id(&self) -> &Arc<str> {
        &self.group_id
    }

    /// The epoch of the description.
    pub const fn epoch(&self) -> TopologyEpoch {
        self.epoch
    }

    /// For plugins that fence.
    pub const fn token(&self) -> Token {
        self.token
    }
}

/// A call of the plugin: delete the description. It cannot be made but by a committed barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteCall {
    group_id: Arc<str>,
    token: Token,
}

impl DeleteCall {
    /// The group.
    pub const fn group_id(&self) -> &Arc<str> {
        &self.group_id
    }

    /// For plugins that fence.
    pub const fn token(&self) -> Token {
        self.token
    }
}
