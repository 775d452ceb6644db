//! `JoinGroup`.

use super::{own, own_if_any, str_bytes};
use crate::broker::{Broker, lock};
use crate::groups::{Join, Joined, Protocol};
use crate::server::Peer;
use bytes::Bytes;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::{JoinGroupRequest, JoinGroupResponse};
use uuid::Builder;

/// The first version with a time-out for rebalances of its own.
const FIRST_WITH_REBALANCE_TIMEOUT: i16 = 1;
/// The first version in which a member joins with an id that it was given before (KIP-394).
const FIRST_WITH_KNOWN_ID: i16 = 4;
/// The first version in which there may be no protocol name.
const FIRST_WITHOUT_PROTOCOL: i16 = 7;
/// The first version in which a leader may be told not to assign (KIP-814).
const FIRST_WITH_SKIPPING: i16 = 9;

pub(super) async fn answer(
    broker: &Broker,
    peer: &Peer,
    client_id: &str,
    version: i16,
    request: JoinGroupRequest,
) -> Option<JoinGroupResponse> {
    let join = join(broker, peer, client_id, version, &request);
    let group = own(&request.group_id);
    // Nothing of the request's bytes is held while the member waits.
    drop(request);
    let answer = broker.groups.ask(|coordinator, reply| {
        coordinator.join(&group, join, reply, broker.now());
    });
    Some(response(version, answer.await.ok()?))
}

fn join(
    broker: &Broker,
    peer: &Peer,
    client_id: &str,
    version: i16,
    request: &JoinGroupRequest,
) -> Join {
    let instance_id = own_if_any(request.group_instance_id.as_ref());
    let unique = Builder::from_random_bytes(lock(&broker.random).bits().to_ne_bytes()).into_uuid();
    let named_after = instance_id.as_deref().unwrap_or(client_id);
    let protocols = request.protocols.iter().map(|protocol| Protocol {
        name: own(&protocol.name),
        metadata: Bytes::copy_from_slice(&protocol.metadata),
    });
    Join {
        client_id: own(client_id),
        client_host: peer.from.ip().to_string(),
        member_id: own(&request.member_id),
        new_member_id: format!("{named_after}-{unique}"),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: if version < FIRST_WITH_REBALANCE_TIMEOUT {
            request.session_timeout_ms
        } else {
            request.rebalance_timeout_ms.max(0)
        },
        protocol_type: own(&request.protocol_type),
        protocols: protocols.collect(),
        must_know_id: version >= FIRST_WITH_KNOWN_ID,
        can_skip_assignment: version >= FIRST_WITH_SKIPPING,
        instance_id,
    }
}

fn response(version: i16, joined: Joined) -> JoinGroupResponse {
    let members = joined.members.into_iter().map(|member| {
        JoinGroupResponseMember::default()
            .with_member_id(str_bytes(member.member_id))
            .with_group_instance_id(member.instance_id.map(str_bytes))
            .with_metadata(member.metadata)
    });
    let no_protocol = (version < FIRST_WITHOUT_PROTOCOL).then(String::new);
    JoinGroupResponse::default()
        .with_error_code(joined.error.code())
        .with_generation_id(joined.generation)
        .with_protocol_type(joined.protocol_type.map(str_bytes))
        .with_protocol_name(joined.protocol_name.or(no_protocol).map(str_bytes))
        .with_leader(str_bytes(joined.leader))
        .with_skip_assignment(joined.skip_assignment)
        .with_member_id(str_bytes(joined.member_id))
        .with_members(members.collect())
}
