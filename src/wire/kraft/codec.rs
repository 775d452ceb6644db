//! `AddRaftVoter` at version 0, which `kafka-protocol` has, and 1, which it has not.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::add_raft_voter_request::Listener;
use kafka_protocol::messages::{AddRaftVoterRequest, ApiKey, RequestHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use uuid::Uuid;

use crate::kraft::{Acknowledge, Reader, RecordError};
use crate::wire::{Preamble, WireError, guard};

/// The first version that says when it wants its answer.
pub(super) const ACKNOWLEDGE: i16 = 1;

/// The least bytes of a listener: empty name and host, port, no tagged fields.
const LEAST_LISTENER: usize = 1 + 1 + 2 + 1;

/// Decodes an `AddRaftVoter` request of version 0 or 1, header and body, given from its header on, under the
/// same checks as [`decode_request`](crate::wire::decode_request). At version 0 it is answered when the
/// new voters are committed. Texts share `request`; unknown tagged fields of the body are passed over.
///
/// # Errors
/// Those of [`decode_request`](crate::wire::decode_request).
pub fn decode_add_voter(
    mut request: Bytes,
) -> Result<(RequestHeader, AddRaftVoterRequest, Acknowledge), WireError> {
    let Preamble { api_key, api_version: version, .. } = Preamble::read(&request)?;
    if api_key != ApiKey::AddRaftVoter as i16 {
        return Err(WireError::UnsupportedApi { api_key });
    }
    guard::check_add_raft_voter(&request, version)?;
    let malformed = |reason| WireError::Malformed { api_key, version, reason };
    let header_version = AddRaftVoterRequest::header_version(version);
    let header = RequestHeader::decode(&mut request, header_version)
        .map_err(|error| malformed(format!("{error:#}")))?;
    let (body, acknowledge) =
        body(&request, version).map_err(|error| malformed(error.to_string()))?;
    Ok((header, body, acknowledge))
}

fn body(bytes: &Bytes, version: i16) -> Result<(AddRaftVoterRequest, Acknowledge), RecordError> {
    let shared = |text: &str| {
        let bytes = bytes.slice_ref(text.as_bytes());
        StrBytes::from_utf8(bytes).unwrap_or_default()
    };
    let mut reader = Reader::new(bytes);
    let cluster_id = reader.nullable_string("cluster_id")?.map(shared);
    let timeout_ms = reader.int32("timeout_ms")?;
    let voter_id = reader.int32("voter_id")?;
    let voter_directory_id = Uuid::from_u128(reader.uuid("voter_directory_id")?);
    let count = reader.count("listeners", LEAST_LISTENER)?;
    let mut listeners = Vec::with_capacity(count);
    for _ in 0..count {
        let (name, host) = (reader.string("name")?, reader.string("host")?);
        let port = reader.uint16("port")?;
        reader.tagged_fields()?;
        let listener = Listener::default().with_name(shared(name)).with_host(shared(host));
        listeners.push(listener.with_port(port));
    }
    let acknowledge = if version < ACKNOWLEDGE || reader.bytes("ack_when_committed", 1)? != [0] {
        Acknowledge::Committed
    } else {
        Acknowledge::Appended
    };
    reader.tagged_fields()?;
    let request = AddRaftVoterRequest::default()
        .with_cluster_id(cluster_id)
        .with_timeout_ms(timeout_ms)
        .with_voter_id(voter_id)
        .with_voter_directory_id(voter_directory_id)
        .with_listeners(listeners);
    Ok((request, acknowledge))
}

/// Appends to `out` the body of an `AddRaftVoter` request at version 0 or 1; version 0 has no place for
/// `acknowledge`. Unknown tagged fields of the body itself are left out.
///
/// # Errors
/// [`WireError::UnsupportedVersion`]; [`WireError::Malformed`] if a text is too long. What is in `out` is
/// then to be thrown away.
pub fn encode_add_voter(
    request: &AddRaftVoterRequest,
    acknowledge: Acknowledge,
    version: i16,
    out: &mut BytesMut,
) -> Result<(), WireError> {
    let api_key = ApiKey::AddRaftVoter as i16;
    if !(0..=ACKNOWLEDGE).contains(&version) {
        return Err(WireError::UnsupportedVersion {
            api_key,
            version,
            first: 0,
            last: ACKNOWLEDGE,
        });
    }
    let mut fields = request.clone();
    fields.unknown_tagged_fields.clear();
    fields.encode(out, 0).map_err(|error| WireError::Malformed {
        api_key,
        version,
        reason: format!("{error:#}"),
    })?;
    if version >= ACKNOWLEDGE {
        // The answer's time stands before the last byte, which says that there are no tagged fields.
        out.truncate(out.len().saturating_sub(1));
        out.extend_from_slice(&[u8::from(acknowledge == Acknowledge::Committed), 0]);
    }
    Ok(())
}
