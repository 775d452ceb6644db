//! Appends by clients, which Kafka's controllers do not serve: `Produce` to partition 0 of `__cluster_metadata`.
//!
//! An append is acknowledged when it is committed. One that a leader had taken when it lost its leadership may or may not
//! come to be committed: it is answered with `NOT_LEADER_OR_FOLLOWER` either way, and it is for the client to look.

use super::requests::answer;
use super::{METADATA_ID, METADATA_TOPIC, Node};
use bytes::Bytes;
use kafka_coordination::kraft::{AppendError, EpochState, Replica};
use kafka_coordination::wire::kraft::ReplyTo;
use kafka_coordination::wire::producer::RecordBatch;
use kafka_coordination::{Clock, ErrorCode};
use kafka_protocol::messages::produce_response::{
    LeaderIdAndEpoch, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{ProduceRequest, ProduceResponse};
use kafka_protocol::protocol::StrBytes;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// The first version that names topics by id.
const FIRST_BY_ID: i16 = 13;

/// Appends that wait until they are committed; a connection has at most one.
#[derive(Debug, Default)]
pub(super) struct Appends(VecDeque<Append>);

#[derive(Debug)]
struct Append {
    epoch: i32,
    base_offset: i64,
    last_offset: i64,
    to: ReplyTo,
    reply: oneshot::Sender<Bytes>,
}

impl Node {
    pub(super) fn take_append(
        &mut self,
        to: ReplyTo,
        request: &ProduceRequest,
        reply: oneshot::Sender<Bytes>,
    ) {
        match self.append_records(to.version(), request) {
            Ok((base_offset, last_offset)) => {
                let epoch = self.replica.quorum().epoch();
                self.appends.0.push_back(Append { epoch, base_offset, last_offset, to, reply });
            }
            Err(error) => answer(reply, to.encode(&response(&self.replica, error, -1))),
        }
    }

    /// Has the records of a request written; the offsets of the first and of the last.
    fn append_records(
        &mut self,
        version: i16,
        request: &ProduceRequest,
    ) -> Result<(i64, i64), ErrorCode> {
        if request.acks != -1 {
            return Err(ErrorCode::InvalidRequiredAcks);
        }
        let [topic] = request.topic_data.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        let is_metadata = if version < FIRST_BY_ID {
            topic.name.as_str() == METADATA_TOPIC
        } else {
            topic.topic_id == METADATA_ID
        };
        let [partition] = topic.partition_data.as_slice() else {
            return Err(ErrorCode::InvalidRequest);
        };
        if !is_metadata || partition.index != 0 {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        let records = partition.records.as_deref().unwrap_or_default();
        let values = values(records)?;
        let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
        let (epoch, now) = (self.replica.quorum().epoch(), self.clock.monotonic());
        let last_offset = self.replica.prepare_append(epoch, values, now).map_err(code)?;
        self.replica.schedule_append(now).map_err(code)?;
        Ok((last_offset + 1 - count, last_offset))
    }
}

impl Appends {
    /// Answers those that are committed; all of them, if the leadership in which they were taken is over.
    pub(super) fn settle(&mut self, replica: &Replica) {
        let leads = match replica.quorum().state() {
            EpochState::Leader(leader) => Some(leader.epoch()),
            _ => None,
        };
        let committed = replica.log().high_watermark();
        while let Some(first) = self.0.front() {
            let response = if leads != Some(first.epoch) {
                response(replica, ErrorCode::NotLeaderOrFollower, -1)
            } else if first.last_offset < committed {
                response(replica, ErrorCode::None, first.base_offset)
            } else {
                return;
            };
            if let Some(append) = self.0.pop_front() {
                answer(append.reply, append.to.encode(&response));
            }
        }
    }
}

/// The values of the records of a client's batches: what a record of the metadata log is.
fn values(mut bytes: &[u8]) -> Result<Vec<Bytes>, ErrorCode> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let (batch, rest) = RecordBatch::read_first(bytes).map_err(|error| error.code())?;
        batch.check_checksum().map_err(|error| error.code())?;
        batch.check_from_client().map_err(|error| error.code())?;
        if batch.header().is_control {
            return Err(ErrorCode::InvalidRecord);
        }
        for record in batch.records().map_err(|error| error.code())? {
            let value = record.map_err(|error| error.code())?.value.unwrap_or_default();
            if value.is_empty() {
                return Err(ErrorCode::InvalidRecord);
            }
            values.push(Bytes::copy_from_slice(value));
        }
        bytes = rest;
    }
    Ok(values)
}

fn code(error: AppendError) -> ErrorCode {
    match error {
        AppendError::Empty => ErrorCode::InvalidRecord,
        AppendError::TooLarge { .. } => ErrorCode::RecordListTooLarge,
        // Not appended, and to be tried again.
        AppendError::TooManyBatches { .. } => ErrorCode::NotEnoughReplicas,
        _ => ErrorCode::NotLeaderOrFollower,
    }
}

fn response(replica: &Replica, error: ErrorCode, base_offset: i64) -> ProduceResponse {
    let state = replica.quorum().state();
    let leader = LeaderIdAndEpoch::default()
        .with_leader_id(state.leader_id().unwrap_or(-1).into())
        .with_leader_epoch(state.epoch());
    let partition = PartitionProduceResponse::default()
        .with_error_code(error.code())
        .with_base_offset(base_offset)
        .with_log_start_offset(replica.log().start_offset())
        .with_current_leader(leader);
    let topic = TopicProduceResponse::default()
        .with_name(StrBytes::from_static_str(METADATA_TOPIC).into())
        .with_topic_id(METADATA_ID)
        .with_partition_responses(vec![partition]);
    ProduceResponse::default().with_responses(vec![topic])
}
