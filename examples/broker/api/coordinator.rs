//! `FindCoordinator`: this broker coordinates every group and every transaction. Of other kinds of keys the client must not go on
//! asking.
//!
//! A retriable error makes clients ask for ever, and "unsupported version" makes some do so too. A missing permission
//! is what all of them report to their user at once.

use crate::broker::NODE_ID;
use crate::server::Peer;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

/// The first version that asks for several keys at once.
const FIRST_WITH_KEYS: i16 = 4;

/// Kinds of keys.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

pub(super) fn answer(
    peer: &Peer,
    version: i16,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    let coordinator = match request.key_type {
        GROUP | TRANSACTION => this_broker(peer),
        _ => refused(ErrorCode::InvalidRequest, "this broker has no such coordinator"),
    };
    if version < FIRST_WITH_KEYS {
        return FindCoordinatorResponse::default()
            .with_error_code(coordinator.error_code)
            .with_error_message(coordinator.error_message)
            .with_node_id(coordinator.node_id)
            .with_host(coordinator.host)
            .with_port(coordinator.port);
    }
    let keys = request.coordinator_keys.into_iter();
    let coordinators = keys.map(|key| coordinator.clone().with_key(key)).collect();
    FindCoordinatorResponse::default().with_coordinators(coordinators)
}

fn this_broker(peer: &Peer) -> Coordinator {
    Coordinator::default()
        .with_node_id(BrokerId(NODE_ID))
        .with_host(StrBytes::from_string(peer.reached_at.ip().to_string()))
        .with_port(peer.reached_at.port().into())
}

fn refused(error: ErrorCode, text: &'static str) -> Coordinator {
    Coordinator::default()
        .with_error_code(error.code())
        .with_error_message(Some(StrBytes::from_static_str(text)))
        .with_node_id(BrokerId(-1))
        .with_port(-1)
}
