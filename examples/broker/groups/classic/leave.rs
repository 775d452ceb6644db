//! `LeaveGroup`.

use super::{Group, Leaving, State};
use kafka_coordination::{ErrorCode, Monotonic};

impl Group {
    /// Members leave; whether each could, in their order.
    pub(crate) fn leave(&mut self, leaving: &[Leaving], now: Monotonic) -> Vec<ErrorCode> {
        let left: Vec<_> = leaving.iter().map(|member| self.leave_one(member)).collect();
        if left.contains(&ErrorCode::None) {
            match self.state {
                State::Stable | State::CompletingRebalance => self.prepare_rebalance(now),
                State::PreparingRebalance => self.complete_if_all_joined(now),
                State::Empty => {}
            }
        }
        left
    }

    fn leave_one(&mut self, leaving: &Leaving) -> ErrorCode {
        let instance_id = leaving.instance_id.as_deref();
        // An administrator knows a static member by its instance id.
        let member_id = match instance_id.and_then(|instance| self.instances.get(instance)) {
            Some(current) if leaving.member_id.is_empty() => current.clone(),
            _ => leaving.member_id.clone(),
        };
        if !self.pending.contains_key(&member_id)
            && let Err(error) = self.check_member(&member_id, instance_id)
        {
            return error;
        }
        self.remove(&member_id);
        ErrorCode::None
    }
}
