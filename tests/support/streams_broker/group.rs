//! Groups of a shard.

use kafka_coordination::topology::{Belief, Groups, Life, StreamsGroup, TopologyEpoch};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Kafka's name of its type.
    pub(crate) kind: String,
    pub(crate) members: BTreeSet<String>,
    pub(crate) epoch: i32,
    pub(crate) current: Option<TopologyEpoch>,
    pub(crate) belief: Belief,
    pub(crate) has_offsets: bool,
}

impl Group {
    /// A group without members, offsets and topology.
    pub(crate) fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            members: BTreeSet::new(),
            epoch: 0,
            current: None,
            belief: Belief::NEW,
            has_offsets: false,
        }
    }

    pub(crate) fn is_streams(&self) -> bool {
        self.kind == "streams"
    }

    /// What a manager sees of it.
    pub(crate) fn streams(&self) -> Option<StreamsGroup> {
        let life = if self.members.is_empty() { Life::Empty } else { Life::Live };
        let streams = StreamsGroup { current: self.current, belief: self.belief, life };
        self.is_streams().then_some(streams)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shard(pub(crate) BTreeMap<String, Group>);

impl Shard {
    pub(crate) fn streams(&self, group_id: &str) -> Option<StreamsGroup> {
        self.0.get(group_id)?.streams()
    }

    pub(crate) fn apply(&mut self, changes: impl IntoIterator<Item = (String, Option<Group>)>) {
        for (group_id, group) in changes {
            match group {
                Some(group) => drop(self.0.insert(group_id, group)),
                None => drop(self.0.remove(&group_id)),
            }
        }
    }
}

/// Both states of a shard, as a manager asks for them.
pub(crate) struct Both {
    pub(super) latest: Shard,
    pub(super) committed: Shard,
}

impl Groups for Both {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        self.latest.streams(group_id)
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        self.committed.streams(group_id)
    }

    fn has_member(&self, group_id: &str, member_id: &str) -> bool {
        self.latest.0.get(group_id).is_some_and(|group| group.members.contains(member_id))
    }

    fn has_offsets(&self, group_id: &str) -> bool {
        self.committed.0.get(group_id).is_some_and(|group| group.has_offsets)
    }
}
