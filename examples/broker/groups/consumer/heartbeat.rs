//! Heartbeats of members that join and stay.

use super::member::{Member, OVERHEAD, PARTITION, contains, size, topic_bytes};
use super::regexes::Regexes;
use super::request::{Assignment, Heartbeat, JOIN, LEAVE_FOR_NOW, Refusal, Told};
use super::uniform::{self, Candidate};
use super::{Cluster, Group};
use kafka_coordination::group::{GroupChange, GroupMetadataError};
use kafka_coordination::metadata::MetadataImage;
use kafka_coordination::{ErrorCode, Monotonic, TopicId};
use std::collections::{BTreeMap, BTreeSet};

impl Group {
    /// A member joins, or says that it is there, what it has and what it wants. `room` is the memory that the group may
    /// take beside what it takes.
    pub(crate) fn heartbeat(
        &mut self,
        heartbeat: &Heartbeat,
        cluster: &mut Cluster,
        room: usize,
        now: Monotonic,
    ) -> Result<Told, Refusal> {
        heartbeat.check()?;
        let mut member = self.find(heartbeat)?;
        let changed = member.update(heartbeat);
        let is_due = changed || self.metadata.has_expired(now);
        if is_due {
            self.check_room(&member, cluster, room)?;
        }
        let id = heartbeat.member_id.clone();
        let before = member.assigned.clone();
        member.session_deadline = Some(now.saturating_add(self.config.consumer_session_ms.into()));
        self.put(&id, member);
        // A member of a regular expression that has matched already gets its topics by `changed`.
        let matched = self.refresh_regexes(cluster, now);
        if is_due || matched {
            self.refresh(changed || matched, cluster, now).map_err(exhausted)?;
        }
        if self.metadata.epoch() > self.target_epoch {
            self.assign(cluster);
        }
        self.reconcile(&id, heartbeat.owned.as_ref(), now);

        let member = self.members.get(&id).ok_or((ErrorCode::UnknownMemberId, "no such member"))?;
        let is_news = heartbeat.is_full() || member.assigned != before;
        Ok(Told {
            member_epoch: member.epoch,
            assignment: is_news.then(|| member.assigned.clone()),
            member_id: id,
        })
    }

    /// The member as it was before this heartbeat; a new one if it joins.
    fn find(&self, heartbeat: &Heartbeat) -> Result<Member, Refusal> {
        let id = &heartbeat.member_id;
        let current =
            heartbeat.instance_id.as_ref().and_then(|instance| self.instances.get(instance));
        if heartbeat.member_epoch == JOIN {
            let is_known = self.members.contains_key(id) || current.is_some();
            if !is_known && self.members.len() >= self.config.max_members {
                return Err((ErrorCode::GroupMaxSizeReached, "the group is full"));
            }
            return self.find_joining(id, current);
        }
        if heartbeat.instance_id.is_some() {
            match current {
                None => return Err((ErrorCode::UnknownMemberId, "no member has this instance id")),
                Some(current) if current != id => {
                    return Err((
                        ErrorCode::FencedInstanceId,
                        "another member has this instance id",
                    ));
                }
                Some(_) => {}
            }
        }
        let member = self.members.get(id).ok_or((ErrorCode::UnknownMemberId, "no such member"))?;
        let is_repeated = heartbeat.member_epoch == member.previous_epoch
            && heartbeat.owned.as_ref().is_some_and(|owned| is_subset(owned, &member.assigned));
        if heartbeat.member_epoch == member.epoch || is_repeated {
            Ok(member.clone())
        } else {
            Err((ErrorCode::FencedMemberEpoch, "the member is not at this epoch"))
        }
    }

    /// A member that joins has no partitions, whatever it had: they are free as soon as it says so.
    fn find_joining(&self, id: &str, current: Option<&String>) -> Result<Member, Refusal> {
        let Some(before) = self.members.get(current.map_or(id, String::as_str)) else {
            return Ok(Member::new());
        };
        if current.is_some_and(|current| current != id) && before.epoch != LEAVE_FOR_NOW {
            return Err((ErrorCode::UnreleasedInstanceId, "another member has this instance id"));
        }
        // It goes on where it was, a static member with the same target.
        let mut member = before.clone();
        member.epoch = JOIN;
        member.previous_epoch = JOIN;
        member.state = super::member::MemberState::Stable;
        member.assigned.clear();
        member.revoking.clear();
        member.revoke_deadline = None;
        Ok(member)
    }

    fn put(&mut self, id: &str, member: Member) {
        // It may have joined again under another instance id.
        let before = self.members.get(id).and_then(|before| before.instance_id.as_ref());
        if let Some(before) = before.filter(|before| Some(*before) != member.instance_id.as_ref()) {
            self.instances.remove(before);
        }
        if let Some(instance) = &member.instance_id {
            let before = self.instances.insert(instance.clone(), id.to_owned());
            if let Some(before) = before.filter(|before| before != id) {
                self.members.remove(&before);
            }
        }
        self.members.insert(id.to_owned(), member);
    }

    /// Whether there is room for what the member says, and for a target assignment that follows from it.
    fn check_room(&self, member: &Member, cluster: &Cluster, room: usize) -> Result<(), Refusal> {
        let mut patterns = self.patterns();
        patterns.insert(&member.regex);
        if !Regexes::may_be(patterns.len()) {
            return Err((ErrorCode::GroupMaxSizeReached, "the group has many regular expressions"));
        }
        let mut topics = self.subscribed();
        topics.extend(member.topics.iter().map(String::as_str));
        let image = cluster.topics.image();
        let counts = topics.iter().filter_map(|topic| image.topic_by_name(topic));
        let partitions = counts.map(|topic| usize::try_from(topic.partition_count()).unwrap_or(0));
        // Each partition in a target, and in one or two members' hands on the way there.
        let assigned = 3 * PARTITION * partitions.sum::<usize>();
        let names: usize = member.topics.iter().map(|topic| topic_bytes(topic)).sum();
        let has: usize = self.members.values().map(|member| PARTITION * size(&member.target)).sum();
        if OVERHEAD + names + assigned.saturating_sub(3 * has) > room {
            return Err((ErrorCode::GroupMaxSizeReached, "there is no memory for such a group"));
        }
        Ok(())
    }

    /// Looks whether the topics have changed, and lets the epoch rise if there is a reason.
    fn refresh(
        &mut self,
        changed: bool,
        cluster: &mut Cluster,
        now: Monotonic,
    ) -> Result<(), GroupMetadataError> {
        cluster.subscriptions.subscribe(&self.name, self.subscribed());
        let hash = cluster.subscriptions.metadata_hash(&self.name, cluster.topics.image());
        let change = if changed { GroupChange::Changed } else { GroupChange::Unchanged };
        let update = self.metadata.decide_refresh(hash, change, now)?;
        cluster.refreshes += 1;
        cluster.epoch_bumps += u64::from(update.is_bump());
        self.metadata.commit(update)
    }

    /// Makes the target assignment of the group's epoch.
    fn assign(&mut self, cluster: &Cluster) {
        let image = cluster.topics.image();
        let mut topics = BTreeMap::new();
        for topic in self.subscribed().into_iter().filter_map(|name| image.topic_by_name(name)) {
            topics.insert(topic.id(), topic.partition_count());
        }
        let existing = |name: &String| Some(image.topic_by_name(name)?.id());
        let regexes = &self.regexes;
        let candidates: Vec<_> = self
            .members
            .values()
            .map(|member| Candidate {
                topics: member
                    .topics
                    .iter()
                    .chain(regexes.of(&member.regex))
                    .filter_map(existing)
                    .collect(),
                target: &member.target,
            })
            .collect();
        let targets = uniform::assign(&topics, &candidates);
        for (member, target) in self.members.values_mut().zip(targets) {
            member.target = target;
        }
        self.target_epoch = self.metadata.epoch();
    }

    /// Takes a member a step towards its target.
    fn reconcile(&mut self, id: &str, owned: Option<&Assignment>, now: Monotonic) {
        let Some(mut member) = self.members.remove(id) else {
            return;
        };
        let before = (member.state, member.epoch);
        let others = &self.members;
        let is_free =
            |partition: (TopicId, i32)| !others.values().any(|other| other.holds(partition));
        member.reconcile(self.target_epoch, owned, is_free);
        if member.state != super::member::MemberState::UnrevokedPartitions {
            member.revoke_deadline = None;
        } else if before != (member.state, member.epoch) {
            let at = now.saturating_add(member.rebalance_timeout_ms.into());
            member.revoke_deadline = Some(at);
        }
        self.members.insert(id.to_owned(), member);
    }
}

fn exhausted(_: GroupMetadataError) -> Refusal {
    (ErrorCode::UnknownServerError, "the group has reached the last epoch")
}

fn is_subset(part: &Assignment, whole: &Assignment) -> bool {
    part.iter().all(|(topic, partitions): (&TopicId, &BTreeSet<i32>)| {
        partitions.iter().all(|partition| contains(whole, (*topic, *partition)))
    })
}
