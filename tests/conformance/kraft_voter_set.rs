//! `kraft_voter_set`: voter sets, replica keys and endpoints.

use crate::fields::{Fields, same};
use crate::quorum::{
    Answer, each_operation, endpoint, endpoints, endpoints_value, key, key_value, node,
    some_voters, uuid, uuid_text, voters, voters_value,
};
use crate::runner::{Outcome, Subject};
use kafka_coordination::kraft::{
    DirectoryId, DynamicVoters, Endpoint, Endpoints, InvalidVoter, KRaftVersion, ListenerName,
    ParseDirectoryIdError, RecordEndpoint, RecordVoter, ReplicaKey, VoterSet, VotersRecord,
    encode_voters,
};
use serde_json::{Value, json};

pub(crate) const SUBJECT: Subject =
    Subject { folder: "kraft_voter_set", documentation: &[], replay };

const ILLEGAL_ARGUMENT: &str = "ILLEGAL_ARGUMENT";
const CONFIG_EXCEPTION: &str = "CONFIG_EXCEPTION";

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let mut current = voters(scenario.list("voters")?)?;
    let deviated = each_operation(scenario, |op, step| {
        if let Some(answer) = change(op, step, &current)? {
            return Ok(answer.map(|changed| {
                let Some(voters) = changed else { return Value::Null };
                current = voters;
                voters_value(&current)
            }));
        }
        if let Some(answer) = ask(op, step, &current)? {
            return Ok(answer);
        }
        plain(op, step)
    })?;
    same("final voters", &voters(scenario.list("final_voters")?)?, &current)?;
    Ok(if deviated { Outcome::Deviated } else { Outcome::AsKafka })
}

/// What an operation that changes the set makes of it: a set, a refusal or an error.
type Changed = Option<Result<Option<VoterSet>, &'static str>>;

fn change(op: &str, step: &Fields<'_>, current: &VoterSet) -> Result<Changed, String> {
    let voter = || node(step.value("voter")?)?.ok_or_else(|| String::from("no range of versions"));
    Ok(Some(match op {
        "construct" => some_voters(step.list("voters")?)?.map(Some).ok_or(ILLEGAL_ARGUMENT),
        "add_voter" => Ok(current.add_voter(voter()?).ok()),
        "remove_voter" => Ok(current.remove_voter(&key(step.value("key")?)?).ok()),
        "update_voter" => Ok(current.update_voter(voter()?).ok()),
        "update_voter_ignoring_directory_id" => {
            Ok(current.update_voter_ignoring_directory_id(voter()?).ok())
        }
        "from_voters_record" => {
            let bytes = record_bytes(&step.object("record")?)?;
            let record = VotersRecord::decode(&mut bytes.as_slice());
            let record = record.map_err(|error| error.to_string())?;
            record.to_voter_set().map(Some).map_err(|error| match error {
                InvalidVoter::Listener(_) => CONFIG_EXCEPTION,
                _ => ILLEGAL_ARGUMENT,
            })
        }
        "from_inet_socket_addresses" => {
            let listener = ListenerName::new(step.text("listener")?);
            let address = |value| {
                let fields = Fields::of(value)?;
                let (id, host, port) =
                    (fields.integer("id")?, fields.text("host")?, fields.integer("port")?);
                fields.all_read()?;
                Ok::<_, String>((id, host, port))
            };
            let addresses = step.list("voters")?.iter().map(address);
            let addresses: Vec<(i32, &str, u16)> = addresses.collect::<Result<_, _>>()?;
            Ok(Some(VoterSet::from_addresses(&listener, addresses)))
        }
        _ => return Ok(None),
    }))
}

fn ask(op: &str, step: &Fields<'_>, current: &VoterSet) -> Result<Option<Answer>, String> {
    let listener = || step.text("listener").map(ListenerName::new);
    Ok(Some(Ok(match op {
        "is_voter" => json!(current.is_voter(&key(step.value("key")?)?)),
        "is_only_voter" => json!(current.is_only_voter(&key(step.value("key")?)?)),
        "voter_ids" => current.ids().collect(),
        "voter_keys" => current.keys().map(|key| key_value(&key)).collect(),
        "size" => json!(current.len()),
        "is_empty" => json!(current.is_empty()),
        "equals" => json!(voters(step.list("other")?)? == *current),
        "listeners" => endpoints_value(&current.endpoints(step.integer("id")?)),
        "voter_node" => {
            let id = step.integer("id")?;
            current.endpoint(id, &listener()?).map_or(Value::Null, |it| node_value(id, it))
        }
        "voter_nodes" => {
            let ids: Result<std::collections::BTreeSet<i32>, _> =
                step.list("ids")?.iter().map(crate::fields::integer).collect();
            let listener = listener()?;
            let nodes = ids?.into_iter().map(|id| {
                let endpoint = current.endpoint(id, &listener)?;
                Some(node_value(id, endpoint))
            });
            let nodes: Option<Vec<_>> = nodes.collect();
            return Ok(Some(nodes.map(Value::Array).ok_or(ILLEGAL_ARGUMENT)));
        }
        "voter_node_needs_update" => {
            let voter = node(step.value("voter")?)?.ok_or("no range of versions")?;
            json!(current.voter_needs_update(&voter))
        }
        "supports_version" => {
            let level = KRaftVersion::from_level(step.integer("version")?);
            let supports = level.map(|level| json!(current.supports_version(level)));
            return Ok(Some(supports.map_err(|_| ILLEGAL_ARGUMENT)));
        }
        "has_overlapping_majority" => {
            json!(current.has_overlapping_majority(&voters(step.list("other")?)?))
        }
        "to_voters_record" => {
            // Written with the number that Kafka writes, then with the one that is asked for.
            let mut bytes = Vec::new();
            current.encode(&mut bytes).map_err(|error| error.to_string())?;
            same("version", &[0, 0].as_slice(), &&bytes[..2])?;
            bytes[..2].copy_from_slice(&step.integer::<i16>("version")?.to_be_bytes());
            let record = VotersRecord::decode(&mut bytes.as_slice());
            record_value(&record.map_err(|error| error.to_string())?)
        }
        _ => return Ok(None),
    })))
}

fn plain(op: &str, step: &Fields<'_>) -> Result<Answer, String> {
    Ok(Ok(match op {
        "replica_key_of" => {
            let bits = uuid(step.value("directory_id")?)?;
            key_value(&ReplicaKey::from_wire(step.integer("id")?, bits))
        }
        "replica_key_compare" => {
            let (a, b) = (key(step.value("a")?)?, key(step.value("b")?)?);
            json!(a.cmp(&b) as i8)
        }
        "replica_key_equals" => json!(key(step.value("a")?)? == key(step.value("b")?)?),
        "directory_id_to_text" => {
            let bits = uuid(step.value("directory_id")?)?;
            // All zero is no directory id here; it has the text of any id.
            let zero = || kafka_coordination::TopicId::from_u128(bits).to_string();
            json!(DirectoryId::from_u128(bits).map_or_else(zero, |id| id.to_string()))
        }
        "directory_id_from_text" => match step.text("text")?.parse::<DirectoryId>() {
            Ok(id) => uuid_text(id.as_u128()),
            Err(ParseDirectoryIdError::Zero) => uuid_text(0),
            Err(_) => return Ok(Err(ILLEGAL_ARGUMENT)),
        },
        "listener_name_normalised" => match ListenerName::normalised(step.text("name")?) {
            Ok(name) => json!(name.as_str()),
            Err(_) => return Ok(Err(CONFIG_EXCEPTION)),
        },
        "endpoints_from_request" => {
            step.text("source")?;
            let list = step.list("endpoints")?.iter().map(endpoint);
            let list: Vec<_> = list.collect::<Result<_, _>>()?;
            match Endpoints::from_request(list) {
                Ok(endpoints) => endpoints_value(&endpoints),
                Err(_) => return Ok(Err(CONFIG_EXCEPTION)),
            }
        }
        "endpoints_from_response" => {
            step.text("source")?;
            let listener = ListenerName::new(step.text("listener")?);
            let node = |value| {
                let fields = Fields::of(value)?;
                let (id, host, port) =
                    (fields.integer("node_id")?, fields.text("host")?, fields.integer("port")?);
                fields.all_read()?;
                Ok::<_, String>((id, host, port))
            };
            let nodes = step.list("node_endpoints")?.iter().map(node);
            let nodes: Vec<(i32, &str, u16)> = nodes.collect::<Result<_, _>>()?;
            let leader_id = step.integer("leader_id")?;
            endpoints_value(&Endpoints::from_response(&listener, leader_id, nodes))
        }
        "endpoints_to_request" => {
            step.text("target")?;
            endpoints_value(&endpoints(step.list("endpoints")?)?)
        }
        "endpoints_address" => {
            let endpoints = endpoints(step.list("endpoints")?)?;
            let listener = ListenerName::new(step.text("listener")?);
            let address = |it: &Endpoint| json!({"host": &*it.host, "port": it.port});
            endpoints.get(&listener).map_or(Value::Null, address)
        }
        "endpoints_equals" => {
            json!(endpoints(step.list("a")?)? == endpoints(step.list("b")?)?)
        }
        "endpoints_size" => {
            let endpoints = endpoints(step.list("endpoints")?)?;
            json!({"size": endpoints.len(), "is_empty": endpoints.is_empty()})
        }
        "dynamic_voters_parse" => {
            let listener = ListenerName::new(step.text("listener")?);
            let Ok(parsed) = step.text("text")?.parse::<DynamicVoters>() else {
                return Ok(Err(ILLEGAL_ARGUMENT));
            };
            let voters = voters_value(&parsed.to_voter_set(&listener));
            json!({"text": parsed.to_string(), "voters": voters})
        }
        _ => return Err(String::from("unknown operation")),
    }))
}

fn node_value(id: i32, endpoint: &Endpoint) -> Value {
    json!({"id": id, "host": &*endpoint.host, "port": endpoint.port})
}

/// The bytes of a `VotersRecord` that stands as fields.
pub(crate) fn record_bytes(record: &Fields<'_>) -> Result<Vec<u8>, String> {
    let voter = |value| {
        let fields = Fields::of(value)?;
        let endpoint = |value| {
            let (name, host, port) = endpoint(value)?;
            Ok::<_, String>(RecordEndpoint { name, host, port })
        };
        let endpoints = fields.list("endpoints")?.iter().map(endpoint);
        let bits = uuid(fields.value("voter_directory_id")?)?;
        let voter = RecordVoter {
            key: ReplicaKey::from_wire(fields.integer("voter_id")?, bits),
            endpoints: endpoints.collect::<Result<Vec<_>, _>>()?.into_iter(),
            min_supported_version: fields.integer("min_supported_version")?,
            max_supported_version: fields.integer("max_supported_version")?,
        };
        fields.all_read()?;
        Ok::<_, String>(voter)
    };
    let voters = record.list("voters")?.iter().map(voter);
    let voters: Vec<_> = voters.collect::<Result<_, _>>()?;
    let version = record.integer("version")?;
    record.all_read()?;
    let mut bytes = Vec::new();
    encode_voters(version, voters.into_iter(), &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The fields of a `VotersRecord`.
pub(crate) fn record_value(record: &VotersRecord<'_>) -> Value {
    let voter = |voter: RecordVoter<_>| {
        let endpoints: Vec<_> = Iterator::map(
            voter.endpoints,
            |it: RecordEndpoint<'_>| json!({"name": it.name, "host": it.host, "port": it.port}),
        )
        .collect();
        json!({
            "voter_id": voter.key.id,
            "voter_directory_id": uuid_text(voter.key.directory_bits()),
            "endpoints": endpoints,
            "min_supported_version": voter.min_supported_version,
            "max_supported_version": voter.max_supported_version,
        })
    };
    let voters: Vec<_> = record.voters().map(voter).collect();
    json!({"version": record.version(), "voters": voters})
}
