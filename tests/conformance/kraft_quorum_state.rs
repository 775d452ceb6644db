//! The persisted election state and its file: Kafka's `ElectionState` and `FileQuorumStateStore`.

use crate::fields::{Fields, integer, same};
use crate::producer_state::bytes_of;
use crate::quorum::{key, optional_key};
use crate::runner::{Outcome, Subject};
use crate::value::optional_integer;
use kafka_coordination::kraft::{ElectionState, KRaftVersion, QuorumStateError};
use serde_json::Value;
use std::collections::BTreeMap;

/// Vectors of the quorum-state file.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "kraft_quorum_state", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    match scenario.text("kind")? {
        "write" => write(scenario),
        "read" => read(scenario),
        "predicates" => predicates(scenario),
        "factory" => factory(scenario),
        "sequence" => sequence(scenario),
        kind => Err(format!("unknown kind {kind}")),
    }
}

/// The state that `value` describes.
pub(crate) fn election_state(value: &Value) -> Result<ElectionState, String> {
    let fields = Fields::of(value)?;
    let epoch = fields.integer("epoch")?;
    let leader_id = optional_integer(fields.value("leader_id")?)?;
    let voted_key = optional_key(fields.value("voted_key")?)?;
    let voters = fields.list("voters")?.iter().map(integer).collect::<Result<Vec<i32>, _>>()?;
    fields.all_read()?;
    let state = match (leader_id, voted_key) {
        (Some(leader_id), voted_key) => {
            ElectionState::with_elected_leader(epoch, leader_id, voted_key, voters)
        }
        (None, Some(voted_key)) => ElectionState::with_voted_candidate(epoch, voted_key, voters),
        (None, None) => Ok(ElectionState::with_unknown_leader(epoch, voters)),
    };
    state.map_err(|error| error.to_string())
}

fn version(fields: &Fields<'_>, name: &str) -> Result<KRaftVersion, String> {
    KRaftVersion::from_level(fields.integer(name)?).map_err(|error| error.to_string())
}

/// A file's text as JSON, its voters sorted: they are a set.
pub(crate) fn file_as_json(text: &str) -> Result<Value, String> {
    let mut file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(voters) = file.get_mut("currentVoters").and_then(Value::as_array_mut) {
        voters.sort_by_key(|voter| voter["voterId"].as_i64());
    }
    Ok(file)
}

fn write(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let state = election_state(scenario.value("election_state")?)?;
    same("error", &&Value::Null, &scenario.value("error")?)?;
    let file = state.to_file(version(scenario, "kraft_version")?);
    same("file", &file_as_json(scenario.text("file")?)?, &file_as_json(&file)?)?;
    let read_back = ElectionState::from_file(file.as_bytes());
    let expected = election_state(scenario.value("read_back")?)?;
    same("read_back", &Ok(expected), &read_back)?;
    Ok(Outcome::AsKafka)
}

fn read(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let file = match scenario.find("file") {
        Some(text) if !text.is_null() => text.as_str().ok_or("file is not text")?.into(),
        _ => bytes_of(scenario.text("file_bytes")?)?,
    };
    scenario.find("file_bytes");
    let quirk = scenario.boolean("quirk")?;
    let (result, error) = (scenario.value("result")?, scenario.value("error")?);
    match (ElectionState::from_file(&file), error.as_str()) {
        (Ok(state), None) => same("result", &election_state(result)?, &state)?,
        (Err(error), Some(name)) => {
            let unsupported = matches!(error, QuorumStateError::UnsupportedVersion { .. });
            let expected = name == "ILLEGAL_STATE";
            // A number beyond 16 bits is another one to Kafka's JSON reader.
            same("is an unsupported version", &expected, &(unsupported && !quirk))?;
        }
        // What Kafka's JSON reader lets pass need not pass here.
        (Err(_), None) | (Ok(_), Some(_)) if quirk => return Ok(Outcome::Deviated),
        (actual, _) => return Err(format!("expected {result} or {error}, got {actual:?}")),
    }
    Ok(Outcome::AsKafka)
}

fn predicates(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let state = election_state(scenario.value("election_state")?)?;
    let answer = |fields: &Fields<'_>, actual: Result<bool, _>| match actual {
        Ok(actual) => same("result", &fields.boolean("result")?, &actual)
            .and_then(|()| same("error", &&Value::Null, &fields.value("error")?)),
        Err(_) => same("error", &"ILLEGAL_ARGUMENT", &fields.text("error")?),
    };
    for entry in scenario.list("is_leader")? {
        let entry = Fields::of(entry)?;
        answer(&entry, state.is_leader(entry.integer("node_id")?))?;
    }
    for entry in scenario.list("is_voted_candidate")? {
        let entry = Fields::of(entry)?;
        answer(&entry, state.is_voted_candidate(key(entry.value("key")?)?))?;
    }
    same("has_leader", &scenario.boolean("has_leader")?, &state.leader_id().is_some())?;
    same("has_voted", &scenario.boolean("has_voted")?, &state.voted_key().is_some())?;
    let sentinel = scenario.integer::<i32>("leader_id_or_sentinel")?;
    same("leader_id_or_sentinel", &sentinel, &state.leader_id().unwrap_or(-1))?;
    let called = scenario.object("leader_id_call")?;
    let expected = optional_integer::<i32>(called.value("result")?)?;
    same("leader_id", &expected, &state.leader_id())?;
    let called = scenario.object("voted_key_call")?;
    same("voted_key", &optional_key(called.value("result")?)?, &state.voted_key())?;
    Ok(Outcome::AsKafka)
}

fn factory(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let epoch = scenario.integer("epoch")?;
    let leader_id = optional_integer(scenario.value("leader_id")?)?;
    let voted_key = optional_key(scenario.value("voted_key")?)?;
    let voters = scenario.list("voters")?.iter().map(integer).collect::<Result<Vec<i32>, _>>()?;
    let made = match scenario.text("factory")? {
        "with_voted_candidate" => {
            ElectionState::with_voted_candidate(epoch, voted_key.ok_or("no vote")?, voters)
        }
        "with_elected_leader" => {
            let leader_id = leader_id.ok_or("no leader")?;
            ElectionState::with_elected_leader(epoch, leader_id, voted_key, voters)
        }
        "with_unknown_leader" => Ok(ElectionState::with_unknown_leader(epoch, voters)),
        factory => return Err(format!("unknown factory {factory}")),
    };
    let (result, error) = (scenario.value("result")?, scenario.value("error")?);
    match made {
        Ok(state) => {
            same("error", &&Value::Null, &error)?;
            let fields = Fields::of(result)?;
            let voters = fields.list("voters")?.iter().map(integer).collect::<Result<Vec<_>, _>>();
            same("epoch", &fields.integer("epoch")?, &state.epoch())?;
            let leader_id = optional_integer(fields.value("leader_id")?)?;
            same("leader_id", &leader_id, &state.leader_id())?;
            same("voted_key", &optional_key(fields.value("voted_key")?)?, &state.voted_key())?;
            same("voters", &voters?.as_slice(), &state.voters())?;
        }
        Err(_) => same("error", &Some("ILLEGAL_ARGUMENT"), &error.as_str())?,
    }
    Ok(Outcome::AsKafka)
}

/// The store itself is the host's; what it holds is the crate's. The replay is a host that keeps files in a map.
fn sequence(scenario: &Fields<'_>) -> Result<Outcome, String> {
    const FILE: &str = "quorum-state";
    const TEMPORARY: &str = "quorum-state.tmp";
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for step in scenario.list("ops")? {
        let step = Fields::of(step)?;
        let (result, error) = (step.value("result")?, step.value("error")?);
        match step.text("op")? {
            "read" => match files.get(FILE).map(|text| ElectionState::from_file(text.as_bytes())) {
                None => same("result", &&Value::Null, &result)?,
                Some(Ok(state)) => same("result", &election_state(result)?, &state)?,
                Some(Err(_)) => same("is an error", &false, &error.is_null())?,
            },
            "write" => {
                let state = election_state(step.value("election_state")?)?;
                files.remove(TEMPORARY);
                files.insert(FILE, state.to_file(version(&step, "kraft_version")?));
            }
            "clear" => files.clear(),
            "put_file" => {
                files.insert(step.text("file_name")?, step.text("text")?.to_owned());
            }
            op => return Err(format!("unknown op {op}")),
        }
        let expected: Option<Vec<_>> = step.list("files")?.iter().map(Value::as_str).collect();
        same("files", &expected.ok_or("not names")?, &files.keys().copied().collect())?;
        match (step.value("file")?.as_str(), files.get(FILE)) {
            (Some(expected), Some(actual)) if expected != actual => {
                same("file", &file_as_json(expected)?, &file_as_json(actual)?)?;
            }
            (expected, actual) => same("file", &expected, &actual.map(String::as_str))?,
        }
        step.all_read()?;
    }
    Ok(Outcome::AsKafka)
}
