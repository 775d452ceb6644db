//! What happens when nothing happens.

use super::{Group, JoinTimer, Member, State};
use kafka_coordination::Monotonic;

impl Group {
    /// When [`Group::handle_timeout`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Monotonic> {
        let sessions = self.members.values().filter_map(|member| member.session_deadline);
        let pending = self.pending.values().copied();
        let join = self.join_timer.map(|timer| match timer {
            JoinTimer::Initial { at, .. } | JoinTimer::Rebalance { at } => at,
        });
        sessions.chain(pending).chain(join).chain(self.sync_deadline).min()
    }

    /// Does what is due. Calling it early or twice is harmless.
    pub(crate) fn handle_timeout(&mut self, now: Monotonic) {
        let is_due = |at: &Monotonic| *at <= now;
        let unused = self.pending.iter().filter(|(_, at)| is_due(at)).map(|(id, _)| id);
        let silent = self
            .members
            .iter()
            .filter(|(_, member)| member.session_deadline.as_ref().is_some_and(is_due));
        let expired: Vec<String> = unused.chain(silent.map(|(id, _)| id)).cloned().collect();
        for id in expired {
            self.expire(&id, now);
        }
        self.end_join_phase(now);
        if self.sync_deadline.as_ref().is_some_and(is_due) {
            self.remove_unsynced(now);
        }
    }

    /// Takes out a member of which nothing has been heard, or an id that nobody has used.
    fn expire(&mut self, id: &str, now: Monotonic) {
        if let Some(member) = self.members.get_mut(id)
            && member.may_be_silent()
        {
            member.session_deadline = None;
            return;
        }
        let was_member = self.members.contains_key(id);
        self.remove(id);
        match self.state {
            State::Stable | State::CompletingRebalance if was_member => self.prepare_rebalance(now),
            State::PreparingRebalance if self.has_all_joined() => self.complete_join(now),
            _ => {}
        }
    }

    fn end_join_phase(&mut self, now: Monotonic) {
        match self.join_timer {
            Some(JoinTimer::Initial { at, delay_ms, remaining_ms, has_grown }) if at <= now => {
                if has_grown && remaining_ms > 0 {
                    let next_ms = self.config.initial_rebalance_delay_ms.min(remaining_ms);
                    self.join_timer = Some(JoinTimer::Initial {
                        at: now.saturating_add(next_ms.into()),
                        delay_ms: next_ms,
                        remaining_ms: remaining_ms.saturating_sub(delay_ms).max(0),
                        has_grown: false,
                    });
                } else {
                    self.complete_join(now);
                }
            }
            Some(JoinTimer::Rebalance { at }) if at <= now => self.complete_join(now),
            _ => {}
        }
    }

    /// Takes out the members that were told of the generation and have never come for their assignment.
    fn remove_unsynced(&mut self, now: Monotonic) {
        self.sync_deadline = None;
        let unsynced = |(_, member): &(&String, &Member)| member.must_sync;
        let unsynced: Vec<String> =
            self.members.iter().filter(unsynced).map(|(id, _)| id.clone()).collect();
        for id in &unsynced {
            self.remove(id);
        }
        if !unsynced.is_empty() {
            self.prepare_rebalance(now);
        }
    }
}
