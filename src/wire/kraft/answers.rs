//! Answers, as they come in.

use bytes::Bytes;
use kafka_protocol::messages::{ApiKey, ResponseKind};

use super::partition::error;
use super::{
    api_versions, begin_quorum_epoch, end_quorum_epoch, fetch, fetch_snapshot, updated_leader, vote,
};
use crate::kraft::{ListenerName, Response};
use crate::wire::decode::decode_response;
use crate::wire::{Preamble, WireError};

/// What a peer answers to the request that was sent with this preamble, given from the answer's header on; `listener` is
/// the one by which replicas talk. For [`Replica::handle_response`](crate::kraft::Replica::handle_response).
///
/// Lengths, counts and batches are checked before anything is allocated for them, as in
/// [`decode_request`](crate::wire::decode_request): a leader cannot choose how much memory its answer takes. Records and
/// parts of snapshots share `answer`. An error that Kafka does not define counts as `UNKNOWN_SERVER_ERROR`.
///
/// # Errors
/// - [`WireError::Correlation`]: it is the answer to another request.
/// - [`WireError::Batch`], [`WireError::ControlRecord`]: of the records of a fetch.
/// - Those of [`decode_request`](crate::wire::decode_request).
///
/// After any of them the connection cannot be trusted, and is best closed: the replica is to be told
/// [`Response::Failed`].
pub fn decode_answer(
    sent: Preamble,
    answer: Bytes,
    listener: &ListenerName,
) -> Result<Response, WireError> {
    check_correlation(sent, &answer)?;
    let Preamble { api_key, api_version: version, .. } = sent;
    let key = ApiKey::try_from(api_key).map_err(|()| WireError::UnsupportedApi { api_key })?;
    if key == ApiKey::ApiVersions {
        let response = api_versions::decode(answer, version)?;
        let supported_versions = api_versions::supported(&response);
        return Ok(Response::ApiVersions { error: error(response.error_code), supported_versions });
    }
    // `kafka-protocol` has version 0 alone, and the answer at version 1 is alike.
    let version = if key == ApiKey::AddRaftVoter { 0 } else { version };
    let (_, response) = decode_response(answer, api_key, version)?;
    Ok(match response {
        ResponseKind::Vote(response) => Response::Vote(vote::answer(&response)),
        ResponseKind::BeginQuorumEpoch(response) => {
            Response::BeginQuorumEpoch(begin_quorum_epoch::answer(&response))
        }
        ResponseKind::EndQuorumEpoch(response) => {
            Response::EndQuorumEpoch(end_quorum_epoch::answer(&response))
        }
        ResponseKind::Fetch(response) => Response::Fetch(fetch::answer(&response)?),
        ResponseKind::FetchSnapshot(response) => {
            Response::FetchSnapshot(fetch_snapshot::answer(&response))
        }
        ResponseKind::AddRaftVoter(response) => Response::AddVoter(error(response.error_code)),
        ResponseKind::RemoveRaftVoter(response) => {
            Response::RemoveVoter(error(response.error_code))
        }
        ResponseKind::UpdateRaftVoter(response) => {
            let (leader_id, epoch, leader_endpoints) = updated_leader(&response, listener);
            Response::UpdateVoter {
                error: error(response.error_code),
                leader_id: (leader_id >= 0).then_some(leader_id),
                epoch,
                leader_endpoints,
            }
        }
        _ => return Err(WireError::UnsupportedApi { api_key }),
    })
}

/// Whether an answer is that to a request.
pub(super) fn check_correlation(sent: Preamble, answer: &[u8]) -> Result<(), WireError> {
    let Some(received) = answer.first_chunk().copied().map(i32::from_be_bytes) else {
        let remaining = answer.len();
        return Err(WireError::Truncated { field: "header", offset: 0, needed: 4, remaining });
    };
    let expected = sent.correlation_id;
    if received != expected {
        return Err(WireError::Correlation { expected, received });
    }
    Ok(())
}
