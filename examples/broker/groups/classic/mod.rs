//! A classic group: its members join, the leader assigns, everybody syncs (KIP-62, KIP-345, KIP-394).
//!
//! ```text
//!            join                  all have joined,            the leader has
//!                                  or the time is up           synced
//!   Empty ----------> Preparing ---------------> Completing -------------> Stable
//!     ^               Rebalance <--------------- Rebalance                   |
//!     |                |   ^    a member joins,             a member joins,  |
//!     +----------------+   |    leaves or dies              leaves or dies   |
//!       nobody is left     +-------------------------------------------------+
//! ```
//!
//! Kafka's fifth state, Dead, is a group that is not there any more: its coordinator drops a group that is
//! [gone](Group::is_gone). Time comes as an argument; the answers to joins and syncs, which may be long in coming, go
//! where the request says.

mod heartbeat;
mod join;
mod leave;
mod member;
mod rebalance;
mod request;
mod sync;
#[cfg(test)]
mod tests;
mod timeout;

pub(crate) use member::{Member, OVERHEAD};
pub(crate) use request::{Claim, Join, Joined, JoinedMember, Leaving, Protocol, Sync, Synced};

use super::GroupConfig;
use kafka_coordination::{ErrorCode, Monotonic};
use std::collections::BTreeMap;

/// Where a group is between two assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
}

/// When the join phase ends at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinTimer {
    /// The group was empty: it waits for more members, up to so many milliseconds more if any come.
    Initial { at: Monotonic, delay_ms: i32, remaining_ms: i32, has_grown: bool },
    /// The members of the last generation may come again until then.
    Rebalance { at: Monotonic },
}

/// A classic group.
#[derive(Debug)]
pub(crate) struct Group {
    config: GroupConfig,
    state: State,
    generation: i32,
    protocol_type: Option<String>,
    protocol_name: Option<String>,
    /// Invariant: a key of `members`, and there is one unless these are none.
    leader: Option<String>,
    /// By member id.
    members: BTreeMap<String, Member>,
    /// The member id of each static member, by its instance id. Invariant: keys of `members`.
    instances: BTreeMap<String, String>,
    /// Ids that were given to members that are to join with them, and until when they may.
    pending: BTreeMap<String, Monotonic>,
    join_timer: Option<JoinTimer>,
    sync_deadline: Option<Monotonic>,
    /// Completed generations, for the host's counters.
    completed: u64,
}

impl Group {
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self {
            config,
            state: State::Empty,
            generation: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            pending: BTreeMap::new(),
            join_timer: None,
            sync_deadline: None,
            completed: 0,
        }
    }

    /// Whether nobody is in the group or about to join it.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Empty && self.members.is_empty() && self.pending.is_empty()
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn protocol_type(&self) -> Option<&str> {
        self.protocol_type.as_deref()
    }

    pub(crate) fn protocol_name(&self) -> Option<&str> {
        self.protocol_name.as_deref()
    }

    pub(crate) fn members(&self) -> &BTreeMap<String, Member> {
        &self.members
    }

    /// Generations that have been assigned.
    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    /// The memory that the group takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let members = self.members.values().map(Member::bytes);
        let pending = self.pending.keys().map(|id| 64 + id.len());
        1_024 + members.sum::<usize>() + pending.sum::<usize>()
    }

    /// Whether a request may come from whom it says.
    fn check_member(&self, member_id: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance_id {
            match self.instances.get(instance) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(current) if current != member_id => return Err(ErrorCode::FencedInstanceId),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member_id) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    fn is_leader(&self, member_id: &str) -> bool {
        self.leader.as_deref() == Some(member_id)
    }

    /// The longest time that a member asks for to join again.
    fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0)
    }

    fn has_all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(Member::is_joining)
    }

    /// Takes a member out, and appoints another leader if it was that.
    fn remove(&mut self, member_id: &str) {
        self.pending.remove(member_id);
        let Some(mut member) = self.members.remove(member_id) else {
            return;
        };
        // Whoever still waits in its name is to start over.
        member.answer_join(Joined::refused(ErrorCode::UnknownMemberId, ""));
        member.answer_sync(Synced::refused(ErrorCode::UnknownMemberId));
        if let Some(instance) = member.instance_id {
            self.instances.remove(&instance);
        }
        if self.is_leader(member_id) {
            self.leader = self.members.keys().next().cloned();
        }
    }
}
