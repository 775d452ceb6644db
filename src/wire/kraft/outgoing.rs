//! Requests, as they go out.

use alloc::format;
use bytes::{Bytes, BytesMut};
use core::fmt::Display;
use kafka_protocol::messages::{ApiKey, RequestHeader};
use kafka_protocol::protocol::Encodable;

use super::codec::{ACKNOWLEDGE, encode_add_voter};
use super::requests::{add_voter_request, remove_voter_request, text, update_message};
use super::vote::PRE_VOTE;
use super::{
    PeerVersions, api_versions, apis, begin_quorum_epoch, end_quorum_epoch, fetch, fetch_snapshot,
    vote,
};
use crate::kraft::{
    Acknowledge, AddVoter, AddVoterRequest, RemoveVoter, Request, UpdateVoterRequest,
};
use crate::wire::{Preamble, WireError};

/// Who sends: what every request says beside its own matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an argument list with names")]
pub struct Sender<'a> {
    /// The cluster.
    pub cluster_id: &'a str,
    /// The client id of the header. Kafka: `raft-client-` and the node's id.
    pub client_id: &'a str,
}

/// The bytes of a request of the replica, header and body, without the frame's length prefix, at the latest version that
/// `peer` understands. The preamble is kept, for [`decode_answer`](super::decode_answer).
///
/// # Errors
/// [`WireError::UnsupportedVersion`]: the peer has no version that could say this. The replica is to be told
/// [`Response::Failed`](crate::kraft::Response::Failed) with `UNSUPPORTED_VERSION`, of which it makes something: without
/// pre-votes it stands for election at once. [`WireError::Malformed`]: something is too long to be sent.
pub fn encode_request(
    request: &Request,
    sender: &Sender<'_>,
    peer: &PeerVersions,
    correlation_id: i32,
) -> Result<(Preamble, Bytes), WireError> {
    let cluster_id = sender.cluster_id;
    let at = |key, first| Outgoing::new(key, first, sender, peer, correlation_id);
    match request {
        Request::Vote(vote) => {
            let first = if vote.is_pre_vote { PRE_VOTE } else { 0 };
            at(ApiKey::Vote, first)?.encode(&vote::request(vote, cluster_id))
        }
        Request::BeginQuorumEpoch(begin) => {
            let message = begin_quorum_epoch::request(begin, cluster_id);
            at(ApiKey::BeginQuorumEpoch, 0)?.encode(&message)
        }
        Request::EndQuorumEpoch(end) => {
            at(ApiKey::EndQuorumEpoch, 0)?.encode(&end_quorum_epoch::request(end, cluster_id))
        }
        Request::Fetch(fetch) => {
            let out = at(ApiKey::Fetch, 0)?;
            out.encode(&fetch::request(fetch, cluster_id, out.version))
        }
        Request::FetchSnapshot(fetch) => {
            let out = at(ApiKey::FetchSnapshot, 0)?;
            out.encode(&fetch_snapshot::request(fetch, cluster_id, out.version))
        }
        Request::UpdateVoter(update) => {
            let UpdateVoterRequest { leader_epoch, voter, endpoints, supported_versions } = update;
            let levels = (supported_versions.min(), supported_versions.max());
            let message = update_message(*leader_epoch, *voter, endpoints, levels);
            let message = message.with_cluster_id(Some(text(cluster_id)));
            at(ApiKey::UpdateRaftVoter, 0)?.encode(&message)
        }
        Request::AddVoter(AddVoterRequest { timeout_ms, voter, endpoints }) => {
            let (cluster_id, endpoints) = (Some(cluster_id), endpoints.clone());
            let acknowledge = Acknowledge::Appended;
            let add = AddVoter { cluster_id, voter: *voter, endpoints, acknowledge };
            let message = add_voter_request(&add, *timeout_ms);
            let out = at(ApiKey::AddRaftVoter, ACKNOWLEDGE)?;
            let (preamble, mut bytes) = out.header(0)?;
            encode_add_voter(&message, acknowledge, out.version, &mut bytes)?;
            Ok((preamble, bytes.freeze()))
        }
        Request::RemoveVoter(voter) => {
            let remove = RemoveVoter { cluster_id: Some(cluster_id), voter: *voter };
            at(ApiKey::RemoveRaftVoter, 0)?.encode(&remove_voter_request(&remove))
        }
        Request::ApiVersions => at(ApiKey::ApiVersions, 0)?.encode(&api_versions::request()),
    }
}

/// A request that is being written.
struct Outgoing<'a> {
    key: ApiKey,
    version: i16,
    sender: &'a Sender<'a>,
    correlation_id: i32,
}

impl<'a> Outgoing<'a> {
    /// At the latest version in common, which must be at least `needed`.
    fn new(
        key: ApiKey,
        needed: i16,
        sender: &'a Sender<'a>,
        peer: &PeerVersions,
        correlation_id: i32,
    ) -> Result<Self, WireError> {
        let api_key = key as i16;
        match peer.version(api_key) {
            Some(version) if version >= needed => Ok(Self { key, version, sender, correlation_id }),
            common => {
                let (first, last) = apis::sent(key);
                let (first, version) = (first.max(needed), common.unwrap_or(-1));
                Err(WireError::UnsupportedVersion { api_key, version, first, last })
            }
        }
    }

    fn encode(&self, body: &impl Encodable) -> Result<(Preamble, Bytes), WireError> {
        let malformed = |error| self.malformed(&error);
        let size = body.compute_size(self.version).map_err(malformed)?;
        let (preamble, mut bytes) = self.header(size)?;
        body.encode(&mut bytes, self.version).map_err(malformed)?;
        Ok((preamble, bytes.freeze()))
    }

    /// The header, with room for a body of this size.
    fn header(&self, body: usize) -> Result<(Preamble, BytesMut), WireError> {
        let Self { key, version, sender, correlation_id } = *self;
        let (api_key, malformed) = (key as i16, |error| self.malformed(&error));
        let header = RequestHeader::default()
            .with_request_api_key(api_key)
            .with_request_api_version(version)
            .with_correlation_id(correlation_id)
            .with_client_id(Some(text(sender.client_id)));
        let header_version = key.request_header_version(version);
        let size = header.compute_size(header_version).map_err(malformed)?;
        let mut bytes = BytesMut::with_capacity(size + body);
        header.encode(&mut bytes, header_version).map_err(malformed)?;
        Ok((Preamble { api_key, api_version: version, correlation_id }, bytes))
    }

    fn malformed(&self, error: &impl Display) -> WireError {
        let Self { key, version, .. } = *self;
        WireError::Malformed { api_key: key as i16, version, reason: format!("{error:#}") }
    }
}
