//! The start of a node, from the command line and from its disk.

use super::{Failure, Input, Node};
use crate::args::Args;
use crate::machine::Machine;
use crate::peers::{Context, Peers};
use crate::random::HostRandom;
use crate::say;
use crate::storage::{Disk, First, Identity, Meta, Recovered};
use kafka_coordination::kraft::{
    Endpoint, Endpoints, ListenerName, Node as Address, QuorumConfig, Replica, ReplicaConfig,
    Storage, SupportedVersions, VoterSet,
};
use kafka_coordination::{Clock, SystemClock};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

impl Node {
    /// Starts the node that listens at `address`: what becomes of its requests comes by `inputs`.
    ///
    /// # Errors
    /// The command line lacks something, or does not fit what is on the disk, or that cannot be read.
    pub(crate) fn start(
        args: &Args,
        address: SocketAddr,
        inputs: mpsc::Sender<Input>,
    ) -> Result<Self, Failure> {
        let node_id = args.id.ok_or("--id is missing")?;
        let root = args.data_dir.as_deref().ok_or("--data-dir is missing")?;
        let listener = ListenerName::normalised(&args.listener)?;
        let advertised = match &args.advertised {
            Some(at) => Endpoint::new(listener.clone(), at.host.clone(), at.port),
            None => Endpoint::new(listener.clone(), address.ip().to_string(), address.port()),
        };
        let identity = Identity {
            node_id,
            cluster_id: args.cluster_id.clone(),
            advertised: advertised.clone(),
        };
        let first = First {
            quorum: args.initial_quorum.clone(),
            voters: args.voters.clone(),
            bootstrap: args.bootstrap.clone(),
        };
        let clock = SystemClock::new();
        let mut random = HostRandom::new();
        let voters = args.voters.to_voter_set(&listener)?;
        let now = clock.timestamp();
        let recovered = Disk::open(root, &identity, &first, voters, now, &mut random)?;
        let Recovered { meta, disk, storage, bytes_cut } = recovered;
        let Meta { cluster_id, directory_id, .. } = meta;
        say(&format!("node {node_id} of cluster {cluster_id}, directory {directory_id}"));
        if bytes_cut > 0 {
            say(&format!("cut {bytes_cut} bytes off the log that were no whole batch"));
        }

        let quorum = QuorumConfig {
            local_id: Some(node_id),
            local_directory_id: directory_id,
            local_endpoints: Endpoints::new([advertised]),
            supported_versions: SupportedVersions::ALL,
            election_timeout_ms: args.election_timeout_ms,
            fetch_timeout_ms: args.fetch_timeout_ms,
        };
        let mut config = ReplicaConfig::new(quorum, cluster_id.as_str(), listener.clone());
        config.bootstrap = bootstrap(args, &storage, &listener);
        config.auto_join = args.auto_join;
        let context = Context {
            cluster_id: cluster_id.clone(),
            client_id: format!("raft-client-{node_id}"),
            listener: listener.clone(),
            timeout: Duration::from_millis(config.request_timeout_ms.into()),
            inputs,
        };
        let peers = Peers::new(context, Handle::current());
        let replica = Replica::start(config, storage, &mut random, clock.monotonic())?;
        Ok(Self {
            replica,
            disk,
            machine: Machine::default(),
            peers,
            clock,
            random,
            cluster_id,
            listener,
            snapshot_records: args.snapshot_records,
            next_request: 0,
            owed: HashMap::new(),
            appends: super::Appends::default(),
            is_over: None,
        })
    }
}

/// Whom to ask for the leader: who the command line says, or else the voters that the log knows.
fn bootstrap(args: &Args, storage: &Storage, listener: &ListenerName) -> Vec<Address> {
    if !args.bootstrap.is_empty() {
        let addresses = args.bootstrap.iter();
        let node = |(id, at): (i32, &kafka_coordination::kraft::Address)| Address {
            id,
            host: at.host.clone(),
            port: at.port,
        };
        return addresses.map(node).collect();
    }
    let voters: &VoterSet = storage.control.voters();
    let endpoints = voters.iter().filter_map(|voter| voter.endpoints.get(listener));
    (2..).zip(endpoints).map(|(place, endpoint)| Address::at(-place, endpoint)).collect()
}
