//! The APIs by which the quorum talks, and their versions.

use core::ops::RangeInclusive;
use kafka_protocol::messages::ApiKey;

/// An API with the first and the last version of it.
type Api = (ApiKey, i16, i16);

/// The APIs whose requests are taken, by key. Of `Fetch` below version 13 it is only said that the topic, which has no id
/// there, is not known.
const SERVED: [Api; 10] = [
    (ApiKey::Fetch, 4, 18),
    (ApiKey::ApiVersions, 0, 4),
    (ApiKey::Vote, 0, 2),
    (ApiKey::BeginQuorumEpoch, 0, 1),
    (ApiKey::EndQuorumEpoch, 0, 1),
    (ApiKey::DescribeQuorum, 0, 2),
    (ApiKey::FetchSnapshot, 0, 1),
    (ApiKey::AddRaftVoter, 0, 1),
    (ApiKey::RemoveRaftVoter, 0, 0),
    (ApiKey::UpdateRaftVoter, 0, 0),
];

/// The APIs whose requests a replica sends.
pub(super) const SENT: [Api; 9] = [
    (ApiKey::Fetch, 13, 18),
    (ApiKey::ApiVersions, 0, 4),
    (ApiKey::Vote, 0, 2),
    (ApiKey::BeginQuorumEpoch, 0, 1),
    (ApiKey::EndQuorumEpoch, 0, 1),
    (ApiKey::FetchSnapshot, 0, 1),
    (ApiKey::AddRaftVoter, 0, 1),
    (ApiKey::RemoveRaftVoter, 0, 0),
    (ApiKey::UpdateRaftVoter, 0, 0),
];

/// The API keys and versions of the requests that [`Received::decode`](super::Received::decode) takes, by ascending key:
/// what a node tells of itself for them.
pub fn served_versions() -> impl Iterator<Item = (i16, RangeInclusive<i16>)> {
    SERVED.into_iter().map(|(key, first, last)| (key as i16, first..=last))
}

pub(super) fn is_served(api_key: i16) -> bool {
    SERVED.iter().any(|(key, ..)| *key as i16 == api_key)
}

/// The first and the last version of an API whose requests are sent.
pub(super) fn sent(api: ApiKey) -> (i16, i16) {
    let mut sent = SENT.into_iter();
    sent.find(|(key, ..)| *key == api).map_or((0, 0), |(_, first, last)| (first, last))
}
