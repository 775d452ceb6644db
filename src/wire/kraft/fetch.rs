//! `Fetch` of the metadata partition, versions 13 to 18.
//!
//! It names the topic by its id alone. Who fetches at a lower version is answered as one who names another topic, as
//! Kafka's controllers do.

use alloc::vec;
use alloc::vec::Vec;
use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
    SnapshotId,
};
use kafka_protocol::messages::{FetchRequest as Message, FetchResponse};
use uuid::Uuid;

use super::log_batches::log_batches;
use super::partition::{self, METADATA_TOPIC_ID, Origin, only};
use super::requests::text;
use crate::kraft::{
    Answer, FetchRecordsRequest, FetchedRecords, Host, KnownHighWatermark, LogBatch, Node,
    OffsetAndEpoch, ReadRecords, ReplicaKey, RequestHeader,
};
use crate::wire::WireError;

/// The first version of the response that says whether the request as a whole failed.
const TOP_LEVEL_ERROR: i16 = 7;

/// The first version in which the replica is named in its state (KIP-903).
const REPLICA_STATE: i16 = 15;

/// The first version of the response with endpoints.
const NODE_ENDPOINTS: i16 = 16;

/// The first version with the replica's directory id (KIP-853).
const DIRECTORY_ID: i16 = 17;

/// The first version with the high watermark that the replica knows (KIP-1166).
const HIGH_WATERMARK: i16 = 18;

/// What the field has if the sender does not say.
const UNSUPPORTED: i64 = i64::MAX;

/// What stands for an offset or an epoch that is not known.
const UNKNOWN: i64 = -1;

pub(super) fn asked<'m>(
    message: &'m Message,
    origin: &Origin<'_>,
) -> (RequestHeader<'m>, FetchRecordsRequest) {
    let named = only(&message.topics).and_then(|topic| {
        let partition = only(&topic.partitions)?;
        let is_metadata = topic.topic_id == METADATA_TOPIC_ID && partition.partition == 0;
        is_metadata.then_some(partition)
    });
    let header = origin.header(message.cluster_id.as_ref(), named.is_some());
    let nothing = FetchPartition::default();
    let it = named.unwrap_or(&nothing);
    let replica_id = if origin.version >= REPLICA_STATE {
        message.replica_state.replica_id
    } else {
        message.replica_id
    };
    let request = FetchRecordsRequest {
        replica: ReplicaKey::from_wire(replica_id.0, it.replica_directory_id.as_u128()),
        leader_epoch: it.current_leader_epoch,
        log_end: OffsetAndEpoch::new(it.fetch_offset, it.last_fetched_epoch),
        max_wait_ms: message.max_wait_ms,
        max_bytes: message.max_bytes,
        high_watermark: match it.high_watermark {
            UNSUPPORTED => KnownHighWatermark::Unsupported,
            offset @ 0.. => KnownHighWatermark::At(offset),
            _ => KnownHighWatermark::Unknown,
        },
    };
    (header, request)
}

pub(super) fn response(
    answer: &Answer<FetchedRecords<Option<ReadRecords>>>,
    records: Bytes,
    version: i16,
) -> FetchResponse {
    let mut response = FetchResponse::default();
    if version >= TOP_LEVEL_ERROR {
        response.error_code = answer.error.code();
    }
    if version >= NODE_ENDPOINTS {
        response.node_endpoints = answer.nodes.iter().map(endpoint).collect();
    }
    if let Some(it) = &answer.partition {
        let body = &it.body;
        let leader = LeaderIdAndEpoch::default()
            .with_leader_id(partition::leader_id(it.leader_id).into())
            .with_leader_epoch(it.epoch);
        let mut partition = PartitionData::default()
            .with_error_code(it.error.code())
            .with_high_watermark(body.high_watermark.unwrap_or(UNKNOWN))
            .with_log_start_offset(body.log_start_offset)
            .with_current_leader(leader)
            .with_records(Some(records));
        if let Some(OffsetAndEpoch { offset, epoch }) = body.diverging {
            partition.diverging_epoch =
                EpochEndOffset::default().with_epoch(epoch).with_end_offset(offset);
        }
        if let Some(OffsetAndEpoch { offset, epoch }) = body.snapshot {
            partition.snapshot_id = SnapshotId::default().with_end_offset(offset).with_epoch(epoch);
        }
        let topic = FetchableTopicResponse::default()
            .with_topic_id(METADATA_TOPIC_ID)
            .with_partitions(vec![partition]);
        response.responses = vec![topic];
    }
    response
}

pub(super) fn request(fetch: &FetchRecordsRequest, cluster_id: &str, version: i16) -> Message {
    let mut partition = FetchPartition::default()
        .with_current_leader_epoch(fetch.leader_epoch)
        .with_fetch_offset(fetch.log_end.offset)
        .with_last_fetched_epoch(fetch.log_end.epoch);
    if version >= DIRECTORY_ID {
        partition.replica_directory_id = Uuid::from_u128(fetch.replica.directory_bits());
    }
    if version >= HIGH_WATERMARK {
        partition.high_watermark = match fetch.high_watermark {
            KnownHighWatermark::Unsupported => UNSUPPORTED,
            KnownHighWatermark::Unknown => UNKNOWN,
            KnownHighWatermark::At(offset) => offset,
        };
    }
    let topic =
        FetchTopic::default().with_topic_id(METADATA_TOPIC_ID).with_partitions(vec![partition]);
    let mut message = Message::default()
        .with_cluster_id(Some(text(cluster_id)))
        .with_max_wait_ms(fetch.max_wait_ms)
        .with_max_bytes(fetch.max_bytes)
        .with_topics(vec![topic]);
    if version >= REPLICA_STATE {
        let replica_id = fetch.replica.id.into();
        message.replica_state = ReplicaState::default().with_replica_id(replica_id);
    } else {
        message.replica_id = fetch.replica.id.into();
    }
    message
}

pub(super) fn answer(
    message: &FetchResponse,
) -> Result<Answer<FetchedRecords<Vec<LogBatch>>>, WireError> {
    let named = only(&message.responses).and_then(|topic| {
        let partition = only(&topic.partitions)?;
        let is_metadata = topic.topic_id == METADATA_TOPIC_ID && partition.partition_index == 0;
        is_metadata.then_some(partition)
    });
    let partition = match named {
        Some(it) => {
            let (leader, body) = (&it.current_leader, fetched(it)?);
            let (leader_id, epoch) = (leader.leader_id.0, leader.leader_epoch);
            Some(partition::partition_answer(it.error_code, leader_id, epoch, body))
        }
        None => None,
    };
    let nodes = message.node_endpoints.iter().filter_map(node).collect();
    Ok(partition::answer(message.error_code, partition, nodes))
}

fn fetched(partition: &PartitionData) -> Result<FetchedRecords<Vec<LogBatch>>, WireError> {
    let (diverging, snapshot) = (&partition.diverging_epoch, &partition.snapshot_id);
    let diverging = OffsetAndEpoch::new(diverging.end_offset, diverging.epoch);
    // One of the two alone makes no sense, which is for the replica to see.
    let is_snapshot = snapshot.end_offset >= 0 || snapshot.epoch >= 0;
    let snapshot = OffsetAndEpoch::new(snapshot.end_offset, snapshot.epoch);
    Ok(FetchedRecords {
        high_watermark: Some(partition.high_watermark).filter(|offset| *offset >= 0),
        log_start_offset: partition.log_start_offset,
        diverging: Some(diverging).filter(|end| end.epoch >= 0),
        snapshot: is_snapshot.then_some(snapshot),
        records: partition.records.as_ref().map(log_batches).transpose()?.unwrap_or_default(),
    })
}

fn endpoint(node: &Node) -> NodeEndpoint {
    NodeEndpoint::default()
        .with_node_id(node.id.into())
        .with_host(text(&node.host))
        .with_port(node.port.into())
}

/// None if the port is none.
fn node(endpoint: &NodeEndpoint) -> Option<Node> {
    let port = u16::try_from(endpoint.port).ok()?;
    Some(Node { id: endpoint.node_id.0, host: Host::from(endpoint.host.as_str()), port })
}
