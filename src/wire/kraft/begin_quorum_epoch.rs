//! `BeginQuorumEpoch`, versions 0 and 1.

use alloc::vec;
use alloc::vec::Vec;
use kafka_protocol::messages::begin_quorum_epoch_request::{self, LeaderEndpoint};
use kafka_protocol::messages::begin_quorum_epoch_response::{self, NodeEndpoint};
use kafka_protocol::messages::{BeginQuorumEpochRequest as Message, BeginQuorumEpochResponse};
use uuid::Uuid;

use super::partition::{self, Origin, listeners, node_endpoints, only, topic_name};
use super::requests::text;
use crate::kraft::{
    Answer, BeginQuorumEpochRequest, BlankListenerName, Endpoints, Host, Node, ReplicaKey,
    RequestHeader,
};

node_endpoints!(NodeEndpoint);

pub(super) fn asked<'m>(
    message: &'m Message,
    origin: &Origin<'_>,
) -> Result<(RequestHeader<'m>, BeginQuorumEpochRequest), BlankListenerName> {
    let named = only(&message.topics).and_then(|topic| {
        let partition = only(&topic.partitions)?;
        partition::is_metadata(&topic.topic_name, partition.partition_index).then_some(partition)
    });
    let header = origin.header(message.cluster_id.as_ref(), named.is_some());
    let nothing = begin_quorum_epoch_request::PartitionData::default();
    let it = named.unwrap_or(&nothing);
    let voter = ReplicaKey::from_wire(message.voter_id.0, it.voter_directory_id.as_u128());
    let endpoints = message.leader_endpoints.iter();
    let endpoints = endpoints.map(|it| (it.name.as_str(), it.host.as_str(), it.port));
    let request = BeginQuorumEpochRequest {
        voter: (voter.id >= 0).then_some(voter),
        leader_id: it.leader_id.0,
        epoch: it.leader_epoch,
        leader_endpoints: Endpoints::from_request(endpoints)?,
    };
    Ok((header, request))
}

pub(super) fn response(answer: &Answer<()>, version: i16) -> BeginQuorumEpochResponse {
    let topic = answer.partition.as_ref().map(|it| {
        let partition = begin_quorum_epoch_response::PartitionData::default()
            .with_error_code(it.error.code())
            .with_leader_id(partition::leader_id(it.leader_id).into())
            .with_leader_epoch(it.epoch);
        begin_quorum_epoch_response::TopicData::default()
            .with_topic_name(topic_name())
            .with_partitions(vec![partition])
    });
    BeginQuorumEpochResponse::default()
        .with_error_code(answer.error.code())
        .with_topics(topic.into_iter().collect())
        .with_node_endpoints(endpoints(&answer.nodes, version))
}

pub(super) fn request(begin: &BeginQuorumEpochRequest, cluster_id: &str) -> Message {
    let directory = |key: ReplicaKey| Uuid::from_u128(key.directory_bits());
    let partition = begin_quorum_epoch_request::PartitionData::default()
        .with_voter_directory_id(begin.voter.map(directory).unwrap_or_default())
        .with_leader_id(begin.leader_id.into())
        .with_leader_epoch(begin.epoch);
    let topic = begin_quorum_epoch_request::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    Message::default()
        .with_cluster_id(Some(text(cluster_id)))
        .with_voter_id(begin.voter.map_or(-1, |voter| voter.id).into())
        .with_topics(vec![topic])
        .with_leader_endpoints(listeners!(LeaderEndpoint, begin.leader_endpoints))
}

pub(super) fn answer(message: &BeginQuorumEpochResponse) -> Answer<()> {
    let partition = only(&message.topics).and_then(|topic| {
        let it = only(&topic.partitions)?;
        partition::is_metadata(&topic.topic_name, it.partition_index).then(|| {
            partition::partition_answer(it.error_code, it.leader_id.0, it.leader_epoch, ())
        })
    });
    partition::answer(message.error_code, partition, nodes(&message.node_endpoints))
}
