//! What a peer understands.

use bytes::Bytes;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};

use super::answers::check_correlation;
use super::partition::error;
use super::{api_versions, apis};
use crate::error_code::ErrorCode;
use crate::wire::{Preamble, WireError};

/// The latest versions that both ends of a connection understand, of the requests that a replica sends: what a peer's
/// answer to `ApiVersions` says. Before there is one, [`Default`] has `ApiVersions` itself and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerVersions {
    /// One for each of [`apis::SENT`].
    latest: [Option<i16>; apis::SENT.len()],
}

impl PeerVersions {
    /// Reads the answer to an `ApiVersions` request, given from its header on: the error that it says, and the versions.
    ///
    /// `UNSUPPORTED_VERSION` comes with the versions of `ApiVersions` that the peer has: the request is to be sent once
    /// more. Any other error comes with none.
    ///
    /// # Errors
    /// As [`decode_answer`](super::decode_answer).
    pub fn decode(sent: Preamble, answer: Bytes) -> Result<(ErrorCode, Self), WireError> {
        check_correlation(sent, &answer)?;
        let response = api_versions::decode(answer, sent.api_version)?;
        Ok((error(response.error_code), Self::of(&response)))
    }

    /// What a replica and a peer with this answer to `ApiVersions` have in common. O(APIs in the answer).
    pub fn of(response: &ApiVersionsResponse) -> Self {
        let latest = apis::SENT.map(|(key, first, last)| {
            let mut apis = response.api_keys.iter();
            let api = apis.find(|api| api.api_key == key as i16)?;
            let latest = last.min(api.max_version);
            (latest >= first.max(api.min_version)).then_some(latest)
        });
        Self { latest }
    }

    /// The version at which a request of this API is sent, if there is one in common.
    pub fn version(&self, api_key: i16) -> Option<i16> {
        let place = apis::SENT.iter().position(|(key, ..)| *key as i16 == api_key)?;
        self.latest.get(place).copied().flatten()
    }
}

impl Default for PeerVersions {
    fn default() -> Self {
        let only = |(key, _, last)| matches!(key, ApiKey::ApiVersions).then_some(last);
        Self { latest: apis::SENT.map(only) }
    }
}
