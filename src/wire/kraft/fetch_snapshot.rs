//! `FetchSnapshot`, versions 0 and 1.

use alloc::vec;
use alloc::vec::Vec;
use bytes::Bytes;
use kafka_protocol::messages::fetch_snapshot_request::{self, PartitionSnapshot as Asked};
use kafka_protocol::messages::fetch_snapshot_response::{
    self, LeaderIdAndEpoch, NodeEndpoint, PartitionSnapshot, TopicSnapshot,
};
use kafka_protocol::messages::{FetchSnapshotRequest as Message, FetchSnapshotResponse, TopicName};
use uuid::Uuid;

use super::partition::{self, Origin, node_endpoints, only, topic_name};
use super::requests::text;
use crate::error_code::ErrorCode;
use crate::kraft::{
    Answer, FetchSnapshotRequest, FetchedSnapshot, Host, Node, OffsetAndEpoch, ReadSnapshot,
    ReplicaKey, RequestHeader,
};

/// The first version with the replica's directory id (KIP-853).
const DIRECTORY_ID: i16 = 1;

node_endpoints!(NodeEndpoint);

pub(super) fn asked<'m>(
    message: &'m Message,
    origin: &Origin<'_>,
) -> (RequestHeader<'m>, FetchSnapshotRequest) {
    let named = named(message).filter(|(topic, it)| partition::is_metadata(topic, it.partition));
    let header = origin.header(message.cluster_id.as_ref(), named.is_some());
    let nothing = Asked::default();
    let it = named.map_or(&nothing, |(_, partition)| partition);
    let request = FetchSnapshotRequest {
        replica: ReplicaKey::from_wire(message.replica_id.0, it.replica_directory_id.as_u128()),
        leader_epoch: it.current_leader_epoch,
        snapshot: OffsetAndEpoch::new(it.snapshot_id.end_offset, it.snapshot_id.epoch),
        position: it.position,
        max_bytes: message.max_bytes,
    };
    (header, request)
}

/// The only partition that a request names.
fn named(message: &Message) -> Option<(&TopicName, &Asked)> {
    let topic = only(&message.topics)?;
    only(&topic.partitions).map(|partition| (&topic.name, partition))
}

/// The only partition that a request names, if it is another one than that of the metadata log.
pub(super) fn other_partition(message: &Message) -> Option<(TopicName, i32)> {
    let (topic, it) = named(message)?;
    (!partition::is_metadata(topic, it.partition)).then(|| (topic.clone(), it.partition))
}

/// Says of another partition that it is unknown: not at the top, as of requests that name none or several.
pub(super) fn unknown_partition(topic: TopicName, index: i32) -> FetchSnapshotResponse {
    let partition = PartitionSnapshot::default()
        .with_index(index)
        .with_error_code(ErrorCode::UnknownTopicOrPartition.code());
    let topic = TopicSnapshot::default().with_name(topic).with_partitions(vec![partition]);
    FetchSnapshotResponse::default().with_topics(vec![topic])
}

pub(super) fn response(
    answer: &Answer<FetchedSnapshot<Option<ReadSnapshot>>>,
    bytes: Bytes,
    version: i16,
) -> FetchSnapshotResponse {
    let topic = answer.partition.as_ref().map(|it| {
        let leader = LeaderIdAndEpoch::default()
            .with_leader_id(partition::leader_id(it.leader_id).into())
            .with_leader_epoch(it.epoch);
        let mut partition = PartitionSnapshot::default()
            .with_error_code(it.error.code())
            .with_current_leader(leader);
        // What failed says nothing of the snapshot.
        if it.error.is_none() {
            let FetchedSnapshot {
                snapshot: OffsetAndEpoch { offset, epoch }, size, position, ..
            } = it.body;
            partition.snapshot_id = fetch_snapshot_response::SnapshotId::default()
                .with_end_offset(offset)
                .with_epoch(epoch);
            partition.size = size;
            partition.position = position;
            partition.unaligned_records = bytes;
        }
        TopicSnapshot::default().with_name(topic_name()).with_partitions(vec![partition])
    });
    FetchSnapshotResponse::default()
        .with_error_code(answer.error.code())
        .with_topics(topic.into_iter().collect())
        .with_node_endpoints(endpoints(&answer.nodes, version))
}

pub(super) fn request(fetch: &FetchSnapshotRequest, cluster_id: &str, version: i16) -> Message {
    let OffsetAndEpoch { offset, epoch } = fetch.snapshot;
    let snapshot =
        fetch_snapshot_request::SnapshotId::default().with_end_offset(offset).with_epoch(epoch);
    let mut partition = Asked::default()
        .with_current_leader_epoch(fetch.leader_epoch)
        .with_snapshot_id(snapshot)
        .with_position(fetch.position);
    if version >= DIRECTORY_ID {
        partition.replica_directory_id = Uuid::from_u128(fetch.replica.directory_bits());
    }
    let topic = fetch_snapshot_request::TopicSnapshot::default()
        .with_name(topic_name())
        .with_partitions(vec![partition]);
    Message::default()
        .with_cluster_id(Some(text(cluster_id)))
        .with_replica_id(fetch.replica.id.into())
        .with_max_bytes(fetch.max_bytes)
        .with_topics(vec![topic])
}

pub(super) fn answer(message: &FetchSnapshotResponse) -> Answer<FetchedSnapshot<Bytes>> {
    let partition = only(&message.topics).and_then(|topic| {
        let it = only(&topic.partitions)?;
        partition::is_metadata(&topic.name, it.index).then(|| {
            let (id, leader) = (&it.snapshot_id, &it.current_leader);
            let body = FetchedSnapshot {
                snapshot: OffsetAndEpoch::new(id.end_offset, id.epoch),
                size: it.size,
                position: it.position,
                bytes: it.unaligned_records.clone(),
            };
            partition::partition_answer(
                it.error_code,
                leader.leader_id.0,
                leader.leader_epoch,
                body,
            )
        })
    });
    partition::answer(message.error_code, partition, nodes(&message.node_endpoints))
}
