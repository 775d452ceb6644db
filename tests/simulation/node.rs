//! A node: a replica, its disk, its clock and its state machine.

use crate::disk::Disk;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Correlation, DirectoryId, Endpoint, Endpoints, ListenerName, Node as Address, QuorumConfig,
    Replica, ReplicaConfig, ReplicaKey, Request, RequestId, SupportedVersions, VoterNode,
};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// The listener by which nodes talk to each other.
pub(crate) const LISTENER: &str = "CONTROLLER";

/// A request that a replica owes an answer to.
#[derive(Clone, Debug)]
pub(crate) struct Owed {
    /// Who asked, in which life, under which name; none for the administrator.
    pub(crate) sender: Option<(usize, u64, Correlation)>,
    /// What was asked.
    pub(crate) request: Option<Request>,
}

/// What the state machine of a node has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine {
    /// The next offset that it needs.
    pub(crate) next_offset: i64,
    /// What it has taken in.
    pub(crate) digest: u64,
    /// The last leader that it was told of.
    pub(crate) leader: Option<(Option<i32>, i32)>,
}

pub(crate) struct Node {
    pub(crate) place: usize,
    pub(crate) config: ReplicaConfig,
    pub(crate) disk: Disk,
    pub(crate) replica: Option<Replica>,
    /// Counts its starts.
    pub(crate) life: u64,
    pub(crate) random: Pcg64Mcg,
    /// How its clock goes: so many millionths too fast, and from this origin.
    pub(crate) skew: i64,
    pub(crate) origin: i64,
    /// Nothing reaches it before that.
    pub(crate) paused_until: i64,
    pub(crate) owed: BTreeMap<RequestId, Owed>,
    pub(crate) machine: Machine,
    /// The bytes of a snapshot that came so far.
    pub(crate) received: usize,
    /// When it is woken next.
    pub(crate) woken_at: Option<i64>,
}

/// The directory of a node.
pub(crate) fn directory(place: usize) -> DirectoryId {
    let bits = 0xd000_0000_0000_0000_0000_0000_0000_0001_u128 + place as u128;
    DirectoryId::from_u128(bits).expect("not zero")
}

pub(crate) fn id(place: usize) -> i32 {
    i32::try_from(place).expect("few nodes") + 1
}

pub(crate) fn key(place: usize) -> ReplicaKey {
    ReplicaKey::new(id(place), directory(place))
}

pub(crate) fn endpoints(place: usize) -> Endpoints {
    Endpoints::new([Endpoint::new(LISTENER, format!("n{place}"), 9_000)])
}

pub(crate) fn voter(place: usize) -> VoterNode {
    VoterNode {
        key: key(place),
        endpoints: endpoints(place),
        supported_versions: SupportedVersions::ALL,
    }
}

/// The node at an address.
pub(crate) fn place_of(address: &Address) -> usize {
    address.host.as_str()[1..].parse().expect("addresses are made here")
}

pub(crate) fn config(place: usize, nodes: usize) -> ReplicaConfig {
    let quorum = QuorumConfig {
        local_id: Some(id(place)),
        local_directory_id: directory(place),
        local_endpoints: endpoints(place),
        supported_versions: SupportedVersions::ALL,
        election_timeout_ms: 1_000,
        fetch_timeout_ms: 2_000,
    };
    let mut config = ReplicaConfig::new(quorum, "cluster", ListenerName::new(LISTENER));
    let bootstrap = (0..nodes).map(|place| Address {
        id: -2 - i32::try_from(place).expect("few nodes"),
        host: format!("n{place}").as_str().into(),
        port: 9_000,
    });
    config.bootstrap = bootstrap.collect();
    config.request_timeout_ms = 1_500;
    config.fetch_snapshot_max_bytes = 1_000;
    config
}

impl Node {
    /// Its clock at this time.
    pub(crate) fn clock(&self, now: i64) -> Monotonic {
        Monotonic::from_millis(self.origin + now + now * self.skew / 1_000_000)
    }

    /// The first time at which its clock says this.
    pub(crate) fn time(&self, clock: Monotonic, now: i64) -> i64 {
        let wait = clock.millis_since(self.clock(now));
        now + (wait * 1_000_000).div_euclid(1_000_000 + self.skew).max(i64::from(wait > 0))
    }

    pub(crate) fn id(&self) -> i32 {
        id(self.place)
    }
}
