//! Answers, sent and received.

use alloc::string::ToString;
use kafka_protocol::messages::update_raft_voter_response::CurrentLeader as WireLeader;
use kafka_protocol::messages::{
    AddRaftVoterResponse, RemoveRaftVoterResponse, UpdateRaftVoterResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::requests::text;
use crate::error_code::ErrorCode;
use crate::kraft::{ChangeError, CurrentLeader, Endpoints, ListenerName};

/// The answer to `AddRaftVoter`: with a message unless it went well, then with none (KAFKA-18061).
pub fn add_voter_response(result: &Result<(), ChangeError>) -> AddRaftVoterResponse {
    let (code, message) = error(result);
    AddRaftVoterResponse::default().with_error_code(code).with_error_message(message)
}

/// The answer to `RemoveRaftVoter`, as that to `AddRaftVoter`.
pub fn remove_voter_response(result: &Result<(), ChangeError>) -> RemoveRaftVoterResponse {
    let (code, message) = error(result);
    RemoveRaftVoterResponse::default().with_error_code(code).with_error_message(message)
}

/// The answer to `UpdateRaftVoter`, which has no message, but says who leads.
pub fn update_voter_response(
    result: &Result<(), ChangeError>,
    leader: Option<&CurrentLeader>,
) -> UpdateRaftVoterResponse {
    let (code, _) = error(result);
    let leader = leader.map(|leader| {
        let at = leader.endpoint.as_ref();
        WireLeader::default()
            .with_leader_id(leader.id.into())
            .with_leader_epoch(leader.epoch)
            .with_host(at.map(|at| text(&at.host)).unwrap_or_default())
            .with_port(at.map_or(0, |at| at.port.into()))
    });
    UpdateRaftVoterResponse::default()
        .with_error_code(code)
        .with_current_leader(leader.unwrap_or_default())
}

/// Who leads and since which epoch, and where, as an answer to `UpdateRaftVoter` that came by `listener`
/// says it; -1 and no endpoint for what is not known.
pub fn updated_leader(
    response: &UpdateRaftVoterResponse,
    listener: &ListenerName,
) -> (i32, i32, Endpoints) {
    let WireLeader { leader_id, leader_epoch, host, port, .. } = &response.current_leader;
    let endpoints = Endpoints::from_update_response(listener, leader_id.0, host, *port);
    (leader_id.0, *leader_epoch, endpoints)
}

fn error(result: &Result<(), ChangeError>) -> (i16, Option<StrBytes>) {
    match result {
        Ok(()) => (ErrorCode::None.code(), None),
        Err(error) => (error.code().code(), Some(StrBytes::from_string(error.to_string()))),
    }
}
