//! Values that the vectors of the `kraft` folders share.

use crate::fields::Fields;
use kafka_coordination::kraft::{
    Endpoint, Endpoints, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
};
use serde_json::{Value, json};

/// A uuid: 32 hexadecimal digits.
pub(crate) fn uuid(value: &Value) -> Result<u128, String> {
    let bits = value.as_str().and_then(|digits| u128::from_str_radix(digits, 16).ok());
    bits.ok_or_else(|| format!("not a uuid: {value}"))
}

/// A uuid as the vectors write it.
pub(crate) fn uuid_json(bits: u128) -> Value {
    json!(format!("{bits:032x}"))
}

/// A replica key: an object with `id` and `directory_id`.
pub(crate) fn key(value: &Value) -> Result<ReplicaKey, String> {
    let fields = Fields::of(value)?;
    let key = key_of(&fields)?;
    fields.all_read()?;
    Ok(key)
}

fn key_of(fields: &Fields<'_>) -> Result<ReplicaKey, String> {
    let directory_id = fields.value("directory_id")?;
    let bits = if directory_id.is_null() { 0 } else { uuid(directory_id)? };
    Ok(ReplicaKey::from_wire(fields.integer("id")?, bits))
}

/// Name, host and port of an endpoint.
pub(crate) fn endpoint(value: &Value) -> Result<(&str, &str, u16), String> {
    let fields = Fields::of(value)?;
    let endpoint = (fields.text("name")?, fields.text("host")?, fields.integer("port")?);
    fields.all_read()?;
    Ok(endpoint)
}

/// Endpoints, with their names as they are.
pub(crate) fn endpoints(value: &Value) -> Result<Endpoints, String> {
    let list = value.as_array().ok_or_else(|| format!("not a list: {value}"))?;
    let endpoints = list.iter().map(endpoint);
    endpoints.map(|it| it.map(|(name, host, port)| Endpoint::new(name, host, port))).collect()
}

/// A voter.
pub(crate) fn node(value: &Value) -> Result<VoterNode, String> {
    let fields = Fields::of(value)?;
    let (min, max) =
        (fields.integer("min_supported_version")?, fields.integer("max_supported_version")?);
    let node = VoterNode {
        key: key_of(&fields)?,
        endpoints: endpoints(fields.value("endpoints")?)?,
        supported_versions: SupportedVersions::new(min, max).map_err(|error| error.to_string())?,
    };
    fields.all_read()?;
    Ok(node)
}

/// A voter set.
pub(crate) fn voter_set(value: &Value) -> Result<VoterSet, String> {
    let list = value.as_array().ok_or_else(|| format!("not a list: {value}"))?;
    list.iter().map(node).collect()
}

/// A replica key as the vectors write it.
pub(crate) fn key_json(key: ReplicaKey) -> Value {
    json!({ "id": key.id, "directory_id": key.directory_id.map(|id| uuid_json(id.as_u128())) })
}

/// Endpoints as the vectors write them.
pub(crate) fn endpoints_json(endpoints: &Endpoints) -> Value {
    let endpoint = |endpoint: &Endpoint| {
        json!({
            "name": endpoint.listener.as_str(), "host": &*endpoint.host, "port": endpoint.port,
        })
    };
    endpoints.iter().map(endpoint).collect()
}

/// A voter as the vectors write it.
pub(crate) fn node_json(node: &VoterNode) -> Value {
    let mut json = key_json(node.key);
    json["endpoints"] = endpoints_json(&node.endpoints);
    json["min_supported_version"] = json!(node.supported_versions.min());
    json["max_supported_version"] = json!(node.supported_versions.max());
    json
}

/// A voter set as the vectors write it.
pub(crate) fn set_json(voters: &VoterSet) -> Value {
    voters.iter().map(node_json).collect()
}
