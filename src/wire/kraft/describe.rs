//! The answer to `DescribeQuorum`.

use kafka_protocol::messages::describe_quorum_response::{
    Listener, Node, PartitionData, ReplicaState, TopicData,
};
use kafka_protocol::messages::{DescribeQuorumRequest, DescribeQuorumResponse};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::partition::{is_metadata, listeners, only, topic_name};
use crate::error_code::ErrorCode;
use crate::kraft::{NodeDescription, QuorumDescription, ReplicaDescription};

/// The answer to `DescribeQuorum`: of a replica that leads, its description at the version of the
/// request; of another, that it does not lead. Every other partition than that of the metadata log is
/// unknown.
///
/// What the version does not carry must not be in the description: see
/// [`describe_quorum`](crate::kraft::Leader::describe_quorum).
pub fn describe_quorum_response(
    request: &DescribeQuorumRequest,
    description: Option<&QuorumDescription>,
) -> DescribeQuorumResponse {
    if !asks_for_metadata(request) {
        return unknown_partitions(request);
    }
    let (partition, nodes) = match description {
        Some(description) => (partition(description), description.nodes.iter().map(node).collect()),
        None => (failed(0, ErrorCode::NotLeaderOrFollower), [].into()),
    };
    let topic =
        TopicData::default().with_topic_name(topic_name()).with_partitions([partition].into());
    DescribeQuorumResponse::default().with_topics([topic].into()).with_nodes(nodes)
}

/// Whether the request is about the partition of the metadata log, and nothing else.
fn asks_for_metadata(request: &DescribeQuorumRequest) -> bool {
    let Some(topic) = only(&request.topics) else { return false };
    let Some(partition) = only(&topic.partitions) else { return false };
    is_metadata(&topic.topic_name, partition.partition_index)
}

fn unknown_partitions(request: &DescribeQuorumRequest) -> DescribeQuorumResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter();
        let partitions = partitions
            .map(|it| failed(it.partition_index, ErrorCode::UnknownTopicOrPartition))
            .collect();
        TopicData::default().with_topic_name(topic.topic_name.clone()).with_partitions(partitions)
    });
    DescribeQuorumResponse::default().with_topics(topics.collect())
}

fn failed(partition_index: i32, error: ErrorCode) -> PartitionData {
    PartitionData::default()
        .with_partition_index(partition_index)
        .with_error_code(error.code())
        .with_error_message(Some(StrBytes::from_static_str(error.name())))
}

fn partition(description: &QuorumDescription) -> PartitionData {
    PartitionData::default()
        .with_leader_id(description.leader_id.into())
        .with_leader_epoch(description.leader_epoch)
        .with_high_watermark(description.high_watermark)
        .with_current_voters(description.voters.iter().map(replica).collect())
        .with_observers(description.observers.iter().map(replica).collect())
}

fn replica(replica: &ReplicaDescription) -> ReplicaState {
    ReplicaState::default()
        .with_replica_id(replica.replica_id.into())
        .with_replica_directory_id(replica.directory_id.map(Uuid::from).unwrap_or_default())
        .with_log_end_offset(replica.log_end_offset)
        .with_last_fetch_timestamp(replica.last_fetch_timestamp)
        .with_last_caught_up_timestamp(replica.last_caught_up_timestamp)
}

fn node(node: &NodeDescription) -> Node {
    Node::default()
        .with_node_id(node.node_id.into())
        .with_listeners(listeners!(Listener, node.endpoints))
}
