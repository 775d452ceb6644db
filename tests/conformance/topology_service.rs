//! `topology_service`: whole flows of a broker, with every write and plugin call in order.
//!
//! Scenarios without `known_windows` end as in Kafka, but for one thing: a window of a group that left, or whose shard
//! did, is not remembered here (Kafka remembers it for ever). In the others Kafka may lose or leak what the plugin
//! holds, or calls it without need; there this crate goes its own way from the first difference on, and is held to the
//! two promises that Kafka breaks: nothing is lost, and nothing is leaked.
//!
//! | label | what is done otherwise |
//! | --- | --- |
//! | `overlapping_plugin_operations`, `stored_epoch_written_during_plugin_operation` | a second operation of a group is refused, or left out, until the first is through |
//! | `tombstone_during_plugin_operation`, `tombstone_while_stored_is_not_none` | the group stays until the plugin is known to hold nothing; a conversion first writes that, then converts |
//! | `push_of_the_stored_epoch` | it is answered without calling the plugin |
//! | `push_with_uncommitted_records` | it is validated by the latest members, in one step with the barrier |
//! | `conversion_and_push_share_the_backoff_slot` | each has its own |
//! | `join_of_a_streams_group_with_a_member_id` | the join is refused without calling the plugin |

use crate::fields::{Fields, each_step, same};
use crate::runner::{Outcome, Subject};
use crate::streams_broker::{Behaviour, Broker, CallNumber, Event, Gate, Group, Response};
use crate::topology_backoff::{window, without_jitter};
use crate::topology_epoch::{belief, current, error};
use crate::value::optional_text;
use kafka_coordination::topology::{
    Fencing, Life, Plugin, StoredEpoch, TopologyConfig, TopologyEpoch, Window,
};
use kafka_coordination::{ErrorCode, Monotonic};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const SUBJECT: Subject =
    Subject { folder: "topology_service", documentation: &[], replay };

struct Replay {
    broker: Broker,
    commits_at_once: bool,
    /// Group ids that were mentioned so far.
    ids: BTreeSet<String>,
    /// Kafka's windows, one a group.
    windows: BTreeMap<String, Window>,
    /// Groups whose window only Kafka remembers.
    forgotten: BTreeSet<String>,
    has_forgotten: bool,
    /// The number here of each call of Kafka's.
    calls: BTreeMap<CallNumber, CallNumber>,
}

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let mut groups = BTreeMap::new();
    for group in scenario.list("groups")? {
        groups.insert(text(group, "group_id")?.to_owned(), given_group(group)?);
    }
    let has_plugin = scenario.boolean("plugin_present")?;
    let plugin = if has_plugin { Plugin::Present(Fencing::Tokens) } else { Plugin::Absent };
    let config = TopologyConfig::default().with_plugin(plugin).with_backoff(without_jitter());
    let commits_at_once = scenario.boolean("auto_commit")?;
    let may_differ = !scenario.list("known_windows")?.is_empty();

    let ids = groups.keys().cloned().collect();
    let mut broker = Broker::new(config, groups);
    broker.log.commits_at_once = commits_at_once;
    broker.now = Monotonic::from_millis(1_000);
    if broker.log.latest.0.is_empty() {
        // The vectors load a shard by writing its groups: without any, it is never loaded.
        broker.unload();
        broker.unloaded_error = ErrorCode::CoordinatorLoadInProgress;
    }
    let mut replay = Replay {
        broker,
        commits_at_once,
        ids,
        windows: BTreeMap::new(),
        forgotten: BTreeSet::new(),
        has_forgotten: false,
        calls: BTreeMap::new(),
    };
    let (mut outcome, mut has_diverged) = (Outcome::AsKafka, false);
    each_step(scenario, |op, step, expect| {
        step.integer::<i64>("now_ms")?;
        let before = replay.states();
        replay.act(op, step)?;
        let compared = replay.compare(op, &before, expect);
        if !has_diverged && let Err(difference) = compared {
            if !may_differ {
                return Err(difference);
            }
            has_diverged = true;
        }
        expect.entries().for_each(drop);
        Ok(())
    })?;
    if has_diverged || replay.has_forgotten {
        outcome = Outcome::Deviated;
    }
    if has_plugin {
        replay.check_promises()?;
    }
    Ok(outcome)
}

impl Replay {
    fn act(&mut self, op: &str, step: &Fields<'_>) -> Result<(), String> {
        let broker = &mut self.broker;
        let request = || step.integer("request");
        match op {
            "plugin_behaviour" => {
                broker.plugin.on_set = behaviour(step.text("set")?)?;
                broker.plugin.on_delete = behaviour(step.text("delete")?)?;
            }
            "push" => {
                let epoch = step.integer("topology_epoch")?;
                broker.push(request()?, step.text("group_id")?, step.text("member_id")?, epoch);
            }
            "heartbeat" => broker.heartbeat(
                request()?,
                step.text("group_id")?,
                step.text("member_id")?,
                step.integer("member_epoch")?,
                step.integer("api_version")?,
                current(step.value("topology_epoch")?)?,
            ),
            "classic_join" => {
                broker.classic_join(request()?, step.text("group_id")?, step.text("member_id")?);
            }
            "delete_groups" => {
                let ids = step.list("group_ids")?.iter();
                let ids = ids.map(|id| id.as_str().unwrap_or_default().to_owned());
                let ids: Vec<_> = ids.collect();
                self.ids.extend(ids.iter().cloned());
                broker.delete_groups(request()?, ids);
            }
            "cleanup_cycle" => broker.cleanup(request()?),
            "expiration_sweep" => broker.sweep(request()?),
            "complete_plugin_call" => {
                let call = step.integer("call")?;
                let ending = behaviour(step.text("outcome")?)?;
                // Since the flows parted, there may be no such call here.
                if let Some(&call) = self.calls.get(&call) {
                    broker.end_call(call, ending);
                }
            }
            "fail_appends" => {
                let error = error(step.text("error")?)?;
                broker.log.errors = vec![error; step.integer("count")?].into();
            }
            "commit" => broker.commit(),
            "advance_time" => broker.advance(step.integer("ms")?),
            "unload_shard" => broker.unload(),
            "load_shard" => broker.load(),
            "restart_broker" => {
                broker.restart(step.boolean("keep_uncommitted")?);
                self.windows.clear();
                self.forgotten.clear();
            }
            op => return Err(format!("unknown op {op}")),
        }
        if let Some(group_id) = step.find("group_id").and_then(Value::as_str) {
            self.ids.insert(group_id.to_owned());
        }
        Ok(())
    }

    /// The latest and the committed state of each group that was mentioned.
    fn states(&self) -> BTreeMap<String, [Value; 2]> {
        let log = &self.broker.log;
        let is_loaded = self.broker.is_loaded();
        let state = |id: &String| {
            let [latest, committed] = [&log.latest, &log.committed].map(|shard| shard.0.get(id));
            let latest =
                if is_loaded { latest_state(latest) } else { json!({"type": "not_loaded"}) };
            (id.clone(), [latest, committed_state(committed)])
        };
        self.ids.iter().map(state).collect()
    }

    fn compare(
        &mut self,
        op: &str,
        before: &BTreeMap<String, [Value; 2]>,
        expect: &Fields<'_>,
    ) -> Result<(), String> {
        let actual = std::mem::take(&mut self.broker.events);
        let mut responses = std::mem::take(&mut self.broker.responses);
        let (expected, mut expected_responses) = trace(expect.list("trace")?)?;
        self.pair_calls(&expected, &actual);
        same("log and plugin", &without_numbers(&expected), &without_numbers(&actual))?;
        let forgot = !self.forgotten.is_empty();
        self.follow_windows(op, expect)?;
        for responses in [&mut responses, &mut expected_responses] {
            for response in responses.values_mut() {
                // Whether a member is asked depends on the window.
                if let Response::Heartbeat { is_asked, .. } = response
                    && forgot
                {
                    *is_asked = false;
                }
            }
        }
        same("responses", &expected_responses, &responses)?;
        let after = self.states();
        let none = [latest_state(None), committed_state(None)];
        for (at, key) in [(0, "changed_groups"), (1, "changed_committed_groups")] {
            if at == 1 && self.commits_at_once {
                continue;
            }
            let changed = after.iter().filter_map(|(id, states)| {
                let mut state = states[at].clone();
                let has_changed = before.get(id).unwrap_or(&none)[at] != state;
                state["group_id"] = id.as_str().into();
                has_changed.then_some(state)
            });
            same(key, expect.value(key)?, &changed.collect())?;
        }
        let manager = &self.broker.manager;
        for id in self.ids.difference(&self.forgotten) {
            let window = manager.push_window(id).or_else(|| manager.conversion_window(id));
            same(&format!("window of {id}"), &self.windows.get(id).copied(), &window.copied())?;
        }
        Ok(())
    }

    /// Notes Kafka's windows, and which of them are forgotten here.
    fn follow_windows(&mut self, op: &str, expect: &Fields<'_>) -> Result<(), String> {
        for change in expect.list("changed_backoff")? {
            let group_id = text(change, "group_id")?;
            self.windows.remove(group_id);
            self.windows.extend(window(&change["entry"])?.map(|it| (group_id.to_owned(), it)));
        }
        if op == "unload_shard" {
            self.forgotten.extend(self.windows.keys().cloned());
        }
        for change in expect.list("changed_groups")? {
            let group_id = text(change, "group_id")?;
            if change["type"] != "streams" && self.windows.contains_key(group_id) {
                self.forgotten.insert(group_id.to_owned());
            }
        }
        self.has_forgotten |= !self.forgotten.is_empty();
        // Once Kafka forgets, too, both are alike again.
        let manager = &self.broker.manager;
        self.forgotten.retain(|id| self.windows.get(id) != manager.push_window(id));
        Ok(())
    }

    fn pair_calls(&mut self, expected: &[Event], actual: &[Event]) {
        for expected in expected {
            let pair = actual.iter().find(|it| without_number(it) == without_number(expected));
            if let (Some(theirs), Some(ours)) = (number(expected), pair.and_then(number)) {
                self.calls.insert(theirs, ours);
            }
        }
    }

    /// When nothing is outstanding any more, nothing is lost and nothing is leaked.
    fn check_promises(&mut self) -> Result<(), String> {
        let broker = &mut self.broker;
        broker.log.errors.clear();
        if !broker.is_loaded() {
            broker.load();
        }
        loop {
            broker.commit();
            let Some(&call) = broker.plugin.pending().first() else { break };
            broker.end_call(call, Behaviour::Success);
        }
        same("operations under way", &0, &broker.manager.operation_count())?;
        for (group_id, group) in &broker.log.latest.0 {
            if let StoredEpoch::Held(epoch) = group.belief.stored {
                let held = broker.plugin.held(group_id);
                same(&format!("lost: {group_id}"), &Some(epoch.get()), &held)?;
            }
        }
        for group_id in broker.plugin.groups() {
            let group = broker.log.latest.streams(group_id);
            let is_known = group.is_some_and(|it| it.belief.stored.wants_delete());
            same(&format!("leaked: {group_id}"), &false, &!is_known)?;
        }
        Ok(())
    }
}

/// The events that are compared, and the responses.
#[allow(clippy::type_complexity, reason = "two lists")]
fn trace(trace: &[Value]) -> Result<(Vec<Event>, BTreeMap<u32, Response>), String> {
    let (mut events, mut responses) = (Vec::new(), BTreeMap::new());
    for value in trace {
        let event = Fields::of(value)?;
        let call = || event.integer("call");
        let group_id = || event.text("group_id").map(str::to_owned);
        match event.text("event")? {
            "append" => {
                let mut records = BTreeMap::new();
                for record in event.list("records")? {
                    if record["type"] == "STREAMS_GROUP_METADATA" {
                        let value = &record["value"];
                        let number = |key: &str| crate::fields::integer(&value[key]);
                        let written = if value.is_null() {
                            None
                        } else {
                            let stored = number("stored_description_topology_epoch")?;
                            let failed = number("failed_description_topology_epoch")?;
                            Some((number("epoch")?, stored, failed))
                        };
                        records.insert(text(record, "group_id")?.to_owned(), written);
                    }
                }
                let error = error(event.text("error")?)?;
                if !records.is_empty() {
                    events.push(Event::Append { error, records });
                }
            }
            "plugin_set" => {
                let (epoch, behaviour) =
                    (event.integer("topology_epoch")?, behaviour(event.text("behaviour")?)?);
                let (call, group_id) = (call()?, group_id()?);
                events.push(Event::Set { call, group_id, epoch, behaviour });
            }
            "plugin_delete" => {
                let (call, group_id) = (call()?, group_id()?);
                let behaviour = behaviour(event.text("behaviour")?)?;
                events.push(Event::Delete { call, group_id, behaviour });
            }
            "response" => {
                responses.insert(event.integer("request")?, response(&event)?);
            }
            "cycle_skipped" => {
                responses.insert(event.integer("request")?, Response::CleanupSkipped);
            }
            "read" | "write" => {}
            other => return Err(format!("unknown event {other}")),
        }
    }
    Ok((events, responses))
}

fn response(event: &Fields<'_>) -> Result<Response, String> {
    if let Some(results) = event.find("results") {
        let results = results.as_array().into_iter().flatten();
        let results =
            results.map(|it| Ok((text(it, "group_id")?.to_owned(), error(text(it, "error")?)?)));
        return Ok(Response::DeleteGroups { results: results.collect::<Result<_, String>>()? });
    }
    let code = error(event.text("error")?)?;
    if let Some(message) = event.find("message") {
        let message = optional_text(message)?.map(str::to_owned);
        return Ok(Response::Push { error: code, message });
    }
    if event.find("topology_description_required").is_some() {
        let gate = Gate {
            current: current(event.value("current_topology_epoch")?)?,
            belief: belief(event)?,
        };
        let is_asked = event.boolean("topology_description_required")?;
        let gate = code.is_none().then_some(gate);
        return Ok(Response::Heartbeat { error: code, gate, is_asked });
    }
    Ok(Response::Other { error: code })
}

fn number(event: &Event) -> Option<CallNumber> {
    match event {
        Event::Append { .. } => None,
        Event::Set { call, .. } | Event::Delete { call, .. } => Some(*call),
    }
}

fn without_number(event: &Event) -> Event {
    let mut event = event.clone();
    if let Event::Set { call, .. } | Event::Delete { call, .. } = &mut event {
        *call = 0;
    }
    event
}

/// Calls without their numbers, and deletes of one batch by group.
fn without_numbers(events: &[Event]) -> Vec<Event> {
    let mut events: Vec<_> = events.iter().map(without_number).collect();
    let is_delete = |event: &Event| matches!(event, Event::Delete { .. });
    for batch in events.chunk_by_mut(|one, other| is_delete(one) && is_delete(other)) {
        batch.sort_by_key(|event| match event {
            Event::Delete { group_id, .. } => group_id.clone(),
            _ => String::new(),
        });
    }
    events
}

fn behaviour(name: &str) -> Result<Behaviour, String> {
    Ok(match name {
        "pending" => Behaviour::Pending,
        "success" => Behaviour::Success,
        "permanent_failure" => Behaviour::PermanentFailure,
        "transient_failure" => Behaviour::TransientFailure,
        "synchronous_throw" | "null_future" => Behaviour::NotCalled,
        other => return Err(format!("unknown behaviour {other}")),
    })
}

fn text<'a>(object: &'a Value, key: &str) -> Result<&'a str, String> {
    object[key].as_str().ok_or_else(|| format!("{key} is not text: {object}"))
}

fn given_group(group: &Value) -> Result<Group, String> {
    let fields = Fields::of(group)?;
    let mut given = Group::new(text(group, "type")?);
    let members = fields.list("members")?.iter().filter_map(Value::as_str);
    given.members = members.map(str::to_owned).collect();
    given.epoch = fields.integer("group_epoch")?;
    given.current = current(fields.value("topology_epoch")?)?;
    if given.is_streams() {
        given.belief = belief(&fields)?;
    }
    given.has_offsets = fields.integer::<u32>("committed_offsets")?
        + fields.integer::<u32>("pending_transactional_offsets")?
        > 0;
    Ok(given)
}

fn latest_state(group: Option<&Group>) -> Value {
    let Some(group) = group else {
        return json!({"type": null});
    };
    let mut state = json!({"type": group.kind, "is_empty": group.members.is_empty()});
    if group.is_streams() {
        let (stored, failed) = group.belief.to_record();
        state["group_epoch"] = group.epoch.into();
        state["topology_epoch"] = group.current.map_or(-1, TopologyEpoch::get).into();
        state["stored_description_topology_epoch"] = stored.into();
        state["failed_description_topology_epoch"] = failed.into();
    }
    state
}

fn committed_state(group: Option<&Group>) -> Value {
    let streams = group.and_then(Group::streams);
    json!({
        "stored_description_topology_epoch": streams.map(|it| it.belief.stored.to_record()),
        "is_empty": streams.map(|it| it.life == Life::Empty),
    })
}
