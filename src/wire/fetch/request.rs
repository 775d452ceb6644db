//! Fetch requests: from messages on the broker's side, to messages on the fetcher's.

use crate::fetch::{
    FetchMetadata, FetchParams, FetchRequest, FetcherKind, ForgottenTopic, PartitionRequest,
    Profile, RequestTopic,
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
        metadata: metadata(message, version),
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

fn metadata(message: &Message, version: i16) -> FetchMetadata {
    if version < SESSIONS {
        return FetchMetadata::LEGACY;
    }
    FetchMetadata { session_id: message.session_id, epoch: message.session_epoch }
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

/// Puts a fetch request together, partition by partition.
///
/// Adjacent partitions of one topic share its element, and so do all forgotten partitions of one
/// topic that are adjacent; the order stays. A topic is known by its id from version 13 on and by
/// its name below, and only what the version carries is kept.
///
/// Deviation: Kafka's fetchers group by name alone, and so send a partition of a topic that was
/// recreated under the id of its predecessor.
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    version: i16,
    message: Message,
}

impl RequestBuilder {
    /// Starts a request of version 4 to 18.
    ///
    /// `message` has the rest of the request: waiting time, limits, isolation level, rack. Below
    /// version 7 the metadata is left out.
    pub fn new(version: i16, metadata: FetchMetadata, message: Message) -> Self {
        let metadata = if version < SESSIONS { FetchMetadata::LEGACY } else { metadata };
        Self {
            version,
            message: message
                .with_session_id(metadata.session_id)
                .with_session_epoch(metadata.epoch),
        }
    }

    /// Sets who fetches: a replica's id and epoch, -1 and -1 for a consumer, which is the default.
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

    /// Adds a partition to fetch.
    pub fn fetch(&mut self, id: TopicId, name: &str, request: &PartitionRequest) {
        let params = &request.params;
        let mut partition = fetch_request::FetchPartition::default()
            .with_partition(request.partition)
            .with_fetch_offset(params.fetch_offset)
            .with_log_start_offset(params.log_start_offset)
            .with_partition_max_bytes(params.max_bytes)
            .with_current_leader_epoch(params.leader_epoch.unwrap_or(-1));
        if self.version >= TAGS {
            partition.last_fetched_epoch = params.last_fetched_epoch.unwrap_or(-1);
        }
        let (id, name) = self.key(id, name);
        match self.message.topics.last_mut() {
            Some(topic) if topic.topic_id == id && topic.topic.as_str() == name => {
                topic.partitions.push(partition);
            }
            _ => self.message.topics.push(
                fetch_request::FetchTopic::default()
                    .with_topic_id(id)
                    .with_topic(wire_name(name))
                    .with_partitions(alloc::vec![partition]),
            ),
        }
    }

    /// Adds a partition to forget. Below version 7 there is nothing that could be forgotten, and
    /// this does nothing.
    pub fn forget(&mut self, id: TopicId, name: &str, partition: i32) {
        if self.version < SESSIONS {
            return;
        }
        let (id, name) = self.key(id, name);
        match self.message.forgotten_topics_data.last_mut() {
            Some(topic) if topic.topic_id == id && topic.topic.as_str() == name => {
                topic.partitions.push(partition);
            }
            _ => self.message.forgotten_topics_data.push(
                fetch_request::ForgottenTopic::default()
                    .with_topic_id(id)
                    .with_topic(wire_name(name))
                    .with_partitions(alloc::vec![partition]),
            ),
        }
    }

    /// The request.
    pub fn finish(self) -> Message {
        self.message
    }

    /// What the version carries of a topic.
    fn key<'a>(&self, id: TopicId, name: &'a str) -> (Uuid, &'a str) {
        if self.version >= TOPIC_IDS {
            (Uuid::from_u128(id.as_u128()), "")
        } else {
            (Uuid::nil(), name)
        }
    }
}

fn wire_name(name: &str) -> WireName {
    WireName(StrBytes::from_string(name.to_owned()))
}
