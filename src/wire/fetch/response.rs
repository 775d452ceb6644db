//! Fetch responses.

use crate::error_code::ErrorCode;
use crate::fetch::{AnsweredTopic, FetchAnswer, ResponseHead};
use crate::topic::TopicId;
use alloc::borrow::ToOwned;
use alloc::vec;
use bytes::Bytes;
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
    SnapshotId,
};
use kafka_protocol::messages::{FetchRequest, FetchResponse, TopicName as WireName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::versions::{NODE_ENDPOINTS, PREFERRED_REPLICA, SESSIONS, TAGS, TOPIC_IDS};

/// Puts a fetch response together, partition by partition, in the order of the answer.
///
/// Adjacent partitions of one topic share its element; the order stays, so a topic may have several
/// elements. A topic is known by its id from version 13 on and by its name below. What the version
/// does not carry is left out, so the response always encodes. Records are moved.
///
/// Deviation: Kafka compares names where ids are zero, also at versions that carry no names, and
/// fails if there are none.
#[derive(Clone, Debug)]
pub struct ResponseBuilder {
    version: i16,
    message: FetchResponse,
}

impl ResponseBuilder {
    /// Starts a response of version 4 to 18. Below version 7 it carries neither error nor session.
    pub fn new(version: i16, error: ErrorCode, session_id: i32, throttle_time_ms: i32) -> Self {
        let mut message = FetchResponse::default().with_throttle_time_ms(throttle_time_ms);
        if version >= SESSIONS {
            message.error_code = error.code();
            message.session_id = session_id;
        }
        Self { version, message }
    }

    /// Starts the response with what the cache answers to a request of version 4 to 18.
    pub fn of(version: i16, answer: &FetchAnswer) -> Self {
        let FetchAnswer { error, session_id, throttle_time_ms, .. } = *answer;
        Self::new(version, error, session_id, throttle_time_ms)
    }

    /// Adds a partition.
    ///
    /// A null record set becomes an empty one, as Kafka's brokers send it. The aborted transactions
    /// are sent as they are: `None` is what a fetcher of uncommitted records expects.
    ///
    /// O(1), and O(the name's length) for a topic's first partition below version 13.
    pub fn push(&mut self, id: TopicId, name: &str, mut partition: PartitionData) {
        partition.records.get_or_insert_with(Bytes::new);
        if self.version < PREFERRED_REPLICA {
            partition.preferred_read_replica = (-1).into();
        }
        if self.version < TAGS {
            partition.diverging_epoch = EpochEndOffset::default();
            partition.current_leader = LeaderIdAndEpoch::default();
            partition.snapshot_id = SnapshotId::default();
        }
        let id = Uuid::from_u128(id.as_u128());
        let by_id = self.version >= TOPIC_IDS;
        match self.message.responses.last_mut() {
            Some(topic) if by_id && topic.topic_id == id => topic.partitions.push(partition),
            Some(topic) if !by_id && topic.topic.as_str() == name => {
                topic.partitions.push(partition);
            }
            _ => {
                let topic = FetchableTopicResponse::default().with_partitions(vec![partition]);
                self.message.responses.push(if by_id {
                    topic.with_topic_id(id)
                } else {
                    topic.with_topic(WireName(StrBytes::from_string(name.to_owned())))
                });
            }
        }
    }

    /// Adds where a leader that the partitions name listens (KIP-951). Nothing below version 16.
    pub fn endpoint(&mut self, node_id: i32, host: &str, port: i32, rack: Option<&str>) {
        if self.version < NODE_ENDPOINTS {
            return;
        }
        self.message.node_endpoints.push(
            NodeEndpoint::default()
                .with_node_id(node_id.into())
                .with_host(StrBytes::from_string(host.to_owned()))
                .with_port(port)
                .with_rack(rack.map(|rack| StrBytes::from_string(rack.to_owned()))),
        );
    }

    /// The response.
    pub fn finish(self) -> FetchResponse {
        self.message
    }
}

/// The response of version 4 to 18 to a request that as a whole failed with `error`.
///
/// It repeats the request's session id. Below version 13 it also gives the error to each partition
/// that the request lists, with high watermark -1 and no records.
///
/// O(partitions in the request).
pub fn error_response(
    request: &FetchRequest,
    version: i16,
    error: ErrorCode,
    throttle_time_ms: i32,
) -> FetchResponse {
    let mut response = ResponseBuilder::new(version, error, request.session_id, throttle_time_ms);
    if version >= TOPIC_IDS {
        return response.finish();
    }
    for topic in &request.topics {
        for partition in &topic.partitions {
            let failed = PartitionData::default()
                .with_partition_index(partition.partition)
                .with_error_code(error.code())
                .with_high_watermark(-1)
                .with_aborted_transactions(None);
            response.push(TopicId::ZERO, &topic.topic, failed);
        }
    }
    response.finish()
}

/// A response of this version but for its topics, for
/// [`FetcherSession::handle_response`](crate::fetch::FetcherSession::handle_response).
///
/// An error that Kafka does not define counts as
/// [`UnknownServerError`](ErrorCode::UnknownServerError).
pub fn response_head(response: &FetchResponse, version: i16) -> ResponseHead {
    ResponseHead {
        version,
        error: ErrorCode::from_code(response.error_code).unwrap_or(ErrorCode::UnknownServerError),
        session_id: response.session_id,
        throttle_time_ms: response.throttle_time_ms,
    }
}

/// The topics of a response, for
/// [`FetcherSession::handle_response`](crate::fetch::FetcherSession::handle_response).
pub fn answered_topics(
    response: &FetchResponse,
) -> impl Iterator<Item = AnsweredTopic<'_, impl Iterator<Item = i32>>> {
    response.responses.iter().map(|topic| AnsweredTopic {
        id: TopicId::from_u128(topic.topic_id.as_u128()),
        name: &topic.topic,
        partitions: topic.partitions.iter().map(|partition| partition.partition_index),
    })
}
