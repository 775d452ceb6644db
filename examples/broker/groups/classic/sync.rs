//! `SyncGroup`.

use super::request::answer;
use super::{Group, Member, State, Sync, Synced};
use bytes::Bytes;
use kafka_coordination::{ErrorCode, Monotonic};
use std::collections::HashMap;
use tokio::sync::oneshot::Sender;

impl Group {
    /// A member asks for its assignment, the leader with everybody's. It is answered at once or when the leader has
    /// come.
    pub(crate) fn sync(&mut self, sync: Sync, reply: Sender<Synced>, now: Monotonic) {
        if let Err(error) = self.check_sync(&sync) {
            answer(reply, Synced::refused(error));
            return;
        }
        let Some(member) = self.members.get_mut(&sync.member_id) else {
            return;
        };
        member.must_sync = false;
        if self.state == State::Stable {
            answer(reply, self.synced(&sync.member_id));
        } else {
            member.await_sync(reply);
            if self.is_leader(&sync.member_id) {
                self.assign(sync.assignments, now);
            }
        }
        if !self.members.values().any(|member| member.must_sync) {
            self.sync_deadline = None;
        }
    }

    fn check_sync(&self, sync: &Sync) -> Result<(), ErrorCode> {
        let differs = |claimed: &Option<String>, own: &Option<String>| {
            claimed.is_some() && own.is_some() && claimed != own
        };
        self.check_member(&sync.member_id, sync.instance_id.as_deref())?;
        if sync.generation != self.generation {
            Err(ErrorCode::IllegalGeneration)
        } else if differs(&sync.protocol_type, &self.protocol_type)
            || differs(&sync.protocol_name, &self.protocol_name)
        {
            Err(ErrorCode::InconsistentGroupProtocol)
        } else {
            match self.state {
                State::CompletingRebalance | State::Stable => Ok(()),
                State::PreparingRebalance => Err(ErrorCode::RebalanceInProgress),
                State::Empty => Err(ErrorCode::UnknownMemberId),
            }
        }
    }

    /// Gives everybody what the leader has assigned; nothing to whom it has left out.
    fn assign(&mut self, assignments: Vec<(String, Bytes)>, now: Monotonic) {
        let mut assignments: HashMap<_, _> = assignments.into_iter().collect();
        self.state = State::Stable;
        self.completed += 1;
        for id in self.members.keys().cloned().collect::<Vec<_>>() {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = assignments.remove(&id).unwrap_or_default();
            }
            let synced = self.synced(&id);
            if let Some(member) = self.members.get_mut(&id)
                && member.answer_sync(synced)
            {
                member.heard_of(now);
            }
        }
    }

    fn synced(&self, member_id: &str) -> Synced {
        let assignment = |member: &Member| member.assignment.clone();
        Synced {
            error: ErrorCode::None,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment: self.members.get(member_id).map(assignment).unwrap_or_default(),
        }
    }
}
