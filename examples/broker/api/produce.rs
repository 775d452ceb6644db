//! `Produce`: appends record batches, and says what has changed to whoever waits for it.

use crate::batch::{Batch, Refusal};
use crate::broker::Broker;
use crate::log::Appended;
use crate::server::Peer;
use crate::topics::{Topic, Topics};
use crate::transactions::Request;
use kafka_coordination::wire::producer::RecordBatch;
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{ProduceRequest, ProduceResponse};
use kafka_protocol::protocol::StrBytes;

/// The first version that names topics by id.
const FIRST_WITH_IDS: i16 = 13;

pub(super) fn answer(
    broker: &Broker,
    peer: &Peer,
    version: i16,
    request: ProduceRequest,
) -> ProduceResponse {
    let checked = check(&request);
    let transactional_id = request.transactional_id.as_ref().map(|id| &***id);
    let about = Request { version, transactional_id };
    let topics = broker.topics();
    let responses = request.topic_data.into_iter().map(|data| {
        let topic = checked.clone().and_then(|()| find(&topics, version, &data));
        let partitions = data.partition_data.into_iter().map(|records| {
            let index = records.index;
            let appended =
                { topic.clone() }.and_then(|topic| append(broker, peer, about, topic, records));
            partition_response(index, appended)
        });
        TopicProduceResponse::default()
            .with_partition_responses(partitions.collect())
            .with_name(data.name)
            .with_topic_id(data.topic_id)
    });
    ProduceResponse::default().with_responses(responses.collect())
}

/// Whether the answer that is due now gets lost, as the command line asks for.
pub(super) fn loses_response(broker: &Broker, peer: &Peer) -> bool {
    let is_lost = broker.faults.loses_response();
    if is_lost {
        broker.stats.responses_dropped.add(1);
        peer.client.responses_dropped.add(1);
    }
    is_lost
}

/// Whether any partition of the response has failed.
pub(super) fn has_error(response: &ProduceResponse) -> bool {
    let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    partitions.any(|partition| partition.error_code != ErrorCode::None.code())
}

/// Refuses requests of which no partition can succeed.
fn check(request: &ProduceRequest) -> Result<(), Refusal> {
    if !(-1..=1).contains(&request.acks) {
        return Err(Refusal::new(ErrorCode::InvalidRequiredAcks, "acks must be 0, 1 or -1"));
    }
    let batches = request.topic_data.iter().flat_map(|topic| &topic.partition_data);
    let headers = batches.filter_map(|data| {
        let (batch, _) = RecordBatch::read_first(data.records.as_ref()?).ok()?;
        Some(*batch.header())
    });
    let transactional: Vec<_> = headers.filter(|header| header.is_transactional).collect();
    if !transactional.is_empty() && request.transactional_id.is_none() {
        let text = "transactional batches need a transactional id";
        return Err(Refusal::new(ErrorCode::TransactionalIdAuthorizationFailed, text));
    }
    let with_producer = transactional.iter().filter(|header| header.producer_id >= 0);
    let mut producers = with_producer.map(|header| (header.producer_id, header.producer_epoch));
    let first = producers.next();
    if producers.any(|producer| Some(producer) != first) {
        let text = "a request's transactional batches must be of one producer";
        return Err(Refusal::new(ErrorCode::InvalidProducerIdMapping, text));
    }
    Ok(())
}

fn find<'a>(
    topics: &'a Topics,
    version: i16,
    data: &TopicProduceData,
) -> Result<&'a Topic, Refusal> {
    let (topic, unknown) = if version >= FIRST_WITH_IDS {
        let topic = topics.by_id(TopicId::from(data.topic_id));
        (topic, Refusal::new(ErrorCode::UnknownTopicId, "no topic has this id"))
    } else {
        let topic = topics.by_name(&data.name);
        (topic, Refusal::new(ErrorCode::UnknownTopicOrPartition, "no topic has this name"))
    };
    topic.map(AsRef::as_ref).ok_or(unknown)
}

fn append(
    broker: &Broker,
    peer: &Peer,
    request: Request<'_>,
    topic: &Topic,
    data: PartitionProduceData,
) -> Result<Appended, Refusal> {
    let text = "the topic has no such partition";
    let unknown = Refusal::new(ErrorCode::UnknownTopicOrPartition, text);
    let log = topic.log(data.index).ok_or(unknown)?;
    let batch = Batch::parse(&data.records.unwrap_or_default(), request.version)?;
    let records = batch.record_count();
    let partition = (topic.id, data.index);
    let appended = broker.transactions.append(broker, request, partition, log, batch)?;
    if appended.is_duplicate {
        broker.stats.duplicates.add(1);
        peer.client.duplicates.add(1);
        return Ok(appended);
    }
    broker.stats.records_appended.add(records);
    peer.client.records_appended.add(records);
    broker.appended(topic, data.index, appended);
    Ok(appended)
}

fn partition_response(index: i32, appended: Result<Appended, Refusal>) -> PartitionProduceResponse {
    let response = PartitionProduceResponse::default().with_index(index);
    match appended {
        Ok(appended) => {
            response.with_base_offset(appended.base_offset).with_log_start_offset(appended.start)
        }
        Err(Refusal { code, text }) => response
            .with_error_code(code.code())
            .with_error_message(Some(StrBytes::from_string(text.into_owned())))
            .with_base_offset(-1),
    }
}
