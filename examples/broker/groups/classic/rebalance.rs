//! From one generation to the next.

use super::{Group, JoinTimer, Member, State, Synced};
use bytes::Bytes;
use kafka_coordination::{ErrorCode, Monotonic};

impl Group {
    /// The members or what they offer have changed.
    pub(super) fn rebalance_or_complete(&mut self, now: Monotonic) {
        if self.state == State::PreparingRebalance {
            self.complete_if_all_joined(now);
        } else {
            self.prepare_rebalance(now);
        }
    }

    /// Ends the join phase if nobody is missing. The one of a group that was empty ends with its delay only.
    pub(super) fn complete_if_all_joined(&mut self, now: Monotonic) {
        let is_initial = matches!(self.join_timer, Some(JoinTimer::Initial { .. }));
        if self.state == State::PreparingRebalance && !is_initial && self.has_all_joined() {
            self.complete_join(now);
        }
    }

    /// The initial delay is to be prolonged for a member that has come meanwhile.
    pub(super) fn note_growth(&mut self) {
        if let Some(JoinTimer::Initial { has_grown, .. }) = &mut self.join_timer {
            *has_grown = true;
        }
    }

    /// Starts a join phase: everybody is to join again.
    pub(super) fn prepare_rebalance(&mut self, now: Monotonic) {
        if self.state == State::CompletingRebalance {
            for member in self.members.values_mut() {
                member.assignment = Bytes::new();
                if member.answer_sync(Synced::refused(ErrorCode::RebalanceInProgress)) {
                    member.heard_of(now);
                }
            }
        }
        self.sync_deadline = None;
        for member in self.members.values_mut() {
            member.must_sync = false;
        }
        let was_empty = self.state == State::Empty;
        self.state = State::PreparingRebalance;
        if was_empty {
            let delay_ms = self.config.initial_rebalance_delay_ms;
            self.join_timer = Some(JoinTimer::Initial {
                at: now.saturating_add(delay_ms.into()),
                delay_ms,
                remaining_ms: self.rebalance_timeout_ms().saturating_sub(delay_ms).max(0),
                has_grown: false,
            });
        } else if self.has_all_joined() {
            self.complete_join(now);
        } else {
            self.wait_for_joins(now);
        }
    }

    fn wait_for_joins(&mut self, now: Monotonic) {
        let at = now.saturating_add(self.rebalance_timeout_ms().into());
        self.join_timer = Some(JoinTimer::Rebalance { at });
    }

    /// Ends the join phase: who has not joined again is out, unless it is static, and the others are told of the new
    /// generation.
    pub(super) fn complete_join(&mut self, now: Monotonic) {
        self.join_timer = None;
        let is_out = |member: &Member| !member.is_joining() && !member.is_static();
        let out = self.members.iter().filter(|(_, member)| is_out(member));
        for id in out.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.remove(&id);
        }
        if self.members.is_empty() {
            self.next_generation();
            self.protocol_name = None;
            self.state = State::Empty;
        } else if self.elect_leader() {
            self.next_generation();
            self.protocol_name = self.select_protocol();
            self.state = State::CompletingRebalance;
            self.tell_generation(now);
        } else {
            // Only static members are left and none has come; their sessions will run out if they are dead.
            self.wait_for_joins(now);
        }
    }

    fn next_generation(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or(1);
    }

    /// Makes sure that a member that has joined leads. Whether there is one.
    fn elect_leader(&mut self) -> bool {
        let leads = |id: &String| self.members.get(id).is_some_and(Member::is_joining);
        if !self.leader.as_ref().is_some_and(leads) {
            let mut joined = self.members.iter().filter(|(_, member)| member.is_joining());
            match joined.next() {
                Some((id, _)) => self.leader = Some(id.clone()),
                None => return false,
            }
        }
        true
    }

    fn tell_generation(&mut self, now: Monotonic) {
        for id in self.members.keys().cloned().collect::<Vec<_>>() {
            let joined = self.joined(&id, true);
            if let Some(member) = self.members.get_mut(&id) {
                member.answer_join(joined);
                member.is_new = false;
                member.must_sync = true;
                member.heard_of(now);
            }
        }
        self.sync_deadline = Some(now.saturating_add(self.rebalance_timeout_ms().into()));
    }
}
