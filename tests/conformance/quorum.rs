//! Values that the folders on the quorum share: replica keys, endpoints, voter sets, and steps with a result or an error.

use crate::fields::{Fields, same};
use kafka_coordination::kraft::{
    DirectoryId, Endpoint, Endpoints, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
};
use serde_json::{Value, json};

/// What a step of Kafka's ended with: a result, or the name of an error.
pub(crate) type Answer = Result<Value, &'static str>;

/// Runs `replay` on each operation of a scenario and compares its answer; says whether one deviated from Kafka.
///
/// `refused` is the error of Kafka that an answer stands for which is none in Kafka.
pub(crate) fn each_operation(
    scenario: &Fields<'_>,
    mut replay: impl FnMut(&str, &Fields<'_>) -> Result<Answer, String>,
) -> Result<bool, String> {
    let mut deviated = false;
    for (number, step) in scenario.list("ops")?.iter().enumerate() {
        let mut run = || {
            let step = Fields::of(step)?;
            let answer = replay(step.text("op")?, &step)?;
            deviated |= compare(&step, &answer)?;
            step.all_read()
        };
        run().map_err(|error| format!("step {} ({}): {error}", number + 1, step["op"]))?;
    }
    Ok(deviated)
}

/// Compares a step's answer with what is expected, put right where Kafka is wrong.
fn compare(step: &Fields<'_>, answer: &Answer) -> Result<bool, String> {
    let (mut result, mut error) = (step.value("result")?, step.value("error")?);
    if step.find("deviation").is_some() {
        let Some(fixed) = step.find("expect_fixed") else {
            return Ok(true);
        };
        let fixed = Fields::of(fixed)?;
        result = fixed.find("result").unwrap_or(result);
        error = fixed.find("error").unwrap_or(error);
        fixed.all_read()?;
        same("answer", &expected(result, error), &as_text(answer))?;
        return Ok(true);
    }
    same("answer", &expected(result, error), &as_text(answer))?;
    Ok(false)
}

fn expected(result: &Value, error: &Value) -> String {
    error.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

fn as_text(answer: &Answer) -> String {
    answer.as_ref().map_or_else(|error| (*error).to_owned(), Value::to_string)
}

/// 32 hexadecimal digits.
pub(crate) fn uuid(value: &Value) -> Result<u128, String> {
    let bits = value.as_str().and_then(|digits| u128::from_str_radix(digits, 16).ok());
    bits.ok_or_else(|| format!("not a uuid: {value}"))
}

pub(crate) fn uuid_text(bits: u128) -> Value {
    json!(format!("{bits:032x}"))
}

/// A directory id: `null` for none.
fn directory_id(value: &Value) -> Result<u128, String> {
    if value.is_null() { Ok(0) } else { uuid(value) }
}

pub(crate) fn key(value: &Value) -> Result<ReplicaKey, String> {
    let fields = Fields::of(value)?;
    let key = key_of(&fields)?;
    fields.all_read()?;
    Ok(key)
}

fn key_of(fields: &Fields<'_>) -> Result<ReplicaKey, String> {
    let bits = directory_id(fields.value("directory_id")?)?;
    Ok(ReplicaKey::from_wire(fields.integer("id")?, bits))
}

pub(crate) fn key_value(key: &ReplicaKey) -> Value {
    let directory_id = key.directory_id.map(|id| uuid_text(id.as_u128()));
    json!({"id": key.id, "directory_id": directory_id})
}

/// Name, host and port.
pub(crate) fn endpoint(value: &Value) -> Result<(&str, &str, u16), String> {
    let fields = Fields::of(value)?;
    let endpoint = (fields.text("name")?, fields.text("host")?, fields.integer("port")?);
    fields.all_read()?;
    Ok(endpoint)
}

pub(crate) fn endpoints(list: &[Value]) -> Result<Endpoints, String> {
    let endpoints = list.iter().map(endpoint);
    endpoints.map(|it| it.map(|(name, host, port)| Endpoint::new(name, host, port))).collect()
}

pub(crate) fn endpoints_value(endpoints: &Endpoints) -> Value {
    let value = |endpoint: &Endpoint| {
        json!({
            "name": endpoint.listener.as_str(),
            "host": &*endpoint.host,
            "port": endpoint.port,
        })
    };
    endpoints.iter().map(value).collect()
}

/// A voter, or nothing if its range of versions is none.
pub(crate) fn node(value: &Value) -> Result<Option<VoterNode>, String> {
    let fields = Fields::of(value)?;
    let (key, endpoints) = (key_of(&fields)?, endpoints(fields.list("endpoints")?)?);
    let (min, max) =
        (fields.integer("min_supported_version")?, fields.integer("max_supported_version")?);
    fields.all_read()?;
    let versions = SupportedVersions::new(min, max).ok();
    Ok(versions.map(|supported_versions| VoterNode { key, endpoints, supported_versions }))
}

/// A voter set, or nothing if a range of versions is none.
pub(crate) fn some_voters(list: &[Value]) -> Result<Option<VoterSet>, String> {
    let voters: Option<Vec<_>> = list.iter().map(node).collect::<Result<_, _>>()?;
    Ok(voters.map(VoterSet::new))
}

pub(crate) fn voters(list: &[Value]) -> Result<VoterSet, String> {
    some_voters(list)?.ok_or_else(|| String::from("no range of versions"))
}

pub(crate) fn voters_value(voters: &VoterSet) -> Value {
    let value = |voter: &VoterNode| {
        let mut value = key_value(&voter.key);
        value["endpoints"] = endpoints_value(&voter.endpoints);
        value["min_supported_version"] = voter.supported_versions.min().into();
        value["max_supported_version"] = voter.supported_versions.max().into();
        value
    };
    voters.iter().map(value).collect()
}

/// A replica key, or nothing for `null`.
#[cfg(feature = "std")]
pub(crate) fn optional_key(value: &Value) -> Result<Option<ReplicaKey>, String> {
    if value.is_null() { Ok(None) } else { key(value).map(Some) }
}

/// A list of keys.
#[cfg(feature = "std")]
pub(crate) fn keys(values: &[Value]) -> Result<Vec<ReplicaKey>, String> {
    values.iter().map(key).collect()
}

/// A directory id, or nothing for `null`.
#[cfg(feature = "std")]
pub(crate) fn optional_directory(value: &Value) -> Result<Option<DirectoryId>, String> {
    if value.is_null() { Ok(None) } else { uuid(value).map(DirectoryId::from_u128) }
}

/// The levels of `kraft.version` that a replica supports.
#[cfg(feature = "std")]
pub(crate) fn supported_versions(fields: &Fields<'_>) -> Result<SupportedVersions, String> {
    let (min, max) =
        (fields.integer("min_supported_version")?, fields.integer("max_supported_version")?);
    SupportedVersions::new(min, max).map_err(|error| error.to_string())
}
