//! The five replicas.

use kafka_coordination::kraft::{
    Endpoint, Endpoints, ListenerName, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
};
use std::sync::LazyLock;

pub(crate) const REPLICAS: usize = 5;

/// Every voter set there is, by its bits.
static VOTER_SETS: LazyLock<Vec<VoterSet>> = LazyLock::new(|| {
    let set = |bits: usize| (0..REPLICAS).filter(|id| bits >> id & 1 == 1).map(voter).collect();
    (0..1 << REPLICAS).map(set).collect()
});

static ENDPOINTS: LazyLock<Endpoints> =
    LazyLock::new(|| Endpoints::new([Endpoint::new(listener(), "h", 1)]));

static LISTENER: LazyLock<ListenerName> = LazyLock::new(|| ListenerName::new("C"));

pub(crate) fn listener() -> ListenerName {
    LISTENER.clone()
}

pub(crate) fn endpoints() -> Endpoints {
    ENDPOINTS.clone()
}

pub(crate) fn key(id: usize) -> ReplicaKey {
    ReplicaKey::from_wire(i32::try_from(id).unwrap(), 1)
}

pub(crate) fn voter(id: usize) -> VoterNode {
    VoterNode { key: key(id), endpoints: endpoints(), supported_versions: SupportedVersions::ALL }
}

pub(crate) fn voter_set(bits: u8) -> VoterSet {
    VOTER_SETS[usize::from(bits)].clone()
}

pub(crate) fn bits(voters: &VoterSet) -> u8 {
    voters.ids().map(|id| 1 << id).sum()
}
