//! `Metadata`: the broker, and the topics asked for, created if need be.

use crate::broker::{Broker, NODE_ID};
use crate::log::LEADER_EPOCH;
use crate::server::Peer;
use crate::topics::Topics;
use kafka_coordination::ErrorCode;
use kafka_coordination::metadata::TopicView;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{BrokerId, MetadataRequest, MetadataResponse};
use kafka_protocol::protocol::StrBytes;
use std::collections::HashSet;
use uuid::Uuid;

/// The first version in which a client says whether a topic may be created; before, it may.
const FIRST_WITH_CHOICE: i16 = 4;

pub(super) fn answer(
    broker: &Broker,
    peer: &Peer,
    version: i16,
    request: MetadataRequest,
) -> MetadataResponse {
    let topics = broker.topics();
    let all = || topics.views().map(describe).collect();
    let may_create = broker.args.auto_create
        && (version < FIRST_WITH_CHOICE || request.allow_auto_topic_creation);
    let described = match request.topics {
        None => all(),
        // Version 0 has no way to ask for none.
        Some(wanted) if wanted.is_empty() && version == 0 => all(),
        Some(wanted) => {
            // Once each: a topic's description is larger than its mention.
            let mut seen = HashSet::new();
            let answer = |wanted: MetadataRequestTopic| {
                let id = names_nothing(&wanted).then_some(wanted.topic_id);
                let is_new = seen.insert((wanted.name.clone(), id));
                is_new.then(|| answer_topic(broker, &topics, may_create, wanted))
            };
            wanted.into_iter().filter_map(answer).collect()
        }
    };
    let node = MetadataResponseBroker::default()
        .with_node_id(BrokerId(NODE_ID))
        .with_host(StrBytes::from_string(peer.reached_at.ip().to_string()))
        .with_port(peer.reached_at.port().into());
    MetadataResponse::default()
        .with_brokers(vec![node])
        .with_cluster_id(Some(StrBytes::from_string(broker.cluster_id.clone())))
        .with_controller_id(BrokerId(NODE_ID))
        .with_topics(described)
}

fn answer_topic(
    broker: &Broker,
    topics: &Topics,
    may_create: bool,
    wanted: MetadataRequestTopic,
) -> MetadataResponseTopic {
    let found = match &wanted.name {
        Some(name) if !names_nothing(&wanted) => find_by_name(broker, topics, may_create, name),
        _ => find_by_id(topics, wanted.topic_id),
    };
    // A topic without a name can be encoded from version 12 on only, the first that asks by id.
    found.unwrap_or_else(|error| {
        MetadataResponseTopic::default()
            .with_error_code(error.code())
            .with_name(wanted.name)
            .with_topic_id(wanted.topic_id)
    })
}

/// Whether a topic is asked for by its id: the Java client gives an empty name then, others none. An id beside a name says
/// nothing.
fn names_nothing(wanted: &MetadataRequestTopic) -> bool {
    wanted.name.as_ref().is_none_or(|name| name.is_empty() && !wanted.topic_id.is_nil())
}

fn find_by_id(topics: &Topics, id: Uuid) -> Result<MetadataResponseTopic, ErrorCode> {
    let topic = topics.view_by_id(id.into());
    topic.map(describe).ok_or(ErrorCode::UnknownTopicId)
}

fn find_by_name(
    broker: &Broker,
    topics: &Topics,
    may_create: bool,
    name: &str,
) -> Result<MetadataResponseTopic, ErrorCode> {
    if let Some(topic) = topics.view_by_name(name) {
        return Ok(describe(topic));
    }
    if !may_create {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    match broker.create_topic(name, broker.args.partitions) {
        // If it exists now, another client has been faster.
        Ok(_) | Err(ErrorCode::TopicAlreadyExists) => {}
        Err(error) => return Err(error),
    }
    let topics = broker.topics();
    let topic = topics.view_by_name(name);
    topic.map(describe).ok_or(ErrorCode::UnknownTopicOrPartition)
}

fn describe(topic: TopicView<'_>) -> MetadataResponseTopic {
    let partition = |index| {
        let replicas = topic.replicas(index).unwrap_or_default();
        let replicas: Vec<_> = replicas.iter().copied().map(BrokerId).collect();
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(BrokerId(NODE_ID))
            .with_leader_epoch(LEADER_EPOCH)
            .with_isr_nodes(replicas.clone())
            .with_replica_nodes(replicas)
    };
    MetadataResponseTopic::default()
        .with_name(Some(StrBytes::from_string(topic.name().to_owned()).into()))
        .with_topic_id(topic.id().into())
        .with_partitions((0..topic.partition_count()).map(partition).collect())
}
