//! What replicas of the quorum say to each other, against the bytes that Kafka writes.

mod answers;
mod api_versions;
mod hostile;
mod kafka;
mod log;
mod received;
mod replies;
mod round_trips;
mod sent;

use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, Endpoint, Endpoints, ListenerName, Node, PartitionAnswer, ReplicaKey,
};
use kafka_coordination::wire::Preamble;
use kafka_protocol::messages::{ApiKey, RequestHeader, RequestKind};
use kafka_protocol::protocol::Decodable;

/// Replica 1 with its directory.
const A: ReplicaKey = ReplicaKey::from_wire(1, 0x7000_0000_0000_0000_0000_0000_0000_0001);
/// Replica 2 with its directory.
const B: ReplicaKey = ReplicaKey::from_wire(2, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);

const CORRELATION_ID: i32 = 7;

fn bytes(hex: &str) -> Bytes {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect::<Vec<_>>().into()
}

fn listener() -> ListenerName {
    ListenerName::new("CONTROLLER")
}

fn endpoints() -> Endpoints {
    Endpoints::new([Endpoint::new("CONTROLLER", "a", 9_093), Endpoint::new("OTHER", "b", u16::MAX)])
}

/// The start of a request with this key and version, which Kafka's have at their start.
fn preamble(api_key: i16, version: i16) -> Preamble {
    let start = [&api_key.to_be_bytes()[..], &version.to_be_bytes(), &CORRELATION_ID.to_be_bytes()]
        .concat();
    Preamble::read(&start).unwrap()
}

/// An answer for the partition: epoch 5, and, where the version tells of it, where the leader is.
fn answer<T>(error: ErrorCode, leader_id: Option<i32>, body: T, tells: bool) -> Answer<T> {
    let node = leader_id.map(|id| Node { id, host: "c".into(), port: u16::MAX });
    Answer {
        error: ErrorCode::None,
        partition: Some(PartitionAnswer { error, leader_id, epoch: 5, body }),
        nodes: node.filter(|_| tells).into_iter().collect(),
    }
}

/// The request that Kafka's bytes at this version are.
pub(crate) fn filled(key: ApiKey, version: i16) -> RequestKind {
    let requests = match key {
        ApiKey::Vote => kafka::VOTE,
        ApiKey::BeginQuorumEpoch => kafka::BEGIN,
        ApiKey::EndQuorumEpoch => kafka::END,
        _ => kafka::SNAPSHOT,
    };
    let (_, hex) = requests.iter().find(|(written, _)| *written == version).unwrap();
    let mut bytes = bytes(hex);
    RequestHeader::decode(&mut bytes, key.request_header_version(version)).unwrap();
    RequestKind::decode(key, &mut bytes, version).unwrap()
}
