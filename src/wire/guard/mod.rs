//! Whether a message's lengths and counts fit the bytes that are there.
//!
//! `kafka-protocol` allocates what a count claims, before it looks whether so many elements can
//! follow. The guard walks a message first, along a table of its fields ([`messages`]), and lets
//! it pass only if
//!
//! - every string, byte string and record set lies within the message,
//! - every count is at most the bytes left divided by the least size of an element,
//! - every varint has at most 32 bits,
//! - every section of tagged fields is in order, and each known field has the size it claims,
//! - unknown tagged fields are at most 16, and one more for each 32 bytes of the message,
//! - nothing follows the message.
//!
//! A decoder may then allocate at most [`MAX_AMPLIFICATION`](super::MAX_AMPLIFICATION) bytes for a
//! byte of the message.

mod cursor;
mod messages;
mod schema;
#[cfg(test)]
mod tests;
mod walk;

use self::messages::{ADD_RAFT_VOTER, REQUESTS, RESPONSES};
use self::schema::Message;
use self::walk::{Header, check};
use super::WireError;
use core::ops::RangeInclusive;

/// The versions of an API whose requests [`decode_request`](super::decode_request) decodes, if it
/// does.
///
/// O(log n) in the number of APIs.
pub fn supported_versions(api_key: i16) -> Option<RangeInclusive<i16>> {
    find(REQUESTS, api_key).map(Message::versions)
}

/// The versions of an API whose responses [`decode_response`](super::decode_response) decodes, if it
/// does.
///
/// O(log n) in the number of APIs.
pub fn supported_response_versions(api_key: i16) -> Option<RangeInclusive<i16>> {
    find(RESPONSES, api_key).map(Message::versions)
}

pub(super) fn check_request(bytes: &[u8], api_key: i16, version: i16) -> Result<(), WireError> {
    check_any(bytes, Header::Request, find(REQUESTS, api_key), api_key, version)
}

pub(super) fn check_response(bytes: &[u8], api_key: i16, version: i16) -> Result<(), WireError> {
    check_any(bytes, Header::response(api_key), find(RESPONSES, api_key), api_key, version)
}

pub(super) fn check_add_raft_voter(bytes: &[u8], version: i16) -> Result<(), WireError> {
    check_any(bytes, Header::Request, Some(&ADD_RAFT_VOTER), ADD_RAFT_VOTER.api_key, version)
}

/// Both tables are in the order of their keys.
fn find(messages: &'static [Message], api_key: i16) -> Option<&'static Message> {
    let index = messages.binary_search_by_key(&api_key, |message| message.api_key);
    index.ok().and_then(|index| messages.get(index))
}

fn check_any(
    bytes: &[u8],
    header: Header,
    message: Option<&Message>,
    api_key: i16,
    version: i16,
) -> Result<(), WireError> {
    let message = message.ok_or(WireError::UnsupportedApi { api_key })?;
    let &Message { first_version: first, last_version: last, .. } = message;
    if !(first..=last).contains(&version) {
        return Err(WireError::UnsupportedVersion { api_key, version, first, last });
    }
    check(bytes, header, message, version)
}
