//! The folder `kraft_leader`: what a leader tracks.

use crate::fields::{Fields, integer, same};
use crate::quorum::{Answer, endpoints_value, key, key_value, node, voters, voters_value};
use crate::runner::{Outcome, Subject};
use crate::value::optional_integer;
use kafka_coordination::kraft::{
    ChangeConfig, ChangeEffect, ControlLog, ControlRecord, DescribeVersion, DirectoryId, Election,
    KRaftVersion, Leader, LeaderError, ListenerName, LogVoters, ReplicaDescription, ReplicaState,
    UpgradeError, UpgradeMode, VoterChanges, VoterSet,
};
use kafka_coordination::{Monotonic, Timestamp};
use serde_json::{Value, json};

pub(crate) const SUBJECT: Subject = Subject { folder: "kraft_leader", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let init = scenario.object("init")?;
    let log = control_log(&init)?;
    let created = create(&init)?;
    init.all_read()?;
    let create_error = scenario.value("create_error")?;
    let initial_state = scenario.value("initial_state")?;
    let ops = scenario.list("ops")?;
    let Ok(leader) = created else {
        same("creation", create_error, &json!("ILLEGAL_ARGUMENT"))?;
        return Ok(Outcome::AsKafka);
    };
    same("creation", create_error, &Value::Null)?;
    let mut replay =
        Replay { log, next_offset: leader.epoch_start_offset(), leader, outcome: Outcome::AsKafka };
    let state = replay.state();
    same("initial state", &comparable(initial_state), &comparable(&state))?;
    for (number, op) in ops.iter().enumerate() {
        let step = Fields::of(op)?;
        let mut run = || {
            replay.step(&step)?;
            step.all_read()
        };
        run().map_err(|error| format!("op {} ({}): {error}", number + 1, op["op"]))?;
    }
    Ok(replay.outcome)
}

fn create(init: &Fields<'_>) -> Result<Result<Leader, LeaderError>, String> {
    let granting = init.list("granting_voters")?.iter().map(integer);
    let election = Election {
        local: node(init.value("local")?)?.ok_or("no range of versions")?,
        epoch: init.integer("epoch")?,
        epoch_start_offset: init.integer("epoch_start_offset")?,
        voters: voters(init.list("voters")?)?,
        kraft_version: level(init, "kraft_version")?,
        granting_voters: granting.collect::<Result<_, _>>()?,
        fetch_timeout_ms: init.integer("fetch_timeout_ms")?,
    };
    Ok(Leader::new(election, now(init)?))
}

/// What the log says of the quorum when the leader is elected.
fn control_log(init: &Fields<'_>) -> Result<ControlLog, String> {
    let voters = voters(init.list("voters")?)?;
    let level = ControlRecord::KRaftVersion(level(init, "kraft_version")?);
    let offset: Option<i64> = optional_integer(init.value("offset_of_voters")?)?;
    let refused = |error| format!("{error:?}");
    let Some(offset) = offset else {
        let mut log = ControlLog::new(voters);
        log.next_read(None, 0, 0);
        log.on_control_batch(0, &[level]).map_err(refused)?;
        return Ok(log);
    };
    // As from a snapshot that ends behind the voters: at -1 the bootstrap checkpoint.
    let mut log = ControlLog::new(VoterSet::empty());
    log.load_snapshot(offset + 1, [level, ControlRecord::Voters(voters)]).map_err(refused)?;
    Ok(log)
}

fn now(fields: &Fields<'_>) -> Result<Monotonic, String> {
    Ok(Monotonic::from_millis(fields.integer("now")?))
}

fn level(fields: &Fields<'_>, name: &str) -> Result<KRaftVersion, String> {
    KRaftVersion::from_level(fields.integer(name)?).map_err(|error| error.to_string())
}

struct Replay {
    leader: Leader,
    /// The log at the election.
    log: ControlLog,
    /// Where the next record would be written.
    next_offset: i64,
    outcome: Outcome,
}

impl Replay {
    fn step(&mut self, step: &Fields<'_>) -> Result<(), String> {
        let op = step.text("op")?;
        let mut batches = Vec::new();
        let answer = self.run(op, step, &mut batches)?;
        let (result, error) = match answer {
            Ok(result) => (result, Value::Null),
            Err(error) => (Value::Null, json!(error)),
        };
        let high_watermark = self.leader.high_watermark().map(|offset| json!({ "offset": offset }));
        let actual = json!({
            "result": result, "error": error, "high_watermark": high_watermark, "batches": batches,
        });

        let fixed = step.find("expect_fixed");
        let expired = step.find("expired_observers");
        let deviation = step.find("deviation").and_then(Value::as_str);
        let mut alternatives = Vec::new();
        let recorded = |with: Option<&Value>| -> Result<Value, String> {
            let member = |name: &str| {
                let (recorded, fixed) = (step.find(name), with.and_then(|fixed| fixed.get(name)));
                fixed.or(recorded).cloned()
            };
            Ok(json!({
                "result": member("result"), "error": member("error"),
                "high_watermark": member("high_watermark"),
                "batches": member("batches").unwrap_or_else(|| json!([])),
            }))
        };
        match (deviation, fixed) {
            (None, _) => alternatives.push(recorded(None)?),
            // Observers go when they are described, as in Kafka, or when a new one comes.
            (Some("item 13"), fixed) if fixed.is_some() || expired.is_some() => {
                alternatives.push(recorded(None)?);
                alternatives.extend(fixed.map(|fixed| recorded(Some(fixed))).transpose()?);
            }
            (Some(_), Some(fixed)) => alternatives.push(recorded(Some(fixed))?),
            // All of the folder's errors are put right, and the vectors do not say to what.
            (Some(_), None) => {
                recorded(None)?;
            }
        }
        if deviation.is_some() {
            self.outcome = Outcome::Deviated;
        }
        let Some(first) = alternatives.first() else { return Ok(()) };
        let actual = comparable(&actual);
        let fits = |expected: &Value| without(expected, expired, &actual) == actual;
        if !alternatives.iter().map(comparable).any(|expected| fits(&expected)) {
            return same("answer", &comparable(first), &actual);
        }
        Ok(())
    }

    fn run(
        &mut self,
        op: &str,
        step: &Fields<'_>,
        batches: &mut Vec<Value>,
    ) -> Result<Answer, String> {
        let leader = &mut self.leader;
        Ok(match op {
            "append_start_of_epoch_control_records" => {
                let now = now(step)?;
                let granting = leader.granting_voters().to_vec();
                match self.log.epoch_start(leader.local(), granting) {
                    Ok(records) => {
                        batches.push(self.batch(&records, now));
                        Ok(Value::Null)
                    }
                    Err(_) => Err("ILLEGAL_STATE"),
                }
            }
            "update_local_state" => {
                let voters = voters(step.list("voters")?)?;
                step.value("metadata")?;
                let end_offset = step.integer("end_offset")?;
                let appended = leader.appended(end_offset, &voters);
                match appended.and_then(|moved| Ok(leader.flushed(end_offset)?.or(moved))) {
                    Ok(moved) => Ok(json!(moved.is_some())),
                    Err(_) => Err("ILLEGAL_STATE"),
                }
            }
            "update_replica_state" => {
                step.value("metadata")?;
                let fetched = leader.fetched(
                    key(step.value("key")?)?,
                    step.integer("fetch_offset")?,
                    now(step)?,
                );
                fetched.map(|moved| json!(moved.is_some())).map_err(|_| "ILLEGAL_STATE")
            }
            "update_check_quorum_for_following_voter" => {
                let heard = leader.heard_from(key(step.value("key")?)?, now(step)?);
                heard.map(|()| Value::Null).map_err(|_| "ILLEGAL_ARGUMENT")
            }
            "time_until_check_quorum_expires" => {
                Ok(json!(leader.check_quorum_remaining_ms(now(step)?)))
            }
            "time_until_begin_quorum_epoch_timer_expires" => {
                Ok(json!(leader.begin_quorum_remaining_ms(now(step)?)))
            }
            "reset_begin_quorum_epoch_timer" => {
                leader.restart_begin_quorum(now(step)?);
                Ok(Value::Null)
            }
            "need_to_send_begin_quorum_requests" => {
                let targets = leader.begin_quorum_targets(now(step)?);
                Ok(targets.map(|state| key_value(&state.key())).collect())
            }
            "add_acknowledgement_from" => {
                leader.acknowledged(step.integer("id")?);
                Ok(Value::Null)
            }
            "non_acknowledging_voters" => {
                let voters = leader.voter_states().filter(|state| !state.has_acknowledged());
                Ok(voters.map(|state| key_value(&state.key())).collect())
            }
            "non_leader_voters_by_descending_fetch_offset" => {
                Ok(leader.preferred_successors().iter().map(key_value).collect())
            }
            "is_replica_caught_up" => {
                Ok(json!(leader.is_caught_up(&key(step.value("key")?)?, now(step)?)))
            }
            "get_replica_state" => {
                Ok(leader.replica(&key(step.value("key")?)?).map(state_json).into())
            }
            "describe_quorum" => {
                let now = now(step)?;
                let timestamp = Timestamp::from_millis(now.as_millis());
                Ok(description(leader, now, timestamp))
            }
            "request_resign" => {
                leader.request_resignation();
                Ok(Value::Null)
            }
            "is_resign_requested" => Ok(json!(leader.is_resignation_requested())),
            // A leader grants no vote in its epoch, whatever is asked.
            "can_grant_vote" => {
                key(step.value("key")?)?;
                step.boolean("is_log_up_to_date")?;
                step.boolean("is_pre_vote")?;
                Ok(json!(false))
            }
            "append_voters_record" => {
                let voters = voters(step.list("voters")?)?;
                batches.push(self.batch(&[ControlRecord::Voters(voters)], now(step)?));
                Ok(json!(self.next_offset - 1))
            }
            "compare_and_set_volatile_voters" => {
                let voters = voters(step.list("voters")?)?;
                let current = leader.volatile_voters().cloned().unwrap_or_default();
                let expected = if step.boolean("stale")? { VoterSet::empty() } else { current };
                Ok(json!(leader.replace_volatile_voters(&expected, voters)))
            }
            "maybe_append_upgraded_kraft_version" => self.upgrade(step, batches)?,
            "state" => Ok(self.state()),
            _ => return Err(String::from("unknown op")),
        })
    }

    fn upgrade(&mut self, step: &Fields<'_>, batches: &mut Vec<Value>) -> Result<Answer, String> {
        let listener = ListenerName::new("CONTROLLER");
        let mut changes = VoterChanges::new(ChangeConfig::new("cluster", listener));
        let voters = voters(step.list("persisted_voters")?)?;
        let log = LogVoters {
            voters: &voters,
            offset: None,
            kraft_version: level(step, "persisted_version")?,
        };
        let mode = if step.boolean("validate_only")? {
            UpgradeMode::ValidateOnly
        } else {
            UpgradeMode::Apply
        };
        let now = now(step)?;
        let upgraded = changes.upgrade_version(
            step.integer("current_epoch")?,
            level(step, "new_version")?,
            mode,
            &mut self.leader,
            log,
        );
        while let Some(effect) = changes.poll_effect() {
            let ChangeEffect::Append { records, .. } = effect else {
                return Err(format!("unexpected {effect:?}"));
            };
            batches.push(self.batch(&records, now));
        }
        Ok(upgraded.map(Value::from).map_err(|error| match error {
            UpgradeError::StaleEpoch { .. } => "NOT_LEADER_OR_FOLLOWER",
            UpgradeError::FutureEpoch { .. } => "ILLEGAL_ARGUMENT",
            UpgradeError::OtherVoters | UpgradeError::NoDirectoryId { .. } => "ILLEGAL_STATE",
            _ => "INVALID_UPDATE_VERSION",
        }))
    }

    fn batch(&mut self, records: &[ControlRecord], now: Monotonic) -> Value {
        let base_offset = self.next_offset;
        self.next_offset += i64::try_from(records.len()).expect("few records");
        json!({
            "base_offset": base_offset, "epoch": self.leader.epoch(),
            "append_timestamp": now.as_millis(),
            "control_records": records.iter().map(record_value).collect::<Value>(),
        })
    }

    fn state(&self) -> Value {
        let leader = &self.leader;
        let ids: Vec<_> = leader.voter_states().map(|state| state.key().id).collect();
        json!({
            "epoch": leader.epoch(),
            "epoch_start_offset": leader.epoch_start_offset(),
            "leader_id": leader.local().key.id,
            "leader_endpoints": endpoints_value(&leader.local().endpoints),
            "granting_voters": leader.granting_voters(),
            "high_watermark": leader.high_watermark().map(|offset| json!({ "offset": offset })),
            "election": {
                "epoch": leader.epoch(), "leader_id": leader.local().key.id,
                "voted_key": null, "voters": ids,
            },
            "resign_requested": leader.is_resignation_requested(),
            "fetched_voters": leader.fetched_voters().collect::<Vec<_>>(),
            "voter_states": leader.voter_states().map(state_json).collect::<Value>(),
            "observer_states": leader.observer_states().map(state_json).collect::<Value>(),
            "volatile_voters": leader.volatile_voters().map(voters_value),
            "requested_kraft_version": leader.requested_version().map(KRaftVersion::level),
        })
    }
}

fn record_value(record: &ControlRecord) -> Value {
    let (kind, fields) = match record {
        ControlRecord::LeaderChange(change) => (
            "LEADER_CHANGE",
            json!({
                "version": 0, "leader_id": change.leader_id, "voters": change.voters,
                "granting_voters": change.granting_voters,
            }),
        ),
        ControlRecord::KRaftVersion(level) => {
            ("KRAFT_VERSION", json!({ "version": 0, "kraft_version": level.level() }))
        }
        ControlRecord::Voters(voters) => {
            ("KRAFT_VOTERS", json!({ "version": 0, "voters": voters_value(voters) }))
        }
        other => panic!("no leader writes {other:?}"),
    };
    json!({ "type": kind, "fields": fields })
}

fn state_json(state: &ReplicaState) -> Value {
    let millis = |time: Option<Monotonic>| time.map_or(-1, Monotonic::as_millis);
    json!({
        "key": key_value(&state.key()),
        "listeners": endpoints_value(state.endpoints()),
        "end_offset": state.end_offset().map(|offset| json!({ "offset": offset })),
        "last_fetch_timestamp": millis(state.last_fetch()),
        "last_fetch_leader_log_end_offset": state.leader_end_at_last_fetch().unwrap_or(-1),
        "last_caught_up_timestamp": millis(state.last_caught_up()),
        "has_acknowledged_leader": state.has_acknowledged(),
    })
}

fn description(leader: &mut Leader, now: Monotonic, timestamp: Timestamp) -> Value {
    let description = leader.describe_quorum(DescribeVersion::V2, now, timestamp);
    let replica = |replica: &ReplicaDescription| {
        json!({
            "replica_id": replica.replica_id,
            "replica_directory_id":
                format!("{:032x}", replica.directory_id.map_or(0, DirectoryId::as_u128)),
            "log_end_offset": replica.log_end_offset,
            "last_fetch_timestamp": replica.last_fetch_timestamp,
            "last_caught_up_timestamp": replica.last_caught_up_timestamp,
        })
    };
    json!({
        "leader_id": description.leader_id,
        "leader_epoch": description.leader_epoch,
        "high_watermark": description.high_watermark,
        "current_voters": description.voters.iter().map(replica).collect::<Value>(),
        "observers": description.observers.iter().map(replica).collect::<Value>(),
        "nodes": description.nodes.iter().map(|node| json!({
            "node_id": node.node_id, "listeners": endpoints_value(&node.endpoints),
        })).collect::<Value>(),
    })
}

/// The value without positions, which this crate does not keep, and with large numbers as numbers.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != "metadata");
            members.map(|(name, member)| (name.clone(), comparable(member))).collect()
        }
        Value::Array(elements) => elements.iter().map(comparable).collect(),
        Value::String(text) if text.len() <= 20 && !text.starts_with('0') => {
            text.parse::<i64>().map_or_else(|_| value.clone(), Value::from)
        }
        _ => value.clone(),
    }
}

/// The expected state without those expired observers that the actual one does not have either.
fn without(expected: &Value, expired: Option<&Value>, actual: &Value) -> Value {
    let mut expected = expected.clone();
    let has = |keys: &Value, key: &Value| keys.as_array().is_some_and(|keys| keys.contains(key));
    let known = |key: &Value| {
        let states = actual.pointer("/result/observer_states").and_then(Value::as_array);
        states.is_some_and(|states| states.iter().any(|state| &state["key"] == key))
    };
    let states = expected.pointer_mut("/result/observer_states").and_then(Value::as_array_mut);
    if let (Some(expired), Some(states)) = (expired, states) {
        states.retain(|state| !has(expired, &state["key"]) || known(&state["key"]));
    }
    expected
}
