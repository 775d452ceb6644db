//! `AddPartitionsToTxn`: all of the partitions, or none, are in a producer's transaction from now on.
//!
//! From version 4 on brokers ask each other with it. There is no other broker, so that is not served.

use super::end_txn::{FIRST_WITH_FENCED, told_to_client};
use crate::broker::Broker;
use crate::topics::Topics;
use crate::transactions::Producer;
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use kafka_protocol::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};

pub(super) fn answer(
    broker: &Broker,
    version: i16,
    request: &AddPartitionsToTxnRequest,
) -> AddPartitionsToTxnResponse {
    let topics = broker.topics();
    let wanted = &request.v3_and_below_topics;
    let found: Option<Vec<_>> = pairs(wanted).map(|(topic, it)| find(&topics, topic, it)).collect();
    let is_all = found.is_some();
    let added = found.map_or(Err(ErrorCode::OperationNotAttempted), |partitions| {
        let id = &request.v3_and_below_transactional_id;
        let producer = Producer {
            id: *request.v3_and_below_producer_id,
            epoch: request.v3_and_below_producer_epoch,
        };
        broker.transactions.add_partitions(broker, id, producer, &partitions)
    });
    let error = added.err().unwrap_or(ErrorCode::None);
    let error = told_to_client(error, version, FIRST_WITH_FENCED);
    let results = wanted.iter().map(|topic| {
        let result = |partition: &i32| {
            let is_there = is_all || find(&topics, &topic.name, *partition).is_some();
            let error = if is_there { error } else { ErrorCode::UnknownTopicOrPartition };
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*partition)
                .with_partition_error_code(error.code())
        };
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(topic.partitions.iter().map(result).collect())
    });
    AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(results.collect())
}

fn pairs(topics: &[AddPartitionsToTxnTopic]) -> impl Iterator<Item = (&str, i32)> {
    let each = |topic: &AddPartitionsToTxnTopic| topic.partitions.clone();
    topics.iter().flat_map(move |topic| each(topic).into_iter().map(|it| (&**topic.name, it)))
}

fn find(topics: &Topics, name: &str, partition: i32) -> Option<(TopicId, i32)> {
    let topic = topics.by_name(name)?;
    topic.log(partition).map(|_| (topic.id, partition))
}
