//! Requests, as they come in.

use bytes::Bytes;
use kafka_protocol::messages::{ApiKey, DescribeQuorumRequest, RequestKind};

use super::partition::Origin;
use super::{
    ReplyTo, add_voter, apis, begin_quorum_epoch, decode_add_voter, end_quorum_epoch, fetch,
    fetch_snapshot, remove_voter, update_voter, vote,
};
use crate::kraft::{
    Acknowledge, AddVoter, BeginQuorumEpochRequest, BlankListenerName, EndQuorumEpochRequest,
    FetchRecordsRequest, FetchSnapshotRequest, ListenerName, RemoveVoter, RequestHeader,
    UpdateVoter, VoteRequest,
};
use crate::wire::{Preamble, WireError, decode_request};

/// A request of the quorum's APIs that came in, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    message: RequestKind,
    /// Of `AddRaftVoter` alone.
    acknowledge: Acknowledge,
    reply_to: ReplyTo,
}

/// What a request asks for: the arguments of [`Replica`](crate::kraft::Replica)'s handlers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Asked<'a> {
    /// For [`handle_vote`](crate::kraft::Replica::handle_vote).
    Vote(RequestHeader<'a>, VoteRequest),
    /// For [`handle_begin_quorum_epoch`](crate::kraft::Replica::handle_begin_quorum_epoch).
    BeginQuorumEpoch(RequestHeader<'a>, BeginQuorumEpochRequest),
    /// For [`handle_end_quorum_epoch`](crate::kraft::Replica::handle_end_quorum_epoch).
    EndQuorumEpoch(RequestHeader<'a>, EndQuorumEpochRequest),
    /// For [`handle_fetch`](crate::kraft::Replica::handle_fetch).
    Fetch(RequestHeader<'a>, FetchRecordsRequest),
    /// For [`handle_fetch_snapshot`](crate::kraft::Replica::handle_fetch_snapshot).
    FetchSnapshot(RequestHeader<'a>, FetchSnapshotRequest),
    /// For [`handle_add_voter`](crate::kraft::Replica::handle_add_voter).
    AddVoter(AddVoter<'a>),
    /// For [`handle_remove_voter`](crate::kraft::Replica::handle_remove_voter).
    RemoveVoter(RemoveVoter<'a>),
    /// For [`handle_update_voter`](crate::kraft::Replica::handle_update_voter).
    UpdateVoter(UpdateVoter<'a>),
    /// To be answered with [`describe_quorum_response`](super::describe_quorum_response).
    DescribeQuorum(&'a DescribeQuorumRequest),
    /// To be answered with [`api_versions_response`](super::api_versions_response).
    ApiVersions,
}

impl Received {
    /// Decodes a request, header and body, given from its header on, under the checks of
    /// [`decode_request`]: see [`served_versions`](super::served_versions) for the APIs and versions.
    ///
    /// # Errors
    /// Those of [`decode_request`]. Kafka closes the connection, unless the request was `ApiVersions` of a version that it
    /// does not know: see [`unsupported_api_versions`](super::unsupported_api_versions).
    pub fn decode(request: Bytes) -> Result<Self, WireError> {
        let preamble = Preamble::read(&request)?;
        let api_key = preamble.api_key;
        if !apis::is_served(api_key) {
            return Err(WireError::UnsupportedApi { api_key });
        }
        let mut reply_to = ReplyTo::new(preamble);
        if api_key == ApiKey::AddRaftVoter as i16 {
            let (_, message, acknowledge) = decode_add_voter(request)?;
            return Ok(Self { message: RequestKind::AddRaftVoter(message), acknowledge, reply_to });
        }
        let (_, message) = decode_request(request)?;
        if let RequestKind::FetchSnapshot(message) = &message {
            reply_to = reply_to.about(fetch_snapshot::other_partition(message));
        }
        Ok(Self { message, acknowledge: Acknowledge::default(), reply_to })
    }

    /// How to answer it.
    pub const fn reply_to(&self) -> &ReplyTo {
        &self.reply_to
    }

    /// What a request that came by `listener` asks for.
    ///
    /// # Errors
    /// [`BlankListenerName`]: to be answered with [`ReplyTo::encode_error`] and `INVALID_REQUEST`.
    ///
    /// Deviation: Kafka's controller dies of such a request.
    pub fn asked(&self, listener: &ListenerName) -> Result<Asked<'_>, BlankListenerName> {
        let origin = Origin { version: self.reply_to.version(), listener };
        Ok(match &self.message {
            RequestKind::Vote(message) => {
                let (header, request) = vote::asked(message, &origin);
                Asked::Vote(header, request)
            }
            RequestKind::BeginQuorumEpoch(message) => {
                let (header, request) = begin_quorum_epoch::asked(message, &origin)?;
                Asked::BeginQuorumEpoch(header, request)
            }
            RequestKind::EndQuorumEpoch(message) => {
                let (header, request) = end_quorum_epoch::asked(message, &origin)?;
                Asked::EndQuorumEpoch(header, request)
            }
            RequestKind::Fetch(message) => {
                let (header, request) = fetch::asked(message, &origin);
                Asked::Fetch(header, request)
            }
            RequestKind::FetchSnapshot(message) => {
                let (header, request) = fetch_snapshot::asked(message, &origin);
                Asked::FetchSnapshot(header, request)
            }
            RequestKind::AddRaftVoter(message) => {
                Asked::AddVoter(add_voter(message, self.acknowledge)?)
            }
            RequestKind::RemoveRaftVoter(message) => Asked::RemoveVoter(remove_voter(message)),
            RequestKind::UpdateRaftVoter(message) => {
                Asked::UpdateVoter(update_voter(message, listener.clone())?)
            }
            RequestKind::DescribeQuorum(message) => Asked::DescribeQuorum(message),
            // Nothing else is decoded.
            _ => Asked::ApiVersions,
        })
    }
}
