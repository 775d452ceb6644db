//! A shard of a group coordinator that embeds the crate: members and what they ask for, as far as the vectors need them.

use crate::image::Image;
use kafka_coordination::group::{
    GroupChange, GroupMetadata, GroupRegexes, GroupUpdate, MetadataHash, NewTopics, RegexRefresh,
    Subscriptions, TopicHash,
};
use kafka_coordination::group_record::AssignmentConfig;
use kafka_coordination::metadata::MetadataImage;
use kafka_coordination::{Monotonic, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The session time-out of every member.
const SESSION_MS: i64 = 2_147_483_647;

/// What kind of group it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Consumer,
    Share,
    Streams,
}

/// A member, by what it asks for.
#[derive(Clone, Default)]
pub(crate) struct Member {
    pub(crate) names: BTreeSet<String>,
    pub(crate) regex: Option<String>,
}

/// A regular expression that was resolved.
#[derive(Clone)]
pub(crate) struct Resolution {
    topics: BTreeSet<String>,
    offset: i64,
    began: i64,
}

/// What the log holds of a group.
#[derive(Clone)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) epoch: i32,
    pub(crate) hash: MetadataHash,
    /// Whether the log has a subscription record from before Kafka 4.1.
    pub(crate) has_legacy_record: bool,
    pub(crate) members: BTreeMap<String, Member>,
    pub(crate) resolved: BTreeMap<String, Resolution>,
    /// The topics that a streams group's topology requires.
    pub(crate) required: BTreeSet<String>,
    pub(crate) validated_topology_epoch: i32,
    pub(crate) configs: Vec<AssignmentConfig>,
}

impl Group {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            epoch: 1,
            hash: MetadataHash::NONE,
            has_legacy_record: false,
            members: BTreeMap::new(),
            resolved: BTreeMap::new(),
            required: BTreeSet::new(),
            validated_topology_epoch: -1,
            configs: Vec::new(),
        }
    }

    /// How many members have each regular expression.
    fn regexes(&self) -> BTreeMap<&str, u32> {
        let mut counts = BTreeMap::new();
        for regex in self.members.values().filter_map(|member| member.regex.as_deref()) {
            *counts.entry(regex).or_default() += 1;
        }
        counts
    }

    /// For each topic how many members ask for it by name, and how many regular expressions match it.
    fn counts(&self) -> BTreeMap<&str, (u32, u32)> {
        let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for name in self.members.values().flat_map(|member| &member.names) {
            counts.entry(name).or_default().0 += 1;
        }
        for name in self.resolved.values().flat_map(|resolution| &resolution.topics) {
            counts.entry(name).or_default().1 += 1;
        }
        counts
    }

    fn topics(&self) -> BTreeSet<&str> {
        match self.kind {
            Kind::Streams => self.required.iter().map(String::as_str).collect(),
            Kind::Consumer | Kind::Share => self.counts().into_keys().collect(),
        }
    }

    /// Drops the resolutions of regular expressions that no member has.
    fn drop_unused(&mut self) {
        let used: BTreeSet<String> = self.regexes().into_keys().map(str::to_owned).collect();
        self.resolved.retain(|regex, _| used.contains(regex));
    }
}

/// A shard with its groups.
pub(crate) struct Shard {
    pub(crate) now: i64,
    pub(crate) image: Image,
    pub(crate) subscriptions: Subscriptions,
    /// By group, what the crate decides on.
    pub(crate) metadata: BTreeMap<String, GroupMetadata>,
    pub(crate) groups: BTreeMap<String, Group>,
    committed: BTreeMap<String, Group>,
    /// The regular expressions that are being resolved.
    resolving: BTreeMap<String, BTreeSet<String>>,
    /// When members' sessions end, and after how many heartbeats that was set.
    sessions: BTreeMap<(String, String), (i64, u64)>,
    heartbeats: u64,
    new_topics: NewTopics,
}

impl Shard {
    pub(crate) fn new() -> Self {
        let mut shard = Self {
            now: 0,
            image: Image::default(),
            subscriptions: Subscriptions::new(5),
            metadata: BTreeMap::new(),
            groups: BTreeMap::new(),
            committed: BTreeMap::new(),
            resolving: BTreeMap::new(),
            sessions: BTreeMap::new(),
            heartbeats: 0,
            new_topics: NewTopics::new(),
        };
        shard.load_image();
        shard
    }

    pub(crate) fn has_expired(&self, group: &str) -> Option<bool> {
        let now = Monotonic::from_millis(self.now);
        self.metadata.get(group).map(|metadata| metadata.has_expired(now))
    }

    fn load_image(&mut self) {
        self.new_topics = NewTopics::new();
        self.new_topics.on_image(self.image.offset, 0);
        let none = self.subscriptions.on_metadata_update([], &[], &self.image);
        assert_eq!(none.len(), 0, "nothing changed");
    }

    /// Takes the image over, and answers which groups must refresh.
    pub(crate) fn update(
        &mut self,
        image: Image,
        created: usize,
        topics: &BTreeSet<String>,
        racks: &[i32],
    ) -> BTreeSet<String> {
        self.image = image;
        self.new_topics.on_image(self.image.offset, created);
        let topics = topics.iter().map(String::as_str);
        let groups = self.subscriptions.on_metadata_update(topics, racks, &self.image);
        let groups: BTreeSet<String> = groups.map(str::to_owned).collect();
        for group in &groups {
            if let Some(metadata) = self.metadata.get_mut(group) {
                metadata.request_refresh();
            }
        }
        groups
    }

    pub(crate) fn commit(&mut self) {
        self.committed = self.groups.clone();
    }

    pub(crate) fn roll_back(&mut self) {
        let written = std::mem::replace(&mut self.groups, self.committed.clone());
        for id in written.keys() {
            let Some(group) = self.groups.get(id) else {
                self.metadata.remove(id);
                self.subscriptions.roll_back::<&str>(id, []);
                continue;
            };
            self.subscriptions.roll_back(id, group.topics());
            if let Some(metadata) = self.metadata.get_mut(id) {
                metadata.load(group.epoch, group.hash);
            }
        }
    }

    pub(crate) fn reload(&mut self) {
        self.commit();
        self.subscriptions = Subscriptions::new(6);
        self.metadata.clear();
        self.resolving.clear();
        self.sessions.clear();
        for id in self.groups.keys().cloned().collect::<Vec<_>>() {
            self.load(&id);
        }
        self.load_image();
    }

    /// Takes over what the log holds of a group.
    pub(crate) fn load(&mut self, id: &str) {
        let group = &self.groups[id];
        self.metadata.insert(id.to_owned(), GroupMetadata::new(group.epoch, group.hash));
        self.subscriptions.subscribe(id, group.topics());
        for member in group.members.keys().cloned().collect::<Vec<_>>() {
            self.start_session(id, &member);
        }
    }

    fn start_session(&mut self, id: &str, member: &str) {
        self.heartbeats += 1;
        let end = (self.now + SESSION_MS, self.heartbeats);
        self.sessions.insert((id.to_owned(), member.to_owned()), end);
    }

    /// The members whose sessions are over, in the order in which they end.
    pub(crate) fn overdue(&mut self) -> Vec<(String, String)> {
        let mut overdue: Vec<_> =
            self.sessions.iter().filter(|(_, (end, _))| *end <= self.now).collect();
        overdue.sort_by_key(|(_, end)| **end);
        let overdue: Vec<_> = overdue.into_iter().map(|(member, _)| member.clone()).collect();
        for member in &overdue {
            self.sessions.remove(member);
        }
        overdue
    }

    /// The metadata hash of a group, which must be the one that is computed without the crate's memory.
    fn hash(&mut self, id: &str) -> Result<MetadataHash, String> {
        let hash = self.subscriptions.metadata_hash(id, &self.image);
        let group = &self.groups[id];
        let topics = group.topics().into_iter();
        let topics = topics.filter_map(|topic| Some((topic, TopicHash::of(&self.image, topic)?)));
        crate::fields::same("hash from nothing", &MetadataHash::of(topics), &hash)?;
        Ok(hash)
    }

    /// A heartbeat of a member of a consumer or share group; answers the update that it made, if it refreshed.
    pub(crate) fn heartbeat(
        &mut self,
        kind: Kind,
        id: &str,
        member_id: &str,
        member: Member,
    ) -> Result<Option<GroupUpdate>, String> {
        let is_new = !self.groups.contains_key(id);
        let group = self.groups.entry(id.to_owned()).or_insert_with(|| Group::new(kind));
        let before = group.members.get(member_id).cloned().unwrap_or_default();
        let resolved = group.resolved.len();
        let last =
            group.resolved.values().next().map(|it| (it.offset, Timestamp::from_millis(it.began)));
        let new_regex = member.regex.as_deref().filter(|_| member.regex != before.regex);
        let has_new = new_regex.is_some_and(|regex| !group.regexes().contains_key(regex));
        let is_resolved = new_regex.is_some_and(|regex| group.resolved.contains_key(regex));
        let is_cleared = member.regex.is_none() && before.regex.is_some();
        let is_changed = member.names != before.names || is_resolved || is_cleared;
        group.members.insert(member_id.to_owned(), member);
        group.drop_unused();
        let regexes = GroupRegexes {
            subscribed: group.regexes().len(),
            resolved,
            last_resolution: last,
            has_new,
            is_running: self.resolving.contains_key(id),
        };
        self.subscriptions.subscribe(id, group.topics());
        let change = if is_changed { GroupChange::Changed } else { GroupChange::Unchanged };
        let update = self.refresh(id, change, is_new)?;
        if RegexRefresh::default().is_due(
            regexes,
            self.new_topics,
            Timestamp::from_millis(self.now),
        ) {
            let all = self.groups[id].regexes().into_keys().map(str::to_owned).collect();
            self.resolving.insert(id.to_owned(), all);
        }
        self.start_session(id, member_id);
        Ok(update)
    }

    /// A heartbeat of a member of a streams group, after it was taken in.
    pub(crate) fn streams_heartbeat(
        &mut self,
        id: &str,
        member_id: &str,
        topology: Option<BTreeSet<String>>,
        change: GroupChange,
    ) -> Result<Option<GroupUpdate>, String> {
        let is_new = !self.groups.contains_key(id);
        let group = self.groups.entry(id.to_owned()).or_insert_with(|| Group::new(Kind::Streams));
        group.members.insert(member_id.to_owned(), Member::default());
        if group.required.is_empty() {
            group.required = topology.unwrap_or_default();
        }
        self.subscriptions.subscribe(id, group.topics());
        let update = self.refresh(id, change, is_new)?;
        self.start_session(id, member_id);
        Ok(update)
    }

    fn refresh(
        &mut self,
        id: &str,
        change: GroupChange,
        is_new: bool,
    ) -> Result<Option<GroupUpdate>, String> {
        let now = Monotonic::from_millis(self.now);
        let mut metadata =
            self.metadata.get(id).copied().unwrap_or(GroupMetadata::new(1, MetadataHash::NONE));
        let has_expired = metadata.has_expired(now);
        let update = if change == GroupChange::Changed || has_expired {
            // A streams group computes only what has expired.
            let is_stored_good = self.groups[id].kind == Kind::Streams && !has_expired;
            let hash = if is_stored_good { metadata.metadata_hash() } else { self.hash(id)? };
            Some(metadata.decide_refresh(hash, change, now).map_err(|error| error.to_string())?)
        } else {
            None
        };
        if let Some(update) = update {
            metadata.commit(update).map_err(|error| error.to_string())?;
            self.write(id, update);
        }
        if is_new {
            // Kafka sets the deadline of a new group on an object that it throws away.
            metadata = GroupMetadata::new(metadata.epoch(), metadata.metadata_hash());
        }
        self.metadata.insert(id.to_owned(), metadata);
        Ok(update)
    }

    fn write(&mut self, id: &str, update: GroupUpdate) {
        if let Some(group) = self.groups.get_mut(id) {
            group.epoch = update.epoch();
            group.hash = update.metadata_hash();
        }
    }

    /// Whether a leave, which carries a streams group's hash on, reaches the epoch of a refresh that was lost.
    pub(crate) fn hides_a_lost_refresh(&self, id: &str, member: &str) -> bool {
        let group = self.groups.get(id).filter(|group| group.kind == Kind::Streams);
        let is_member = group.is_some_and(|group| group.members.contains_key(member));
        let metadata = self.metadata.get(id).filter(|_| is_member);
        let deadline = metadata.and_then(GroupMetadata::deadline);
        let epoch = metadata.map_or(0, GroupMetadata::epoch);
        deadline.is_some_and(|deadline| epoch + 1 == deadline.epoch)
    }

    /// A member leaves, or its session is over; answers the update, if there is such a member.
    pub(crate) fn leave(&mut self, id: &str, member: &str) -> Result<Option<GroupUpdate>, String> {
        self.sessions.remove(&(id.to_owned(), member.to_owned()));
        let Some(group) = self.groups.get_mut(id) else { return Ok(None) };
        if group.members.remove(member).is_none() {
            return Ok(None);
        }
        group.drop_unused();
        self.subscriptions.subscribe(id, group.topics());
        let kept = group.kind == Kind::Streams;
        let hash = if kept { None } else { Some(self.hash(id)?) };
        let metadata = self.metadata.get_mut(id).ok_or("no metadata")?;
        let update = metadata.decide_leave(hash).map_err(|error| error.to_string())?;
        metadata.commit(update).map_err(|error| error.to_string())?;
        self.write(id, update);
        Ok(Some(update))
    }

    /// Completes every resolution on the current image; answers the updates by group.
    pub(crate) fn resolve(&mut self) -> Result<Vec<(String, GroupUpdate)>, String> {
        let mut updates = Vec::new();
        for (id, regexes) in std::mem::take(&mut self.resolving) {
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let used: BTreeSet<String> = group.regexes().into_keys().map(str::to_owned).collect();
            let mut is_changed = false;
            for regex in regexes.intersection(&used) {
                let topics = self.image.topics.keys().filter(|topic| matches(regex, topic));
                let topics: BTreeSet<String> = topics.cloned().collect();
                let resolution = Resolution { topics, offset: self.image.offset, began: self.now };
                let before = group.resolved.insert(regex.clone(), resolution.clone());
                is_changed |= before.map(|it| it.topics).unwrap_or_default() != resolution.topics;
            }
            self.subscriptions.subscribe(&id, group.topics());
            let change = if is_changed { GroupChange::Changed } else { GroupChange::Unchanged };
            let hash = self.hash(&id)?;
            let metadata = self.metadata.get_mut(&id).ok_or("no metadata")?;
            let now = Monotonic::from_millis(self.now);
            let update =
                metadata.decide_refresh(hash, change, now).map_err(|error| error.to_string())?;
            if update.is_bump() {
                metadata.commit(update).map_err(|error| error.to_string())?;
                self.write(&id, update);
                updates.push((id, update));
            }
        }
        Ok(updates)
    }

    /// A group as the vectors show it.
    pub(crate) fn shown(&self, id: &str) -> Value {
        let (Some(group), Some(metadata)) = (self.groups.get(id), self.metadata.get(id)) else {
            return json!({"group_id": id, "exists": false});
        };
        let deadline = metadata.deadline();
        let mut shown = json!({
            "group_id": id,
            "exists": true,
            "group_epoch": metadata.epoch(),
            "metadata_hash": metadata.metadata_hash().as_i64().to_string(),
            "refresh_deadline": {
                "deadline_ms": deadline.map_or(0, |deadline| deadline.at.as_millis()),
                "epoch": deadline.map_or(0, |deadline| deadline.epoch),
            },
            "has_expired": self.has_expired(id),
        });
        match group.kind {
            Kind::Streams => {
                shown["required_topics"] = json!(group.required);
                shown["validated_topology_epoch"] = json!(group.validated_topology_epoch);
            }
            Kind::Consumer | Kind::Share => {
                let counts = group.counts().into_iter();
                let counts = counts.map(|(topic, (by_name, by_regex))| {
                    let counts = json!({"by_name_count": by_name, "by_regex_count": by_regex});
                    (topic.to_owned(), counts)
                });
                shown["subscribed_topic_names"] = Value::Object(counts.collect());
            }
        }
        if group.kind == Kind::Consumer {
            shown["has_legacy_subscription_record"] = json!(group.has_legacy_record);
            shown["regex"] = self.shown_regexes(id, group);
        }
        shown
    }

    fn shown_regexes(&self, id: &str, group: &Group) -> Value {
        let is_running = self.resolving.contains_key(id);
        if group.regexes().is_empty() && group.resolved.is_empty() && !is_running {
            return Value::Null;
        }
        let resolved = group.resolved.iter().map(|(regex, it)| {
            let shown =
                json!({"topics": it.topics, "version": it.offset, "timestamp_ms": it.began});
            (regex.clone(), shown)
        });
        json!({
            "subscribed": group.regexes(),
            "resolved": Value::Object(resolved.collect()),
            "resolution_scheduled": is_running,
        })
    }

    /// The groups of each topic, as the vectors show them.
    pub(crate) fn shown_index(&self) -> Value {
        let mut index: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for id in self.groups.keys() {
            for topic in self.subscriptions.topics(id) {
                index.entry(topic).or_default().insert(id);
            }
        }
        for (topic, ids) in &index {
            assert_eq!(self.subscriptions.groups(topic).collect::<BTreeSet<_>>(), *ids);
        }
        json!(index)
    }

    /// The topic hashes that are known, as the vectors show them.
    pub(crate) fn shown_hashes(&self) -> Value {
        let hashes = self.subscriptions.topic_hashes();
        let hashes =
            hashes.map(|(topic, hash)| (topic.to_string(), json!(hash.as_i64().to_string())));
        Value::Object(hashes.collect())
    }

    /// Whether some topic that is in both images has a replica on one of these brokers, other than these topics.
    pub(crate) fn has_topic_on(&self, next: &Image, racks: &[i32], but: &BTreeSet<String>) -> bool {
        let mut names = next.topics.keys().filter(|name| !but.contains(*name));
        names.any(|name| {
            let was_there = self.image.topic_by_name(name).is_some();
            let mut replicas = next.topics[name].replicas.values().flatten();
            was_there && replicas.any(|broker| racks.contains(broker))
        })
    }
}

/// Whether a regular expression of the vectors matches a whole name: alternatives of letters and dots, each of which may
/// be followed by a star, a plus or a question mark.
fn matches(regex: &str, name: &str) -> bool {
    regex.split('|').any(|alternative| matches_whole(alternative, name))
}

fn matches_whole(regex: &str, name: &str) -> bool {
    let Some(atom) = regex.chars().next() else { return name.is_empty() };
    assert!(!"()[]{}\\^$".contains(atom), "the replay cannot match {regex}");
    let first = name.chars().next().filter(|&letter| atom == '.' || atom == letter);
    let behind = first.map(|letter| &name[letter.len_utf8()..]);
    let rest = &regex[atom.len_utf8()..];
    let (repeat, after) = match rest.chars().next() {
        Some(repeat @ ('*' | '+' | '?')) => (Some(repeat), &rest[1..]),
        _ => (None, rest),
    };
    let once = |regex: &str| behind.is_some_and(|behind| matches_whole(regex, behind));
    match repeat {
        None => once(after),
        Some('?') => matches_whole(after, name) || once(after),
        Some('+') => once(after) || once(regex),
        Some(_) => matches_whole(after, name) || once(regex),
    }
}

#[test]
fn regular_expressions_match_whole_names() {
    let cases = [
        ("f.*", "foo", true),
        ("f.*", "bar", false),
        ("q.*|foo", "foo", true),
        ("q.*|foo", "foo2", false),
        ("fo+", "foo", true),
        ("fo?o", "fo", true),
        ("f.o", "foo", true),
        ("o", "foo", false),
    ];
    for (regex, name, expected) in cases {
        assert_eq!(matches(regex, name), expected, "{regex} {name}");
    }
}
