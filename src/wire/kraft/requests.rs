//! Requests, received and sent.

use alloc::string::String;
use alloc::vec::Vec;
use kafka_protocol::messages::add_raft_voter_request::Listener as AddListener;
use kafka_protocol::messages::update_raft_voter_request::{KRaftVersionFeature, Listener};
use kafka_protocol::messages::{
    AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest,
};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::partition::listeners;
use crate::kraft::{
    Acknowledge, AddVoter, BlankListenerName, Endpoints, ListenerName, RemoveVoter, ReplicaKey,
    UpdateVoter,
};

/// What an `AddRaftVoter` request asks for; [`decode_add_voter`](super::decode_add_voter) tells when it
/// wants its answer.
///
/// # Errors
/// [`BlankListenerName`], to be answered with `INVALID_REQUEST`.
///
/// Deviation: Kafka's controller dies of such a request.
pub fn add_voter(
    request: &AddRaftVoterRequest,
    acknowledge: Acknowledge,
) -> Result<AddVoter<'_>, BlankListenerName> {
    let listeners = request.listeners.iter();
    let listeners = listeners.map(|it| (it.name.as_str(), it.host.as_str(), it.port));
    Ok(AddVoter {
        cluster_id: request.cluster_id.as_ref().map(StrBytes::as_str),
        voter: key(request.voter_id, request.voter_directory_id),
        endpoints: Endpoints::from_request(listeners)?,
        acknowledge,
    })
}

/// What a `RemoveRaftVoter` request asks for.
pub fn remove_voter(request: &RemoveRaftVoterRequest) -> RemoveVoter<'_> {
    RemoveVoter {
        cluster_id: request.cluster_id.as_ref().map(StrBytes::as_str),
        voter: key(request.voter_id, request.voter_directory_id),
    }
}

/// What an `UpdateRaftVoter` request that came in by `listener` asks for.
///
/// # Errors
/// [`BlankListenerName`], as of [`add_voter`].
pub fn update_voter(
    request: &UpdateRaftVoterRequest,
    listener: ListenerName,
) -> Result<UpdateVoter<'_>, BlankListenerName> {
    let listeners = request.listeners.iter();
    let listeners = listeners.map(|it| (it.name.as_str(), it.host.as_str(), it.port));
    Ok(UpdateVoter {
        cluster_id: request.cluster_id.as_ref().map(StrBytes::as_str),
        leader_epoch: request.current_leader_epoch,
        voter: key(request.voter_id, request.voter_directory_id),
        endpoints: Endpoints::from_request(listeners)?,
        min_version: request.k_raft_version_feature.min_supported_version,
        max_version: request.k_raft_version_feature.max_supported_version,
        listener,
    })
}

/// The `AddRaftVoter` request that asks for this. When it is answered is encoded apart: see
/// [`encode_add_voter`](super::encode_add_voter). Kafka's leaders pass over the time-out.
pub fn add_voter_request(add: &AddVoter<'_>, timeout_ms: i32) -> AddRaftVoterRequest {
    AddRaftVoterRequest::default()
        .with_cluster_id(add.cluster_id.map(text))
        .with_timeout_ms(timeout_ms)
        .with_voter_id(add.voter.id)
        .with_voter_directory_id(Uuid::from_u128(add.voter.directory_bits()))
        .with_listeners(listeners!(AddListener, add.endpoints))
}

/// The `RemoveRaftVoter` request that asks for this.
pub fn remove_voter_request(remove: &RemoveVoter<'_>) -> RemoveRaftVoterRequest {
    RemoveRaftVoterRequest::default()
        .with_cluster_id(remove.cluster_id.map(text))
        .with_voter_id(remove.voter.id)
        .with_voter_directory_id(Uuid::from_u128(remove.voter.directory_bits()))
}

/// The `UpdateRaftVoter` request that asks for this.
pub fn update_voter_request(update: &UpdateVoter<'_>) -> UpdateRaftVoterRequest {
    let levels = (update.min_version, update.max_version);
    let message = update_message(update.leader_epoch, update.voter, &update.endpoints, levels);
    message.with_cluster_id(update.cluster_id.map(text))
}

/// The same but for the cluster.
pub(super) fn update_message(
    leader_epoch: i32,
    voter: ReplicaKey,
    endpoints: &Endpoints,
    (min, max): (i16, i16),
) -> UpdateRaftVoterRequest {
    let listeners: Vec<_> = listeners!(Listener, endpoints);
    let versions = KRaftVersionFeature::default()
        .with_min_supported_version(min)
        .with_max_supported_version(max);
    UpdateRaftVoterRequest::default()
        .with_current_leader_epoch(leader_epoch)
        .with_voter_id(voter.id)
        .with_voter_directory_id(Uuid::from_u128(voter.directory_bits()))
        .with_listeners(listeners)
        .with_k_raft_version_feature(versions)
}

fn key(id: i32, directory_id: Uuid) -> ReplicaKey {
    ReplicaKey::from_wire(id, directory_id.as_u128())
}

pub(super) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(String::from(text))
}
