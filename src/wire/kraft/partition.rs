//! What messages about the metadata partition have in common.

use alloc::vec::Vec;
use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kraft::{Answer, ListenerName, Node, PartitionAnswer, RequestHeader};

/// The topic of the metadata log, which has one partition, 0.
pub(super) const METADATA_TOPIC: &str = "__cluster_metadata";

/// Its id.
pub(super) const METADATA_TOPIC_ID: Uuid = Uuid::from_u128(1);

/// What stands for no leader.
const NO_LEADER: i32 = -1;

/// What a request is about and from whom it came, for its header.
pub(super) struct Origin<'a> {
    pub(super) version: i16,
    pub(super) listener: &'a ListenerName,
}

impl Origin<'_> {
    pub(super) fn header<'m>(
        &self,
        cluster_id: Option<&'m StrBytes>,
        is_metadata_partition: bool,
    ) -> RequestHeader<'m> {
        RequestHeader {
            cluster_id: cluster_id.map(StrBytes::as_str),
            is_metadata_partition,
            version: self.version,
            listener: self.listener.clone(),
        }
    }
}

/// The element of a list that has one and no more.
pub(super) const fn only<T>(list: &[T]) -> Option<&T> {
    match list {
        [only] => Some(only),
        _ => None,
    }
}

/// The name of the metadata topic, as messages carry it.
pub(super) fn topic_name() -> TopicName {
    StrBytes::from_static_str(METADATA_TOPIC).into()
}

pub(super) fn is_metadata(topic: &TopicName, partition: i32) -> bool {
    topic.as_str() == METADATA_TOPIC && partition == 0
}

/// An error that Kafka does not define counts as [`ErrorCode::UnknownServerError`].
pub(super) fn error(code: i16) -> ErrorCode {
    ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError)
}

pub(super) fn leader_id(answer: Option<i32>) -> i32 {
    answer.unwrap_or(NO_LEADER)
}

/// An answer about the metadata partition, read off a message: its error, the leader, the epoch, and the rest.
pub(super) fn partition_answer<T>(
    code: i16,
    leader_id: i32,
    epoch: i32,
    body: T,
) -> PartitionAnswer<T> {
    let leader_id = (leader_id >= 0).then_some(leader_id);
    PartitionAnswer { error: error(code), leader_id, epoch, body }
}

pub(super) fn answer<T>(
    code: i16,
    partition: Option<PartitionAnswer<T>>,
    nodes: Vec<Node>,
) -> Answer<T> {
    Answer { error: error(code), partition, nodes }
}

/// Node endpoints with a port of 16 bits, of which every response has a type of its own.
macro_rules! node_endpoints {
    ($endpoint:ty) => {
        /// Where nodes are, in a response from version 1 on.
        fn endpoints(nodes: &[Node], version: i16) -> Vec<$endpoint> {
            let nodes = if version >= 1 { nodes } else { &[] };
            let endpoint = |node: &Node| {
                <$endpoint>::default()
                    .with_node_id(node.id.into())
                    .with_host(text(&node.host))
                    .with_port(node.port)
            };
            nodes.iter().map(endpoint).collect()
        }

        fn nodes(endpoints: &[$endpoint]) -> Vec<Node> {
            let node = |it: &$endpoint| Node {
                id: it.node_id.0,
                host: Host::from(it.host.as_str()),
                port: it.port,
            };
            endpoints.iter().map(node).collect()
        }
    };
}

pub(super) use node_endpoints;

/// Endpoints as listeners of a message, of which each has a type of its own.
macro_rules! listeners {
    ($listener:ty, $endpoints:expr) => {{
        let listener = |endpoint: &$crate::kraft::Endpoint| {
            <$listener>::default()
                .with_name($crate::wire::kraft::requests::text(endpoint.listener.as_str()))
                .with_host($crate::wire::kraft::requests::text(&endpoint.host))
                .with_port(endpoint.port)
        };
        $endpoints.iter().map(listener).collect()
    }};
}

pub(super) use listeners;
