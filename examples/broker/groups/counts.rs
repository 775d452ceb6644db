//! What groups have come to, for the broker's counters.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Groups that have members, and how many.
    pub(crate) groups: usize,
    pub(crate) members: usize,
    /// Committed offsets.
    pub(crate) offsets: usize,
    /// Generations that leaders of classic groups have assigned.
    pub(crate) generations: u64,
    /// How often topics of consumer groups were looked at, and how often such a group's epoch rose.
    pub(crate) refreshes: u64,
    pub(crate) epoch_bumps: u64,
}

impl Counts {
    pub(crate) fn json(self) -> Value {
        json!({
            "groups": self.groups,
            "members": self.members,
            "offsets": self.offsets,
            "generations": self.generations,
            "refreshes": self.refreshes,
            "epoch_bumps": self.epoch_bumps,
        })
    }
}
