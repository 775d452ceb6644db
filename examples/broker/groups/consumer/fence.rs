//! Members that leave, or of which nothing is heard.

use super::request::{Heartbeat, LEAVE, LEAVE_FOR_NOW, Refusal, Told};
use super::{Cluster, Group};
use kafka_coordination::{ErrorCode, Monotonic};

impl Group {
    /// A member leaves, for good or, if it is static, for a while.
    pub(crate) fn leave(
        &mut self,
        heartbeat: &Heartbeat,
        cluster: &mut Cluster,
        now: Monotonic,
    ) -> Result<Told, Refusal> {
        heartbeat.check()?;
        let id = heartbeat.member_id.clone();
        if let Some(instance) = &heartbeat.instance_id {
            match self.instances.get(instance) {
                None => return Err((ErrorCode::UnknownMemberId, "no member has this instance id")),
                Some(current) if *current != id => {
                    return Err((
                        ErrorCode::FencedInstanceId,
                        "another member has this instance id",
                    ));
                }
                Some(_) => {}
            }
        }
        let member =
            self.members.get_mut(&id).ok_or((ErrorCode::UnknownMemberId, "no such member"))?;
        if heartbeat.member_epoch == LEAVE_FOR_NOW {
            // Its partitions wait for it, as long as its session lasts.
            member.epoch = LEAVE_FOR_NOW;
            member.revoking.clear();
            member.revoke_deadline = None;
        } else {
            self.fence(std::slice::from_ref(&id), cluster, now);
        }
        debug_assert!(matches!(heartbeat.member_epoch, LEAVE | LEAVE_FOR_NOW));
        Ok(Told { member_id: id, member_epoch: heartbeat.member_epoch, assignment: None })
    }

    /// Takes out the members that are due. Calling it early or twice is harmless.
    pub(crate) fn handle_timeout(&mut self, cluster: &mut Cluster, now: Monotonic) {
        let is_due = |at: &Monotonic| *at <= now;
        let due = self.members.iter().filter(|(_, member)| {
            member.session_deadline.as_ref().is_some_and(is_due)
                || member.revoke_deadline.as_ref().is_some_and(is_due)
        });
        let due: Vec<_> = due.map(|(id, _)| id.clone()).collect();
        if !due.is_empty() {
            self.fence(&due, cluster, now);
        }
    }

    /// Takes members out; the next heartbeat of another gives their partitions away.
    fn fence(&mut self, ids: &[String], cluster: &mut Cluster, now: Monotonic) {
        for id in ids {
            if let Some(instance) = self.members.remove(id).and_then(|member| member.instance_id) {
                self.instances.remove(&instance);
            }
        }
        self.refresh_regexes(cluster, now);
        cluster.subscriptions.subscribe(&self.name, self.subscribed());
        let hash = cluster.subscriptions.metadata_hash(&self.name, cluster.topics.image());
        // At the last epoch there is no other; the members that are left keep what they have.
        if let Ok(update) = self.metadata.decide_leave(Some(hash))
            && self.metadata.commit(update).is_ok()
        {
            cluster.epoch_bumps += 1;
        }
    }
}
