//! `Vote`, versions 0 to 2.

use alloc::vec;
use alloc::vec::Vec;
use kafka_protocol::messages::vote_response::{self, NodeEndpoint};
use kafka_protocol::messages::{VoteRequest as Message, VoteResponse, vote_request};
use uuid::Uuid;

use super::partition::{self, Origin, node_endpoints, only, topic_name};
use super::requests::text;
use crate::kraft::{Answer, Host, Node, OffsetAndEpoch, ReplicaKey, RequestHeader, VoteRequest};

/// The first version with pre-votes, which others cannot say.
pub(super) const PRE_VOTE: i16 = 2;

node_endpoints!(NodeEndpoint);

pub(super) fn asked<'m>(
    message: &'m Message,
    origin: &Origin<'_>,
) -> (RequestHeader<'m>, VoteRequest) {
    let named = only(&message.topics).and_then(|topic| {
        let partition = only(&topic.partitions)?;
        partition::is_metadata(&topic.topic_name, partition.partition_index).then_some(partition)
    });
    let header = origin.header(message.cluster_id.as_ref(), named.is_some());
    let nothing = vote_request::PartitionData::default();
    let it = named.unwrap_or(&nothing);
    let voter = ReplicaKey::from_wire(message.voter_id.0, it.voter_directory_id.as_u128());
    let request = VoteRequest {
        voter: (voter.id >= 0).then_some(voter),
        candidate: ReplicaKey::from_wire(it.replica_id.0, it.replica_directory_id.as_u128()),
        epoch: it.replica_epoch,
        log_end: OffsetAndEpoch::new(it.last_offset, it.last_offset_epoch),
        is_pre_vote: it.pre_vote,
    };
    (header, request)
}

pub(super) fn response(answer: &Answer<bool>, version: i16) -> VoteResponse {
    let topic = answer.partition.as_ref().map(|it| {
        let partition = vote_response::PartitionData::default()
            .with_error_code(it.error.code())
            .with_leader_id(partition::leader_id(it.leader_id).into())
            .with_leader_epoch(it.epoch)
            .with_vote_granted(it.body);
        vote_response::TopicData::default()
            .with_topic_name(topic_name())
            .with_partitions(vec![partition])
    });
    VoteResponse::default()
        .with_error_code(answer.error.code())
        .with_topics(topic.into_iter().collect())
        .with_node_endpoints(endpoints(&answer.nodes, version))
}

pub(super) fn request(vote: &VoteRequest, cluster_id: &str) -> Message {
    let directory = |key: ReplicaKey| Uuid::from_u128(key.directory_bits());
    let partition = vote_request::PartitionData::default()
        .with_replica_epoch(vote.epoch)
        .with_replica_id(vote.candidate.id.into())
        .with_replica_directory_id(directory(vote.candidate))
        .with_voter_directory_id(vote.voter.map(directory).unwrap_or_default())
        .with_last_offset_epoch(vote.log_end.epoch)
        .with_last_offset(vote.log_end.offset)
        .with_pre_vote(vote.is_pre_vote);
    let topic = vote_request::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    Message::default()
        .with_cluster_id(Some(text(cluster_id)))
        .with_voter_id(vote.voter.map_or(-1, |voter| voter.id).into())
        .with_topics(vec![topic])
}

pub(super) fn answer(message: &VoteResponse) -> Answer<bool> {
    let partition = only(&message.topics).and_then(|topic| {
        let it = only(&topic.partitions)?;
        partition::is_metadata(&topic.topic_name, it.partition_index).then(|| {
            partition::partition_answer(
                it.error_code,
                it.leader_id.0,
                it.leader_epoch,
                it.vote_granted,
            )
        })
    });
    partition::answer(message.error_code, partition, nodes(&message.node_endpoints))
}
