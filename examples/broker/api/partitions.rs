//! `CreatePartitions`: more partitions for topics that exist.

use crate::broker::{Broker, NODE_ID};
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::{CreatePartitionsRequest, CreatePartitionsResponse};
use std::collections::HashSet;

pub(super) fn answer(
    broker: &Broker,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let mut seen = HashSet::new();
    let results = request.topics.into_iter().map(|wanted| {
        let grown = if seen.insert(wanted.name.clone()) {
            grow(broker, &wanted, request.validate_only)
        } else {
            Err(ErrorCode::InvalidRequest)
        };
        let code = grown.err().unwrap_or(ErrorCode::None).code();
        CreatePartitionsTopicResult::default().with_name(wanted.name).with_error_code(code)
    });
    CreatePartitionsResponse::default().with_results(results.collect())
}

fn grow(
    broker: &Broker,
    wanted: &CreatePartitionsTopic,
    validate_only: bool,
) -> Result<(), ErrorCode> {
    let topics = broker.topics();
    let topic = topics.by_name(&wanted.name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let count = topics.check_growth(topic, wanted.count)?;
    if let Some(assignments) = &wanted.assignments {
        let fits = assignments.len() == count - topic.logs.len()
            && assignments.iter().all(|assignment| assignment.broker_ids == [NODE_ID]);
        if !fits {
            return Err(ErrorCode::InvalidReplicaAssignment);
        }
    }
    if validate_only {
        return Ok(());
    }
    broker.grow_topic(&wanted.name, wanted.count)
}
