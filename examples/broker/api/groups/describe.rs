//! `DescribeGroups`: classic groups, and names that are none.

use super::str_bytes;
use crate::broker::Broker;
use crate::groups::{Coordinator, Described};
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse};
use kafka_protocol::protocol::StrBytes;
use std::collections::HashSet;

/// The first version in which a name that is no group's is an error.
const FIRST_WITH_NOT_FOUND: i16 = 6;

pub(super) fn answer(
    broker: &Broker,
    version: i16,
    request: DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let mut seen = HashSet::new();
    // Once each: a group is larger than its mention.
    let wanted = request.groups.into_iter().filter(|group| seen.insert(group.clone()));
    let groups = broker.groups.with(|coordinator| {
        let describe = |name: &str| describe(coordinator, version, name);
        wanted.map(|group| describe(&group).with_group_id(group)).collect()
    });
    DescribeGroupsResponse::default().with_groups(groups)
}

fn describe(coordinator: &Coordinator, version: i16, name: &str) -> DescribedGroup {
    match coordinator.describe(name) {
        Some(group) => found(group),
        None => DescribedGroup::default()
            .with_error_code(if version < FIRST_WITH_NOT_FOUND {
                ErrorCode::None.code()
            } else {
                ErrorCode::GroupIdNotFound.code()
            })
            .with_group_state(StrBytes::from_static_str("Dead")),
    }
}

fn found(group: Described) -> DescribedGroup {
    let members = group.members.into_iter().map(|member| {
        DescribedGroupMember::default()
            .with_member_id(str_bytes(member.id))
            .with_group_instance_id(member.instance_id.map(str_bytes))
            .with_client_id(str_bytes(member.client_id))
            .with_client_host(str_bytes(member.client_host))
            .with_member_metadata(member.metadata)
            .with_member_assignment(member.assignment)
    });
    DescribedGroup::default()
        .with_group_state(StrBytes::from_static_str(group.state))
        .with_protocol_type(str_bytes(group.protocol_type))
        .with_protocol_data(str_bytes(group.protocol))
        .with_members(members.collect())
}
