//! Decoding of requests and responses that nobody vouches for.

use super::{WireError, guard};
use alloc::format;
use alloc::string::String;
use bytes::Bytes;
use kafka_protocol::messages::{
    ApiKey, FetchResponse, RequestHeader, RequestKind, ResponseHeader, ResponseKind,
};
use kafka_protocol::protocol::Decodable;

/// The most bytes that decoding allocates for a byte of the message, beside 16 KiB for a message.
///
/// Elements of few bytes decode into structures of many: an empty member of a `LeaveGroup` request
/// has 3 bytes on the wire and 120 in memory. Byte strings add nothing, for they share the
/// message's own bytes.
pub const MAX_AMPLIFICATION: usize = 64;

/// The start of every request, whatever its API and version.
///
/// For what must be answered without decoding: an `ApiVersions` request of an unknown version gets
/// an answer of version 0 with error 35 (KIP-511).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Preamble {
    /// The API key.
    pub api_key: i16,
    /// The API's version.
    pub api_version: i16,
    /// The number that the response repeats.
    pub correlation_id: i32,
}

impl Preamble {
    /// The preamble of a request, given from its header on (behind the frame's length prefix).
    ///
    /// # Errors
    ///
    /// [`WireError::Truncated`] if there are fewer than 8 bytes.
    pub const fn read(request: &[u8]) -> Result<Self, WireError> {
        let Some(&[k0, k1, v0, v1, c0, c1, c2, c3]) = request.first_chunk() else {
            return Err(WireError::Truncated {
                field: "header",
                offset: 0,
                needed: 8,
                remaining: request.len(),
            });
        };
        Ok(Self {
            api_key: i16::from_be_bytes([k0, k1]),
            api_version: i16::from_be_bytes([v0, v1]),
            correlation_id: i32::from_be_bytes([c0, c1, c2, c3]),
        })
    }
}

/// Decodes a request, header and body, given from its header on (behind the frame's length
/// prefix).
///
/// `kafka-protocol` alone allocates what a count claims: 21 bytes can make it ask for 200 GB. So
/// all lengths and counts are checked before it decodes, and at most [`MAX_AMPLIFICATION`] bytes are
/// allocated for a byte of the request. Strings, byte strings and records share `request`.
///
/// O(fields and elements of the request).
///
/// # Errors
///
/// - [`WireError::UnsupportedApi`], [`WireError::UnsupportedVersion`]: see
///   [`supported_versions`](super::supported_versions).
/// - [`WireError::TrailingBytes`]: the request is followed by something.
/// - [`WireError::Malformed`]: the lengths fit, but a value is not what it should be.
/// - Every other variant: a length or count that does not fit the bytes there.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use kafka_coordination::wire::{WireError, decode_request};
///
/// // ListOffsets (2) version 1, which claims 2147483647 topics.
/// let hostile = b"\0\x02\0\x01\0\0\0\x07\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff";
/// assert!(matches!(
///     decode_request(Bytes::from_static(hostile)),
///     Err(WireError::CountTooLarge { field: "topics", count: 2_147_483_647, .. })
/// ));
/// ```
pub fn decode_request(mut request: Bytes) -> Result<(RequestHeader, RequestKind), WireError> {
    let Preamble { api_key, api_version: version, .. } = Preamble::read(&request)?;
    guard::check_request(&request, api_key, version)?;
    let malformed = |reason| WireError::Malformed { api_key, version, reason };
    let key = ApiKey::try_from(api_key).map_err(|()| WireError::UnsupportedApi { api_key })?;
    let header = RequestHeader::decode(&mut request, key.request_header_version(version))
        .map_err(|error| malformed(reason(&error)))?;
    let body = RequestKind::decode(key, &mut request, version)
        .map_err(|error| malformed(reason(&error)))?;
    debug_assert!(request.is_empty(), "guard and decoder disagree");
    Ok((header, body))
}

/// Decodes a response to a fetch request of this version, header and body, under the same checks
/// as [`decode_request`].
///
/// # Errors
///
/// Those of [`decode_request`], except [`WireError::UnsupportedApi`].
pub fn decode_fetch_response(
    response: Bytes,
    version: i16,
) -> Result<(ResponseHeader, FetchResponse), WireError> {
    decode_response_as(response, ApiKey::Fetch, version)
}

/// Decodes a response of an API that replicas of the metadata quorum use among each other, to a request of this version,
/// header and body, under the same checks as [`decode_request`].
///
/// # Errors
///
/// Those of [`decode_request`].
pub fn decode_response(
    response: Bytes,
    api_key: i16,
    version: i16,
) -> Result<(ResponseHeader, ResponseKind), WireError> {
    let key = ApiKey::try_from(api_key).map_err(|()| WireError::UnsupportedApi { api_key })?;
    decode_checked(response, key, version, |body| ResponseKind::decode(key, body, version))
}

/// As [`decode_response`], where the type of the response is known.
pub(super) fn decode_response_as<R: Decodable>(
    response: Bytes,
    key: ApiKey,
    version: i16,
) -> Result<(ResponseHeader, R), WireError> {
    decode_checked(response, key, version, |body| R::decode(body, version))
}

fn decode_checked<T, E: core::fmt::Display>(
    mut response: Bytes,
    key: ApiKey,
    version: i16,
    decode: impl FnOnce(&mut Bytes) -> Result<T, E>,
) -> Result<(ResponseHeader, T), WireError> {
    let api_key = key as i16;
    guard::check_response(&response, api_key, version)?;
    let malformed = |reason| WireError::Malformed { api_key, version, reason };
    let header = ResponseHeader::decode(&mut response, key.response_header_version(version))
        .map_err(|error| malformed(reason(&error)))?;
    let body = decode(&mut response).map_err(|error| malformed(reason(&error)))?;
    debug_assert!(response.is_empty(), "guard and decoder disagree");
    Ok((header, body))
}

/// The error with its causes, in one line.
fn reason(error: &impl core::fmt::Display) -> String {
    format!("{error:#}")
}
