//! The APIs that the broker serves: which, in which versions, and who answers them.

mod add_partitions;
mod api_versions;
mod cluster;
mod codec;
mod coordinator;
mod describe_producers;
mod end_txn;
mod groups;
mod list_offsets;
mod metadata;
mod partitions;
mod produce;
mod producer_id;
mod topics;
mod write_markers;

use crate::broker::Broker;
use crate::fetch;
use crate::server::Peer;
use bytes::Bytes;
use kafka_coordination::wire::{Preamble, decode_request};
use kafka_protocol::messages::{ApiKey, RequestKind, ResponseKind};
use std::ops::RangeInclusive;

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// These bytes go back.
    Reply(Bytes),
    /// The client wants no answer.
    Silence,
    /// The answer is lost on purpose, and with it the connection.
    HangUp,
    /// The bytes make no sense, or leave no other way to say that they failed.
    Close,
}

/// An API as the broker serves it.
#[derive(Debug)]
struct Served {
    key: ApiKey,
    name: &'static str,
    versions: RangeInclusive<i16>,
}

/// Everything that is served, which is everything that is advertised.
const SERVED: [Served; 25] = [
    served(ApiKey::Produce, "Produce", 3..=13),
    served(ApiKey::Fetch, "Fetch", 4..=18),
    served(ApiKey::ListOffsets, "ListOffsets", 1..=10),
    served(ApiKey::Metadata, "Metadata", 0..=13),
    served(ApiKey::OffsetCommit, "OffsetCommit", 2..=9),
    served(ApiKey::OffsetFetch, "OffsetFetch", 1..=9),
    served(ApiKey::FindCoordinator, "FindCoordinator", 0..=6),
    served(ApiKey::JoinGroup, "JoinGroup", 0..=9),
    served(ApiKey::Heartbeat, "Heartbeat", 0..=4),
    served(ApiKey::LeaveGroup, "LeaveGroup", 0..=5),
    served(ApiKey::SyncGroup, "SyncGroup", 0..=5),
    served(ApiKey::DescribeGroups, "DescribeGroups", 0..=6),
    served(ApiKey::ListGroups, "ListGroups", 0..=5),
    served(ApiKey::ApiVersions, "ApiVersions", 0..=4),
    served(ApiKey::CreateTopics, "CreateTopics", 2..=7),
    served(ApiKey::DeleteTopics, "DeleteTopics", 1..=6),
    served(ApiKey::InitProducerId, "InitProducerId", 0..=5),
    served(ApiKey::AddPartitionsToTxn, "AddPartitionsToTxn", 0..=3),
    served(ApiKey::EndTxn, "EndTxn", 0..=4),
    served(ApiKey::WriteTxnMarkers, "WriteTxnMarkers", 1..=1),
    served(ApiKey::CreatePartitions, "CreatePartitions", 0..=3),
    served(ApiKey::DescribeCluster, "DescribeCluster", 0..=2),
    served(ApiKey::DescribeProducers, "DescribeProducers", 0..=0),
    served(ApiKey::ConsumerGroupHeartbeat, "ConsumerGroupHeartbeat", 0..=1),
    served(ApiKey::ConsumerGroupDescribe, "ConsumerGroupDescribe", 0..=1),
];

const fn served(key: ApiKey, name: &'static str, versions: RangeInclusive<i16>) -> Served {
    Served { key, name, versions }
}

/// Answers one request. Whatever its bytes are, decoding them takes no more memory than a few times their number.
pub(crate) async fn answer(broker: &Broker, peer: &mut Peer, frame: Bytes) -> Answer {
    let Ok(Preamble { api_key, api_version: version, correlation_id, .. }) = Preamble::read(&frame)
    else {
        return Answer::Close;
    };
    let Some(served) = SERVED.iter().find(|served| served.key as i16 == api_key) else {
        return Answer::Close;
    };
    if !served.versions.contains(&version) {
        return match served.key {
            ApiKey::ApiVersions => codec::encode(correlation_id, 0, &api_versions::unsupported()),
            _ => Answer::Close,
        };
    }
    let Ok((header, request)) = decode_request(frame) else {
        return Answer::Close;
    };
    // Nothing of the frame stays behind when a handler that waits has dropped the request.
    let client_id = header.client_id.as_deref().unwrap_or_default().to_owned();
    drop(header);
    let silent = matches!(&request, RequestKind::Produce(request) if request.acks == 0);
    let Some(response) = respond(broker, peer, &client_id, version, request).await else {
        return Answer::Close;
    };
    peer.client.called(served.name, version);
    match response {
        // The only way to tell a client that waits for no answer.
        ResponseKind::Produce(response) if silent && produce::has_error(&response) => Answer::Close,
        _ if silent => Answer::Silence,
        ResponseKind::Produce(_) if produce::loses_response(broker, peer) => Answer::HangUp,
        response => codec::encode(correlation_id, version, &response),
    }
}

async fn respond(
    broker: &Broker,
    peer: &mut Peer,
    client_id: &str,
    version: i16,
    request: RequestKind,
) -> Option<ResponseKind> {
    Some(match request {
        RequestKind::ApiVersions(request) => {
            api_versions::answer(broker, peer, version, &request).into()
        }
        RequestKind::Metadata(request) => metadata::answer(broker, peer, version, request).into(),
        RequestKind::DescribeCluster(request) => {
            cluster::answer(broker, peer, version, &request).into()
        }
        RequestKind::FindCoordinator(request) => coordinator::answer(peer, version, request).into(),
        RequestKind::InitProducerId(request) => {
            producer_id::answer(broker, version, &request).into()
        }
        RequestKind::AddPartitionsToTxn(request) => {
            add_partitions::answer(broker, version, &request).into()
        }
        RequestKind::EndTxn(request) => end_txn::answer(broker, version, &request).into(),
        RequestKind::WriteTxnMarkers(request) => write_markers::answer(broker, request).into(),
        RequestKind::DescribeProducers(request) => {
            describe_producers::answer(broker, request).into()
        }
        RequestKind::CreateTopics(request) => topics::create(broker, version, &request).into(),
        RequestKind::DeleteTopics(request) => topics::delete(broker, version, request).into(),
        RequestKind::CreatePartitions(request) => partitions::answer(broker, request).into(),
        RequestKind::ListOffsets(request) => list_offsets::answer(broker, version, request).into(),
        RequestKind::Produce(request) => produce::answer(broker, peer, version, request).into(),
        RequestKind::Fetch(request) => fetch::answer(broker, peer, version, request).await.into(),
        request => return groups::answer(broker, peer, client_id, version, request).await,
    })
}
