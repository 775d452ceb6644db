//! `Produce`: appends record batches, and says what has changed to whoever waits for it.

use crate::batch::{Batch, Refusal};
use crate::broker::{Broker, lock};
use crate::log::Appended;
use crate::topics::{Topic, Topics};
use kafka_coordination::fetch::Change;
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{ProduceRequest, ProduceResponse};
use kafka_protocol::protocol::StrBytes;

/// The first version that names topics by id.
const FIRST_WITH_IDS: i16 = 13;

pub(super) fn answer(broker: &Broker, version: i16, request: ProduceRequest) -> ProduceResponse {
    let refusal = if !(-1..=1).contains(&request.acks) {
        Some((ErrorCode::InvalidRequiredAcks, "acks must be 0, 1 or -1"))
    } else if request.transactional_id.is_some() {
        Some((ErrorCode::TransactionalIdAuthorizationFailed, "this broker has no transactions"))
    } else {
        None
    };
    let topics = broker.topics();
    let responses = request.topic_data.into_iter().map(|data| {
        let topic = refusal.map_or_else(|| find(&topics, version, &data), Err);
        let partitions = data.partition_data.into_iter().map(|records| {
            let index = records.index;
            let appended = topic.and_then(|topic| append(broker, topic, version, records));
            partition_response(index, appended)
        });
        TopicProduceResponse::default()
            .with_partition_responses(partitions.collect())
            .with_name(data.name)
            .with_topic_id(data.topic_id)
    });
    ProduceResponse::default().with_responses(responses.collect())
}

/// Whether any partition of the response has failed.
pub(super) fn has_error(response: &ProduceResponse) -> bool {
    let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    partitions.any(|partition| partition.error_code != ErrorCode::None.code())
}

fn find<'a>(
    topics: &'a Topics,
    version: i16,
    data: &TopicProduceData,
) -> Result<&'a Topic, Refusal> {
    if version >= FIRST_WITH_IDS {
        let topic = topics.by_id(TopicId::from(data.topic_id));
        topic.map(AsRef::as_ref).ok_or((ErrorCode::UnknownTopicId, "no topic has this id"))
    } else {
        let topic = topics.by_name(&data.name);
        topic
            .map(AsRef::as_ref)
            .ok_or((ErrorCode::UnknownTopicOrPartition, "no topic has this name"))
    }
}

fn append(
    broker: &Broker,
    topic: &Topic,
    version: i16,
    data: PartitionProduceData,
) -> Result<Appended, Refusal> {
    let unknown = (ErrorCode::UnknownTopicOrPartition, "the topic has no such partition");
    let log = topic.log(data.index).ok_or(unknown)?;
    let batch = Batch::parse(&data.records.unwrap_or_default(), version)?;
    broker.stats.records_appended.add(usize::try_from(batch.len).unwrap_or(0));
    let appended = lock(log).append(batch);
    broker.partition_changed(topic, data.index, Change::HighWatermark);
    if appended.start_moved {
        broker.partition_changed(topic, data.index, Change::LogStartOffset);
    }
    Ok(appended)
}

fn partition_response(index: i32, appended: Result<Appended, Refusal>) -> PartitionProduceResponse {
    let response = PartitionProduceResponse::default().with_index(index);
    match appended {
        Ok(appended) => {
            response.with_base_offset(appended.base_offset).with_log_start_offset(appended.start)
        }
        Err((error, text)) => response
            .with_error_code(error.code())
            .with_error_message(Some(StrBytes::from_static_str(text)))
            .with_base_offset(-1),
    }
}
