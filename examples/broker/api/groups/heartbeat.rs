//! `Heartbeat`.

use crate::broker::Broker;
use crate::groups::Claim;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

pub(super) fn answer(broker: &Broker, request: &HeartbeatRequest) -> HeartbeatResponse {
    let claim = Claim {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id,
    };
    let alive = broker
        .groups
        .with(|coordinator| coordinator.heartbeat(&request.group_id, claim, broker.now()));
    let error = alive.err().unwrap_or(ErrorCode::None);
    HeartbeatResponse::default().with_error_code(error.code())
}
