//! The APIs of consumer groups: from messages to what the coordinator decides on, and back.

mod consumer_describe;
mod consumer_heartbeat;
mod describe;
mod heartbeat;
mod join;
mod leave;
mod list;
mod offset_commit;
mod offset_fetch;
mod sync;

use crate::broker::Broker;
use crate::server::Peer;
use kafka_protocol::messages::{RequestKind, ResponseKind};
use kafka_protocol::protocol::StrBytes;

/// Answers a request about groups. `None` if it is about something else, or if the group never answers.
pub(super) async fn answer(
    broker: &Broker,
    peer: &Peer,
    client_id: &str,
    version: i16,
    request: RequestKind,
) -> Option<ResponseKind> {
    Some(match request {
        RequestKind::JoinGroup(request) => {
            join::answer(broker, peer, client_id, version, request).await?.into()
        }
        RequestKind::SyncGroup(request) => sync::answer(broker, request).await?.into(),
        RequestKind::Heartbeat(request) => heartbeat::answer(broker, &request).into(),
        RequestKind::LeaveGroup(request) => leave::answer(broker, version, request).into(),
        RequestKind::OffsetCommit(request) => offset_commit::answer(broker, request).into(),
        RequestKind::OffsetFetch(request) => offset_fetch::answer(broker, version, request).into(),
        RequestKind::ConsumerGroupHeartbeat(request) => {
            consumer_heartbeat::answer(broker, peer, client_id, version, request).into()
        }
        RequestKind::ConsumerGroupDescribe(request) => {
            consumer_describe::answer(broker, request).into()
        }
        RequestKind::ListGroups(request) => list::answer(broker, &request).into(),
        RequestKind::DescribeGroups(request) => describe::answer(broker, version, request).into(),
        _ => return None,
    })
}

/// Text of a message, without the rest of the message that it shares its memory with.
fn own(text: &str) -> String {
    text.to_owned()
}

fn own_if_any(text: Option<&StrBytes>) -> Option<String> {
    text.map(|text| own(text))
}

fn str_bytes(text: String) -> StrBytes {
    StrBytes::from_string(text)
}
