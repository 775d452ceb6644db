//! `OffsetCommit`.

use crate::broker::Broker;
use crate::groups::{Claim, Commit, Committed};
use crate::topics::{Topic, Topics};
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::offset_commit_request::OffsetCommitRequestPartition;
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse};

pub(super) fn answer(broker: &Broker, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let topics = broker.topics();
    let claim = Claim {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id_or_member_epoch,
    };
    let commits = commits(&topics, &request);
    let committed = broker
        .groups
        .with(|coordinator| coordinator.commit(&request.group_id, claim, commits, broker.now()));
    let mut committed = committed.map(Vec::into_iter);
    let answered = request.topics.into_iter().map(|topic| {
        let known = topics.by_name(&topic.name);
        let partitions = topic.partitions.iter().map(|partition| {
            let error = match &mut committed {
                Err(error) => *error,
                Ok(_) if !exists(known, partition) => ErrorCode::UnknownTopicOrPartition,
                Ok(committed) => committed.next().unwrap_or(ErrorCode::UnknownServerError),
            };
            OffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(error.code())
        });
        let partitions = partitions.collect();
        OffsetCommitResponseTopic::default().with_name(topic.name).with_partitions(partitions)
    });
    OffsetCommitResponse::default().with_topics(answered.collect())
}

fn exists(topic: Option<&std::sync::Arc<Topic>>, partition: &OffsetCommitRequestPartition) -> bool {
    topic.is_some_and(|topic| topic.log(partition.partition_index).is_some())
}

/// The offsets of partitions that exist, in the order of the request.
fn commits(topics: &Topics, request: &OffsetCommitRequest) -> Vec<Commit> {
    let mut commits = Vec::new();
    for wanted in &request.topics {
        let topic = topics.by_name(&wanted.name);
        let existing = wanted.partitions.iter().filter(|partition| exists(topic, partition));
        commits.extend(existing.filter_map(|partition| {
            let committed = Committed {
                offset: partition.committed_offset,
                leader_epoch: partition.committed_leader_epoch,
                metadata: partition.committed_metadata.as_deref().map(Box::from),
            };
            Some((topic?.name.clone(), partition.partition_index, committed))
        }));
    }
    commits
}
