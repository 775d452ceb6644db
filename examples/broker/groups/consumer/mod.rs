//! A consumer group of the next generation (KIP-848): members only send heartbeats, the broker assigns.
//!
//! Three epochs follow one another. The group's epoch rises whenever there is a reason for another assignment: a member
//! comes or goes or subscribes to something else, or the crate's metadata hash of the topics is another
//! ([`kafka_coordination::group`]). Then a target assignment is made, of that epoch. Then each member is led to it by its
//! heartbeats, gives up what it is to give up, gets what others have given up, and has that epoch in the end.

mod fence;
mod heartbeat;
mod member;
mod reconcile;
mod regexes;
mod request;
#[cfg(test)]
mod tests;
mod uniform;

pub(crate) use member::Member;
pub(crate) use request::{Assignment, Heartbeat, LEAVE, LEAVE_FOR_NOW, Refusal, Told};

use super::GroupConfig;
use crate::topics::Topics;
use kafka_coordination::group::{GroupMetadata, MetadataHash, NewTopics, Subscriptions};
use kafka_coordination::{ErrorCode, Monotonic, Timestamp};
use member::topic_bytes;
use regexes::Regexes;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the assignor.
pub(crate) const ASSIGNOR: &str = "uniform";

/// What groups know of the cluster: its topics, and who is subscribed to them.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// As of the last change that `subscriptions` was told of.
    pub(crate) topics: Topics,
    pub(crate) subscriptions: Subscriptions,
    /// When topics were created, for regular expressions.
    pub(crate) new_topics: NewTopics,
    /// How often a group's metadata hash was computed, and how often a group's epoch rose.
    pub(crate) refreshes: u64,
    pub(crate) epoch_bumps: u64,
}

/// A consumer group.
#[derive(Debug)]
pub(crate) struct Group {
    config: GroupConfig,
    name: String,
    metadata: GroupMetadata,
    /// The group epoch of the members' targets.
    target_epoch: i32,
    /// By member id.
    members: BTreeMap<String, Member>,
    /// The member id of each static member, by its instance id. Invariant: keys of `members`.
    instances: BTreeMap<String, String>,
    regexes: Regexes,
}

impl Group {
    pub(crate) fn new(name: &str, config: GroupConfig) -> Self {
        Self {
            config,
            name: name.to_owned(),
            metadata: GroupMetadata::new(1, MetadataHash::NONE),
            target_epoch: 0,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            regexes: Regexes::default(),
        }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.metadata.epoch()
    }

    pub(crate) fn target_epoch(&self) -> i32 {
        self.target_epoch
    }

    pub(crate) fn members(&self) -> &BTreeMap<String, Member> {
        &self.members
    }

    pub(crate) fn state(&self) -> &'static str {
        let is_reconciled = |member: &Member| member.is_reconciled_to(self.target_epoch);
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch() > self.target_epoch {
            "Assigning"
        } else if self.members.values().all(is_reconciled) {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    /// The next heartbeat looks whether the topics have changed.
    pub(crate) fn request_refresh(&mut self) {
        self.metadata.request_refresh();
    }

    /// The memory that the group takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let members = self.members.values().map(Member::bytes);
        let matched = self.regexes.topics().map(|topic| topic_bytes(topic));
        1_024 + 3 * self.name.len() + members.sum::<usize>() + matched.sum::<usize>()
    }

    /// When [`Group::handle_timeout`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Monotonic> {
        let deadlines = |member: &Member| [member.session_deadline, member.revoke_deadline];
        self.members.values().flat_map(deadlines).flatten().min()
    }

    /// Whether a member may commit and read offsets: only in its epoch.
    pub(crate) fn check_member_epoch(&self, member_id: &str, epoch: i32) -> Result<(), ErrorCode> {
        let member = self.members.get(member_id).ok_or(ErrorCode::UnknownMemberId)?;
        if member.epoch == epoch { Ok(()) } else { Err(ErrorCode::StaleMemberEpoch) }
    }

    /// The regular expressions of the members.
    fn patterns(&self) -> BTreeSet<&str> {
        let patterns = self.members.values().map(|member| member.regex.as_str());
        patterns.filter(|pattern| !pattern.is_empty()).collect()
    }

    /// Matches the regular expressions again if that is due. Whether they stand for other topics than before.
    fn refresh_regexes(&mut self, cluster: &Cluster, now: Monotonic) -> bool {
        let mut regexes = std::mem::take(&mut self.regexes);
        // Times of resolutions live no longer than this process, so any clock does.
        let now = Timestamp::from_millis(now.as_millis());
        let image = cluster.topics.image();
        let changed = regexes.refresh(&self.patterns(), image, cluster.new_topics, now);
        self.regexes = regexes;
        changed
    }

    /// What the members are subscribed to, all together.
    fn subscribed(&self) -> BTreeSet<&str> {
        let names = self.members.values().flat_map(|member| &member.topics);
        names.chain(self.regexes.topics()).map(String::as_str).collect()
    }
}
