//! Requests and responses, between the vectors and the crate.

use super::Script;
use super::host::Host;
use crate::fields::{Fields, integer};
use crate::quorum::{endpoints, endpoints_value, uuid, uuid_text};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, Answer, BatchContent, BeginQuorumEpochRequest, ChangeError,
    EndQuorumEpochRequest, FetchRecordsRequest, FetchedRecords, KnownHighWatermark, ListenerName,
    LogBatch, Node, OffsetAndEpoch, PartitionAnswer, RemoveVoter, ReplicaKey, Reply, Request,
    RequestHeader, RequestId, Response, SupportedVersions, UpdateVoter, VoteRequest,
};
use serde_json::{Map, Value, json};

/// A message with what may be left out left out, and texts reduced to what is compared of them.
pub(super) fn plain(value: &Value) -> Value {
    const SETS: [&str; 2] = ["listeners", "leader_endpoints"];
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, member) in members {
                let is_default = match name.as_str() {
                    "diverging_epoch" | "snapshot_id" => {
                        member["epoch"] == -1 && member["end_offset"] == -1
                    }
                    "node_endpoints" => member.as_array().is_some_and(Vec::is_empty),
                    _ => false,
                };
                if is_default {
                    continue;
                }
                let mut member = match (name.as_str(), member.as_str()) {
                    ("error_message", Some(text)) if !text.is_empty() => json!("text"),
                    _ => plain(member),
                };
                if let (true, Value::Array(set)) = (SETS.contains(&name.as_str()), &mut member) {
                    set.sort_by_key(Value::to_string);
                }
                kept.insert(name.clone(), member);
            }
            Value::Object(kept)
        }
        Value::Array(members) => members.iter().map(plain).collect(),
        value => value.clone(),
    }
}

fn key(fields: &Fields<'_>, id: &str, directory: &str) -> Result<Option<ReplicaKey>, String> {
    let Some(id) = fields.find(id) else { return Ok(None) };
    let bits = fields.find(directory).map_or(Ok(0), uuid)?;
    Ok(Some(ReplicaKey::from_wire(integer(id)?, bits)))
}

/// The only partition of a request or response, if it has one and it is the right one.
fn partition<'a>(data: &Fields<'a>, list: &str) -> Result<Option<Fields<'a>>, String> {
    let [topic] = data.list(list)? else { return Ok(None) };
    let topic = Fields::of(topic)?;
    let is_named = topic.find("topic_name").is_some() || topic.find("topic_id").is_some();
    let [partition] = topic.list("partitions")? else { return Ok(None) };
    let partition = Fields::of(partition)?;
    let is_numbered =
        partition.find("partition_index").is_some() || partition.find("partition").is_some();
    topic.all_read()?;
    Ok(Some(partition).filter(|_| !is_named && !is_numbered))
}

/// The second part of a step: a request comes.
pub(super) fn request(
    step: &Fields<'_>,
    host: &mut Host,
    random: &mut Script,
) -> Result<(), String> {
    let (api, version): (_, i16) = (step.text("api")?, step.integer("api_version")?);
    host.received.push((api.to_owned(), version));
    let id = RequestId(step.integer("request")?);
    let data = step.object("data")?;
    let listener = ListenerName::new(step.text("listener")?);
    let own = host.replica.config().cluster_id.clone();
    let cluster_id = match data.find("cluster_id") {
        None => Some(&*own),
        Some(Value::Null) => None,
        Some(text) => Some(text.as_str().ok_or("not a cluster id")?),
    };
    let now = host.now();
    let list = |name: &str| data.find(name).and_then(Value::as_array).map_or(&[][..], |it| it);
    if voter_change(api, &data, cluster_id, &listener, (host, id), random)? {
        return Ok(());
    }
    let found = partition(&data, "topics")?;
    let header =
        RequestHeader { cluster_id, is_metadata_partition: found.is_some(), version, listener };
    let partition = found.unwrap_or_else(Fields::none);
    let number = |name: &str| partition.find(name).map_or(Ok(0), integer::<i32>);
    let offset = |name: &str| partition.find(name).map_or(Ok(0), integer::<i64>);
    let voter = key(&data, "voter_id", "")?.map(|voter| {
        let bits = partition.find("voter_directory_id").map_or(Ok(0), uuid)?;
        Ok::<_, String>(ReplicaKey::from_wire(voter.id, bits))
    });
    let voter = voter.transpose()?;
    match api {
        "VOTE" => {
            let candidate = key(&partition, "replica_id", "replica_directory_id")?;
            let request = VoteRequest {
                voter,
                candidate: candidate.unwrap_or(ReplicaKey::without_directory(-1)),
                epoch: number("replica_epoch")?,
                log_end: OffsetAndEpoch::new(offset("last_offset")?, number("last_offset_epoch")?),
                is_pre_vote: partition.find("pre_vote") == Some(&Value::Bool(true)),
            };
            host.replica.handle_vote(id, &header, &request, random, now);
        }
        "BEGIN_QUORUM_EPOCH" => {
            let request = BeginQuorumEpochRequest {
                voter,
                leader_id: number("leader_id")?,
                epoch: number("leader_epoch")?,
                leader_endpoints: endpoints(list("leader_endpoints"))?,
            };
            host.replica.handle_begin_quorum_epoch(id, &header, &request, random, now);
        }
        "END_QUORUM_EPOCH" => {
            let mut candidates = Vec::new();
            let values = |name: &str| partition.find(name).and_then(Value::as_array);
            for candidate in values("preferred_candidates").into_iter().flatten() {
                let candidate = Fields::of(candidate)?;
                candidates.extend(key(&candidate, "candidate_id", "candidate_directory_id")?);
            }
            for candidate in values("preferred_successors").into_iter().flatten() {
                candidates.push(ReplicaKey::without_directory(integer(candidate)?));
            }
            let request = EndQuorumEpochRequest {
                leader_id: number("leader_id")?,
                epoch: number("leader_epoch")?,
                preferred_candidates: candidates,
                leader_endpoints: endpoints(list("leader_endpoints"))?,
            };
            host.replica.handle_end_quorum_epoch(id, &header, &request, random, now);
        }
        "FETCH" => {
            let state = data.find("replica_state").map(Fields::of).transpose()?;
            let replica = state.map_or(Ok(-1), |state| state.integer("replica_id"))?;
            let directory = partition.find("replica_directory_id").map_or(Ok(0), uuid)?;
            let fetch_offset = offset("fetch_offset")?;
            partition.find("log_start_offset");
            let request = FetchRecordsRequest {
                replica: ReplicaKey::from_wire(replica, directory),
                leader_epoch: number("current_leader_epoch")?,
                log_end: OffsetAndEpoch::new(fetch_offset, number("last_fetched_epoch")?),
                max_wait_ms: data.integer("max_wait_ms")?,
                max_bytes: 1 << 20,
                high_watermark: match partition.find("high_watermark").map(integer).transpose()? {
                    None | Some(i64::MAX) => KnownHighWatermark::Unsupported,
                    Some(known) if known < 0 => KnownHighWatermark::Unknown,
                    Some(known) => KnownHighWatermark::At(known),
                },
            };
            let base = host.batch_base(fetch_offset);
            host.replica.handle_fetch(id, &header, &request, base, random, now);
        }
        api => return Err(format!("unknown request {api}")),
    }
    if header.is_metadata_partition {
        partition.all_read()?;
        data.all_read()?;
    }
    Ok(())
}

/// Hands in a request to change voters, if it is one.
fn voter_change(
    api: &str,
    data: &Fields<'_>,
    cluster_id: Option<&str>,
    listener: &ListenerName,
    (host, id): (&mut Host, RequestId),
    random: &mut Script,
) -> Result<bool, String> {
    let now = host.now();
    match api {
        "ADD_RAFT_VOTER" => {
            data.integer::<i32>("timeout_ms")?;
            let request = AddVoter {
                cluster_id,
                voter: key(data, "voter_id", "voter_directory_id")?.ok_or("no voter")?,
                endpoints: endpoints(data.list("listeners")?)?,
                acknowledge: match data.find("ack_when_committed") {
                    Some(Value::Bool(false)) => Acknowledge::Appended,
                    _ => Acknowledge::Committed,
                },
            };
            host.replica.handle_add_voter(id, &request, random, now);
        }
        "REMOVE_RAFT_VOTER" => {
            let voter = key(data, "voter_id", "voter_directory_id")?.ok_or("no voter")?;
            let request = RemoveVoter { cluster_id, voter };
            host.replica.handle_remove_voter(id, &request, random, now);
        }
        "UPDATE_RAFT_VOTER" => {
            let feature = data.object("k_raft_version_feature")?;
            let request = UpdateVoter {
                cluster_id,
                leader_epoch: data.integer("current_leader_epoch")?,
                voter: key(data, "voter_id", "voter_directory_id")?.ok_or("no voter")?,
                endpoints: endpoints(data.list("listeners")?)?,
                min_version: feature.integer("min_supported_version")?,
                max_version: feature.integer("max_supported_version")?,
                listener: listener.clone(),
            };
            host.replica.handle_update_voter(id, &request, random, now);
        }
        _ => return Ok(false),
    }
    data.all_read()?;
    Ok(true)
}

fn error(fields: &Fields<'_>) -> Result<ErrorCode, String> {
    let code = fields.integer("error_code")?;
    ErrorCode::from_code(code).ok_or_else(|| format!("unknown error {code}"))
}

fn leader(fields: &Fields<'_>) -> Result<(Option<i32>, i32), String> {
    let leader_id: i32 = fields.integer("leader_id")?;
    Ok((Some(leader_id).filter(|id| *id >= 0), fields.integer("leader_epoch")?))
}

fn nodes(data: &Fields<'_>) -> Result<Vec<Node>, String> {
    let nodes = data.find("node_endpoints").and_then(Value::as_array).into_iter().flatten();
    let nodes = nodes.map(|node| {
        let node = Fields::of(node)?;
        let (id, host) = (node.integer("node_id")?, node.text("host")?);
        Ok(Node { id, host: host.into(), port: node.integer("port")? })
    });
    nodes.collect()
}

fn answer<T>(
    data: &Fields<'_>,
    body: impl FnOnce(&Fields<'_>) -> Result<T, String>,
) -> Result<Answer<T>, String> {
    let error = error(data)?;
    let topics = data.find("topics").is_some();
    let found = if topics { partition(data, "topics")? } else { None };
    let partition = match found {
        Some(fields) => {
            let (leader_id, epoch) = leader(&fields)?;
            let code = self::error(&fields)?;
            let body = body(&fields)?;
            fields.all_read()?;
            Some(PartitionAnswer { error: code, leader_id, epoch, body })
        }
        None => None,
    };
    Ok(Answer { error, partition, nodes: nodes(data)? })
}

/// The second part of a step: a response comes.
pub(super) fn response(
    step: &Fields<'_>,
    host: &mut Host,
    random: &mut Script,
) -> Result<(), String> {
    let correlation = host.correlation(step.integer("to")?)?;
    let data = step.object("data")?;
    let response = match step.text("api")? {
        "VOTE" => Response::Vote(answer(&data, |fields| fields.boolean("vote_granted"))?),
        "BEGIN_QUORUM_EPOCH" => Response::BeginQuorumEpoch(answer(&data, |_| Ok(()))?),
        "END_QUORUM_EPOCH" => Response::EndQuorumEpoch(answer(&data, |_| Ok(()))?),
        "FETCH" => Response::Fetch(fetched(&data)?),
        "API_VERSIONS" => {
            data.find("api_keys");
            let features = data.find("supported_features").and_then(Value::as_array);
            let mut supported = None;
            for feature in features.into_iter().flatten() {
                let feature = Fields::of(feature)?;
                let (min, max) = (feature.integer("min_version")?, feature.integer("max_version")?);
                if feature.text("name")? == "kraft.version" {
                    supported = SupportedVersions::new(min, max).ok();
                }
            }
            Response::ApiVersions { error: error(&data)?, supported_versions: supported }
        }
        api => return Err(format!("unknown response {api}")),
    };
    data.all_read()?;
    host.replica.handle_response(correlation, response, random, host.now());
    Ok(())
}

fn fetched(data: &Fields<'_>) -> Result<Answer<FetchedRecords<Vec<LogBatch>>>, String> {
    let error = error(data)?;
    let has_responses = data.find("responses").is_some();
    let found = if has_responses { partition(data, "responses")? } else { None };
    let Some(fields) = found else {
        return Ok(Answer { error, partition: None, nodes: nodes(data)? });
    };
    let (leader_id, epoch) = leader(&fields.object("current_leader")?)?;
    let end = |name: &str| -> Result<Option<OffsetAndEpoch>, String> {
        let Some(value) = fields.find(name) else { return Ok(None) };
        let value = Fields::of(value)?;
        let end = OffsetAndEpoch::new(value.integer("end_offset")?, value.integer("epoch")?);
        Ok(Some(end).filter(|end| end.epoch >= 0 || end.offset >= 0))
    };
    let high_watermark: i64 = fields.integer("high_watermark")?;
    let batches = fields.list("records")?.iter().map(|batch| {
        let batch = Fields::of(batch)?;
        assert!(!batch.boolean("control")?, "only data comes in responses");
        Ok(LogBatch {
            base_offset: batch.integer("base_offset")?,
            last_offset: batch.integer("last_offset")?,
            epoch: batch.integer("epoch")?,
            content: BatchContent::Encoded { bytes: bytes::Bytes::new(), control: None },
        })
    });
    let body = FetchedRecords {
        high_watermark: Some(high_watermark).filter(|offset| *offset >= 0),
        log_start_offset: fields.integer("log_start_offset")?,
        diverging: end("diverging_epoch")?,
        snapshot: end("snapshot_id")?,
        records: batches.collect::<Result<_, String>>()?,
    };
    let code = self::error(&fields)?;
    fields.all_read()?;
    let partition = Some(PartitionAnswer { error: code, leader_id, epoch, body });
    Ok(Answer { error, partition, nodes: nodes(data)? })
}

fn directory(key: ReplicaKey) -> Value {
    uuid_text(key.directory_bits())
}

/// A request that the replica sends: its API and its fields.
pub(super) fn sent(request: &Request) -> (&'static str, Value) {
    let topics = |partition: Value| json!([{"partitions": [partition]}]);
    match request {
        Request::Vote(vote) => {
            let voter = vote.voter.expect("votes are asked of somebody");
            let partition = json!({
                "replica_epoch": vote.epoch,
                "replica_id": vote.candidate.id,
                "replica_directory_id": directory(vote.candidate),
                "voter_directory_id": directory(voter),
                "last_offset_epoch": vote.log_end.epoch,
                "last_offset": vote.log_end.offset,
                "pre_vote": vote.is_pre_vote,
            });
            ("VOTE", json!({"voter_id": voter.id, "topics": topics(partition)}))
        }
        Request::BeginQuorumEpoch(begin) => {
            let voter = begin.voter.expect("it is told to somebody");
            let partition = json!({
                "voter_directory_id": directory(voter),
                "leader_id": begin.leader_id,
                "leader_epoch": begin.epoch,
            });
            let endpoints = endpoints_value(&begin.leader_endpoints);
            let topics = topics(partition);
            let data =
                json!({"voter_id": voter.id, "topics": topics, "leader_endpoints": endpoints});
            ("BEGIN_QUORUM_EPOCH", data)
        }
        Request::EndQuorumEpoch(end) => {
            let candidates = end.preferred_candidates.iter().map(|candidate| {
                let directory = directory(*candidate);
                json!({"candidate_id": candidate.id, "candidate_directory_id": directory})
            });
            let partition = json!({
                "leader_id": end.leader_id,
                "leader_epoch": end.epoch,
                "preferred_candidates": candidates.collect::<Value>(),
            });
            let endpoints = endpoints_value(&end.leader_endpoints);
            let data = json!({"topics": topics(partition), "leader_endpoints": endpoints});
            ("END_QUORUM_EPOCH", data)
        }
        Request::Fetch(fetch) => {
            let partition = json!({
                "current_leader_epoch": fetch.leader_epoch,
                "fetch_offset": fetch.log_end.offset,
                "last_fetched_epoch": fetch.log_end.epoch,
                "log_start_offset": -1,
                "replica_directory_id": directory(fetch.replica),
                "high_watermark": match fetch.high_watermark {
                    KnownHighWatermark::At(offset) => offset,
                    KnownHighWatermark::Unknown => -1,
                    KnownHighWatermark::Unsupported => i64::MAX,
                },
            });
            let data = json!({
                "replica_state": {"replica_id": fetch.replica.id},
                "max_wait_ms": fetch.max_wait_ms,
                "topics": topics(partition),
            });
            ("FETCH", data)
        }
        Request::UpdateVoter(update) => {
            let versions = update.supported_versions;
            let data = json!({
                "current_leader_epoch": update.leader_epoch,
                "voter_id": update.voter.id,
                "voter_directory_id": directory(update.voter),
                "listeners": endpoints_value(&update.endpoints),
                "k_raft_version_feature": {
                    "min_supported_version": versions.min(),
                    "max_supported_version": versions.max(),
                },
            });
            ("UPDATE_RAFT_VOTER", data)
        }
        Request::ApiVersions => ("API_VERSIONS", json!({})),
        request => panic!("{request:?} is not part of these vectors"),
    }
}

fn answered<T>(
    answer: &Answer<T>,
    list: &str,
    body: impl FnOnce(&PartitionAnswer<T>) -> Value,
) -> Value {
    let nodes = answer
        .nodes
        .iter()
        .map(|node| json!({"node_id": node.id, "host": node.host.as_str(), "port": node.port}));
    let nodes: Value = nodes.collect();
    let mut data = json!({"error_code": answer.error.code(), "node_endpoints": nodes});
    let topics = match &answer.partition {
        Some(partition) => json!([{"partitions": [body(partition)]}]),
        None => json!([]),
    };
    data[list] = topics;
    data
}

/// An answer of the replica.
pub(super) fn reply(host: &Host, request: RequestId, reply: &Reply) -> Value {
    let quorum = |partition: &PartitionAnswer<()>| {
        json!({
            "error_code": partition.error.code(),
            "leader_id": partition.leader_id.unwrap_or(-1),
            "leader_epoch": partition.epoch,
        })
    };
    match reply {
        Reply::Vote(answer) => answered(answer, "topics", |partition| {
            json!({
                "error_code": partition.error.code(),
                "leader_id": partition.leader_id.unwrap_or(-1),
                "leader_epoch": partition.epoch,
                "vote_granted": partition.body,
            })
        }),
        Reply::BeginQuorumEpoch(answer) | Reply::EndQuorumEpoch(answer) => {
            answered(answer, "topics", quorum)
        }
        Reply::Fetch(answer) => answered(answer, "responses", |partition| {
            let body = &partition.body;
            let end = |end: Option<OffsetAndEpoch>| {
                let end = end.unwrap_or(OffsetAndEpoch::new(-1, -1));
                json!({"epoch": end.epoch, "end_offset": end.offset})
            };
            json!({
                "error_code": partition.error.code(),
                "high_watermark": body.high_watermark.unwrap_or(-1),
                "log_start_offset": body.log_start_offset,
                "current_leader": {
                    "leader_id": partition.leader_id.unwrap_or(-1),
                    "leader_epoch": partition.epoch,
                },
                "diverging_epoch": end(body.diverging),
                "snapshot_id": end(body.snapshot),
                "records": body.records.map_or_else(|| json!([]), |read| host.read(read.from)),
            })
        }),
        Reply::VoterChange { result, leader } => {
            let code = result.as_ref().map_or_else(ChangeError::code, |()| ErrorCode::None).code();
            let place = usize::try_from(request.0).expect("requests are counted");
            let (api, _) = host.received.get(place).expect("it came");
            if api == "UPDATE_RAFT_VOTER" {
                let mut data = json!({"error_code": code});
                if let Some(leader) = leader {
                    let endpoint = leader.endpoint.as_ref();
                    data["current_leader"] = json!({
                        "leader_id": leader.id,
                        "leader_epoch": leader.epoch,
                        "host": endpoint.map_or("", |endpoint| endpoint.host.as_str()),
                        "port": endpoint.map_or(0, |endpoint| endpoint.port),
                    });
                }
                return data;
            }
            let message = match result {
                Ok(()) => Value::Null,
                Err(ChangeError::NotLeader) => json!(""),
                Err(error) => json!(error.to_string()),
            };
            json!({"error_code": code, "error_message": message})
        }
        reply => panic!("{reply:?} is not part of these vectors"),
    }
}
