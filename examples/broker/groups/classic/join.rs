//! `JoinGroup`.

use super::request::answer;
use super::{Group, Join, Joined, JoinedMember, Member, Protocol, State};
use kafka_coordination::{ErrorCode, Monotonic};
use tokio::sync::oneshot::Sender;

/// The most protocols that a member may offer; clients have a handful.
const MAX_PROTOCOLS: usize = 32;

impl Group {
    /// A member joins, or joins again. It is answered at once or when the join phase ends.
    pub(crate) fn join(&mut self, join: Join, reply: Sender<Joined>, now: Monotonic) {
        let member_id = join.member_id.clone();
        if self.is_too_full_for(&member_id) {
            self.pending.remove(&member_id);
            answer(reply, Joined::refused(ErrorCode::GroupMaxSizeReached, ""));
            self.complete_if_all_joined(now);
        } else if !self.supports(&join) {
            answer(reply, Joined::refused(ErrorCode::InconsistentGroupProtocol, member_id));
        } else if member_id.is_empty() {
            self.join_without_id(join, reply, now);
        } else if self.pending.contains_key(&member_id) {
            if join.instance_id.is_some() {
                // Such ids are given to dynamic members only.
                answer(reply, Joined::refused(ErrorCode::UnknownMemberId, member_id));
            } else {
                self.add(member_id, join, reply, now);
            }
        } else if let Err(error) = self.check_member(&member_id, join.instance_id.as_deref()) {
            answer(reply, Joined::refused(error, member_id));
        } else {
            self.join_again(&member_id, join, reply, now);
        }
    }

    /// Whether there is no room for one more. Ids that are given but not used count by themselves.
    fn is_too_full_for(&self, member_id: &str) -> bool {
        let max = self.config.max_members;
        let is_new = !self.members.contains_key(member_id);
        is_new && (self.members.len() >= max || (member_id.is_empty() && self.pending.len() >= max))
    }

    /// Whether the members agree on the type and one protocol at least, the joining one among them.
    fn supports(&self, join: &Join) -> bool {
        let offered = &join.protocols;
        if offered.is_empty() || offered.len() > MAX_PROTOCOLS || join.protocol_type.is_empty() {
            return false;
        }
        self.members.is_empty()
            || (self.protocol_type.as_ref() == Some(&join.protocol_type)
                && offered.iter().any(|protocol| self.all_support(&protocol.name)))
    }

    fn all_support(&self, protocol: &str) -> bool {
        self.members.values().all(|member| member.metadata(protocol).is_some())
    }

    /// The protocol that most members prefer among those that all support.
    pub(super) fn select_protocol(&self) -> Option<String> {
        let mut votes: Vec<(&str, usize)> = Vec::new();
        let candidate = |protocol: &&Protocol| self.all_support(&protocol.name);
        // What all support, each supports: the first member's offers hold every candidate.
        for protocol in self.members.values().next()?.protocols.iter().filter(candidate) {
            votes.push((&protocol.name, 0));
        }
        for member in self.members.values() {
            let choice = member.protocols.iter().find_map(|protocol| {
                votes.iter().position(|(candidate, _)| *candidate == protocol.name)
            });
            if let Some((_, count)) = choice.and_then(|choice| votes.get_mut(choice)) {
                *count += 1;
            }
        }
        // Of equals the first, by the order of the first member.
        let most = votes.iter().map(|(_, count)| *count).max()?;
        votes.iter().find(|(_, count)| *count == most).map(|(name, _)| (*name).to_owned())
    }

    fn join_without_id(&mut self, mut join: Join, reply: Sender<Joined>, now: Monotonic) {
        let new_id = std::mem::take(&mut join.new_member_id);
        match &join.instance_id {
            Some(instance) => match self.instances.get(instance).cloned() {
                Some(old_id) => self.replace(&old_id, &new_id, join, reply, now),
                None => self.add(new_id, join, reply, now),
            },
            None if join.must_know_id => {
                self.pending
                    .insert(new_id.clone(), now.saturating_add(join.session_timeout_ms.into()));
                answer(reply, Joined::refused(ErrorCode::MemberIdRequired, new_id));
            }
            None => self.add(new_id, join, reply, now),
        }
    }

    fn add(&mut self, member_id: String, join: Join, reply: Sender<Joined>, now: Monotonic) {
        self.pending.remove(&member_id);
        if self.members.is_empty() {
            self.protocol_type = Some(join.protocol_type.clone());
        }
        if let Some(instance) = &join.instance_id {
            self.instances.insert(instance.clone(), member_id.clone());
        }
        let mut member = Member::new(join);
        // It cannot send heartbeats yet, and nothing else tells whether it is still there.
        member.session_deadline = Some(now.saturating_add(self.config.new_member_join_ms.into()));
        member.await_join(&member_id, reply);
        self.leader.get_or_insert_with(|| member_id.clone());
        self.members.insert(member_id, member);
        self.note_growth();
        self.rebalance_or_complete(now);
    }

    fn join_again(&mut self, member_id: &str, join: Join, reply: Sender<Joined>, now: Monotonic) {
        let is_leader = self.is_leader(member_id);
        let Some(member) = self.members.get_mut(member_id) else {
            return;
        };
        let changes = member.protocols != join.protocols;
        let may_stay = match self.state {
            State::PreparingRebalance | State::Empty => false,
            // Most likely the answer to its last join was lost.
            State::CompletingRebalance => !changes,
            // A leader that joins again wants a new assignment, of topics that have changed for example.
            State::Stable => !changes && !is_leader,
        };
        if may_stay {
            let joined = self.joined(member_id, self.state == State::CompletingRebalance);
            answer(reply, joined);
        } else {
            member.update(join);
            member.await_join(member_id, reply);
            self.rebalance_or_complete(now);
        }
    }

    /// A static member has come back without its member id: it gets a new one, and the old one is fenced.
    fn replace(
        &mut self,
        old_id: &str,
        new_id: &str,
        join: Join,
        reply: Sender<Joined>,
        now: Monotonic,
    ) {
        let Some(mut member) = self.members.remove(old_id) else {
            return;
        };
        member.answer_join(Joined::refused(ErrorCode::FencedInstanceId, old_id));
        member.answer_sync(super::Synced::refused(ErrorCode::FencedInstanceId));
        let was_leader = self.is_leader(old_id);
        if was_leader {
            self.leader = Some(new_id.to_owned());
        }
        if let Some(instance) = &member.instance_id {
            self.instances.insert(instance.clone(), new_id.to_owned());
        }
        let can_skip_assignment = join.can_skip_assignment;
        member.update(join);
        member.is_new = false;
        member.heard_of(now);
        member.await_join(new_id, reply);
        self.members.insert(new_id.to_owned(), member);
        let protocol = self.select_protocol();
        match self.state {
            State::Stable if protocol == self.protocol_name => {
                let mut joined = self.joined(new_id, can_skip_assignment);
                joined.skip_assignment = was_leader && can_skip_assignment;
                if was_leader && !can_skip_assignment {
                    // It must not take itself for the leader, or it would assign anew.
                    old_id.clone_into(&mut joined.leader);
                }
                if let Some(member) = self.members.get_mut(new_id) {
                    member.answer_join(joined);
                }
            }
            // The leader may have been told the old id, and assign to that.
            State::Stable | State::CompletingRebalance => self.prepare_rebalance(now),
            State::PreparingRebalance | State::Empty => self.rebalance_or_complete(now),
        }
    }

    /// The answer to a join of this member in the current generation.
    pub(super) fn joined(&self, member_id: &str, with_members: bool) -> Joined {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        let member = |(id, member): (&String, &Member)| JoinedMember {
            member_id: id.clone(),
            instance_id: member.instance_id.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
        };
        let members = if with_members && self.is_leader(member_id) {
            self.members.iter().map(member).collect()
        } else {
            Vec::new()
        };
        Joined {
            error: ErrorCode::None,
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            skip_assignment: false,
            member_id: member_id.to_owned(),
            members,
        }
    }
}
