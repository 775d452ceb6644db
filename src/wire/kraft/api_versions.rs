//! `ApiVersions`, versions 0 to 4: what two nodes have in common.

use bytes::Bytes;
use core::ops::RangeInclusive;
use kafka_protocol::messages::api_versions_response::{ApiVersion, SupportedFeatureKey};
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::StrBytes;

use super::ReplyTo;
use crate::error_code::ErrorCode;
use crate::kraft::SupportedVersions;
use crate::wire::decode::decode_response_as;
use crate::wire::{Preamble, WireError};

/// The feature whose levels say how the quorum's voters are kept.
const KRAFT_VERSION: &str = "kraft.version";

/// The first version of the response with features.
const FEATURES: i16 = 3;

/// The first version of the response with features of which level 0 is supported (KAFKA-17011).
const LEVEL_ZERO: i16 = 4;

/// The answer to `ApiVersions`: these APIs with their versions, and of the features `kraft.version`.
pub fn api_versions_response(
    apis: impl IntoIterator<Item = (i16, RangeInclusive<i16>)>,
    supported: SupportedVersions,
    version: i16,
) -> ApiVersionsResponse {
    let tells = version >= LEVEL_ZERO || version >= FEATURES && supported.min() > 0;
    let feature = tells.then(|| {
        SupportedFeatureKey::default()
            .with_name(StrBytes::from_static_str(KRAFT_VERSION))
            .with_min_version(supported.min())
            .with_max_version(supported.max())
    });
    ApiVersionsResponse::default()
        .with_api_keys(apis.into_iter().map(api).collect())
        .with_supported_features(feature.into_iter().collect())
}

/// The bytes of the answer to an `ApiVersions` request of a version that is not known, which tells the known ones in the
/// form of version 0 (KIP-511).
///
/// # Errors
/// As [`ReplyTo::encode`]; none in fact.
pub fn unsupported_api_versions(request: Preamble) -> Result<Bytes, WireError> {
    let key = ApiKey::ApiVersions as i16;
    let known = super::served_versions().filter(|(served, _)| *served == key).map(api);
    let response = ApiVersionsResponse::default()
        .with_error_code(ErrorCode::UnsupportedVersion.code())
        .with_api_keys(known.collect());
    ReplyTo::new(Preamble { api_version: 0, ..request }).encode(&response)
}

fn api((key, versions): (i16, RangeInclusive<i16>)) -> ApiVersion {
    ApiVersion::default()
        .with_api_key(key)
        .with_min_version(*versions.start())
        .with_max_version(*versions.end())
}

pub(super) fn request() -> ApiVersionsRequest {
    ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str(env!("CARGO_PKG_NAME")))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")))
}

/// Decodes an answer to a request of this version. Who does not know the version says so in the form of version 0.
pub(super) fn decode(answer: Bytes, version: i16) -> Result<ApiVersionsResponse, WireError> {
    let key = ApiKey::ApiVersions;
    let decoded = decode_response_as(answer.clone(), key, version);
    let (_, response) = decoded.or_else(|error| {
        let unsupported = decode_response_as(answer, key, 0).ok();
        let unsupported = unsupported.filter(|(_, response): &(_, ApiVersionsResponse)| {
            response.error_code == ErrorCode::UnsupportedVersion.code()
        });
        unsupported.ok_or(error)
    })?;
    Ok(response)
}

/// The levels of `kraft.version` that an answer tells of; none if it tells of none, or of what is no range.
pub(super) fn supported(response: &ApiVersionsResponse) -> Option<SupportedVersions> {
    let mut features = response.supported_features.iter();
    let feature = features.find(|feature| feature.name.as_str() == KRAFT_VERSION)?;
    SupportedVersions::new(feature.min_version, feature.max_version).ok()
}
