//! From what a member has to what it is to have: first it gives up, then it gets what is free.

use super::member::{Member, MemberState, contains};
use super::request::Assignment;
use kafka_coordination::TopicId;
use std::collections::BTreeSet;

impl Member {
    /// Takes the member a step towards its target of this epoch, given the partitions that it says it has. A partition
    /// is free if no other member has it or is to give it up.
    pub(super) fn reconcile(
        &mut self,
        target_epoch: i32,
        owned: Option<&Assignment>,
        is_free: impl Fn((TopicId, i32)) -> bool,
    ) {
        match self.state {
            MemberState::Stable if self.epoch == target_epoch => {}
            MemberState::Stable | MemberState::UnreleasedPartitions => {
                self.step(self.epoch, target_epoch, owned, is_free);
            }
            MemberState::UnrevokedPartitions if has_any(owned, &self.revoking) => {}
            MemberState::UnrevokedPartitions => {
                let next = self.epoch.saturating_add(1).min(target_epoch);
                self.step(next, target_epoch, owned, is_free);
            }
        }
    }

    fn step(
        &mut self,
        epoch: i32,
        target_epoch: i32,
        owned: Option<&Assignment>,
        is_free: impl Fn((TopicId, i32)) -> bool,
    ) {
        let (mut kept, revoking) = split(&self.assigned, |one| contains(&self.target, one));
        if !revoking.is_empty() && has_any(owned, &revoking) {
            self.state = MemberState::UnrevokedPartitions;
            self.set_epoch(epoch);
            (self.assigned, self.revoking) = (kept, revoking);
            return;
        }
        let (_, missing) = split(&self.target, |one| contains(&kept, one));
        let (free, unreleased) = split(&missing, is_free);
        for (topic, partitions) in free {
            kept.entry(topic).or_default().extend(partitions);
        }
        self.state = if unreleased.is_empty() {
            MemberState::Stable
        } else {
            MemberState::UnreleasedPartitions
        };
        self.set_epoch(target_epoch);
        (self.assigned, self.revoking) = (kept, Assignment::new());
    }
}

/// Whether the member still has one of these partitions; it has if it does not say.
fn has_any(owned: Option<&Assignment>, partitions: &Assignment) -> bool {
    let Some(owned) = owned else { return true };
    let common = |(topic, partitions): (&TopicId, &BTreeSet<i32>)| {
        owned.get(topic).is_some_and(|owned| !owned.is_disjoint(partitions))
    };
    partitions.iter().any(common)
}

/// The partitions for which something holds, and the others.
fn split(
    assignment: &Assignment,
    holds: impl Fn((TopicId, i32)) -> bool,
) -> (Assignment, Assignment) {
    let (mut those, mut others) = (Assignment::new(), Assignment::new());
    for (&topic, partitions) in assignment {
        for &partition in partitions {
            let half = if holds((topic, partition)) { &mut those } else { &mut others };
            half.entry(topic).or_default().insert(partition);
        }
    }
    (those, others)
}
