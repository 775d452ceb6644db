//! All groups and their offsets, within the memory that they may take.

use super::classic::{self, Claim, Join, Joined, Leaving, Sync, Synced};
use super::offsets::{Commit, Committed, Offsets};
use super::{Counts, GroupConfig};
use kafka_coordination::{ErrorCode, Monotonic, TopicName};
use std::collections::{BTreeSet, HashMap};
use tokio::sync::oneshot::Sender;

/// The longest name of a group, as of a topic.
const MAX_NAME: usize = 249;
/// The longest id or name that a member may bring.
const MAX_TEXT: usize = 1_024;

/// The group coordinator.
#[derive(Debug)]
pub(crate) struct Coordinator {
    config: GroupConfig,
    /// Those that have members. Any other name stands for an empty group, which may have offsets.
    groups: HashMap<String, Entry>,
    /// When each group is due. Invariant: the deadlines of `groups`.
    deadlines: BTreeSet<(Monotonic, String)>,
    offsets: Offsets,
    /// The memory that `groups` takes.
    bytes: usize,
    /// Of classic groups that are gone.
    completed: u64,
}

#[derive(Debug)]
struct Entry {
    group: classic::Group,
    bytes: usize,
    deadline: Option<Monotonic>,
}

impl Coordinator {
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self {
            config,
            groups: HashMap::new(),
            deadlines: BTreeSet::new(),
            offsets: Offsets::default(),
            bytes: 0,
            completed: 0,
        }
    }

    /// `JoinGroup`.
    pub(crate) fn join(&mut self, group: &str, join: Join, reply: Sender<Joined>, now: Monotonic) {
        if let Err(error) = self.check_join(group, &join) {
            let _gone = reply.send(Joined::refused(error, join.member_id));
            return;
        }
        let config = self.config;
        let new = || Entry { group: classic::Group::new(config), bytes: 0, deadline: None };
        self.groups.entry(group.to_owned()).or_insert_with(new);
        self.change(group, |group| group.join(join, reply, now));
    }

    fn check_join(&self, group: &str, join: &Join) -> Result<(), ErrorCode> {
        check_name(group)?;
        let sessions = self.config.min_session_ms..=self.config.max_session_ms;
        if !sessions.contains(&join.session_timeout_ms) {
            return Err(ErrorCode::InvalidSessionTimeout);
        }
        let instance = join.instance_id.as_deref().unwrap_or_default();
        let texts = [&join.client_id, &join.client_host, &join.protocol_type];
        if instance.len() > MAX_TEXT || texts.iter().any(|text| text.len() > MAX_TEXT) {
            return Err(ErrorCode::InvalidRequest);
        }
        let brought = join.protocols.iter().map(|own| own.name.len() + own.metadata.len()).sum();
        match self.groups.get(group) {
            _ if !self.has_room(brought) => Err(ErrorCode::GroupMaxSizeReached),
            None if !join.member_id.is_empty() => Err(ErrorCode::UnknownMemberId),
            None if self.groups.len() >= self.config.max_groups => {
                Err(ErrorCode::GroupMaxSizeReached)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// `SyncGroup`.
    pub(crate) fn sync(&mut self, group: &str, sync: Sync, reply: Sender<Synced>, now: Monotonic) {
        let brought = sync.assignments.iter().map(|(_, assignment)| assignment.len()).sum();
        let error = match check_name(group) {
            Err(error) => error,
            Ok(()) if !self.has_room(brought) => ErrorCode::GroupMaxSizeReached,
            Ok(()) if !self.groups.contains_key(group) => ErrorCode::UnknownMemberId,
            Ok(()) => {
                self.change(group, |group| group.sync(sync, reply, now));
                return;
            }
        };
        let _gone = reply.send(Synced::refused(error));
    }

    /// `Heartbeat`.
    pub(crate) fn heartbeat(
        &mut self,
        group: &str,
        claim: Claim<'_>,
        now: Monotonic,
    ) -> Result<(), ErrorCode> {
        check_name(group)?;
        let alive = self.change(group, |group| group.heartbeat(claim, now));
        alive.unwrap_or(Err(ErrorCode::UnknownMemberId))
    }

    /// `LeaveGroup`: whether each member could leave.
    pub(crate) fn leave(
        &mut self,
        group: &str,
        leaving: &[Leaving],
        now: Monotonic,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        check_name(group)?;
        let left = self.change(group, |group| group.leave(leaving, now));
        Ok(left.unwrap_or_else(|| vec![ErrorCode::UnknownMemberId; leaving.len()]))
    }

    /// `OffsetCommit`, whose version tells how an unknown group is answered. What became of each offset, in their order.
    pub(crate) fn commit(
        &mut self,
        group: &str,
        claim: Claim<'_>,
        commits: Vec<Commit>,
        now: Monotonic,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        check_name(group)?;
        match self.change(group, |group| group.check_commit(claim, now)) {
            Some(checked) => checked?,
            // Anybody may commit for a group that has no members.
            None if claim.generation < 0 => {}
            None => return Err(ErrorCode::UnknownMemberId),
        }
        Ok(commits.into_iter().map(|commit| self.commit_one(group, commit)).collect())
    }

    fn commit_one(&mut self, group: &str, commit: Commit) -> ErrorCode {
        let metadata = commit.2.metadata.as_ref().map_or(0, |metadata| metadata.len());
        if metadata > self.config.max_offset_metadata {
            return ErrorCode::OffsetMetadataTooLarge;
        }
        let room = (self.config.max_offsets, self.config.max_bytes.saturating_sub(self.bytes));
        self.offsets.commit(group, commit, room).err().unwrap_or(ErrorCode::None)
    }

    /// The offset that a group has committed.
    pub(crate) fn committed(
        &self,
        group: &str,
        topic: &TopicName,
        partition: i32,
    ) -> Option<&Committed> {
        self.offsets.get(group, topic, partition)
    }

    /// All offsets that a group has committed.
    pub(crate) fn all_committed(
        &self,
        group: &str,
    ) -> impl Iterator<Item = (&TopicName, i32, &Committed)> {
        self.offsets.of_group(group)
    }

    /// Forgets the offsets of a topic that is deleted.
    pub(crate) fn forget_topic(&mut self, topic: &TopicName) {
        self.offsets.forget_topic(topic);
    }

    /// When [`Coordinator::handle_timeout`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Does what is due in all groups. Calling it early or twice is harmless.
    pub(crate) fn handle_timeout(&mut self, now: Monotonic) {
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        for group in due.map(|(_, group)| group.clone()).collect::<Vec<_>>() {
            self.change(&group, |group| group.handle_timeout(now));
        }
    }

    /// The groups that have members.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&str, &classic::Group)> {
        self.groups.iter().map(|(name, entry)| (name.as_str(), &entry.group))
    }

    pub(super) fn group(&self, name: &str) -> Option<&classic::Group> {
        self.groups.get(name).map(|entry| &entry.group)
    }

    /// The groups that have offsets and no members.
    pub(super) fn empty_groups(&self) -> impl Iterator<Item = &str> {
        self.offsets.groups().filter(|name| !self.groups.contains_key(*name))
    }

    pub(super) fn has_offsets(&self, name: &str) -> bool {
        self.offsets.of_group(name).next().is_some()
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts {
            groups: self.groups.len(),
            offsets: self.offsets.count(),
            generations: self.completed,
            ..Counts::default()
        };
        for (_, group) in self.groups() {
            counts.members += group.members().len();
            counts.generations += group.completed();
        }
        counts
    }

    fn has_room(&self, bytes: usize) -> bool {
        let used = self.bytes.saturating_add(self.offsets.bytes());
        used.saturating_add(bytes) <= self.config.max_bytes
    }

    /// Changes a group that is there, and keeps account of its memory, its deadline and its end.
    fn change<T>(&mut self, name: &str, act: impl FnOnce(&mut classic::Group) -> T) -> Option<T> {
        let entry = self.groups.get_mut(name)?;
        let done = act(&mut entry.group);
        let (bytes, deadline) = (entry.group.bytes(), entry.group.next_deadline());
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        if deadline != entry.deadline {
            if let Some(at) = entry.deadline {
                self.deadlines.remove(&(at, name.to_owned()));
            }
            self.deadlines.extend(deadline.map(|at| (at, name.to_owned())));
            entry.deadline = deadline;
        }
        if entry.group.is_gone() {
            self.bytes -= bytes;
            self.completed += entry.group.completed();
            self.groups.remove(name);
        }
        Some(done)
    }
}

fn check_name(group: &str) -> Result<(), ErrorCode> {
    if group.is_empty() || group.len() > MAX_NAME {
        return Err(ErrorCode::InvalidGroupId);
    }
    Ok(())
}
