//! The command line.

use kafka_coordination::kraft::{
    Address, BootstrapServers, DynamicVoters, InitialQuorum, StaticVoters,
};
use lexopt::prelude::*;
use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
A KRaft node: a voter or an observer of a metadata quorum, by itself or beside Kafka's own controllers.

  --id N                        the node's id
  --data-dir DIR                where its log is; formatted at the first start
  --listen HOST:PORT            where to listen (127.0.0.1:9093; port 0 takes a free one)
  --advertised HOST:PORT        where others reach it (where it listens)
  --listener NAME               the name of its listener (CONTROLLER)
  --cluster-id ID               the cluster's id; needed at the first start
  --bootstrap-servers HOST:PORT,...
                                whom to ask for the leader (the voters that its log knows)

and at the first start at most one of these; with none it is an observer, until it is added to the voters:

  --standalone                  it is the first and only voter
  --initial-controllers ID@HOST:PORT:DIRECTORY,...
                                the first voters, as kafka-storage format takes them

  --voters ID@HOST:PORT,...     static voters (controller.quorum.voters), at each start
  --auto-join                   add itself to the voters
  --snapshot-records N          records of the log after which a snapshot is made; 0: never, as it has to be beside
                                Kafka's own controllers, whose metadata the node does not understand (0)
  --election-timeout MS         controller.quorum.election.timeout.ms (1000)
  --fetch-timeout MS            controller.quorum.fetch.timeout.ms (2000)
  --connections N               connections served at once (1000)

Ctrl-C or SIGTERM ends it, once a leader has handed over; SIGUSR1 prints its state as `state {json}`.

Instead of running a node:

  --status HOST:PORT,...        ask these nodes for the quorum, print it and exit
  --load HOST:PORT,...          append numbered records through the leader of these nodes, and check that every one that
                                was acknowledged is on each of them, once and in order
  --records N                   how many (10000)
  --self-test                   run quorums of child processes, kill and restart them, add and remove voters, then exit
  --help                        print this";

/// What the command line asks for.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    pub(crate) id: Option<i32>,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) listen: String,
    pub(crate) advertised: Option<Address>,
    pub(crate) listener: String,
    pub(crate) cluster_id: Option<String>,
    pub(crate) bootstrap: BootstrapServers,
    pub(crate) initial_quorum: InitialQuorum,
    pub(crate) voters: StaticVoters,
    pub(crate) auto_join: bool,
    pub(crate) snapshot_records: u64,
    pub(crate) election_timeout_ms: u32,
    pub(crate) fetch_timeout_ms: u32,
    pub(crate) connections: usize,
    pub(crate) status: Option<BootstrapServers>,
    pub(crate) load: Option<BootstrapServers>,
    pub(crate) records: u64,
    pub(crate) self_test: bool,
    pub(crate) help: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            id: None,
            data_dir: None,
            listen: "127.0.0.1:9093".to_owned(),
            advertised: None,
            listener: "CONTROLLER".to_owned(),
            cluster_id: None,
            bootstrap: BootstrapServers::default(),
            initial_quorum: InitialQuorum::Unspecified,
            voters: StaticVoters::default(),
            auto_join: false,
            snapshot_records: 0,
            election_timeout_ms: 1_000,
            fetch_timeout_ms: 2_000,
            connections: 1_000,
            status: None,
            load: None,
            records: 10_000,
            self_test: false,
            help: false,
        }
    }
}

impl Args {
    /// Reads the process's arguments.
    pub(crate) fn parse() -> Result<Self, lexopt::Error> {
        let mut args = Self::default();
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("id") => args.id = Some(parser.value()?.parse()?),
                Long("data-dir") => args.data_dir = Some(parser.value()?.into()),
                Long("listen") => args.listen = parser.value()?.string()?,
                Long("advertised") => args.advertised = Some(parser.value()?.parse()?),
                Long("listener") => args.listener = parser.value()?.string()?,
                Long("cluster-id") => args.cluster_id = Some(parser.value()?.string()?),
                Long("bootstrap-servers") => args.bootstrap = parser.value()?.parse()?,
                Long("standalone") => args.initial_quorum = InitialQuorum::Standalone,
                Long("initial-controllers") => {
                    let voters: DynamicVoters = parser.value()?.parse()?;
                    args.initial_quorum = InitialQuorum::Controllers(voters);
                }
                Long("voters") => args.voters = parser.value()?.parse()?,
                Long("auto-join") => args.auto_join = true,
                Long("snapshot-records") => args.snapshot_records = parser.value()?.parse()?,
                Long("election-timeout") => args.election_timeout_ms = parser.value()?.parse()?,
                Long("fetch-timeout") => args.fetch_timeout_ms = parser.value()?.parse()?,
                Long("connections") => args.connections = parser.value()?.parse()?,
                Long("status") => args.status = Some(parser.value()?.parse()?),
                Long("load") => args.load = Some(parser.value()?.parse()?),
                Long("records") => args.records = parser.value()?.parse()?,
                Long("self-test") => args.self_test = true,
                Short('h') | Long("help") => args.help = true,
                other => return Err(other.unexpected()),
            }
        }
        Ok(args)
    }
}
