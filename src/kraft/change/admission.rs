//! Whether a request to change voters is for this replica, and makes sense.

use super::error::ChangeError;
use super::request::{AddVoter, RemoveVoter, UpdateVoter};
use crate::kraft::voters::{Endpoint, ListenerName, ReplicaKey, SupportedVersions};

/// The replica to which a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an argument list with names")]
pub struct Receiver<'a> {
    /// Its cluster.
    pub cluster_id: &'a str,
    /// The listener by which replicas talk to each other: the first of `controller.listener.names`.
    pub default_listener: &'a ListenerName,
    /// Its epoch.
    pub epoch: i32,
    /// Whether it leads.
    pub role: ReceiverRole,
}

/// Whether a replica takes requests to change voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "another one is another decision")]
pub enum ReceiverRole {
    /// It leads.
    Leader,
    /// It leads, and is about to shut down.
    LeaderShuttingDown,
    /// It does not lead.
    Other,
}

/// Whether this replica may take up an `AddRaftVoter`: cluster, leader, key, endpoint. Returns where
/// the new voter is asked what it supports.
///
/// # Errors
/// In this order:
/// - [`ChangeError::InconsistentClusterId`].
/// - [`ChangeError::NotLeader`], [`ChangeError::ShuttingDown`].
/// - [`ChangeError::InvalidVoter`]: the id is negative, or there is no directory id.
/// - [`ChangeError::NoDefaultListener`].
pub fn admit_add<'a>(
    request: &'a AddVoter<'_>,
    receiver: &Receiver<'_>,
) -> Result<&'a Endpoint, ChangeError> {
    check_cluster(request.cluster_id, receiver)?;
    check_leads(receiver)?;
    check_key(request.voter)?;
    let listener = receiver.default_listener;
    let endpoint = request.endpoints.get(listener);
    endpoint.ok_or_else(|| ChangeError::NoDefaultListener { listener: listener.clone() })
}

/// Whether this replica may take up a `RemoveRaftVoter`: cluster, leader, key.
///
/// # Errors
/// As [`admit_add`], but for the endpoint.
pub fn admit_remove(request: &RemoveVoter<'_>, receiver: &Receiver<'_>) -> Result<(), ChangeError> {
    check_cluster(request.cluster_id, receiver)?;
    check_leads(receiver)?;
    check_key(request.voter)
}

/// Whether this replica may take up an `UpdateRaftVoter`: cluster, epoch, leader, key, levels. Returns
/// the levels.
///
/// # Errors
/// In this order:
/// - [`ChangeError::InconsistentClusterId`].
/// - [`ChangeError::StaleEpoch`], [`ChangeError::FutureEpoch`].
/// - [`ChangeError::NotLeader`], [`ChangeError::ShuttingDown`].
/// - [`ChangeError::InvalidVoter`].
/// - [`ChangeError::InvalidVersions`].
pub fn admit_update(
    request: &UpdateVoter<'_>,
    receiver: &Receiver<'_>,
) -> Result<SupportedVersions, ChangeError> {
    check_cluster(request.cluster_id, receiver)?;
    let (epoch, received) = (receiver.epoch, request.leader_epoch);
    if received < epoch {
        return Err(ChangeError::StaleEpoch { epoch, received });
    }
    if received > epoch {
        return Err(ChangeError::FutureEpoch { epoch, received });
    }
    check_leads(receiver)?;
    check_key(request.voter)?;
    let (min, max) = (request.min_version, request.max_version);
    SupportedVersions::new(min, max).map_err(|_| ChangeError::InvalidVersions { min, max })
}

fn check_cluster(received: Option<&str>, receiver: &Receiver<'_>) -> Result<(), ChangeError> {
    let expected = receiver.cluster_id;
    match received {
        Some(received) if received != expected => Err(ChangeError::InconsistentClusterId {
            expected: expected.into(),
            received: received.into(),
        }),
        _ => Ok(()),
    }
}

const fn check_leads(receiver: &Receiver<'_>) -> Result<(), ChangeError> {
    match receiver.role {
        ReceiverRole::Leader => Ok(()),
        ReceiverRole::LeaderShuttingDown => Err(ChangeError::ShuttingDown),
        ReceiverRole::Other => Err(ChangeError::NotLeader),
    }
}

const fn check_key(voter: ReplicaKey) -> Result<(), ChangeError> {
    if voter.id < 0 || voter.directory_id.is_none() {
        return Err(ChangeError::InvalidVoter { voter });
    }
    Ok(())
}
