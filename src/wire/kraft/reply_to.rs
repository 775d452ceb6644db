//! Replies, as they go out.

use alloc::format;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{
    AddRaftVoterResponse, ApiKey, ApiVersionsResponse, DescribeQuorumResponse,
    RemoveRaftVoterResponse, ResponseHeader, TopicName, UpdateRaftVoterResponse,
};
use kafka_protocol::protocol::Encodable;

use super::{
    add_voter_response, begin_quorum_epoch, end_quorum_epoch, fetch, fetch_snapshot,
    remove_voter_response, update_voter_response, vote,
};
use crate::error_code::ErrorCode;
use crate::kraft::{Answer, Reply};
use crate::wire::{Preamble, WireError};

/// What is kept of a request until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplyTo {
    preamble: Preamble,
    /// The partition that a `FetchSnapshot` names, if it is another one than that of the metadata log.
    other_partition: Option<(TopicName, i32)>,
}

impl ReplyTo {
    /// How to answer the request that starts so, whatever its API.
    pub const fn new(preamble: Preamble) -> Self {
        Self { preamble, other_partition: None }
    }

    pub(super) fn about(self, other_partition: Option<(TopicName, i32)>) -> Self {
        Self { other_partition, ..self }
    }

    /// The version of the request, and of its answer.
    pub const fn version(&self) -> i16 {
        self.preamble.api_version
    }

    /// The bytes of a reply of the replica, header and body, without the frame's length prefix.
    ///
    /// `bytes` are the records that an answer to `Fetch` carries, or the part of a snapshot that an answer to
    /// `FetchSnapshot` does, as the host has read them; otherwise they are not looked at. O(bytes).
    ///
    /// # Errors
    /// [`WireError::UnsupportedApi`] if the reply is to another API; [`WireError::Malformed`] if something is too long to
    /// be sent.
    pub fn encode_reply(&self, reply: &Reply, bytes: Bytes) -> Result<Bytes, WireError> {
        let version = self.version();
        match (self.api()?, reply) {
            (ApiKey::Vote, Reply::Vote(answer)) => self.encode(&vote::response(answer, version)),
            (ApiKey::BeginQuorumEpoch, Reply::BeginQuorumEpoch(answer)) => {
                self.encode(&begin_quorum_epoch::response(answer, version))
            }
            (ApiKey::EndQuorumEpoch, Reply::EndQuorumEpoch(answer)) => {
                self.encode(&end_quorum_epoch::response(answer, version))
            }
            (ApiKey::Fetch, Reply::Fetch(answer)) => {
                self.encode(&fetch::response(answer, bytes, version))
            }
            (ApiKey::FetchSnapshot, Reply::FetchSnapshot(answer)) => match &self.other_partition {
                Some((topic, index)) if answer.error == ErrorCode::InvalidRequest => {
                    self.encode(&fetch_snapshot::unknown_partition(topic.clone(), *index))
                }
                _ => self.encode(&fetch_snapshot::response(answer, bytes, version)),
            },
            (ApiKey::AddRaftVoter, Reply::VoterChange { result, .. }) => {
                self.encode(&add_voter_response(result))
            }
            (ApiKey::RemoveRaftVoter, Reply::VoterChange { result, .. }) => {
                self.encode(&remove_voter_response(result))
            }
            (ApiKey::UpdateRaftVoter, Reply::VoterChange { result, leader }) => {
                self.encode(&update_voter_response(result, leader.as_ref()))
            }
            _ => Err(self.other_api()),
        }
    }

    /// The bytes of an answer to one of the quorum's requests that says nothing but this error, at its top.
    ///
    /// # Errors
    /// As [`encode_reply`](Self::encode_reply).
    pub fn encode_error(&self, error: ErrorCode) -> Result<Bytes, WireError> {
        let reply = match self.api()? {
            ApiKey::Vote => Reply::Vote(Answer::failed(error)),
            ApiKey::BeginQuorumEpoch => Reply::BeginQuorumEpoch(Answer::failed(error)),
            ApiKey::EndQuorumEpoch => Reply::EndQuorumEpoch(Answer::failed(error)),
            ApiKey::Fetch => Reply::Fetch(Answer::failed(error)),
            ApiKey::FetchSnapshot => Reply::FetchSnapshot(Answer::failed(error)),
            key => return self.encode_error_code(key, error.code()),
        };
        self.encode_reply(&reply, Bytes::new())
    }

    fn encode_error_code(&self, key: ApiKey, code: i16) -> Result<Bytes, WireError> {
        match key {
            ApiKey::AddRaftVoter => {
                self.encode(&AddRaftVoterResponse::default().with_error_code(code))
            }
            ApiKey::RemoveRaftVoter => {
                self.encode(&RemoveRaftVoterResponse::default().with_error_code(code))
            }
            ApiKey::UpdateRaftVoter => {
                self.encode(&UpdateRaftVoterResponse::default().with_error_code(code))
            }
            ApiKey::DescribeQuorum => {
                self.encode(&DescribeQuorumResponse::default().with_error_code(code))
            }
            ApiKey::ApiVersions => {
                self.encode(&ApiVersionsResponse::default().with_error_code(code))
            }
            _ => Err(self.other_api()),
        }
    }

    /// The bytes of a response of the request's API, header and body, at the version of the request.
    ///
    /// # Errors
    /// [`WireError::UnsupportedApi`]; [`WireError::Malformed`] if the version does not have what the body says.
    pub fn encode(&self, body: &impl Encodable) -> Result<Bytes, WireError> {
        let key = self.api()?;
        let version = match key {
            // `kafka-protocol` has version 0 alone, and version 1 is answered alike.
            ApiKey::AddRaftVoter => 0,
            _ => self.version(),
        };
        let header = ResponseHeader::default().with_correlation_id(self.preamble.correlation_id);
        let header_version = key.response_header_version(version);
        let encode = || {
            let size = header.compute_size(header_version)? + body.compute_size(version)?;
            let mut out = BytesMut::with_capacity(size);
            header.encode(&mut out, header_version)?;
            body.encode(&mut out, version).map(|()| out.freeze())
        };
        encode().map_err(|error| WireError::Malformed {
            api_key: self.preamble.api_key,
            version: self.version(),
            reason: format!("{error:#}"),
        })
    }

    fn api(&self) -> Result<ApiKey, WireError> {
        ApiKey::try_from(self.preamble.api_key).map_err(|()| self.other_api())
    }

    const fn other_api(&self) -> WireError {
        WireError::UnsupportedApi { api_key: self.preamble.api_key }
    }
}
