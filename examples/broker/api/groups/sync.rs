//! `SyncGroup`.

use super::{own, own_if_any, str_bytes};
use crate::broker::Broker;
use crate::groups::Sync;
use bytes::Bytes;
use kafka_protocol::messages::{SyncGroupRequest, SyncGroupResponse};

pub(super) async fn answer(
    broker: &Broker,
    request: SyncGroupRequest,
) -> Option<SyncGroupResponse> {
    let group = own(&request.group_id);
    let assignments = request.assignments.iter().map(|assignment| {
        (own(&assignment.member_id), Bytes::copy_from_slice(&assignment.assignment))
    });
    let sync = Sync {
        member_id: own(&request.member_id),
        instance_id: own_if_any(request.group_instance_id.as_ref()),
        generation: request.generation_id,
        protocol_type: own_if_any(request.protocol_type.as_ref()),
        protocol_name: own_if_any(request.protocol_name.as_ref()),
        assignments: assignments.collect(),
    };
    // Nothing of the request's bytes is held while the member waits.
    drop(request);
    let answer = broker.groups.ask(|coordinator, reply| {
        coordinator.sync(&group, sync, reply, broker.now());
    });
    let synced = answer.await.ok()?;
    let response = SyncGroupResponse::default()
        .with_error_code(synced.error.code())
        .with_protocol_type(synced.protocol_type.map(str_bytes))
        .with_protocol_name(synced.protocol_name.map(str_bytes))
        .with_assignment(synced.assignment);
    Some(response)
}
