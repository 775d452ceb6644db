//! A request of each API about groups, of each version, with an element in each of its arrays. None makes a group: their
//! members are strangers.

use crate::self_test::client::{Failure, encode};
use crate::self_test::hostile::{Sample, name};
use bytes::Bytes;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, DescribeGroupsRequest,
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest, OffsetCommitRequest,
    OffsetFetchRequest, SyncGroupRequest,
};
use std::ops::RangeInclusive;

pub(in crate::self_test) const SAMPLES: [(&str, RangeInclusive<i16>, Sample); 10] = [
    ("OffsetCommit", 2..=9, |version| sent(version, &offset_commit())),
    ("OffsetFetch", 1..=9, |version| sent(version, &offset_fetch(version))),
    ("JoinGroup", 0..=9, |version| sent(version, &join(version))),
    ("Heartbeat", 0..=4, |version| {
        let request = HeartbeatRequest::default().with_group_id(name().into());
        sent(version, &request.with_member_id(name()))
    }),
    ("LeaveGroup", 0..=5, |version| sent(version, &leave(version))),
    ("SyncGroup", 0..=5, |version| {
        let assignment =
            SyncGroupRequestAssignment::default().with_assignment(Bytes::from_static(b"assigned"));
        let request = SyncGroupRequest::default()
            .with_group_id(name().into())
            .with_member_id(name())
            .with_assignments(vec![assignment]);
        sent(version, &request)
    }),
    ("DescribeGroups", 0..=6, |version| {
        sent(version, &DescribeGroupsRequest::default().with_groups(vec![name().into()]))
    }),
    ("ConsumerGroupHeartbeat", 0..=1, |version| {
        let owned = TopicPartitions::default().with_partitions(vec![0]);
        let request = ConsumerGroupHeartbeatRequest::default()
            .with_group_id(name().into())
            .with_member_id(name())
            .with_member_epoch(1)
            .with_subscribed_topic_names(Some(vec![name().into()]))
            .with_subscribed_topic_regex((version >= 1).then(name))
            .with_topic_partitions(Some(vec![owned]));
        sent(version, &request)
    }),
    ("ConsumerGroupDescribe", 0..=1, |version| {
        let request = ConsumerGroupDescribeRequest::default();
        sent(version, &request.with_group_ids(vec![name().into()]))
    }),
    ("ListGroups", 0..=5, |version| {
        let filter = |since| if version >= since { vec![name()] } else { Vec::new() };
        let request = ListGroupsRequest::default();
        sent(version, &request.with_states_filter(filter(4)).with_types_filter(filter(5)))
    }),
];

fn sent<R: kafka_protocol::protocol::Request>(
    version: i16,
    request: &R,
) -> Result<Vec<u8>, Failure> {
    Ok(encode(version, 1, request)?.into())
}

pub(super) fn join(version: i16) -> JoinGroupRequest {
    let protocol =
        JoinGroupRequestProtocol::default().with_metadata(Bytes::from_static(b"subscribed"));
    JoinGroupRequest::default()
        .with_group_id(name().into())
        .with_member_id(name())
        .with_group_instance_id((version >= 5).then(name))
        .with_protocols(vec![protocol])
}

fn leave(version: i16) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(name().into());
    if version < 3 {
        request.with_member_id(name())
    } else {
        request.with_members(vec![MemberIdentity::default().with_member_id(name())])
    }
}

fn offset_commit() -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default().with_committed_metadata(Some(name()));
    let topic = OffsetCommitRequestTopic::default()
        .with_name(name().into())
        .with_partitions(vec![partition]);
    OffsetCommitRequest::default()
        .with_group_id(name().into())
        .with_generation_id_or_member_epoch(1)
        .with_member_id(name())
        .with_topics(vec![topic])
}

fn offset_fetch(version: i16) -> OffsetFetchRequest {
    if version < 8 {
        let topic = OffsetFetchRequestTopic::default()
            .with_name(name().into())
            .with_partition_indexes(vec![0]);
        return OffsetFetchRequest::default()
            .with_group_id(name().into())
            .with_topics(Some(vec![topic]));
    }
    let topic = OffsetFetchRequestTopics::default()
        .with_name(name().into())
        .with_partition_indexes(vec![0]);
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(name().into())
        .with_topics(Some(vec![topic]));
    OffsetFetchRequest::default().with_groups(vec![group])
}
