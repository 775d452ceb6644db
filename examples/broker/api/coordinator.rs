//! `FindCoordinator`: there are no groups and no transactions here, and the client must not go on asking.
//!
//! A retriable error makes clients ask for ever, and "unsupported version" makes some do so too. A missing permission
//! is what all of them report to their user at once.

use kafka_coordination::ErrorCode;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

/// The first version that asks for several keys at once.
const FIRST_WITH_KEYS: i16 = 4;

const NOBODY: BrokerId = BrokerId(-1);

pub(super) fn answer(version: i16, request: FindCoordinatorRequest) -> FindCoordinatorResponse {
    let (error, text) = match request.key_type {
        0 => (ErrorCode::GroupAuthorizationFailed, "this broker has no groups"),
        1 => (ErrorCode::TransactionalIdAuthorizationFailed, "this broker has no transactions"),
        _ => (ErrorCode::InvalidRequest, "this broker has no such coordinator"),
    };
    let text = Some(StrBytes::from_static_str(text));
    if version < FIRST_WITH_KEYS {
        return FindCoordinatorResponse::default()
            .with_error_code(error.code())
            .with_error_message(text)
            .with_node_id(NOBODY)
            .with_port(-1);
    }
    let refused = |key| {
        Coordinator::default()
            .with_key(key)
            .with_error_code(error.code())
            .with_error_message(text.clone())
            .with_node_id(NOBODY)
            .with_port(-1)
    };
    let coordinators = request.coordinator_keys.into_iter().map(refused).collect();
    FindCoordinatorResponse::default().with_coordinators(coordinators)
}
