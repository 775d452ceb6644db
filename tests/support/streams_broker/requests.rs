//! What clients and timers ask of the broker.

use super::group::Group;
use super::{Beat, Broker, Gate, Least, RequestNumber, Response, Then};
use kafka_coordination::ErrorCode;
use kafka_coordination::topology::{
    Belief, ClassicJoin, Cleanup, Description, PushRequest, TopologyEpoch,
};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Broker {
    pub(crate) fn push(
        &mut self,
        request: RequestNumber,
        group_id: &str,
        member_id: &str,
        topology_epoch: i32,
    ) {
        let push = PushRequest {
            group_id,
            member_id,
            topology_epoch,
            description: Description::WellFormed,
        };
        let operation = self.manager.push(&push, &self.log.groups(), &mut Least, self.now);
        self.requests.insert(operation, request);
        self.run();
    }

    /// A member joins (member epoch 0), stays, or leaves (below 0); with a topology if it joins.
    pub(crate) fn heartbeat(
        &mut self,
        request: RequestNumber,
        group_id: &str,
        member_id: &str,
        member_epoch: i32,
        version: i16,
        topology: Option<TopologyEpoch>,
    ) {
        let known = self.log.latest.0.get(group_id).filter(|it| it.is_streams());
        let is_member = known.is_some_and(|it| it.members.contains(member_id));
        let belief = known.map_or(Belief::NEW, |it| it.belief);
        let (error, after) = match (known, member_epoch) {
            _ if !self.is_loaded() => (self.unloaded_error, None),
            (None, 0) => {
                // Two steps of the epoch: the group begins at 1, and the member is one more.
                let mut group = Group { epoch: 2, current: topology, ..Group::new("streams") };
                group.members.insert(member_id.to_owned());
                (ErrorCode::None, Some(group))
            }
            (None, _) => (ErrorCode::GroupIdNotFound, None),
            (Some(group), 0) if !is_member => {
                let mut group = group.clone();
                group.epoch += 1;
                group.current = group.current.or(topology);
                group.members.insert(member_id.to_owned());
                (ErrorCode::None, Some(group))
            }
            (Some(_), _) if !is_member => (ErrorCode::UnknownMemberId, None),
            (Some(group), ..0) => {
                let mut group = group.clone();
                group.epoch += 1;
                group.members.remove(member_id);
                (ErrorCode::None, Some(group))
            }
            (Some(_), _) => (ErrorCode::None, None),
        };
        let gate = after.as_ref().or(known).map(|it| Gate { current: it.current, belief });
        let beat = Beat { version, member_epoch, error, gate };
        if !error.is_none() {
            // Refused before anything is written, and so answered at once.
            self.respond(request, Response::Heartbeat { error, gate: None, is_asked: false });
            return;
        }
        let then = Then::Heartbeat { request, group_id: group_id.to_owned(), beat };
        self.write(after.map(|it| (group_id.to_owned(), Some(it))).into_iter().collect(), then);
        self.run();
    }

    pub(crate) fn classic_join(&mut self, request: RequestNumber, group_id: &str, member_id: &str) {
        let error = ErrorCode::UnknownMemberId;
        let is_empty_streams = self
            .log
            .latest
            .0
            .get(group_id)
            .is_some_and(|it| it.is_streams() && it.members.is_empty());
        if !member_id.is_empty() && is_empty_streams {
            // It would not be let in, so the plugin is not asked.
            return self.respond(request, Response::Other { error });
        }
        match self.manager.classic_join(group_id, &self.log.groups(), self.now) {
            ClassicJoin::Admitted => self.join(request, group_id),
            ClassicJoin::Refused => {
                let error = ErrorCode::RebalanceInProgress;
                self.respond(request, Response::Other { error });
            }
            ClassicJoin::Pending(operation) => drop(self.requests.insert(operation, request)),
        }
        self.run();
    }

    /// The join itself, in one write with the conversion. It is answered before its records are committed.
    pub(super) fn join(&mut self, request: RequestNumber, group_id: &str) {
        let latest = self.log.latest.0.get(group_id).cloned();
        let streams = latest.as_ref().and_then(Group::streams);
        let error = match &latest {
            _ if !self.is_loaded() => self.unloaded_error,
            Some(group) if group.is_streams() && !group.members.is_empty() => {
                ErrorCode::InconsistentGroupProtocol
            }
            Some(_) if !self.manager.may_remove(group_id, streams.as_ref()) => {
                ErrorCode::RebalanceInProgress
            }
            Some(group) if group.kind == "classic" => ErrorCode::MemberIdRequired,
            _ => {
                let classic = Group::new("classic");
                self.write(vec![(group_id.to_owned(), Some(classic))], Then::Join);
                ErrorCode::MemberIdRequired
            }
        };
        self.respond(request, Response::Other { error });
    }

    pub(crate) fn delete_groups(&mut self, request: RequestNumber, group_ids: Vec<String>) {
        self.log.requested.insert(request, group_ids.clone());
        self.write(Vec::new(), Then::DeleteGroups { request, group_ids });
        self.run();
    }

    /// The last step of `DeleteGroups`.
    pub(super) fn tombstone(
        &mut self,
        request: RequestNumber,
        failed: &[Arc<str>],
        remaining: &[Arc<str>],
    ) {
        let mut results: BTreeMap<_, _> =
            failed.iter().map(|id| (id.to_string(), ErrorCode::GroupDeletionFailed)).collect();
        let mut changes = Vec::new();
        for group_id in remaining {
            let group = self.log.latest.0.get(&**group_id);
            let streams = group.and_then(Group::streams);
            let result = match group {
                _ if !self.is_loaded() => self.unloaded_error,
                None => ErrorCode::GroupIdNotFound,
                Some(group) if !group.members.is_empty() => ErrorCode::NonEmptyGroup,
                Some(_) if !self.manager.may_remove(group_id, streams.as_ref()) => {
                    ErrorCode::GroupDeletionFailed
                }
                Some(_) => {
                    changes.push((group_id.to_string(), None));
                    ErrorCode::None
                }
            };
            results.insert(group_id.to_string(), result);
        }
        if self.is_loaded() && !remaining.is_empty() {
            self.write(changes, Then::Tombstones { request, results });
        } else {
            self.respond(request, Response::DeleteGroups { results });
        }
    }

    pub(crate) fn cleanup(&mut self, request: RequestNumber) {
        match self.manager.start_cleanup(&self.log.groups(), self.now) {
            Cleanup::Started(operation) => drop(self.requests.insert(operation, request)),
            Cleanup::Idle => self.respond(request, Response::Other { error: ErrorCode::None }),
            Cleanup::Skipped => self.respond(request, Response::CleanupSkipped),
        }
        self.run();
    }

    /// Groups without members and offsets go, of whatever type.
    pub(crate) fn sweep(&mut self, request: RequestNumber) {
        let expired = self.log.latest.0.iter().filter(|(group_id, group)| {
            group.members.is_empty()
                && !group.has_offsets
                && self.manager.may_remove(group_id, group.streams().as_ref())
        });
        let changes = expired.map(|(group_id, _)| (group_id.clone(), None)).collect();
        self.write(changes, Then::Sweep { request });
        self.run();
    }
}
