//! `CreateTopics` and `DeleteTopics`.

use crate::broker::{Broker, NODE_ID};
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use std::collections::HashMap;

/// The first version in which a client may leave partitions and replicas to the broker.
const FIRST_WITH_DEFAULTS: i16 = 4;
/// The first version that deletes by id too.
const FIRST_WITH_IDS: i16 = 6;
/// Stands for the broker's default.
const DEFAULT: i32 = -1;

pub(super) fn create(
    broker: &Broker,
    version: i16,
    request: &CreateTopicsRequest,
) -> CreateTopicsResponse {
    let mut named: HashMap<TopicName, usize> = HashMap::new();
    for topic in &request.topics {
        *named.entry(topic.name.clone()).or_default() += 1;
    }
    let results = request.topics.iter().filter_map(|wanted| {
        // A name given twice is answered once, and refused.
        let times = named.remove(&wanted.name)?;
        let created = if times == 1 {
            create_one(broker, version, wanted, request.validate_only)
        } else {
            Err(ErrorCode::InvalidRequest)
        };
        let result = CreatableTopicResult::default().with_name(wanted.name.clone());
        Some(match created {
            Ok((id, partitions)) => result
                .with_topic_id(id.into())
                .with_num_partitions(partitions)
                .with_replication_factor(1)
                .with_configs(Some(Vec::new())),
            Err(error) => {
                result.with_error_code(error.code()).with_error_message(Some(text(error)))
            }
        })
    });
    CreateTopicsResponse::default().with_topics(results.collect())
}

fn create_one(
    broker: &Broker,
    version: i16,
    wanted: &CreatableTopic,
    validate_only: bool,
) -> Result<(TopicId, i32), ErrorCode> {
    let partitions = if !wanted.assignments.is_empty() {
        assigned(wanted)?
    } else if wanted.replication_factor != 1
        && !(wanted.replication_factor == -1 && version >= FIRST_WITH_DEFAULTS)
    {
        return Err(ErrorCode::InvalidReplicationFactor);
    } else if wanted.num_partitions == DEFAULT && version >= FIRST_WITH_DEFAULTS {
        broker.args.partitions
    } else {
        wanted.num_partitions
    };
    if validate_only {
        broker.topics().check_new(&wanted.name, partitions)?;
        return Ok((TopicId::ZERO, partitions));
    }
    let topic = broker.create_topic(&wanted.name, partitions)?;
    Ok((topic.id, partitions))
}

/// The number of partitions of a topic that comes with its assignments: partitions 0, 1, … on this broker.
fn assigned(wanted: &CreatableTopic) -> Result<i32, ErrorCode> {
    if wanted.num_partitions != DEFAULT || wanted.replication_factor != -1 {
        return Err(ErrorCode::InvalidRequest);
    }
    let mut indexes: Vec<i32> = wanted.assignments.iter().map(|one| one.partition_index).collect();
    indexes.sort_unstable();
    let fits = indexes.iter().copied().eq(0..indexes.len().try_into().unwrap_or(i32::MAX))
        && wanted.assignments.iter().all(|one| one.broker_ids == [NODE_ID]);
    if !fits {
        return Err(ErrorCode::InvalidReplicaAssignment);
    }
    indexes.len().try_into().map_err(|_| ErrorCode::InvalidPartitions)
}

pub(super) fn delete(
    broker: &Broker,
    version: i16,
    request: DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let responses = if version < FIRST_WITH_IDS {
        let by_name = |name| DeleteTopicState::default().with_name(Some(name));
        request
            .topic_names
            .into_iter()
            .map(by_name)
            .map(|wanted| delete_one(broker, wanted))
            .collect()
    } else {
        request.topics.into_iter().map(|wanted| delete_one(broker, wanted)).collect()
    };
    DeleteTopicsResponse::default().with_responses(responses)
}

fn delete_one(broker: &Broker, wanted: DeleteTopicState) -> DeletableTopicResult {
    let id = TopicId::from(wanted.topic_id);
    let found = match &wanted.name {
        Some(_) if !id.is_zero() => Err(ErrorCode::InvalidRequest),
        Some(name) => {
            let topics = broker.topics();
            topics.by_name(name).map(|topic| topic.id).ok_or(ErrorCode::UnknownTopicOrPartition)
        }
        None => Ok(id),
    };
    let deleted = found.and_then(|id| broker.delete_topic(id));
    match deleted {
        Ok(topic) => DeletableTopicResult::default()
            .with_name(Some(StrBytes::from_string(topic.name.to_string()).into()))
            .with_topic_id(topic.id.into()),
        Err(error) => DeletableTopicResult::default()
            .with_name(wanted.name)
            .with_topic_id(wanted.topic_id)
            .with_error_code(error.code())
            .with_error_message(Some(text(error))),
    }
}

fn text(error: ErrorCode) -> StrBytes {
    StrBytes::from_static_str(error.name())
}
