//! `ApiVersions`: what a client asks first, and where it says what it is.

use super::SERVED;
use crate::broker::Broker;
use crate::server::Peer;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::api_versions_response::{
    ApiVersion, FinalizedFeatureKey, SupportedFeatureKey,
};
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse, ResponseKind};
use kafka_protocol::protocol::StrBytes;

/// The first version in which the client names itself (KIP-511).
const FIRST_WITH_SOFTWARE: i16 = 3;
/// The features of the cluster and their levels: clients look here whether there are groups of the next generation.
const FEATURES: [(&str, i16); 1] = [("group.version", 1)];
/// The longest name that is remembered.
const MAX_NAME: usize = 64;

pub(super) fn answer(
    broker: &Broker,
    peer: &mut Peer,
    version: i16,
    request: &ApiVersionsRequest,
) -> ApiVersionsResponse {
    if version >= FIRST_WITH_SOFTWARE {
        let (name, of) = (&request.client_software_name, &request.client_software_version);
        if !is_name(name) || !is_name(of) {
            return ApiVersionsResponse::default()
                .with_error_code(ErrorCode::InvalidRequest.code());
        }
        peer.client = broker.stats.client(name, of);
        peer.client.connections.add(1);
    }
    let supported = FEATURES.map(|(name, max)| {
        let name = StrBytes::from_static_str(name);
        SupportedFeatureKey::default().with_name(name).with_min_version(0).with_max_version(max)
    });
    let finalized = FEATURES.map(|(name, level)| {
        let name = StrBytes::from_static_str(name);
        let key = FinalizedFeatureKey::default().with_name(name);
        key.with_min_version_level(level).with_max_version_level(level)
    });
    ApiVersionsResponse::default()
        .with_api_keys(SERVED.iter().map(api_version).collect())
        .with_supported_features(supported.into())
        .with_finalized_features_epoch(0)
        .with_finalized_features(finalized.into())
}

/// The answer, in version 0, to a version that is not served: the client asks again in one that is (KIP-35).
pub(super) fn unsupported() -> ResponseKind {
    let own = SERVED.iter().filter(|served| served.key == ApiKey::ApiVersions);
    ApiVersionsResponse::default()
        .with_error_code(ErrorCode::UnsupportedVersion.code())
        .with_api_keys(own.map(api_version).collect())
        .into()
}

fn api_version(served: &super::Served) -> ApiVersion {
    ApiVersion::default()
        .with_api_key(served.key as i16)
        .with_min_version(*served.versions.start())
        .with_max_version(*served.versions.end())
}

/// Whether the text is what KIP-511 lets a client call itself: letters, digits, `-` and `.`, the latter two not at an
/// end.
fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let bytes = text.as_bytes();
    bytes.len() <= MAX_NAME
        && bytes.iter().copied().all(inner)
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}
