//! Operations of one coordinator shard. What belongs to a whole group coordinator (members, offsets, other records)
//! is taken from the vectors.

use super::{current, error};
use crate::fields::{Fields, each_step, same};
use crate::runner::Outcome;
use kafka_coordination::group_record::{
    AssignmentConfig, GroupRecordKey, GroupRecordType, StreamsGroupMetadataValue,
};
use kafka_coordination::topology::{
    Belief, Caller, ClassicJoin, Description, Fencing, Groups, Life, Mark, Plugin, PushError,
    PushRequest, StreamsGroup, TopologyConfig, TopologyEpoch, TopologyManager, after_delete,
    after_refusal, after_set, mark,
};
use kafka_coordination::{ErrorCode, Monotonic};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const NOW: Monotonic = Monotonic::from_millis(0);

/// A group of any type. The value counts for streams groups alone.
#[derive(Clone, PartialEq)]
struct Group {
    kind: String,
    members: BTreeSet<String>,
    current: Option<TopologyEpoch>,
    value: StreamsGroupMetadataValue,
    has_offsets: bool,
}

type Shard = BTreeMap<String, Group>;

impl Group {
    fn streams(&self) -> Option<StreamsGroup> {
        let belief = Belief::of_value(&self.value).ok()?;
        let life = if self.members.is_empty() { Life::Empty } else { Life::Live };
        (self.kind == "streams").then_some(StreamsGroup { current: self.current, belief, life })
    }
}

fn streams(shard: &Shard, group_id: &str) -> Option<StreamsGroup> {
    shard.get(group_id)?.streams()
}

/// The latest state alone, for what a manager is asked at once.
struct Latest<'a>(&'a Shard);

impl Groups for Latest<'_> {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        streams(self.0, group_id)
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        streams(self.0, group_id)
    }

    fn has_member(&self, group_id: &str, member_id: &str) -> bool {
        self.0.get(group_id).is_some_and(|group| group.members.contains(member_id))
    }

    fn has_offsets(&self, group_id: &str) -> bool {
        self.0.get(group_id).is_some_and(|group| group.has_offsets)
    }
}

fn manager(has_plugin: bool) -> TopologyManager {
    let plugin = if has_plugin { Plugin::Present(Fencing::Tokens) } else { Plugin::Absent };
    let mut manager = TopologyManager::new(TopologyConfig::default().with_plugin(plugin));
    manager.loaded(0, NOW).expect("it was not loaded");
    manager
}

/// What an operation of this crate answers.
#[derive(Default)]
struct Answer {
    result: Value,
    error: Option<ErrorCode>,
    /// The groups whose record it writes.
    written: Vec<String>,
    may_split: bool,
}

impl Answer {
    fn of(result: impl Into<Value>) -> Self {
        Self { result: result.into(), ..Self::default() }
    }

    fn refused(error: ErrorCode) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

struct Replay {
    has_plugin: bool,
    latest: Shard,
    committed: Shard,
    outcome: Outcome,
}

pub(super) fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let mut latest = Shard::new();
    for group in scenario.list("groups")? {
        let fields = Fields::of(group)?;
        latest.insert(fields.text("group_id")?.to_owned(), given_group(&fields)?);
        fields.all_read()?;
    }
    let has_plugin = scenario.boolean("plugin_configured")?;
    let is_committed_at_once = scenario.boolean("auto_commit")?;
    let committed = latest.clone();
    let mut replay = Replay { has_plugin, latest, committed, outcome: Outcome::AsKafka };
    each_step(scenario, |op, step, expect| {
        let before = (replay.latest.clone(), replay.committed.clone());
        replay.step(op, step, expect)?;
        if is_committed_at_once {
            replay.committed = replay.latest.clone();
        } else {
            let changed = changes(&before.1, &replay.committed, committed_state);
            same("committed", expect.value("changed_committed_groups")?, &changed)?;
        }
        let changed = changes(&before.0, &replay.latest, latest_state);
        same("latest", expect.value("changed_groups")?, &changed)
    })?;
    Ok(replay.outcome)
}

impl Replay {
    fn step(&mut self, op: &str, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        match op {
            "commit" => self.committed = self.latest.clone(),
            "rollback" => self.latest = self.committed.clone(),
            "heartbeat" => return self.heartbeat(step, expect),
            "delete_groups" => {
                step.list("group_ids")?;
                expect.list("result")?;
                return self.others(expect);
            }
            "expiration_sweep" => {
                self.check_sweep(expect)?;
                return self.others(expect);
            }
            "classic_join" => {
                self.check_join(step, expect)?;
                return self.others(expect);
            }
            _ => {}
        }
        let answer = match op {
            "commit" | "rollback" => Answer::default(),
            _ => self.operation(op, step)?,
        };
        let actual = answer.error.unwrap_or(ErrorCode::None);
        same("error", &error(expect.text("error")?)?, &actual)?;
        same("result", expect.value("result")?, &answer.result)?;
        if let Some(expected) = expect.find("records") {
            let records: Result<_, _> = answer.written.iter().map(|id| self.record(id)).collect();
            same("records", expected, &Value::Array(records?))?;
        }
        if let Some(is_atomic) = expect.find("atomic") {
            let expected = answer.error.is_none().then_some(!answer.may_split);
            same("atomic", &is_atomic.as_bool(), &expected)?;
        }
        Ok(())
    }

    fn operation(&mut self, op: &str, step: &Fields<'_>) -> Result<Answer, String> {
        match op {
            "mark_uncertain" => {
                let is_push = step.boolean("mark_when_none")?;
                let caller = if is_push { Caller::Push } else { Caller::Delete };
                let (may_call, written) = self.mark(step.text("group_id")?, caller);
                Ok(Answer { written, ..Answer::of(may_call) })
            }
            "mark_uncertain_batch" => {
                let (mut marked, mut written) = (BTreeSet::new(), Vec::new());
                for group_id in texts(step.list("group_ids")?)? {
                    let (may_call, write) = self.mark(group_id, Caller::Delete);
                    written.extend(write);
                    marked.extend(may_call.then_some(group_id));
                }
                Ok(Answer {
                    written,
                    may_split: true,
                    ..Answer::of(marked.into_iter().collect::<Vec<_>>())
                })
            }
            "set_stored" | "set_failed" => self.record_push(op, step),
            "finalize_after_delete" => {
                let written = self.finalize(step.text("group_id")?);
                Ok(Answer { written, ..Answer::default() })
            }
            "finalize_after_delete_batch" => {
                let group_ids = texts(step.list("group_ids")?)?;
                let written = group_ids.into_iter().flat_map(|id| self.finalize(id)).collect();
                Ok(Answer { written, may_split: true, ..Answer::default() })
            }
            "groups_with_stored_description" => {
                let ids = texts(step.list("group_ids")?)?.into_iter().filter(|id| {
                    let group = streams(&self.committed, id);
                    group.is_some_and(|it| it.belief.stored.wants_delete())
                });
                Ok(Answer::of(ids.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()))
            }
            "groups_needing_cleanup" => {
                let groups = self.committed.iter().filter(|(_, group)| {
                    let wants = group.streams().is_some_and(|it| it.wants_cleanup());
                    wants && !group.has_offsets
                });
                Ok(Answer::of(groups.map(|(id, _)| id.clone()).collect::<Vec<_>>()))
            }
            "should_expire" => Ok(match self.latest.get(step.text("group_id")?) {
                None => Answer::refused(ErrorCode::GroupIdNotFound),
                Some(group) => Answer::of(self.may_expire(group)),
            }),
            "validate_push" => self.validate(step),
            op => Err(format!("unknown op {op}")),
        }
    }

    fn mark(&mut self, group_id: &str, caller: Caller) -> (bool, Vec<String>) {
        match mark(streams(&self.latest, group_id).as_ref(), caller) {
            Mark::Refused => (false, Vec::new()),
            Mark::Covered => (true, Vec::new()),
            Mark::Write(belief) => (true, self.write(group_id, belief)),
        }
    }

    fn finalize(&mut self, group_id: &str) -> Vec<String> {
        let belief = streams(&self.latest, group_id).and_then(|group| after_delete(group.belief));
        belief.map(|belief| self.write(group_id, belief)).unwrap_or_default()
    }

    fn record_push(&mut self, op: &str, step: &Fields<'_>) -> Result<Answer, String> {
        let group_id = step.text("group_id")?;
        let pushed = step.integer("pushed_epoch")?;
        let Some(group) = streams(&self.latest, group_id) else {
            return Ok(Answer::refused(ErrorCode::GroupIdNotFound));
        };
        let belief = match (TopologyEpoch::new(pushed), op) {
            (Some(pushed), "set_stored") => after_set(group.belief, pushed),
            (Some(pushed), _) => after_refusal(group.belief, pushed),
            (None, _) => {
                // Kafka takes -1 for an epoch, and by the greater of the two records that nothing is stored. Here
                // such a push cannot be expressed, see `validate`.
                self.outcome = Outcome::Deviated;
                Belief::from_record(pushed, -1).map_err(|error| error.to_string())?
            }
        };
        Ok(Answer { written: self.write(group_id, belief), ..Answer::default() })
    }

    fn validate(&mut self, step: &Fields<'_>) -> Result<Answer, String> {
        let request = PushRequest {
            group_id: step.text("group_id")?,
            member_id: step.text("member_id")?,
            topology_epoch: step.integer("topology_epoch")?,
            description: Description::WellFormed,
        };
        // As in Kafka: the group's epoch is the latest, its members are the committed ones.
        let latest = streams(&self.latest, request.group_id);
        let group = streams(&self.committed, request.group_id)
            .map(|it| StreamsGroup { current: latest.and_then(|it| it.current), ..it });
        let members = Latest(&self.committed);
        let has_member = |member_id: &str| members.has_member(request.group_id, member_id);
        Ok(match request.validate(group.as_ref(), has_member) {
            Ok(_) => Answer::default(),
            Err(PushError::WrongEpoch { pushed: -1, current: None }) => {
                // Kafka lets a push of no epoch pass for a group without topology.
                self.outcome = Outcome::Deviated;
                Answer::default()
            }
            Err(error) => Answer::refused(error.code()),
        })
    }

    fn may_expire(&self, group: &Group) -> bool {
        let streams = group.streams();
        let is_blocked = streams.is_some_and(|it| it.belief.stored.blocks_expiry());
        let may_remove = manager(self.has_plugin).may_remove("g", streams.as_ref());
        assert_eq!(may_remove, !self.has_plugin || !is_blocked, "the manager asks the same");
        may_remove
    }

    fn write(&mut self, group_id: &str, belief: Belief) -> Vec<String> {
        if let Some(group) = self.latest.get_mut(group_id) {
            belief.put_into(&mut group.value);
        }
        vec![group_id.to_owned()]
    }

    /// The record of a group as it was just written.
    fn record(&self, group_id: &str) -> Result<Value, String> {
        let value = &self.latest.get(group_id).ok_or("no such group")?.value;
        let (mut key_bytes, mut value_bytes) = (Vec::new(), Vec::new());
        let key = GroupRecordKey { record_type: GroupRecordType::StreamsGroupMetadata, group_id };
        key.encode(&mut key_bytes).map_err(|error| error.to_string())?;
        value.encode(&mut value_bytes);
        let configs = value.last_assignment_configs.iter().flatten();
        let configs: Vec<_> = configs.map(|it| json!({"key": it.key, "value": it.value})).collect();
        Ok(json!({
            "type": "STREAMS_GROUP_METADATA",
            "group_id": group_id,
            "value": {
                "epoch": value.epoch,
                "metadata_hash": value.metadata_hash.to_string(),
                "validated_topology_epoch": value.validated_topology_epoch,
                "last_assignment_configs": configs,
                "stored_description_topology_epoch": value.stored_description_topology_epoch,
                "failed_description_topology_epoch": value.failed_description_topology_epoch,
            },
            "key_bytes": hex(&key_bytes),
            "value_bytes": hex(&value_bytes),
        }))
    }

    /// A heartbeat is the host's; what it must do is carry both numbers on.
    fn heartbeat(&mut self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let group_id = step.text("group_id")?;
        let (member_id, member_epoch) = (step.text("member_id")?, step.integer("member_epoch")?);
        let topology = current(step.value("topology_epoch")?)?;
        let known = streams(&self.latest, group_id);
        let belief = known.map_or(Belief::NEW, |group| group.belief);
        expect.value("atomic")?;
        if error(expect.text("error")?)? != ErrorCode::None {
            same("result", &&Value::Null, &expect.value("result")?)?;
            return same("records", &0, &expect.list("records")?.len());
        }
        for record in expect.list("records")? {
            let fields = Fields::of(record)?;
            let value = &record["value"];
            same("group", &group_id, &fields.text("group_id")?)?;
            let mut given = group_value(&fields.object("value")?, "epoch")?;
            let group = self.latest.entry(group_id.to_owned()).or_insert_with(|| Group {
                kind: String::from("streams"),
                members: BTreeSet::new(),
                current: topology,
                value: given.clone(),
                has_offsets: false,
            });
            belief.put_into(&mut given);
            group.value = given;
            same("record", &record, &&self.record(group_id)?)?;
            same("value", &value, &&record["value"])?;
        }
        let Some(group) = self.latest.get_mut(group_id) else {
            return Err(String::from("a heartbeat without group"));
        };
        match member_epoch {
            0 => drop(group.members.insert(member_id.to_owned())),
            // None of these members is static, so that all leave for good.
            ..0 => drop(group.members.remove(member_id)),
            _ => {}
        }
        let result = expect.object("result")?;
        result.value("member_epoch")?;
        same("belief for the gate", &super::belief(&result)?, &belief)?;
        same(
            "epoch for the gate",
            &current(result.value("current_topology_epoch")?)?,
            &group.current,
        )?;
        result.all_read()
    }

    /// Removals and conversions of any group are the host's.
    fn others(&mut self, expect: &Fields<'_>) -> Result<(), String> {
        expect.text("error")?;
        for key in ["result", "records", "atomic"] {
            expect.find(key);
        }
        for change in expect.list("changed_groups")? {
            let group_id = change["group_id"].as_str().ok_or("a change without group")?;
            let Some(kind) = change["type"].as_str() else {
                self.latest.remove(group_id);
                continue;
            };
            let group = Group {
                kind: kind.to_owned(),
                members: (change["is_empty"] == false)
                    .then(|| String::from("?"))
                    .into_iter()
                    .collect(),
                current: None,
                value: no_value(),
                has_offsets: false,
            };
            self.latest.insert(group_id.to_owned(), group);
        }
        Ok(())
    }

    /// Streams groups expire if they have neither members nor offsets, and their description allows it.
    fn check_sweep(&self, expect: &Fields<'_>) -> Result<(), String> {
        let expired = self.latest.iter().filter(|(_, group)| {
            let is_streams = group.kind == "streams";
            is_streams && group.members.is_empty() && !group.has_offsets && self.may_expire(group)
        });
        let expired: BTreeSet<_> = expired.map(|(id, _)| id.as_str()).collect();
        let records = expect.list("records")?.iter();
        let tombstones = records.filter(|it| it["type"] == "STREAMS_GROUP_METADATA");
        let tombstones: BTreeSet<_> = tombstones.filter_map(|it| it["group_id"].as_str()).collect();
        same("expired", &tombstones, &expired)
    }

    /// A join has to wait exactly if the manager says so.
    fn check_join(&self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let is_handled = step.boolean("topology_cleanup_handled")?;
        step.text("member_id")?;
        expect.value("response_error")?;
        let latest = Latest(&self.latest);
        let join = manager(!is_handled).classic_join(step.text("group_id")?, &latest, NOW);
        let must_wait = matches!(join, ClassicJoin::Pending(_));
        same("must wait", expect.value("result")?, &Value::Bool(must_wait))
    }
}

fn given_group(fields: &Fields<'_>) -> Result<Group, String> {
    let kind = fields.text("type")?.to_owned();
    let is_streams = kind == "streams";
    if !is_streams {
        // Numbers of other groups do not count.
        fields.entries().for_each(drop);
    }
    Ok(Group {
        members: texts(fields.list("members")?)?.into_iter().map(str::to_owned).collect(),
        current: current(fields.value("topology_epoch")?)?,
        value: if is_streams { group_value(fields, "group_epoch")? } else { no_value() },
        has_offsets: fields.integer::<u32>("committed_offsets")?
            + fields.integer::<u32>("pending_transactional_offsets")?
            > 0,
        kind,
    })
}

/// The value of a streams group's record, whose epoch goes by this name.
fn group_value(fields: &Fields<'_>, epoch: &str) -> Result<StreamsGroupMetadataValue, String> {
    let config = |config: &Value| {
        let config = Fields::of(config)?;
        let text = |key| config.text(key).map(str::to_owned);
        let read = AssignmentConfig { key: text("key")?, value: text("value")? };
        config.all_read()?;
        Ok(read)
    };
    let configs = fields.list("last_assignment_configs")?.iter().map(config);
    let configs = configs.collect::<Result<Vec<_>, String>>()?;
    Ok(StreamsGroupMetadataValue {
        epoch: fields.integer(epoch)?,
        metadata_hash: fields.integer("metadata_hash")?,
        validated_topology_epoch: fields.integer("validated_topology_epoch")?,
        // Kafka writes no list for an empty one.
        last_assignment_configs: Some(configs).filter(|it| !it.is_empty()),
        stored_description_topology_epoch: fields.integer("stored_description_topology_epoch")?,
        failed_description_topology_epoch: fields.integer("failed_description_topology_epoch")?,
    })
}

fn no_value() -> StreamsGroupMetadataValue {
    StreamsGroupMetadataValue {
        epoch: 0,
        metadata_hash: 0,
        validated_topology_epoch: -1,
        last_assignment_configs: None,
        stored_description_topology_epoch: -1,
        failed_description_topology_epoch: -1,
    }
}

/// The groups whose state is another one than before.
fn changes(before: &Shard, after: &Shard, state: impl Fn(&str, Option<&Group>) -> Value) -> Value {
    let ids: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changes = ids.into_iter().filter_map(|id| {
        let [before, after] = [before, after].map(|shard| state(id, shard.get(id)));
        (before != after).then_some(after)
    });
    changes.collect()
}

fn latest_state(group_id: &str, group: Option<&Group>) -> Value {
    let Some(group) = group else {
        return json!({"group_id": group_id, "type": null});
    };
    let mut state = json!({
        "group_id": group_id,
        "type": group.kind,
        "is_empty": group.members.is_empty(),
    });
    if let Some(streams) = group.streams() {
        let (stored, failed) = streams.belief.to_record();
        state["group_epoch"] = group.value.epoch.into();
        state["topology_epoch"] = group.current.map_or(-1, TopologyEpoch::get).into();
        state["stored_description_topology_epoch"] = stored.into();
        state["failed_description_topology_epoch"] = failed.into();
    }
    state
}

fn committed_state(group_id: &str, group: Option<&Group>) -> Value {
    let streams = group.and_then(Group::streams);
    json!({
        "group_id": group_id,
        "stored_description_topology_epoch": streams.map(|it| it.belief.stored.to_record()),
        "is_empty": streams.map(|it| it.life == Life::Empty),
    })
}

fn texts(list: &[Value]) -> Result<Vec<&str>, String> {
    let text = |value| Value::as_str(value).ok_or_else(|| format!("not text: {value}"));
    list.iter().map(text).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect()
}

fn digit(number: u8) -> char {
    char::from_digit(number.into(), 16).unwrap_or_default()
}
