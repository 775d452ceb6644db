//! `LeaveGroup`.

use super::{own, own_if_any};
use crate::broker::Broker;
use crate::groups::Leaving;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};

/// The first version in which several members leave at once (KIP-345).
const FIRST_WITH_MEMBERS: i16 = 3;

pub(super) fn answer(
    broker: &Broker,
    version: i16,
    request: LeaveGroupRequest,
) -> LeaveGroupResponse {
    let leaving: Vec<_> = if version < FIRST_WITH_MEMBERS {
        vec![Leaving { member_id: own(&request.member_id), instance_id: None }]
    } else {
        let member = request.members.iter().map(|member| Leaving {
            member_id: own(&member.member_id),
            instance_id: own_if_any(member.group_instance_id.as_ref()),
        });
        member.collect()
    };
    let left = broker
        .groups
        .with(|coordinator| coordinator.leave(&request.group_id, &leaving, broker.now()));
    let response = LeaveGroupResponse::default();
    match left {
        Err(error) => response.with_error_code(error.code()),
        Ok(left) if version < FIRST_WITH_MEMBERS => {
            let error = left.first().copied().unwrap_or(ErrorCode::None);
            response.with_error_code(error.code())
        }
        Ok(left) => {
            let members = request.members.into_iter().zip(left).map(|(member, error)| {
                MemberResponse::default()
                    .with_member_id(member.member_id)
                    .with_group_instance_id(member.group_instance_id)
                    .with_error_code(error.code())
            });
            response.with_members(members.collect())
        }
    }
}
