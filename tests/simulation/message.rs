//! Requests on their way into a replica, and its answers on their way back.

use crate::bug::counted;
use crate::dice::Dice;
use crate::disk::control_records;
use crate::fault::Fault;
use crate::node::{Age, LISTENER, Node};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, Answer, BatchContent, ChangeError, Endpoints, FetchedRecords,
    FetchedSnapshot, KnownHighWatermark, ListenerName, LogBatch, OffsetAndEpoch, PartitionAnswer,
    RemoveVoter, ReplicaKey, Reply, Request, RequestHeader, RequestId, Response, UpdateVoter,
};

/// The bytes of every snapshot: what is in one, the cluster knows by its id.
pub(crate) const SNAPSHOT_SIZE: usize = 2_500;

/// Hands a request to a replica. Gives the answer of those that it does not see.
pub(crate) fn hand_in(
    node: &mut Node,
    id: RequestId,
    request: &Request,
    age: Age,
    now: i64,
) -> Option<Response> {
    let clock = node.clock(now);
    let listener = ListenerName::new(LISTENER);
    let header = RequestHeader {
        cluster_id: Some("cluster"),
        is_metadata_partition: true,
        version: match (age, request) {
            (Age::New, _) => 18,
            (Age::WithoutPreVotes, _) => 17,
            (Age::WithoutDirectories, Request::Fetch(_)) => 16,
            (Age::WithoutDirectories, _) => 0,
        },
        listener: listener.clone(),
    };
    let random = &mut node.random;
    let replica = node.replica.as_mut().expect("it is up");
    match request {
        Request::Vote(vote) => replica.handle_vote(id, &header, vote, random, clock),
        Request::BeginQuorumEpoch(begin) => {
            replica.handle_begin_quorum_epoch(id, &header, begin, random, clock);
        }
        Request::EndQuorumEpoch(end) => {
            replica.handle_end_quorum_epoch(id, &header, end, random, clock);
        }
        Request::Fetch(fetch) => {
            let offset = fetch.log_end.offset;
            let base = node.disk.batch_at(offset).map_or(offset, |batch| batch.base_offset);
            replica.handle_fetch(id, &header, fetch, base, random, clock);
        }
        Request::FetchSnapshot(fetch) => {
            let size = node.disk.snapshots.get(&fetch.snapshot).map(|_| SNAPSHOT_SIZE as u64);
            replica.handle_fetch_snapshot(id, &header, fetch, size, random, clock);
        }
        Request::UpdateVoter(update) => {
            let request = UpdateVoter {
                cluster_id: None,
                leader_epoch: update.leader_epoch,
                voter: update.voter,
                endpoints: update.endpoints.clone(),
                min_version: update.supported_versions.min(),
                max_version: update.supported_versions.max(),
                listener,
            };
            replica.handle_update_voter(id, &request, random, clock);
        }
        Request::AddVoter(add) => {
            let request = AddVoter {
                cluster_id: None,
                voter: add.voter,
                endpoints: add.endpoints.clone(),
                acknowledge: Acknowledge::Appended,
            };
            replica.handle_add_voter(id, &request, random, clock);
        }
        Request::RemoveVoter(voter) => {
            let request = RemoveVoter { cluster_id: None, voter: *voter };
            replica.handle_remove_voter(id, &request, random, clock);
        }
        Request::ApiVersions => {
            return Some(Response::ApiVersions {
                error: ErrorCode::None,
                supported_versions: Some(node.config.quorum.supported_versions),
            });
        }
        request => panic!("{request:?} is not known"),
    }
    None
}

/// A request in a version that both sides speak; none if it cannot be said in it.
pub(crate) fn said(request: Request, age: Age) -> Option<Request> {
    let nameless = |key: ReplicaKey| ReplicaKey::without_directory(key.id);
    Some(match (age, request) {
        (Age::New, request) => request,
        (_, Request::Vote(vote)) if vote.is_pre_vote => return None,
        (_, Request::Fetch(mut fetch)) => {
            fetch.high_watermark = KnownHighWatermark::Unsupported;
            if age == Age::WithoutDirectories {
                fetch.replica = nameless(fetch.replica);
            }
            Request::Fetch(fetch)
        }
        // As Kafka's replicas, though the version has the field.
        (Age::WithoutPreVotes, Request::EndQuorumEpoch(mut end)) => {
            end.leader_endpoints = Endpoints::empty();
            Request::EndQuorumEpoch(end)
        }
        (Age::WithoutPreVotes, request) => request,
        (Age::WithoutDirectories, Request::Vote(mut vote)) => {
            (vote.voter, vote.candidate) = (None, nameless(vote.candidate));
            Request::Vote(vote)
        }
        (Age::WithoutDirectories, Request::BeginQuorumEpoch(mut begin)) => {
            (begin.voter, begin.leader_endpoints) = (None, Endpoints::empty());
            Request::BeginQuorumEpoch(begin)
        }
        (Age::WithoutDirectories, Request::EndQuorumEpoch(mut end)) => {
            end.leader_endpoints = Endpoints::empty();
            end.preferred_candidates.iter_mut().for_each(|key| *key = nameless(*key));
            Request::EndQuorumEpoch(end)
        }
        (Age::WithoutDirectories, Request::FetchSnapshot(mut fetch)) => {
            fetch.replica = nameless(fetch.replica);
            Request::FetchSnapshot(fetch)
        }
        (Age::WithoutDirectories, _) => return None,
    })
}

/// An answer that refuses what was asked, for a reason of its own.
pub(crate) fn refuse(response: &mut Response, dice: &mut Dice) {
    const REASONS: [ErrorCode; 5] = [
        ErrorCode::InvalidRequest,
        ErrorCode::BrokerNotAvailable,
        ErrorCode::InvalidVoterKey,
        ErrorCode::UnknownServerError,
        ErrorCode::UnsupportedVersion,
    ];
    fn fails<T>(answer: &mut Answer<T>, reason: ErrorCode, is_whole: bool) {
        match answer.partition.as_mut().filter(|_| !is_whole) {
            Some(partition) => partition.error = reason,
            None => *answer = Answer::failed(reason),
        }
    }
    let (reason, is_whole) = (REASONS[dice.below(REASONS.len())], dice.happens(300));
    match response {
        Response::Vote(answer) => fails(answer, reason, is_whole),
        Response::BeginQuorumEpoch(answer) | Response::EndQuorumEpoch(answer) => {
            fails(answer, reason, is_whole);
        }
        Response::Fetch(answer) => fails(answer, reason, is_whole),
        Response::FetchSnapshot(answer) => fails(answer, reason, is_whole),
        Response::UpdateVoter { error, .. } => *error = reason,
        _ => {}
    }
}

/// A batch as it travels.
fn encoded(batch: &LogBatch) -> LogBatch {
    let bytes = match &batch.content {
        BatchContent::Records(values) => Bytes::from(values.concat()),
        BatchContent::Control(_) => Bytes::new(),
        BatchContent::Encoded { bytes, .. } => bytes.clone(),
    };
    let control = control_records(batch).map(<[_]>::to_vec);
    LogBatch { content: BatchContent::Encoded { bytes, control }, ..batch.clone() }
}

fn with_body<T, U>(answer: Answer<T>, body: impl FnOnce(T) -> U) -> Answer<U> {
    let partition = answer.partition.map(|partition| {
        let PartitionAnswer { error, leader_id, epoch, body: old } = partition;
        PartitionAnswer { error, leader_id, epoch, body: body(old) }
    });
    Answer { error: answer.error, partition, nodes: answer.nodes }
}

fn code(result: &Result<(), ChangeError>) -> ErrorCode {
    result.as_ref().map_or_else(ChangeError::code, |()| ErrorCode::None)
}

/// The response that a reply becomes; what it carries is read now.
pub(crate) fn response(
    node: &Node,
    request: &Request,
    reply: Reply,
    fault: Option<Fault>,
    dice: &mut Dice,
) -> Response {
    match reply {
        Reply::Vote(mut answer) => {
            if let Some(partition) = &mut answer.partition {
                let grants = fault == Some(Fault::AlwaysGrants) && partition.error.is_none();
                partition.body |= grants;
            }
            Response::Vote(answer)
        }
        Reply::BeginQuorumEpoch(answer) => Response::BeginQuorumEpoch(answer),
        Reply::EndQuorumEpoch(answer) => Response::EndQuorumEpoch(answer),
        Reply::Fetch(answer) => Response::Fetch(with_body(answer, |body| {
            // A response has room for some batches.
            let room = 1 + dice.below(4);
            let records = body.records.map_or_else(Vec::new, |read| {
                let log = node.disk.log.iter().filter(|batch| batch.last_offset >= read.from);
                log.take(room).map(encoded).collect()
            });
            let mut high_watermark = body.high_watermark;
            if fault == Some(Fault::CommitsByCount) {
                high_watermark = high_watermark.or_else(|| counted(node));
            }
            if fault == Some(Fault::HighWatermarkAhead) && high_watermark.is_some() {
                high_watermark = Some(node.disk.end_offset());
            }
            let FetchedRecords { log_start_offset, diverging, snapshot, .. } = body;
            FetchedRecords { high_watermark, log_start_offset, diverging, snapshot, records }
        })),
        Reply::FetchSnapshot(answer) => Response::FetchSnapshot(with_body(answer, |body| {
            let length = body.bytes.map_or(0, |read| read.length);
            let FetchedSnapshot { snapshot, size, position, .. } = body;
            FetchedSnapshot { snapshot, size, position, bytes: Bytes::from(vec![7; length]) }
        })),
        Reply::VoterChange { result, leader } => match request {
            Request::AddVoter(_) => Response::AddVoter(code(&result)),
            Request::RemoveVoter(_) => Response::RemoveVoter(code(&result)),
            _ => {
                let leader = leader.expect("an update is answered with the leader");
                Response::UpdateVoter {
                    error: code(&result),
                    leader_id: Some(leader.id).filter(|id| *id >= 0),
                    epoch: leader.epoch,
                    leader_endpoints: leader
                        .endpoint
                        .map_or_else(Endpoints::empty, |endpoint| Endpoints::new([endpoint])),
                }
            }
        },
        reply => panic!("{reply:?} is not known"),
    }
}

/// What a request is about, for the trace.
pub(crate) fn summary(request: &Request) -> String {
    match request {
        Request::Vote(vote) => {
            let kind = if vote.is_pre_vote { "pre-vote" } else { "vote" };
            let OffsetAndEpoch { offset, epoch } = vote.log_end;
            format!("{kind} in epoch {}, log ends at {offset} in {epoch}", vote.epoch)
        }
        Request::Fetch(fetch) => {
            let OffsetAndEpoch { offset, epoch } = fetch.log_end;
            let known = match fetch.high_watermark {
                KnownHighWatermark::At(known) => known,
                KnownHighWatermark::Unknown | KnownHighWatermark::Unsupported => -1,
            };
            format!("fetch in epoch {} from {offset} in {epoch}, knows {known}", fetch.leader_epoch)
        }
        Request::BeginQuorumEpoch(begin) => format!("begin epoch {}", begin.epoch),
        Request::EndQuorumEpoch(end) => format!("end epoch {}", end.epoch),
        request => format!("{request:?}"),
    }
}
