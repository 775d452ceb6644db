//! `OffsetFetch`: of one group up to version 7, of several from version 8 on.

use crate::broker::Broker;
use crate::groups::{Committed, Coordinator};
use kafka_coordination::{ErrorCode, TopicName};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{OffsetFetchRequest, OffsetFetchResponse};
use kafka_protocol::protocol::StrBytes;
use std::collections::HashSet;

/// The first version that asks for several groups.
const FIRST_WITH_GROUPS: i16 = 8;
/// The first version in which no topics stand for all; in later ones none do.
const FIRST_WITH_NULL: i16 = 2;

pub(super) fn answer(
    broker: &Broker,
    version: i16,
    request: OffsetFetchRequest,
) -> OffsetFetchResponse {
    let mut seen = HashSet::new();
    let mut groups = groups(version, request);
    // Once each: what a group has committed is larger than its mention.
    groups.retain(|group| seen.insert(group.group_id.clone()));
    let answered = broker.groups.with(|coordinator| {
        groups.into_iter().map(|group| answer_group(coordinator, group)).collect::<Vec<_>>()
    });
    if version >= FIRST_WITH_GROUPS {
        return OffsetFetchResponse::default().with_groups(answered);
    }
    let one = answered.into_iter().next().unwrap_or_default();
    OffsetFetchResponse::default()
        .with_error_code(one.error_code)
        .with_topics(one.topics.into_iter().map(of_old).collect())
}

/// The groups asked for, in the form of the newer versions.
fn groups(version: i16, request: OffsetFetchRequest) -> Vec<OffsetFetchRequestGroup> {
    if version >= FIRST_WITH_GROUPS {
        return request.groups;
    }
    let topics = request.topics.map(|topics| {
        let topic = topics.into_iter().map(|topic| {
            OffsetFetchRequestTopics::default()
                .with_name(topic.name)
                .with_partition_indexes(topic.partition_indexes)
        });
        topic.collect()
    });
    let topics = if version < FIRST_WITH_NULL { topics.or(Some(Vec::new())) } else { topics };
    vec![
        OffsetFetchRequestGroup::default()
            .with_group_id(request.group_id)
            .with_member_epoch(-1)
            .with_topics(topics),
    ]
}

fn answer_group(
    coordinator: &Coordinator,
    group: OffsetFetchRequestGroup,
) -> OffsetFetchResponseGroup {
    let member_id = group.member_id.as_deref();
    let checked = coordinator.check_offset_fetch(&group.group_id, member_id, group.member_epoch);
    let response = OffsetFetchResponseGroup::default();
    let response = match (checked, group.topics) {
        (Err(error), _) => response.with_error_code(error.code()),
        (Ok(()), Some(topics)) => response.with_topics(some(coordinator, &group.group_id, topics)),
        (Ok(()), None) => response.with_topics(all(coordinator, &group.group_id)),
    };
    response.with_group_id(group.group_id)
}

fn some(
    coordinator: &Coordinator,
    group: &str,
    topics: Vec<OffsetFetchRequestTopics>,
) -> Vec<OffsetFetchResponseTopics> {
    let mut seen = HashSet::new();
    let topics = topics.into_iter().map(|topic| {
        let name = TopicName::from(topic.name.as_str());
        let new = |partition: &i32| seen.insert((name.clone(), *partition));
        let partitions = topic.partition_indexes.into_iter().filter(new);
        let partitions = partitions.map(|index| {
            let committed = coordinator.committed(group, &name, index);
            committed.map_or_else(|| nothing(index), |committed| found(index, committed))
        });
        let partitions = partitions.collect();
        OffsetFetchResponseTopics::default().with_name(topic.name).with_partitions(partitions)
    });
    topics.collect()
}

fn all(coordinator: &Coordinator, group: &str) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
    for (topic, index, committed) in coordinator.all_committed(group) {
        let partition = found(index, committed);
        match topics.last_mut().filter(|last| last.name.as_str() == topic.as_str()) {
            Some(last) => last.partitions.push(partition),
            None => topics.push(
                OffsetFetchResponseTopics::default()
                    .with_name(StrBytes::from_string(topic.to_string()).into())
                    .with_partitions(vec![partition]),
            ),
        }
    }
    topics
}

fn found(index: i32, committed: &Committed) -> OffsetFetchResponsePartitions {
    let metadata = committed.metadata.as_deref().unwrap_or_default();
    OffsetFetchResponsePartitions::default()
        .with_partition_index(index)
        .with_committed_offset(committed.offset)
        .with_committed_leader_epoch(committed.leader_epoch)
        .with_metadata(Some(StrBytes::from_string(metadata.to_owned())))
}

fn nothing(index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions::default()
        .with_partition_index(index)
        .with_committed_offset(-1)
        .with_committed_leader_epoch(-1)
        .with_metadata(Some(StrBytes::default()))
        .with_error_code(ErrorCode::None.code())
}

fn of_old(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partitions = topic.partitions.into_iter().map(|partition| {
        OffsetFetchResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_committed_offset(partition.committed_offset)
            .with_committed_leader_epoch(partition.committed_leader_epoch)
            .with_metadata(partition.metadata)
            .with_error_code(partition.error_code)
    });
    OffsetFetchResponseTopic::default().with_name(topic.name).with_partitions(partitions.collect())
}
