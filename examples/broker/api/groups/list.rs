//! `ListGroups`.

use super::str_bytes;
use crate::broker::Broker;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::StrBytes;

pub(super) fn answer(broker: &Broker, request: &ListGroupsRequest) -> ListGroupsResponse {
    let listed = broker.groups.with(|coordinator| coordinator.list());
    let is_wanted = |filter: &[StrBytes], value: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(value))
    };
    let wanted = listed.into_iter().filter(|group| {
        is_wanted(&request.states_filter, group.state)
            && is_wanted(&request.types_filter, group.kind)
    });
    let groups = wanted.map(|group| {
        ListedGroup::default()
            .with_group_id(str_bytes(group.name).into())
            .with_protocol_type(str_bytes(group.protocol_type))
            .with_group_state(StrBytes::from_static_str(group.state))
            .with_group_type(StrBytes::from_static_str(group.kind))
    });
    ListGroupsResponse::default().with_groups(groups.collect())
}
