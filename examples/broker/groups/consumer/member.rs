//! A member of a consumer group.

use super::request::{Assignment, Heartbeat, JOIN};
use kafka_coordination::Monotonic;
use std::collections::BTreeSet;

/// What a member takes beside its topics and partitions, roughly: some of that are ids and names of any length up to a
/// limit, so it is much for most.
pub(super) const OVERHEAD: usize = 4_096;
/// What a partition takes in an assignment, roughly.
pub(super) const PARTITION: usize = 16;

/// How far a member is on its way to its target assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has what it is to have, as of its epoch.
    Stable,
    /// It is to give up partitions before it gets others.
    UnrevokedPartitions,
    /// It waits for partitions that others are to give up.
    UnreleasedPartitions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) epoch: i32,
    pub(super) previous_epoch: i32,
    pub(super) state: MemberState,
    pub(crate) instance_id: Option<String>,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(super) rebalance_timeout_ms: i32,
    pub(crate) topics: BTreeSet<String>,
    /// Empty if it has none.
    pub(crate) regex: String,
    /// What it may consume.
    pub(crate) assigned: Assignment,
    /// What it is to give up, and nobody else may have yet.
    pub(super) revoking: Assignment,
    /// What it is to have in the end.
    pub(crate) target: Assignment,
    /// When it is taken for dead.
    pub(super) session_deadline: Option<Monotonic>,
    /// Until when it has to give partitions up.
    pub(super) revoke_deadline: Option<Monotonic>,
}

impl Member {
    pub(super) fn new() -> Self {
        Self {
            epoch: JOIN,
            previous_epoch: JOIN,
            state: MemberState::Stable,
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout_ms: 0,
            topics: BTreeSet::new(),
            regex: String::new(),
            assigned: Assignment::new(),
            revoking: Assignment::new(),
            target: Assignment::new(),
            session_deadline: None,
            revoke_deadline: None,
        }
    }

    /// Takes over what a heartbeat says. Whether the subscription is another.
    pub(super) fn update(&mut self, heartbeat: &Heartbeat) -> bool {
        heartbeat.client_id.clone_into(&mut self.client_id);
        heartbeat.client_host.clone_into(&mut self.client_host);
        if heartbeat.instance_id.is_some() {
            self.instance_id.clone_from(&heartbeat.instance_id);
        }
        if heartbeat.rack_id.is_some() {
            self.rack_id.clone_from(&heartbeat.rack_id);
        }
        if let Some(ms) = heartbeat.rebalance_timeout_ms {
            self.rebalance_timeout_ms = ms;
        }
        let mut changed = false;
        if let Some(topics) = heartbeat.topics.as_ref().filter(|topics| **topics != self.topics) {
            self.topics.clone_from(topics);
            changed = true;
        }
        if let Some(regex) = heartbeat.regex.as_ref().filter(|regex| **regex != self.regex) {
            self.regex.clone_from(regex);
            changed = true;
        }
        changed
    }

    pub(super) fn set_epoch(&mut self, epoch: i32) {
        if epoch != self.epoch {
            self.previous_epoch = self.epoch;
            self.epoch = epoch;
        }
    }

    /// Whether the member has a partition, or may have it still.
    pub(super) fn holds(&self, partition: (kafka_coordination::TopicId, i32)) -> bool {
        contains(&self.assigned, partition) || contains(&self.revoking, partition)
    }

    /// Whether it is where the group's target is.
    pub(super) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// The memory that the member takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        let partitions = size(&self.assigned) + size(&self.revoking) + size(&self.target);
        OVERHEAD
            + self.topics.iter().map(|topic| topic_bytes(topic)).sum::<usize>()
            + partitions * PARTITION
    }
}

/// What the name of a topic takes in a subscription, roughly: here and in the crate's index.
pub(super) fn topic_bytes(topic: &str) -> usize {
    64 + 2 * topic.len()
}

/// How many partitions there are.
pub(super) fn size(assignment: &Assignment) -> usize {
    assignment.values().map(BTreeSet::len).sum()
}

pub(super) fn contains(
    assignment: &Assignment,
    (topic, partition): (kafka_coordination::TopicId, i32),
) -> bool {
    assignment.get(&topic).is_some_and(|partitions| partitions.contains(&partition))
}
