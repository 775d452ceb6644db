//! Commits and reads of offsets.

use super::{Coordinator, Group, check_name};
use crate::groups::classic::Claim;
use crate::groups::offsets::{Commit, Committed};
use kafka_coordination::{ErrorCode, Monotonic, TopicName};

impl Coordinator {
    /// `OffsetCommit`: what became of each offset, in their order.
    pub(crate) fn commit(
        &mut self,
        name: &str,
        claim: Claim<'_>,
        commits: Vec<Commit>,
        now: Monotonic,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        check_name(name)?;
        let checked = self.change(name, |group, _| match group {
            Group::Classic(group) => group.check_commit(claim, now),
            Group::Consumer(group) => group.check_member_epoch(claim.member_id, claim.generation),
        });
        match checked {
            Some(checked) => checked?,
            // Anybody may commit for a group that has no members.
            None if claim.generation < 0 => {}
            None => return Err(ErrorCode::UnknownMemberId),
        }
        Ok(commits.into_iter().map(|commit| self.commit_one(name, commit)).collect())
    }

    fn commit_one(&mut self, name: &str, commit: Commit) -> ErrorCode {
        let metadata = commit.2.metadata.as_ref().map_or(0, |metadata| metadata.len());
        if metadata > self.config.max_offset_metadata {
            return ErrorCode::OffsetMetadataTooLarge;
        }
        let room = (self.config.max_offsets, self.config.max_bytes.saturating_sub(self.bytes));
        self.offsets.commit(name, commit, room).err().unwrap_or(ErrorCode::None)
    }

    /// Whether offsets may be read: by a member of a consumer group only in its epoch, by anybody who does not say that
    /// it is a member.
    pub(crate) fn check_offset_fetch(
        &self,
        name: &str,
        member_id: Option<&str>,
        epoch: i32,
    ) -> Result<(), ErrorCode> {
        match (self.group(name), member_id) {
            (Some(Group::Consumer(_)), None) if epoch < 0 => Ok(()),
            (Some(Group::Consumer(group)), member_id) => {
                group.check_member_epoch(member_id.unwrap_or_default(), epoch)
            }
            (Some(Group::Classic(_)) | None, _) => Ok(()),
        }
    }

    /// The offset that a group has committed.
    pub(crate) fn committed(
        &self,
        name: &str,
        topic: &TopicName,
        partition: i32,
    ) -> Option<&Committed> {
        self.offsets.get(name, topic, partition)
    }

    /// All offsets that a group has committed.
    pub(crate) fn all_committed(
        &self,
        name: &str,
    ) -> impl Iterator<Item = (&TopicName, i32, &Committed)> {
        self.offsets.of_group(name)
    }

    /// The groups that have offsets and no members.
    pub(in crate::groups) fn empty_groups(&self) -> impl Iterator<Item = &str> {
        self.offsets.groups().filter(|name| self.group(name).is_none())
    }

    pub(in crate::groups) fn has_offsets(&self, name: &str) -> bool {
        self.offsets.of_group(name).next().is_some()
    }
}
