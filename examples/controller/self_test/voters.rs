//! Adding and removing voters, as an administrator does.

use super::cluster::Cluster;
use super::until;
use crate::client::{Client, Failure};
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::add_raft_voter_request::Listener;
use kafka_protocol::messages::{AddRaftVoterRequest, RemoveRaftVoterRequest};
use kafka_protocol::protocol::StrBytes;

/// Answers after which the request is sent again: another leader, or a change that is under way.
const AGAIN: [ErrorCode; 3] =
    [ErrorCode::NotLeaderOrFollower, ErrorCode::RequestTimedOut, ErrorCode::BrokerNotAvailable];

/// Has a node added to the voters.
pub(super) async fn add(cluster: &Cluster, id: i32) -> Result<(), Failure> {
    let (directory_id, at) = (cluster.directory_id(id)?, cluster.address(id)?);
    let listener = Listener::default()
        .with_name(StrBytes::from_static_str("CONTROLLER"))
        .with_host(StrBytes::from_string(at.host.to_string()))
        .with_port(at.port);
    let request = AddRaftVoterRequest::default()
        .with_cluster_id(None)
        .with_timeout_ms(5_000)
        .with_voter_id(id)
        .with_voter_directory_id(directory_id.into())
        .with_listeners(vec![listener]);
    until(&format!("{id} is added"), async || {
        let (_, leader) = cluster.leader().await?;
        let response = Client::connect(&leader).await?.call(0, &request).await?;
        // It was added by a request whose answer did not come.
        let is_there = response.error_code == ErrorCode::DuplicateVoter.code();
        Ok(is_there || is_done(response.error_code)?)
    })
    .await
}

/// Has a voter removed.
pub(super) async fn remove(cluster: &Cluster, id: i32) -> Result<(), Failure> {
    let request = RemoveRaftVoterRequest::default()
        .with_cluster_id(None)
        .with_voter_id(id)
        .with_voter_directory_id(cluster.directory_id(id)?.into());
    until(&format!("{id} is removed"), async || {
        let (_, leader) = cluster.leader().await?;
        let response = Client::connect(&leader).await?.call(0, &request).await?;
        let is_gone = response.error_code == ErrorCode::VoterNotFound.code();
        Ok(is_gone || is_done(response.error_code)?)
    })
    .await
}

/// Whether the change was made; if not, it is to be asked for again.
fn is_done(code: i16) -> Result<bool, Failure> {
    let error = ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError);
    match error {
        ErrorCode::None => Ok(true),
        error if AGAIN.contains(&error) => Ok(false),
        error => Err(error.name().into()),
    }
}
