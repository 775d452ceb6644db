//! The APIs that a node serves, and what the bytes of a request are about.

use crate::node::METADATA_TOPIC;
use bytes::Bytes;
use kafka_coordination::wire::kraft::{
    Received, ReplyTo, served_versions, unsupported_api_versions,
};
use kafka_coordination::wire::{Preamble, WireError, decode_request};
use kafka_protocol::messages::{ApiKey, FetchRequest, RequestKind};
use std::ops::RangeInclusive;

/// The first version of `Fetch` that names topics by id, as replicas do.
const FETCH_BY_ID: i16 = 13;

/// The APIs beside those of the quorum.
const OTHERS: [(ApiKey, RangeInclusive<i16>); 3] =
    [(ApiKey::Produce, 3..=13), (ApiKey::UpdateFeatures, 0..=2), (ApiKey::DescribeCluster, 0..=2)];

/// What a request is about.
#[derive(Debug)]
pub(crate) enum Body {
    /// The quorum.
    Quorum(Box<Received>),
    /// Something else, which the node answers by itself.
    Other(ReplyTo, Box<RequestKind>),
}

/// What becomes of the bytes of a request.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// The node has to look at it.
    Request(Body),
    /// This is the answer.
    Answer(Bytes),
}

/// Everything that is served, which is everything that is advertised.
pub(crate) fn versions() -> impl Iterator<Item = (i16, RangeInclusive<i16>)> {
    let others = OTHERS.map(|(key, versions)| (key as i16, versions));
    served_versions().chain(others)
}

/// Decodes a request.
///
/// # Errors
/// It makes no sense, or is not served: the connection is to be closed.
pub(crate) fn decode(frame: Bytes) -> Result<Decoded, WireError> {
    let preamble = Preamble::read(&frame)?;
    let Preamble { api_key, api_version: version, .. } = preamble;
    let is_other =
        OTHERS.iter().any(|(key, versions)| *key as i16 == api_key && versions.contains(&version));
    // Replicas name the topic by its id alone: a client that names it asks for the state machine of this node.
    let is_read = api_key == ApiKey::Fetch as i16 && version < FETCH_BY_ID;
    if is_other || is_read {
        let (_, request) = decode_request(frame)?;
        return Ok(Decoded::Request(Body::Other(ReplyTo::new(preamble), request.into())));
    }
    match Received::decode(frame) {
        Ok(received) => Ok(Decoded::Request(Body::Quorum(received.into()))),
        Err(WireError::UnsupportedVersion { api_key, .. })
            if api_key == ApiKey::ApiVersions as i16 =>
        {
            // The client asks again in a version that is served (KIP-35).
            Ok(Decoded::Answer(unsupported_api_versions(preamble)?))
        }
        Err(error) => Err(error),
    }
}

/// The offset from which a client wants to read the state machine; none if it asks for something else.
pub(crate) fn read_from(request: &FetchRequest) -> Option<i64> {
    let [topic] = request.topics.as_slice() else { return None };
    let [partition] = topic.partitions.as_slice() else { return None };
    let is_metadata = topic.topic.as_str() == METADATA_TOPIC && partition.partition == 0;
    is_metadata.then_some(partition.fetch_offset)
}
