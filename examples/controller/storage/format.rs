//! Formatting a directory before its first use, as `kafka-storage format` does.

use super::log::Log;
use super::meta::Meta;
use super::{METADATA, files, quorum_state, snapshots};
use kafka_coordination::kraft::{
    BootstrapServers, Endpoint, FormatPlan, FormatRequest, Formatted, InitialQuorum, LogDirectory,
    NodeConfig, OffsetAndEpoch, ProcessRoles, StaticVoters, encode_snapshot_footer,
    encode_snapshot_header,
};
use kafka_coordination::{Random, Timestamp};
use std::fs;
use std::io;
use std::path::Path;

/// Who the node is, as the command line says it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) node_id: i32,
    /// None: that of the directory, or a new one.
    pub(crate) cluster_id: Option<String>,
    /// Where others reach it.
    pub(crate) advertised: Endpoint,
}

/// Whom the quorum starts with, as the command line says it.
#[derive(Clone, Debug, Default)]
pub(crate) struct First {
    pub(crate) quorum: InitialQuorum,
    pub(crate) voters: StaticVoters,
    pub(crate) bootstrap: BootstrapServers,
}

/// Formats a directory that is not.
pub(super) fn format(
    root: &Path,
    identity: &Identity,
    first: &First,
    now: Timestamp,
    random: &mut impl Random,
) -> io::Result<Meta> {
    refuse_used(root)?;
    let node = NodeConfig {
        roles: Some(ProcessRoles::Controller),
        node_id: identity.node_id,
        voters: first.voters.clone(),
        bootstrap_servers: first.bootstrap.clone(),
        controller_listener_names: vec![identity.advertised.listener.to_string()],
        listeners: vec![identity.advertised.clone()],
        advertised_listeners: Vec::new(),
        inter_broker_listener: None,
        auto_join: false,
    };
    let quorum = match &first.quorum {
        InitialQuorum::Unspecified if first.voters.is_empty() => InitialQuorum::NoControllers,
        quorum => quorum.clone(),
    };
    if quorum == InitialQuorum::NoControllers && first.bootstrap.is_empty() {
        return Err(refused(
            "a new node needs --standalone or --initial-controllers, or else --bootstrap-servers to ask",
        ));
    }
    let cluster_id = identity.cluster_id.as_deref().unwrap_or_default();
    if cluster_id.is_empty() {
        return Err(refused("a new node needs --cluster-id"));
    }
    // Kafka's are 16 bytes in Base64. What a file of properties would have to escape is none.
    if !cluster_id.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter)) {
        return Err(refused("--cluster-id has other characters than letters, digits, - _ and ."));
    }
    let path = root.to_string_lossy();
    let request = FormatRequest {
        node: &node,
        cluster_id: Some(cluster_id),
        initial_quorum: quorum,
        kraft_version: None,
        directories: vec![LogDirectory { path: &path, is_formatted: false }],
        metadata_directory: Some(&path),
        formatted: Formatted::Refuse,
    };
    let plan = request.plan(random).map_err(|error| invalid(&error))?;
    let directory = plan.directories.first().ok_or(io::ErrorKind::NotFound)?;
    let metadata = root.join(METADATA);
    fs::create_dir_all(&metadata).map_err(files::at(&metadata))?;
    let checkpoint = snapshots::file_name(OffsetAndEpoch::BOOTSTRAP);
    files::replace(&metadata.join(checkpoint), &checkpoint_bytes(&plan, now)?)?;
    // What makes the directory a formatted one comes last.
    let meta = Meta {
        cluster_id: cluster_id.to_owned(),
        node_id: identity.node_id,
        directory_id: directory.id,
    };
    meta.write(root)?;
    Ok(meta)
}

/// Refuses a directory in which a node has been at work: with a new identity it would take its records for its own.
fn refuse_used(root: &Path) -> io::Result<()> {
    let directory = root.join(METADATA);
    if Log::exists(&directory)? || quorum_state::read(&directory)?.is_some() {
        return Err(files::invalid(&directory, "in use, but meta.properties is missing"));
    }
    Ok(())
}

/// The bootstrap checkpoint: the first voters, and no metadata.
fn checkpoint_bytes(plan: &FormatPlan, now: Timestamp) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let epoch = OffsetAndEpoch::BOOTSTRAP.epoch;
    let next = encode_snapshot_header(&plan.checkpoint(now), epoch, now, &mut bytes)
        .map_err(|error| invalid(&error))?;
    encode_snapshot_footer(next, epoch, now, &mut bytes).map_err(|error| invalid(&error))?;
    Ok(bytes)
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn invalid(error: &dyn std::error::Error) -> io::Error {
    refused(&error.to_string())
}
