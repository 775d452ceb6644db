//! `ConsumerGroupDescribe`: groups of the next generation.

use super::str_bytes;
use crate::broker::Broker;
use crate::groups::{self, ASSIGNOR, Coordinator, DescribedConsumer};
use crate::topics::Topics;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup, Member, TopicPartitions,
};
use kafka_protocol::messages::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse};
use kafka_protocol::protocol::StrBytes;
use std::collections::HashSet;

/// A member that sends heartbeats of this protocol, not of the classic one.
const CONSUMER: i8 = 1;

pub(super) fn answer(
    broker: &Broker,
    request: ConsumerGroupDescribeRequest,
) -> ConsumerGroupDescribeResponse {
    let mut seen = HashSet::new();
    // Once each: a group is larger than its mention.
    let wanted = request.group_ids.into_iter().filter(|group| seen.insert(group.clone()));
    let groups = broker.groups.with(|coordinator| {
        let describe = |name: &str| describe(coordinator, name);
        wanted.map(|group| describe(&group).with_group_id(group)).collect()
    });
    ConsumerGroupDescribeResponse::default().with_groups(groups)
}

fn describe(coordinator: &Coordinator, name: &str) -> DescribedGroup {
    let Some(group) = coordinator.describe_consumer(name) else {
        let text = "there is no such consumer group";
        return DescribedGroup::default()
            .with_error_code(ErrorCode::GroupIdNotFound.code())
            .with_error_message(Some(StrBytes::from_static_str(text)));
    };
    found(coordinator.topics(), group)
}

fn found(topics: &Topics, group: DescribedConsumer) -> DescribedGroup {
    let members = group.members.into_iter().map(|(id, member)| {
        let names = member.topics.into_iter().map(|topic| str_bytes(topic).into());
        Member::default()
            .with_member_id(str_bytes(id))
            .with_instance_id(member.instance_id.map(str_bytes))
            .with_rack_id(member.rack_id.map(str_bytes))
            .with_member_epoch(member.epoch)
            .with_client_id(str_bytes(member.client_id))
            .with_client_host(str_bytes(member.client_host))
            .with_subscribed_topic_names(names.collect())
            .with_subscribed_topic_regex(
                (!member.regex.is_empty()).then(|| str_bytes(member.regex)),
            )
            .with_assignment(assignment(topics, &member.assigned))
            .with_target_assignment(assignment(topics, &member.target))
            .with_member_type(CONSUMER)
    });
    DescribedGroup::default()
        .with_group_state(StrBytes::from_static_str(group.state))
        .with_group_epoch(group.epoch)
        .with_assignment_epoch(group.target_epoch)
        .with_assignor_name(StrBytes::from_static_str(ASSIGNOR))
        .with_members(members.collect())
}

fn assignment(topics: &Topics, partitions: &groups::Assignment) -> Assignment {
    let topics = partitions.iter().filter_map(|(id, partitions)| {
        let name = topics.by_id(*id)?.name.to_string();
        let topic = TopicPartitions::default()
            .with_topic_id((*id).into())
            .with_topic_name(str_bytes(name).into())
            .with_partitions(partitions.iter().copied().collect());
        Some(topic)
    });
    Assignment::default().with_topic_partitions(topics.collect())
}
