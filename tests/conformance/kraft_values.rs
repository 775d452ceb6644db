//! Values that the vectors of the `kraft` folders share.

use crate::fields::{Fields, same};
use kafka_coordination::kraft::{
    DirectoryId, Endpoint, Endpoints, ListenerName, ReplicaKey, SupportedVersions, VoterNode,
    VoterSet,
};
use serde_json::Value;

/// Bytes, written as hexadecimal digits.
pub(crate) fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    let wrong = || format!("not bytes: {value}");
    let digits = value.as_str().ok_or_else(wrong)?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(wrong)
    });
    pairs.collect()
}

/// A directory id, or nothing for `null`.
pub(crate) fn optional_directory(value: &Value) -> Result<Option<DirectoryId>, String> {
    let wrong = || format!("not a directory id: {value}");
    if value.is_null() {
        return Ok(None);
    }
    let bits = value.as_str().and_then(|digits| u128::from_str_radix(digits, 16).ok());
    Ok(DirectoryId::from_u128(bits.ok_or_else(wrong)?))
}

fn key_of(fields: &Fields<'_>) -> Result<ReplicaKey, String> {
    let directory_id = optional_directory(fields.value("directory_id")?)?;
    Ok(ReplicaKey { id: fields.integer("id")?, directory_id })
}

/// A replica key.
pub(crate) fn key(value: &Value) -> Result<ReplicaKey, String> {
    let fields = Fields::of(value)?;
    let key = key_of(&fields)?;
    fields.all_read()?;
    Ok(key)
}

/// A replica key, or nothing for `null`.
pub(crate) fn optional_key(value: &Value) -> Result<Option<ReplicaKey>, String> {
    if value.is_null() { Ok(None) } else { key(value).map(Some) }
}

/// A list of keys.
pub(crate) fn keys(values: &[Value]) -> Result<Vec<ReplicaKey>, String> {
    values.iter().map(key).collect()
}

/// A set of endpoints.
pub(crate) fn endpoints(values: &[Value]) -> Result<Endpoints, String> {
    let endpoints = values.iter().map(|value| {
        let fields = Fields::of(value)?;
        let name = ListenerName::new(fields.text("name")?);
        let endpoint = Endpoint::new(name, fields.text("host")?, fields.integer("port")?);
        fields.all_read()?;
        Ok(endpoint)
    });
    Ok(Endpoints::new(endpoints.collect::<Result<Vec<_>, String>>()?))
}

/// A voter set.
pub(crate) fn voter_set(values: &[Value]) -> Result<VoterSet, String> {
    let nodes = values.iter().map(|value| {
        let fields = Fields::of(value)?;
        let versions = supported_versions(&fields)?;
        let node = VoterNode {
            key: key_of(&fields)?,
            endpoints: endpoints(fields.list("endpoints")?)?,
            supported_versions: versions,
        };
        fields.all_read()?;
        Ok(node)
    });
    let nodes = nodes.collect::<Result<Vec<_>, String>>()?;
    let set = VoterSet::new(nodes.iter().cloned());
    same("number of voters", &nodes.len(), &set.len())?;
    Ok(set)
}

/// The levels of `kraft.version` that a replica supports.
pub(crate) fn supported_versions(fields: &Fields<'_>) -> Result<SupportedVersions, String> {
    let (min, max) =
        (fields.integer("min_supported_version")?, fields.integer("max_supported_version")?);
    SupportedVersions::new(min, max).map_err(|error| error.to_string())
}
