//! Formatting a directory before its first use, as `kafka-storage format` does.

use super::meta::Meta;
use super::{METADATA, files, snapshots};
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
    let path = root.to_string_lossy();
    let request = FormatRequest {
        node: &node,
        cluster_id: identity.cluster_id.as_deref(),
        initial_quorum: quorum,
        kraft_version: None,
        directories: vec![LogDirectory { path: &path, is_formatted: false }],
        metadata_directory: Some(&path),
        formatted: Formatted::Refuse,
    };
    let plan = request.plan(random).map_err(|error| invalid(&error))?;
    let directory = plan.directories.first().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(root.join(METADATA))?;
    let checkpoint = snapshots::file_name(OffsetAndEpoch::BOOTSTRAP);
    files::replace(&root.join(METADATA).join(checkpoint), &checkpoint_bytes(&plan, now)?)?;
    // What makes the directory a formatted one comes last.
    let meta = Meta {
        cluster_id: identity.cluster_id.clone().unwrap_or_default(),
        node_id: identity.node_id,
        directory_id: directory.id,
    };
    meta.write(root)?;
    Ok(meta)
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

fn invalid(error: &dyn std::error::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
}
