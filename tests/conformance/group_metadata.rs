//! When a change of the cluster rebalances groups.

use crate::fields::{Fields, each_step, integer, same};
use crate::group_shard::{Group, Kind, Member, Shard};
use crate::image::{Image, Topic, replicas, topic_id};
use crate::runner::{Outcome, Subject};
use crate::value::optional_text;
use kafka_coordination::group::{GroupChange, GroupUpdate, MetadataHash};
use kafka_coordination::group_record::{
    AssignmentConfig, ConsumerGroupMetadataValue, ShareGroupMetadataValue,
    StreamsGroupMetadataValue,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Vectors of shards.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "group_metadata", documentation: &[], replay };

const RACK_CHANGE: &str = "rack_change_without_topic_change";
const EQUAL_HASH: &str = "streams_refresh_with_equal_hash";
const LEAVE_AFTER_FAILED_BUMP: &str = "streams_leave_after_failed_bump";

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let windows = scenario.list("known_windows")?.iter();
    let mut replay = Replay {
        shard: Shard::new(),
        windows: windows.filter_map(Value::as_str).collect(),
        is_exact: true,
        has_equal_hash: false,
        shown: BTreeMap::new(),
        shown_hashes: json!({}),
        shown_index: json!({}),
    };
    each_step(scenario, |op, step, expect| {
        replay.step(op, step, expect)?;
        replay.compare(expect)
    })?;
    let is_as_kafka = replay.is_exact && !replay.has_equal_hash;
    Ok(if is_as_kafka { Outcome::AsKafka } else { Outcome::Deviated })
}

struct Replay<'a> {
    shard: Shard,
    windows: BTreeSet<&'a str>,
    /// Whether no weakness of Kafka's came into play that the crate repairs, so everything must be equal. After that
    /// only the crate's own rules are checked: each hash against one that is computed from nothing.
    is_exact: bool,
    /// Whether a streams group computed an equal hash, which Kafka does not remember: deadlines of streams groups differ.
    has_equal_hash: bool,
    /// What was last shown of each group, of hashes and of the index.
    shown: BTreeMap<String, Value>,
    shown_hashes: Value,
    shown_index: Value,
}

impl Replay<'_> {
    /// Notes that a weakness of Kafka's comes into play.
    fn meet(&self, window: &str) -> Result<(), String> {
        let is_known = self.windows.contains(window);
        if is_known { Ok(()) } else { Err(format!("{window} in a scenario without it")) }
    }

    fn equal<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        expected: &T,
        actual: &T,
    ) -> Result<(), String> {
        if self.is_exact { same(what, expected, actual) } else { Ok(()) }
    }

    fn step(&mut self, op: &str, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        self.shard.now = step.integer("now_ms")?;
        match op {
            "image" => self.image(step, expect),
            "consumer_heartbeat" => self.heartbeat(Kind::Consumer, step, expect),
            "share_heartbeat" => self.heartbeat(Kind::Share, step, expect),
            "streams_heartbeat" => self.streams_heartbeat(step, expect),
            "consumer_leave" | "share_leave" | "streams_leave" => self.leave(step, expect),
            "complete_regex_resolutions" => {
                same("error", &expect.text("error")?, &"NONE")?;
                let updates = self.shard.resolve()?;
                let records = updates.iter().map(|(id, update)| self.record(id, update)).collect();
                self.records(expect, records)
            }
            "advance_time" => self.advance_time(step, expect),
            "commit" => {
                self.shard.commit();
                Ok(())
            }
            "rollback" => {
                self.shard.roll_back();
                Ok(())
            }
            "reload_shard" => {
                self.shard.reload();
                Ok(())
            }
            "load_consumer_group" => self.load(step),
            op => Err(format!("unknown op {op}")),
        }
    }

    fn image(&mut self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let mut image = self.shard.image.clone();
        image.offset = step.integer("version")?;
        let mut touched = BTreeSet::new();
        for change in step.list("changes")? {
            let change = Fields::of(change)?;
            apply(&mut image, &mut touched, &change)?;
            change.all_read()?;
        }
        let before: BTreeMap<_, _> = ids(&self.shard.image);
        let after: BTreeMap<_, _> = ids(&image);
        let is_snapshot = step.boolean("from_snapshot")?;
        let is_created = |id: &&String| is_snapshot || !before.contains_key(*id);
        let created: BTreeSet<String> = after.keys().filter(is_created).cloned().collect();
        let touched = touched.into_iter().filter(|id| after.contains_key(id));
        let changed: BTreeSet<String> = created.iter().cloned().chain(touched).collect();
        let deleted = before.keys().filter(|id| !after.contains_key(*id));
        let deleted: BTreeSet<String> = deleted.cloned().collect();
        same("created", expect.value("created_topic_ids")?, &json!(created))?;
        same("changed", expect.value("changed_topic_ids")?, &json!(changed))?;
        same("deleted", expect.value("deleted_topic_ids")?, &json!(deleted))?;

        let names = changed.iter().map(|id| &after[id]).chain(deleted.iter().map(|id| &before[id]));
        let names: BTreeSet<String> = names.cloned().collect();
        let racks = changed_racks(&self.shard.image, &image);
        if self.shard.has_topic_on(&image, &racks, &names) {
            self.meet(RACK_CHANGE)?;
            self.is_exact = false;
        }
        let groups = self.shard.update(image, created.len(), &names, &racks);
        let expected: BTreeSet<String> = expect
            .list("refresh_requested")?
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        self.equal("refresh requested", &expected, &groups)
    }

    fn heartbeat(
        &mut self,
        kind: Kind,
        step: &Fields<'_>,
        expect: &Fields<'_>,
    ) -> Result<(), String> {
        let (id, member_id) = (step.text("group_id")?, step.text("member_id")?);
        step.integer::<i32>("member_epoch")?;
        let known = self.shard.groups.get(id).and_then(|group| group.members.get(member_id));
        let mut member = known.cloned().unwrap_or_default();
        if let Some(names) = step.value("subscribed_topic_names")?.as_array() {
            member.names = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        if kind == Kind::Consumer {
            match optional_text(step.value("subscribed_topic_regex")?)? {
                None => {}
                Some("") => member.regex = None,
                Some(regex) => member.regex = Some(regex.to_owned()),
            }
        }
        if !self.is_taken(id, expect)? {
            return Ok(());
        }
        let update = self.shard.heartbeat(kind, id, member_id, member)?;
        let mut records = Vec::new();
        if let Some(update) = update {
            records.extend(update.is_bump().then(|| self.record(id, &update)));
            if let Some(group) =
                self.shard.groups.get_mut(id).filter(|group| group.has_legacy_record)
            {
                group.has_legacy_record = false;
                records.push(json!({"type": "CONSUMER_GROUP_PARTITION_METADATA", "group_id": id, "value": null}));
            }
        }
        self.answer(id, update, records, expect)
    }

    /// What a heartbeat found, and whether it passed the checks of members, which are the host's.
    fn is_taken(&self, id: &str, expect: &Fields<'_>) -> Result<bool, String> {
        let is_streams = self.shard.groups.get(id).is_some_and(|group| group.kind == Kind::Streams);
        if !(is_streams && self.has_equal_hash) {
            let had_expired = expect.value("had_expired")?;
            self.equal("had expired", had_expired, &json!(self.shard.has_expired(id)))?;
        }
        let is_taken = expect.text("error")? == "NONE";
        if !is_taken {
            expect.value("had_expired")?;
            expect.find("member_record_written");
            self.equal("member epoch", expect.value("member_epoch")?, &Value::Null)?;
            self.equal("bumped", &expect.boolean("group_epoch_bumped")?, &false)?;
            self.records(expect, Vec::new())?;
        }
        Ok(is_taken)
    }

    fn answer(
        &self,
        id: &str,
        update: Option<GroupUpdate>,
        records: Vec<Value>,
        expect: &Fields<'_>,
    ) -> Result<(), String> {
        expect.value("had_expired")?;
        let bumped = update.is_some_and(|update| update.is_bump());
        self.equal("bumped", &expect.boolean("group_epoch_bumped")?, &bumped)?;
        let epoch = self.shard.groups.get(id).map(|group| group.epoch);
        self.equal("member epoch", expect.value("member_epoch")?, &json!(epoch))?;
        self.records(expect, records)
    }

    fn streams_heartbeat(&mut self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let (id, member_id) = (step.text("group_id")?, step.text("member_id")?);
        step.integer::<i32>("member_epoch")?;
        let topology = topology(step.value("topology")?)?;
        if !self.is_taken(id, expect)? {
            return Ok(());
        }
        // The causes of a bump that are not metadata are inputs: the member, the topology that was found valid and the
        // configuration of the assignment.
        let record = expect.list("records")?.first().map(Fields::of).transpose()?;
        let value = record.map(|record| record.object("value")).transpose()?;
        let mut change = expect.boolean("member_record_written")?;
        let (mut validated, mut configs) = (None, None);
        if let Some(value) = &value {
            validated = Some(value.integer("validated_topology_epoch")?);
            configs = Some(assignment_configs(value.list("last_assignment_configs")?)?);
        }
        if let Some(group) = self.shard.groups.get(id) {
            change |= validated.is_some_and(|epoch| epoch != group.validated_topology_epoch);
            change |= configs.as_ref().is_some_and(|configs| *configs != group.configs);
        }
        let had_expired = self.shard.has_expired(id);
        let change = if change { GroupChange::Changed } else { GroupChange::Unchanged };
        let update = self.shard.streams_heartbeat(id, member_id, topology, change)?;
        if self.is_exact
            && had_expired == Some(true)
            && update.is_some_and(|update| !update.is_bump())
        {
            self.meet(EQUAL_HASH)?;
            self.has_equal_hash = true;
        }
        let group = self.shard.groups.get_mut(id).ok_or("no group")?;
        group.validated_topology_epoch = validated.unwrap_or(group.validated_topology_epoch);
        group.configs = configs.unwrap_or_else(|| group.configs.clone());
        let bump = update.filter(GroupUpdate::is_bump);
        let records = bump.map(|update| self.record(id, &update)).into_iter().collect();
        self.answer(id, update, records, expect)
    }

    /// Notes that a leave meets a weakness of Kafka's.
    fn note_leave(&mut self, id: &str, member: &str) -> Result<(), String> {
        if self.is_exact && self.shard.hides_a_lost_refresh(id, member) {
            self.meet(LEAVE_AFTER_FAILED_BUMP)?;
            self.is_exact = false;
        }
        Ok(())
    }

    fn leave(&mut self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let (id, member_id) = (step.text("group_id")?, step.text("member_id")?);
        if !self.is_taken(id, expect)? {
            return Ok(());
        }
        expect.value("had_expired")?;
        expect.find("member_record_written");
        self.note_leave(id, member_id)?;
        let update = self.shard.leave(id, member_id)?;
        self.equal("bumped", &expect.boolean("group_epoch_bumped")?, &update.is_some())?;
        self.equal("member epoch", expect.value("member_epoch")?, &json!(-1))?;
        let records = update.map(|update| self.record(id, &update)).into_iter().collect();
        self.records(expect, records)
    }

    fn advance_time(&mut self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        step.integer::<i64>("ms")?;
        let mut records = Vec::new();
        for (id, member) in self.shard.overdue() {
            self.note_leave(&id, &member)?;
            if let Some(update) = self.shard.leave(&id, &member)? {
                records.push(self.record(&id, &update));
            }
        }
        self.records(expect, records)
    }

    fn load(&mut self, step: &Fields<'_>) -> Result<(), String> {
        let id = step.text("group_id")?;
        let mut group = Group::new(Kind::Consumer);
        group.epoch = step.integer("group_epoch")?;
        group.hash = MetadataHash::from_i64(integer(step.value("metadata_hash")?)?);
        group.has_legacy_record = step.boolean("legacy_subscription_record")?;
        for member in step.list("members")? {
            let member = Fields::of(member)?;
            member.integer::<i32>("member_epoch")?;
            let names = member.list("subscribed_topic_names")?.iter().filter_map(Value::as_str);
            let names = names.map(str::to_owned).collect();
            group
                .members
                .insert(member.text("member_id")?.to_owned(), Member { names, regex: None });
            member.all_read()?;
        }
        self.shard.groups.insert(id.to_owned(), group);
        self.shard.load(id);
        self.shard.commit();
        Ok(())
    }

    fn records(&self, expect: &Fields<'_>, records: Vec<Value>) -> Result<(), String> {
        // Which of several groups comes first follows a hash map.
        let by_group = |mut records: Vec<Value>| {
            records.sort_by_key(|record| record["group_id"].to_string());
            records
        };
        let expected = expect.find("records").map_or(Ok(Vec::new()), list)?;
        self.equal("records", &by_group(expected), &by_group(records))
    }

    /// The metadata record of an update.
    fn record(&self, id: &str, update: &GroupUpdate) -> Value {
        let (epoch, metadata_hash) = (update.epoch(), update.metadata_hash().as_i64());
        let group = &self.shard.groups[id];
        let mut bytes = Vec::new();
        let mut value = json!({"epoch": epoch, "metadata_hash": metadata_hash.to_string()});
        let record_type = match group.kind {
            Kind::Consumer => {
                ConsumerGroupMetadataValue { epoch, metadata_hash }.encode(&mut bytes);
                "CONSUMER_GROUP_METADATA"
            }
            Kind::Share => {
                ShareGroupMetadataValue { epoch, metadata_hash }.encode(&mut bytes);
                "SHARE_GROUP_METADATA"
            }
            Kind::Streams => {
                let record = StreamsGroupMetadataValue {
                    epoch,
                    metadata_hash,
                    validated_topology_epoch: group.validated_topology_epoch,
                    last_assignment_configs: Some(group.configs.clone()),
                    stored_description_topology_epoch: -1,
                    failed_description_topology_epoch: -1,
                };
                record.encode(&mut bytes);
                let configs = group.configs.iter();
                let configs =
                    configs.map(|config| json!({"key": config.key, "value": config.value}));
                value["validated_topology_epoch"] = json!(group.validated_topology_epoch);
                value["last_assignment_configs"] = configs.collect();
                value["stored_description_topology_epoch"] = json!(-1);
                value["failed_description_topology_epoch"] = json!(-1);
                "STREAMS_GROUP_METADATA"
            }
        };
        let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("text takes all");
            hex
        });
        json!({"type": record_type, "group_id": id, "value": value, "value_bytes": hex})
    }

    /// Compares what is to be seen of the shard after a step.
    fn compare(&mut self, expect: &Fields<'_>) -> Result<(), String> {
        let expected = expect.list("changed_groups")?;
        for group in expected {
            let id = group["group_id"].as_str().ok_or("no group id")?;
            self.shown.insert(id.to_owned(), group.clone());
        }
        let ids = self.shown.keys().chain(self.shard.groups.keys());
        for id in ids.collect::<BTreeSet<_>>() {
            let mut expected = self.shown.get(id).cloned().unwrap_or_default();
            let mut actual = self.shard.shown(id);
            if self.has_equal_hash && actual.get("required_topics").is_some() {
                for shown in [&mut expected, &mut actual] {
                    shown["refresh_deadline"] = Value::Null;
                    shown["has_expired"] = Value::Null;
                }
            }
            self.equal("group", &expected, &actual)?;
        }
        let (hashes, index) = (self.shard.shown_hashes(), self.shard.shown_index());
        replace(&mut self.shown_hashes, expect.value("topic_hash_cache")?);
        replace(&mut self.shown_index, expect.value("groups_by_topics")?);
        self.equal("topic hashes", &self.shown_hashes, &hashes)?;
        self.equal("groups by topics", &self.shown_index, &index)
    }
}

fn list(value: &Value) -> Result<Vec<Value>, String> {
    value.as_array().cloned().ok_or_else(|| format!("not a list: {value}"))
}

/// Takes over what changed since it was last shown.
fn replace(shown: &mut Value, value: &Value) {
    if !value.is_null() {
        shown.clone_from(value);
    }
}

fn apply(
    image: &mut Image,
    touched: &mut BTreeSet<String>,
    change: &Fields<'_>,
) -> Result<(), String> {
    let kind = change.text("change")?;
    match kind {
        "register_broker" => return image.register(change),
        "unregister_broker" => {
            image.brokers.remove(&change.integer("id")?);
            return Ok(());
        }
        _ => {}
    }
    let (id, name) = (change.text("id")?, change.text("name")?.to_owned());
    touched.insert(id.to_owned());
    if kind == "delete_topic" {
        image.topics.remove(&name);
        return Ok(());
    }
    if kind == "create_topic" {
        let topic = Topic { id: topic_id(id)?, replicas: BTreeMap::new() };
        image.topics.insert(name.clone(), topic);
    }
    let topic = image.topics.get_mut(&name).ok_or_else(|| format!("no topic {name}"))?;
    match kind {
        "create_topic" | "add_partitions" => {
            let first =
                if kind == "create_topic" { 0 } else { change.integer("first_partition")? };
            for (partition, brokers) in (first..).zip(change.list("partitions")?) {
                topic.replicas.insert(partition, replicas(brokers)?);
            }
        }
        "set_replicas" => {
            let partition = change.integer("partition")?;
            topic.replicas.insert(partition, replicas(change.value("replicas")?)?);
        }
        "set_leader" => {
            change.integer::<i32>("partition")?;
            change.integer::<i32>("leader")?;
        }
        kind => return Err(format!("unknown change {kind}")),
    }
    Ok(())
}

/// The names of topics by their ids as the vectors write them.
fn ids(image: &Image) -> BTreeMap<String, String> {
    let topics = image.topics.iter();
    topics.map(|(name, topic)| (format!("{:032x}", topic.id.as_u128()), name.clone())).collect()
}

fn changed_racks(before: &Image, after: &Image) -> Vec<i32> {
    let rack = |image: &Image, broker: &i32| image.brokers.get(broker).cloned().flatten();
    let brokers: BTreeSet<i32> =
        before.brokers.keys().chain(after.brokers.keys()).copied().collect();
    brokers.into_iter().filter(|broker| rack(before, broker) != rack(after, broker)).collect()
}

/// The topics that a topology requires.
fn topology(value: &Value) -> Result<Option<BTreeSet<String>>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let topology = Fields::of(value)?;
    topology.integer::<i32>("epoch")?;
    let mut required = BTreeSet::new();
    for list in ["source_topics", "repartition_source_topics", "state_changelog_topics"] {
        required.extend(topology.list(list)?.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    topology.all_read()?;
    Ok(Some(required))
}

fn assignment_configs(list: &[Value]) -> Result<Vec<AssignmentConfig>, String> {
    let configs = list.iter().map(|config| {
        let config = Fields::of(config)?;
        let (key, value) = (config.text("key")?.to_owned(), config.text("value")?.to_owned());
        config.all_read()?;
        Ok(AssignmentConfig { key, value })
    });
    configs.collect()
}
