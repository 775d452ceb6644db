//! Fetch requests: from messages on the broker's side, to messages on the fetcher's.

use crate::fetch::{
    FetchMetadata, FetchParams, FetchPlan, FetchRequest, FetcherKind, ForgottenTopic,
    PartitionRequest, Profile, RequestTopic,
};
use crate::topic::TopicId;
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use kafka_protocol::messages::fetch_request;
use kafka_protocol::messages::{FetchRequest as Message, TopicName as WireName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::versions::{REPLICA_STATE, SESSIONS, TAGS, TOPIC_IDS};

/// What only the host knows of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "constructed by hosts")]
pub struct Sender {
    /// See [`Profile::host`].
    pub profile: u64,
    /// See [`FetchRequest::principal`].
    pub principal: u64,
}

/// The replica id in a request of this version; negative for a consumer.
///
/// It is at the top up to version 14, and in the replica's state from 15 on (KIP-903).
pub fn replica_id(message: &Message, version: i16) -> i32 {
    if version >= REPLICA_STATE { *message.replica_state.replica_id } else { *message.replica_id }
}

/// Calls `then` with a view on a message of version 4 to 18, as decoded at that version.
///
/// Fields that the version lacks have the values that decoding gives them: below 7 no session is
/// asked for ([`FetchMetadata::LEGACY`]), below 5 the fetcher's log start offset is -1. Negative
/// epochs become `None`. Isolation level 1, and no other, is read committed.
///
/// Names are borrowed. O(partitions in the request); allocates nothing for a request without
/// partitions, and three arrays for others.
pub fn with_request<R>(
    message: &Message,
    version: i16,
    sender: Sender,
    then: impl FnOnce(&FetchRequest<'_>) -> R,
) -> R {
    let topics = &message.topics;
    let mut partitions =
        Vec::with_capacity(topics.iter().map(|topic| topic.partitions.len()).sum());
    partitions.extend(topics.iter().flat_map(|topic| &topic.partitions).map(partition_request));
    let mut rest = partitions.as_slice();
    let topics: Vec<_> = topics
        .iter()
        .map(|topic| {
            let (partitions, tail) = rest.split_at(topic.partitions.len());
            rest = tail;
            RequestTopic { id: topic_id(topic.topic_id), name: topic.topic.as_str(), partitions }
        })
        .collect();
    let forgotten: Vec<_> = message
        .forgotten_topics_data
        .iter()
        .map(|topic| ForgottenTopic {
            id: topic_id(topic.topic_id),
            name: topic.topic.as_str(),
            partitions: &topic.partitions,
        })
        .collect();
    then(&FetchRequest {
        version,
        metadata: FetchMetadata { session_id: message.session_id, epoch: message.session_epoch },
        fetcher: if replica_id(message, version) < 0 {
            FetcherKind::Consumer
        } else {
            FetcherKind::Follower
        },
        profile: Profile { read_committed: message.isolation_level == 1, host: sender.profile },
        principal: sender.principal,
        topics: &topics,
        forgotten: &forgotten,
    })
}

fn partition_request(partition: &fetch_request::FetchPartition) -> PartitionRequest {
    PartitionRequest {
        partition: partition.partition,
        params: FetchParams {
            fetch_offset: partition.fetch_offset,
            log_start_offset: partition.log_start_offset,
            max_bytes: partition.partition_max_bytes,
            leader_epoch: epoch(partition.current_leader_epoch),
            last_fetched_epoch: epoch(partition.last_fetched_epoch),
        },
    }
}

fn epoch(wire: i32) -> Option<i32> {
    (wire >= 0).then_some(wire)
}

fn topic_id(wire: Uuid) -> TopicId {
    TopicId::from_u128(wire.as_u128())
}

/// Puts a fetch request together, topic by topic.
///
/// Only what the version carries is kept: of topics the id from version 13 on and the name below,
/// and no forgotten ones below 7.
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    version: i16,
    message: Message,
}

impl RequestBuilder {
    /// Starts a request of version 4 to 18 on a session; below 7 without one.
    ///
    /// `message` has the rest of the request: waiting time, limits, isolation level, rack.
    pub fn new(version: i16, metadata: FetchMetadata, message: Message) -> Self {
        let metadata = if version < SESSIONS { FetchMetadata::LEGACY } else { metadata };
        Self {
            version,
            message: message
                .with_session_id(metadata.session_id)
                .with_session_epoch(metadata.epoch),
        }
    }

    /// Starts the request of version 4 to 18 that a plan asks for, with its session and its topics.
    ///
    /// See [`FetchPlan::version`] for the version, and [`new`](Self::new) for `message`.
    /// O(partitions in the request).
    pub fn of(version: i16, plan: &FetchPlan<'_>, message: Message) -> Self {
        let mut builder = Self::new(version, plan.metadata(), message);
        for topic in plan.topics(version) {
            builder.fetch(topic.id, topic.name, topic.partitions);
        }
        for topic in plan.forgotten(version) {
            builder.forget(topic.id, topic.name, topic.partitions);
        }
        builder
    }

    /// Sets the id and the epoch of the replica that fetches. Without this call a consumer does.
    #[must_use]
    pub fn replica(mut self, id: i32, epoch: i64) -> Self {
        if self.version >= REPLICA_STATE {
            self.message.replica_state = fetch_request::ReplicaState::default()
                .with_replica_id(id.into())
                .with_replica_epoch(epoch);
        } else {
            self.message.replica_id = id.into();
        }
        self
    }

    /// Adds a topic with the partitions to fetch.
    pub fn fetch(
        &mut self,
        id: TopicId,
        name: &str,
        partitions: impl IntoIterator<Item = PartitionRequest>,
    ) {
        let (topic_id, topic) = self.key(id, name);
        let partitions = partitions.into_iter().map(|request| self.partition(request));
        let topic = fetch_request::FetchTopic::default()
            .with_topic_id(topic_id)
            .with_topic(topic)
            .with_partitions(partitions.collect());
        self.message.topics.push(topic);
    }

    /// Adds a topic with the partitions to forget.
    pub fn forget(&mut self, id: TopicId, name: &str, partitions: impl IntoIterator<Item = i32>) {
        if self.version < SESSIONS {
            return;
        }
        let (topic_id, topic) = self.key(id, name);
        let topic = fetch_request::ForgottenTopic::default()
            .with_topic_id(topic_id)
            .with_topic(topic)
            .with_partitions(partitions.into_iter().collect());
        self.message.forgotten_topics_data.push(topic);
    }

    /// The request.
    pub fn finish(self) -> Message {
        self.message
    }

    fn key(&self, id: TopicId, name: &str) -> (Uuid, WireName) {
        if self.version >= TOPIC_IDS {
            (Uuid::from_u128(id.as_u128()), WireName::default())
        } else {
            let name = StrBytes::from_string(name.to_owned());
            (Uuid::nil(), WireName(name))
        }
    }

    fn partition(&self, request: PartitionRequest) -> fetch_request::FetchPartition {
        let params = request.params;
        let last_fetched_epoch = params.last_fetched_epoch.filter(|_| self.version >= TAGS);
        fetch_request::FetchPartition::default()
            .with_partition(request.partition)
            .with_current_leader_epoch(params.leader_epoch.unwrap_or(-1))
            .with_fetch_offset(params.fetch_offset)
            .with_last_fetched_epoch(last_fetched_epoch.unwrap_or(-1))
            .with_log_start_offset(params.log_start_offset)
            .with_partition_max_bytes(params.max_bytes)
    }
}
