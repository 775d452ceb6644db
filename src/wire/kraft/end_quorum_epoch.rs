//! `EndQuorumEpoch`, versions 0 and 1.

use alloc::vec;
use alloc::vec::Vec;
use kafka_protocol::messages::end_quorum_epoch_request::{self, LeaderEndpoint, ReplicaInfo};
use kafka_protocol::messages::end_quorum_epoch_response::{self, NodeEndpoint};
use kafka_protocol::messages::{EndQuorumEpochRequest as Message, EndQuorumEpochResponse};
use uuid::Uuid;

use super::partition::{self, Origin, listeners, node_endpoints, only, topic_name};
use super::requests::text;
use crate::kraft::{
    Answer, BlankListenerName, EndQuorumEpochRequest, Endpoints, Host, Node, ReplicaKey,
    RequestHeader,
};

node_endpoints!(NodeEndpoint);

pub(super) fn asked<'m>(
    message: &'m Message,
    origin: &Origin<'_>,
) -> Result<(RequestHeader<'m>, EndQuorumEpochRequest), BlankListenerName> {
    let named = only(&message.topics).and_then(|topic| {
        let partition = only(&topic.partitions)?;
        partition::is_metadata(&topic.topic_name, partition.partition_index).then_some(partition)
    });
    let header = origin.header(message.cluster_id.as_ref(), named.is_some());
    let nothing = end_quorum_epoch_request::PartitionData::default();
    let it = named.unwrap_or(&nothing);
    let endpoints = message.leader_endpoints.iter();
    let endpoints = endpoints.map(|it| (it.name.as_str(), it.host.as_str(), it.port));
    let request = EndQuorumEpochRequest {
        leader_id: it.leader_id.0,
        epoch: it.leader_epoch,
        preferred_candidates: candidates(it),
        leader_endpoints: Endpoints::from_request(endpoints)?,
    };
    Ok((header, request))
}

/// Ids alone in version 0.
fn candidates(partition: &end_quorum_epoch_request::PartitionData) -> Vec<ReplicaKey> {
    if partition.preferred_candidates.is_empty() {
        let successors = partition.preferred_successors.iter().copied();
        return successors.map(ReplicaKey::without_directory).collect();
    }
    let key = |it: &ReplicaInfo| {
        ReplicaKey::from_wire(it.candidate_id.0, it.candidate_directory_id.as_u128())
    };
    partition.preferred_candidates.iter().map(key).collect()
}

pub(super) fn response(answer: &Answer<()>, version: i16) -> EndQuorumEpochResponse {
    let topic = answer.partition.as_ref().map(|it| {
        let partition = end_quorum_epoch_response::PartitionData::default()
            .with_error_code(it.error.code())
            .with_leader_id(partition::leader_id(it.leader_id).into())
            .with_leader_epoch(it.epoch);
        end_quorum_epoch_response::TopicData::default()
            .with_topic_name(topic_name())
            .with_partitions(vec![partition])
    });
    EndQuorumEpochResponse::default()
        .with_error_code(answer.error.code())
        .with_topics(topic.into_iter().collect())
        .with_node_endpoints(endpoints(&answer.nodes, version))
}

/// Each version encodes the candidates in its own way and passes over the other one.
pub(super) fn request(end: &EndQuorumEpochRequest, cluster_id: &str) -> Message {
    let candidate = |key: &ReplicaKey| {
        ReplicaInfo::default()
            .with_candidate_id(key.id.into())
            .with_candidate_directory_id(Uuid::from_u128(key.directory_bits()))
    };
    let candidates = end.preferred_candidates.iter();
    let partition = end_quorum_epoch_request::PartitionData::default()
        .with_leader_id(end.leader_id.into())
        .with_leader_epoch(end.epoch)
        .with_preferred_successors(candidates.clone().map(|key| key.id).collect())
        .with_preferred_candidates(candidates.map(candidate).collect());
    let topic = end_quorum_epoch_request::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    Message::default()
        .with_cluster_id(Some(text(cluster_id)))
        .with_topics(vec![topic])
        .with_leader_endpoints(listeners!(LeaderEndpoint, end.leader_endpoints))
}

pub(super) fn answer(message: &EndQuorumEpochResponse) -> Answer<()> {
    let partition = only(&message.topics).and_then(|topic| {
        let it = only(&topic.partitions)?;
        partition::is_metadata(&topic.topic_name, it.partition_index).then(|| {
            partition::partition_answer(it.error_code, it.leader_id.0, it.leader_epoch, ())
        })
    });
    partition::answer(message.error_code, partition, nodes(&message.node_endpoints))
}
