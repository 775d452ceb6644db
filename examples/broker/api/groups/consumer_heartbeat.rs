//! `ConsumerGroupHeartbeat`.

use super::{own, own_if_any, str_bytes};
use crate::broker::{Broker, lock};
use crate::groups::{Assignment, Heartbeat, Told};
use crate::server::Peer;
use kafka_coordination::TopicId;
use kafka_protocol::messages::consumer_group_heartbeat_response::{
    self as response, TopicPartitions,
};
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_protocol::protocol::StrBytes;

/// The first version in which members bring their ids (KIP-1082).
const FIRST_WITH_OWN_ID: i16 = 1;
/// Stands for "as before".
const UNCHANGED: i32 = -1;

pub(super) fn answer(
    broker: &Broker,
    peer: &Peer,
    client_id: &str,
    version: i16,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    let group = own(&request.group_id);
    let heartbeat = heartbeat(broker, peer, client_id, version, request);
    let (told, interval_ms) = broker.groups.with(|coordinator| {
        let told = coordinator.consumer_heartbeat(&group, &heartbeat, broker.now());
        (told, coordinator.heartbeat_interval_ms())
    });
    match told {
        Ok(told) => respond(told).with_heartbeat_interval_ms(interval_ms),
        Err((error, text)) => ConsumerGroupHeartbeatResponse::default()
            .with_error_code(error.code())
            .with_error_message(Some(StrBytes::from_static_str(text))),
    }
}

fn heartbeat(
    broker: &Broker,
    peer: &Peer,
    client_id: &str,
    version: i16,
    request: ConsumerGroupHeartbeatRequest,
) -> Heartbeat {
    let member_id = if request.member_id.is_empty() && version < FIRST_WITH_OWN_ID {
        TopicId::from_u128(lock(&broker.random).bits()).to_string()
    } else {
        own(&request.member_id)
    };
    let topics =
        request.subscribed_topic_names.map(|names| names.iter().map(|name| own(name)).collect());
    Heartbeat {
        client_id: own(client_id),
        client_host: peer.from.ip().to_string(),
        member_id,
        member_epoch: request.member_epoch,
        instance_id: own_if_any(request.instance_id.as_ref()),
        rack_id: own_if_any(request.rack_id.as_ref()),
        rebalance_timeout_ms: match request.rebalance_timeout_ms {
            UNCHANGED => None,
            ms => Some(ms.max(0)),
        },
        topics,
        regex: own_if_any(request.subscribed_topic_regex.as_ref()),
        server_assignor: own_if_any(request.server_assignor.as_ref()),
        owned: request.topic_partitions.map(|owned| {
            let mut partitions = Assignment::new();
            for one in owned.into_iter().filter(|one| !one.partitions.is_empty()) {
                partitions.entry(one.topic_id.into()).or_default().extend(one.partitions);
            }
            partitions
        }),
    }
}

fn respond(told: Told) -> ConsumerGroupHeartbeatResponse {
    let assignment = told.assignment.map(|assignment| {
        let topics = assignment.into_iter().map(|(topic, partitions)| {
            TopicPartitions::default()
                .with_topic_id(topic.into())
                .with_partitions(partitions.into_iter().collect())
        });
        response::Assignment::default().with_topic_partitions(topics.collect())
    });
    ConsumerGroupHeartbeatResponse::default()
        .with_member_id(Some(str_bytes(told.member_id)))
        .with_member_epoch(told.member_epoch)
        .with_assignment(assignment)
}
