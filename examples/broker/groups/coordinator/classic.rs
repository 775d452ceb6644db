//! Requests of members of classic groups.

use super::{Coordinator, Group, MAX_TEXT, check_name};
use crate::groups::classic::{self, Claim, Join, Joined, Leaving, Sync, Synced};
use kafka_coordination::{ErrorCode, Monotonic};
use tokio::sync::oneshot::Sender;

impl Coordinator {
    /// `JoinGroup`.
    pub(crate) fn join(&mut self, name: &str, join: Join, reply: Sender<Joined>, now: Monotonic) {
        let config = self.config;
        let new = || Group::Classic(classic::Group::new(config));
        let checked = self.check_join(name, &join).and_then(|()| self.create(name, new));
        if let Err(error) = checked {
            let _gone = reply.send(Joined::refused(error, join.member_id));
            return;
        }
        self.change_classic(name, |group| group.join(join, reply, now));
    }

    fn check_join(&self, name: &str, join: &Join) -> Result<(), ErrorCode> {
        check_name(name)?;
        let sessions = self.config.min_session_ms..=self.config.max_session_ms;
        if !sessions.contains(&join.session_timeout_ms) {
            return Err(ErrorCode::InvalidSessionTimeout);
        }
        let instance = join.instance_id.as_deref().unwrap_or_default();
        let texts = [&join.client_id, &join.client_host, &join.protocol_type];
        if instance.len() > MAX_TEXT || texts.iter().any(|text| text.len() > MAX_TEXT) {
            return Err(ErrorCode::InvalidRequest);
        }
        let brought = join.protocols.iter().map(|own| own.name.len() + own.metadata.len());
        match self.group(name) {
            _ if classic::OVERHEAD + brought.sum::<usize>() > self.room() => {
                Err(ErrorCode::GroupMaxSizeReached)
            }
            Some(Group::Consumer(_)) => Err(ErrorCode::InconsistentGroupProtocol),
            None if !join.member_id.is_empty() => Err(ErrorCode::UnknownMemberId),
            Some(Group::Classic(_)) | None => Ok(()),
        }
    }

    /// `SyncGroup`.
    pub(crate) fn sync(&mut self, name: &str, sync: Sync, reply: Sender<Synced>, now: Monotonic) {
        let brought = sync.assignments.iter().map(|(_, assignment)| assignment.len());
        let error = match (check_name(name), self.group(name)) {
            (Err(error), _) => error,
            _ if brought.sum::<usize>() > self.room() => ErrorCode::GroupMaxSizeReached,
            (Ok(()), Some(Group::Classic(_))) => {
                self.change_classic(name, |group| group.sync(sync, reply, now));
                return;
            }
            (Ok(()), _) => ErrorCode::UnknownMemberId,
        };
        let _gone = reply.send(Synced::refused(error));
    }

    /// `Heartbeat`.
    pub(crate) fn heartbeat(
        &mut self,
        name: &str,
        claim: Claim<'_>,
        now: Monotonic,
    ) -> Result<(), ErrorCode> {
        check_name(name)?;
        let alive = self.change_classic(name, |group| group.heartbeat(claim, now));
        alive.unwrap_or(Err(ErrorCode::UnknownMemberId))
    }

    /// `LeaveGroup`: whether each member could leave.
    pub(crate) fn leave(
        &mut self,
        name: &str,
        leaving: &[Leaving],
        now: Monotonic,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        check_name(name)?;
        let left = self.change_classic(name, |group| group.leave(leaving, now));
        Ok(left.unwrap_or_else(|| vec![ErrorCode::UnknownMemberId; leaving.len()]))
    }

    fn change_classic<T>(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut classic::Group) -> T,
    ) -> Option<T> {
        self.change(name, |group, _| match group {
            Group::Classic(group) => Some(act(group)),
            Group::Consumer(_) => None,
        })?
    }
}
