//! How a replica is set up.

use super::quorum::QuorumConfig;
use super::rpc::Node;
use super::voters::ListenerName;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// How a [`Replica`](super::Replica) is set up. The defaults are Kafka's; each is named at its field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicaConfig {
    /// Who the replica is and its election and fetch time-outs.
    pub quorum: QuorumConfig,
    /// The cluster's id.
    pub cluster_id: Box<str>,
    /// The listener by which replicas talk to each other: the first of `controller.listener.names`.
    pub listener: ListenerName,
    /// Whom to ask for the leader (`controller.quorum.bootstrap.servers`), with ids from -2 downwards. None: the static
    /// voters.
    pub bootstrap: Vec<Node>,
    /// Whether the process may become a voter: it has the role of a controller. A replica that may flushes what it
    /// fetches before it acknowledges it.
    pub can_become_voter: bool,
    /// Whether it adds itself to the voters (`controller.quorum.auto.join.enable`).
    pub auto_join: bool,
    /// Milliseconds that a fetch may wait at the leader: 500.
    pub fetch_max_wait_ms: u32,
    /// Bytes of records that a fetch asks for (`controller.quorum.fetch.max.bytes`): 1 MiB.
    pub fetch_max_bytes: i32,
    /// Bytes of a snapshot that a fetch asks for (`controller.quorum.fetch.snapshot.max.bytes`): 1 MiB.
    pub fetch_snapshot_max_bytes: i32,
    /// Milliseconds that a connection rests after a failure (`controller.quorum.retry.backoff.ms`): 20.
    pub retry_backoff_ms: u32,
    /// Milliseconds that a request may take (`controller.quorum.request.timeout.ms`): 2,000.
    pub request_timeout_ms: u32,
    /// Milliseconds that the last in line waits for an election after a leader has resigned
    /// (`controller.quorum.election.backoff.max.ms`): 1,000.
    pub election_backoff_max_ms: u32,
    /// Milliseconds that appended records wait for company (`controller.quorum.append.linger.ms`): 25.
    pub append_linger_ms: u32,
    /// Bytes of records that one batch may have: 8 MiB.
    pub max_batch_bytes: usize,
    /// Batches that may wait to be written: 10. Beyond that [`prepare_append`](super::Replica::prepare_append) refuses.
    pub max_batches: usize,
}

impl ReplicaConfig {
    /// Kafka's defaults for this replica.
    pub fn new(
        quorum: QuorumConfig,
        cluster_id: impl Into<Box<str>>,
        listener: ListenerName,
    ) -> Self {
        Self {
            quorum,
            cluster_id: cluster_id.into(),
            listener,
            bootstrap: Vec::new(),
            can_become_voter: true,
            auto_join: false,
            fetch_max_wait_ms: 500,
            fetch_max_bytes: 1 << 20,
            fetch_snapshot_max_bytes: 1 << 20,
            retry_backoff_ms: 20,
            request_timeout_ms: 2_000,
            election_backoff_max_ms: 1_000,
            append_linger_ms: 25,
            max_batch_bytes: 8 << 20,
            max_batches: 10,
        }
    }
}
