//! The quorum's own requests and answers, in both directions.
//!
//! What [`Replica`](crate::kraft::Replica) takes and gives, as bytes: frames without their length prefix.
//!
//! | | |
//! | --- | --- |
//! | a request came in | [`Received::decode`], [`Received::asked`]; the [`ReplyTo`] is kept under the `RequestId` |
//! | [`Effect::Reply`](crate::kraft::Effect::Reply) | [`ReplyTo::encode_reply`] |
//! | a connection was made | [`encode_request`] of [`Request::ApiVersions`](crate::kraft::Request::ApiVersions), [`PeerVersions::decode`] |
//! | [`Effect::Send`](crate::kraft::Effect::Send) | [`encode_request`]; the preamble is kept with the `Correlation` |
//! | an answer came in | [`decode_answer`] |
//! | [`Effect::Append`](crate::kraft::Effect::Append) | [`encode_log_batch`](crate::kraft::encode_log_batch) |
//!
//! | API | versions |
//! | --- | --- |
//! | `Fetch` | 13 to 18; lower ones are answered that the topic, which has no id there, is not known |
//! | `ApiVersions` | 0 to 4 |
//! | `Vote` | 0 to 2 |
//! | `BeginQuorumEpoch`, `EndQuorumEpoch`, `FetchSnapshot` | 0 and 1 |
//! | `DescribeQuorum` | 0 to 2, received alone |
//! | `AddRaftVoter` | 0 and 1; sent at 1 |
//! | `RemoveRaftVoter`, `UpdateRaftVoter` | 0 |
//!
//! # Voters
//!
//! A leader hands a decoded request to its voter changes with [`add_voter`](fn@add_voter),
//! [`remove_voter`] or [`update_voter`], and answers with [`add_voter_response`] and its likes; [`describe_quorum_response`]
//! answers `DescribeQuorum`. Who sends such requests makes them with [`add_voter_request`] and its
//! likes. `AddRaftVoter` of version 1 (KIP-1186) is not in `kafka-protocol`, so it is decoded and encoded
//! here: [`decode_add_voter`], [`encode_add_voter`].

mod answers;
mod api_versions;
mod apis;
mod begin_quorum_epoch;
mod codec;
mod describe;
mod end_quorum_epoch;
mod fetch;
mod fetch_snapshot;
mod log_batches;
mod outgoing;
mod partition;
mod peer_versions;
mod received;
mod reply_to;
mod requests;
mod responses;
mod vote;

pub use answers::decode_answer;
pub use api_versions::{api_versions_response, unsupported_api_versions};
pub use apis::served_versions;
pub use codec::{decode_add_voter, encode_add_voter};
pub use describe::describe_quorum_response;
pub use log_batches::log_batches;
pub use outgoing::{Sender, encode_request};
pub use peer_versions::PeerVersions;
pub use received::{Asked, Received};
pub use reply_to::ReplyTo;
pub use requests::{
    add_voter, add_voter_request, remove_voter, remove_voter_request, update_voter,
    update_voter_request,
};
pub use responses::{
    add_voter_response, remove_voter_response, update_voter_response, updated_leader,
};
