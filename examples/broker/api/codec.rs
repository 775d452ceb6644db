//! From responses to frames.

use super::Answer;
use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::{ResponseHeader, ResponseKind};
use kafka_protocol::protocol::Encodable;

/// Encodes the response to the request with this correlation id, as a frame.
pub(super) fn encode(correlation_id: i32, version: i16, response: &ResponseKind) -> Answer {
    let header_version = response.header_version(version);
    let mut frame = BytesMut::new();
    frame.put_i32(0);
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    if header.encode(&mut frame, header_version).is_err()
        || response.encode(&mut frame, version).is_err()
    {
        return Answer::Close;
    }
    let Ok(len) = i32::try_from(frame.len() - size_of::<i32>()) else {
        return Answer::Close;
    };
    match frame.first_chunk_mut() {
        Some(first) => *first = len.to_be_bytes(),
        None => return Answer::Close,
    }
    Answer::Reply(frame.freeze())
}
