//! A node: a replica, its disk, its clock and its state machine.

use crate::disk::Disk;
use crate::flight::Flights;
use crate::transitions::State;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Correlation, DirectoryId, Endpoint, Endpoints, ListenerName, LogBatch, Node as Address,
    QuorumConfig, Replica, ReplicaConfig, ReplicaKey, Request, RequestId, SupportedVersions,
    VoterNode,
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
    /// What was asked; none: a change of voters.
    pub(crate) request: Option<Request>,
    /// The replica's time at which it came.
    pub(crate) since: Monotonic,
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

/// What the replica has shown when it was looked at last, in this life.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) state: State,
    /// Counts transitions.
    pub(crate) generation: u64,
    pub(crate) voted: Option<ReplicaKey>,
    pub(crate) endpoints: usize,
    /// What is known to be committed, by the state and by the log.
    pub(crate) high_watermark: Option<i64>,
    pub(crate) log_high_watermark: i64,
    pub(crate) is_observer: bool,
    /// When a follower gives its leader up.
    pub(crate) gives_up: Option<Monotonic>,
}

/// Which versions of the protocol a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// Those that know no directory ids and no endpoints (before KIP-853).
    WithoutDirectories,
    /// Those that know no pre-votes (KIP-996) and tell no high watermarks (KIP-1166).
    WithoutPreVotes,
    New,
}

pub(crate) struct Node {
    pub(crate) place: usize,
    pub(crate) age: Age,
    pub(crate) config: ReplicaConfig,
    pub(crate) disk: Disk,
    /// The key under which it has lost a disk, and how far that was durable.
    pub(crate) lost: Option<(ReplicaKey, i64)>,
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
    pub(crate) flights: Flights,
    pub(crate) machine: Machine,
    /// Offsets that were handed out together: from the first one to the last.
    pub(crate) prepared: Vec<(i64, i64)>,
    /// The bytes of a snapshot that came so far.
    pub(crate) received: usize,
    /// When it is woken next.
    pub(crate) woken_at: Option<i64>,
    /// The state that the transitions of this life have led to, and how many they were.
    pub(crate) state: State,
    pub(crate) generation: u64,
    /// None before the first look at this life.
    pub(crate) shown: Option<Shown>,
    /// Of a faulty node: batches of which its replica does not see all, and up to where that is so.
    pub(crate) unread: BTreeMap<i64, LogBatch>,
    pub(crate) unread_below: i64,
}

/// The directory of a node, of which it has had so many before.
pub(crate) fn directory(place: usize, lost: u32) -> DirectoryId {
    let bits = 0xd000_0000_0000_0000_0000_0000_0000_0001_u128;
    DirectoryId::from_u128(bits + place as u128 + (u128::from(lost) << 32)).expect("not zero")
}

pub(crate) fn id(place: usize) -> i32 {
    i32::try_from(place).expect("few nodes") + 1
}

/// The first key of a node.
pub(crate) fn key(place: usize) -> ReplicaKey {
    ReplicaKey::new(id(place), directory(place, 0))
}

pub(crate) fn endpoints(place: usize, listeners: usize) -> Endpoints {
    let all = [(LISTENER, 9_000), ("SECOND", 9_001)];
    let known = all.into_iter().take(listeners);
    Endpoints::new(known.map(|(name, port)| Endpoint::new(name, format!("n{place}"), port)))
}

pub(crate) fn voter(place: usize, listeners: usize) -> VoterNode {
    VoterNode {
        key: key(place),
        endpoints: endpoints(place, listeners),
        supported_versions: SupportedVersions::ALL,
    }
}

/// The voter as it is configured.
pub(crate) fn static_voter(place: usize) -> VoterNode {
    VoterNode {
        key: ReplicaKey::without_directory(id(place)),
        supported_versions: SupportedVersions::ONLY_V0,
        ..voter(place, 1)
    }
}

/// The node at an address.
pub(crate) fn place_of(address: &Address) -> usize {
    address.host.as_str()[1..].parse().expect("addresses are made here")
}

pub(crate) fn config(place: usize, nodes: usize, listeners: usize) -> ReplicaConfig {
    let quorum = QuorumConfig {
        local_id: Some(id(place)),
        local_directory_id: directory(place, 0),
        local_endpoints: endpoints(place, listeners),
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

    pub(crate) fn key(&self) -> ReplicaKey {
        self.config.quorum.local_key().expect("it has an id")
    }

    /// Whether its own log says that it votes.
    pub(crate) fn is_voter(&self) -> bool {
        let voters = self.replica.as_ref().map(|replica| replica.control_log().voters());
        voters.is_some_and(|voters| voters.is_voter(&self.key()))
    }
}
