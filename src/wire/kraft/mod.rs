//! Requests on the voters of the metadata quorum, and their answers.
//!
//! A leader hands a decoded request to its voter changes with [`add_voter`](fn@add_voter),
//! [`remove_voter`] or [`update_voter`], and answers with [`add_voter_response`] and its likes; [`describe_quorum_response`]
//! answers `DescribeQuorum`. Who sends such requests makes them with [`add_voter_request`] and its
//! likes. `AddRaftVoter` of version 1 (KIP-1186) is not in `kafka-protocol`, so it is decoded and encoded
//! here: [`decode_add_voter`], [`encode_add_voter`].

mod codec;
mod describe;
mod requests;
mod responses;

pub use codec::{decode_add_voter, encode_add_voter};
pub use describe::describe_quorum_response;
pub use requests::{
    add_voter, add_voter_request, remove_voter, remove_voter_request, update_voter,
    update_voter_request,
};
pub use responses::{
    add_voter_response, remove_voter_response, update_voter_response, updated_leader,
};
