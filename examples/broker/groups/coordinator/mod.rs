//! All groups and their offsets, within the memory that they may take.

mod classic;
mod consumer;
mod offsets;
#[cfg(test)]
mod tests;

use super::consumer::Cluster;
use super::offsets::Offsets;
use super::{Counts, GroupConfig, classic as classic_group, consumer as consumer_group};
use crate::topics::Topics;
use kafka_coordination::group::{NewTopics, Subscriptions};
use kafka_coordination::metadata::MetadataImage;
use kafka_coordination::{ErrorCode, Monotonic};
use std::collections::{BTreeSet, HashMap};

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
    cluster: Cluster,
    /// The memory that `groups` takes.
    bytes: usize,
    /// Generations of classic groups that are gone.
    generations: u64,
}

/// A group of either protocol.
#[derive(Debug)]
pub(super) enum Group {
    Classic(classic_group::Group),
    Consumer(consumer_group::Group),
}

#[derive(Debug)]
struct Entry {
    group: Group,
    bytes: usize,
    deadline: Option<Monotonic>,
}

impl Group {
    fn bytes(&self) -> usize {
        match self {
            Self::Classic(group) => group.bytes(),
            Self::Consumer(group) => group.bytes(),
        }
    }

    fn next_deadline(&self) -> Option<Monotonic> {
        match self {
            Self::Classic(group) => group.next_deadline(),
            Self::Consumer(group) => group.next_deadline(),
        }
    }

    fn handle_timeout(&mut self, cluster: &mut Cluster, now: Monotonic) {
        match self {
            Self::Classic(group) => group.handle_timeout(now),
            Self::Consumer(group) => group.handle_timeout(cluster, now),
        }
    }

    fn is_gone(&self) -> bool {
        match self {
            Self::Classic(group) => group.is_gone(),
            Self::Consumer(group) => group.members().is_empty(),
        }
    }
}

impl Coordinator {
    /// No groups yet, in a cluster with these topics.
    pub(crate) fn new(config: GroupConfig, topics: Topics, hash_seed: u64) -> Self {
        let mut new_topics = NewTopics::new();
        new_topics.on_image(topics.image().offset(), 0);
        Self {
            config,
            groups: HashMap::new(),
            deadlines: BTreeSet::new(),
            offsets: Offsets::default(),
            cluster: Cluster {
                topics,
                subscriptions: Subscriptions::new(hash_seed),
                new_topics,
                refreshes: 0,
                epoch_bumps: 0,
            },
            bytes: 0,
            generations: 0,
        }
    }

    /// Follows a change of the topics; each has to be told, in their order. Groups that it concerns look at their topics
    /// with their next heartbeat. Offsets of a topic that is deleted are forgotten: its successor of the same name
    /// starts from the beginning.
    pub(crate) fn topics_changed(&mut self, topics: Topics) {
        let changes = topics.changes();
        let concerned = self.cluster.subscriptions.on_image_changes(changes, topics.image());
        for name in concerned {
            if let Some(Entry { group: Group::Consumer(group), .. }) = self.groups.get_mut(name) {
                group.request_refresh();
            }
        }
        for deleted in changes.deleted() {
            self.offsets.forget_topic(&deleted.name);
        }
        self.cluster.new_topics.on_image(topics.image().offset(), changes.created().len());
        self.cluster.topics = topics;
    }

    /// When [`Coordinator::handle_timeout`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Does what is due in all groups. Calling it early or twice is harmless.
    pub(crate) fn handle_timeout(&mut self, now: Monotonic) {
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        for name in due.map(|(_, name)| name.clone()).collect::<Vec<_>>() {
            self.change(&name, |group, cluster| group.handle_timeout(cluster, now));
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts {
            groups: self.groups.len(),
            members: 0,
            offsets: self.offsets.count(),
            generations: self.generations,
            refreshes: self.cluster.refreshes,
            epoch_bumps: self.cluster.epoch_bumps,
        };
        for entry in self.groups.values() {
            match &entry.group {
                Group::Classic(group) => {
                    counts.members += group.members().len();
                    counts.generations += group.completed();
                }
                Group::Consumer(group) => counts.members += group.members().len(),
            }
        }
        counts
    }

    /// The groups that have members.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.groups.iter().map(|(name, entry)| (name.as_str(), &entry.group))
    }

    pub(super) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(name).map(|entry| &entry.group)
    }

    /// The topics as groups know them.
    pub(crate) fn topics(&self) -> &Topics {
        &self.cluster.topics
    }

    /// The memory that is left.
    fn room(&self) -> usize {
        let used = self.bytes.saturating_add(self.offsets.bytes());
        self.config.max_bytes.saturating_sub(used)
    }

    /// Puts a group in, unless one of the name is there.
    fn create(&mut self, name: &str, new: impl FnOnce() -> Group) -> Result<(), ErrorCode> {
        if !self.groups.contains_key(name) {
            if self.groups.len() >= self.config.max_groups {
                return Err(ErrorCode::GroupMaxSizeReached);
            }
            let entry = Entry { group: new(), bytes: 0, deadline: None };
            self.groups.insert(name.to_owned(), entry);
        }
        Ok(())
    }

    /// Changes a group that is there, and keeps account of its memory, its deadline and its end.
    fn change<T>(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut Group, &mut Cluster) -> T,
    ) -> Option<T> {
        let entry = self.groups.get_mut(name)?;
        let done = act(&mut entry.group, &mut self.cluster);
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
            if let Group::Classic(group) = &entry.group {
                self.generations += group.completed();
            }
            self.cluster.subscriptions.remove(name);
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
