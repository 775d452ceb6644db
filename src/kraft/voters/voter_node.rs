//! One voter.

use super::endpoints::Endpoints;
use super::replica_key::ReplicaKey;
use super::version::SupportedVersions;

/// A voter: who it is, where it is reached and what it supports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VoterNode {
    /// Who it is.
    pub key: ReplicaKey,
    /// Its controller listeners.
    pub endpoints: Endpoints,
    /// The levels of `kraft.version` that it supports.
    pub supported_versions: SupportedVersions,
}

impl VoterNode {
    /// Whether `replica` is this voter.
    pub fn is_voter(&self, replica: &ReplicaKey) -> bool {
        self.key.matches(replica)
    }
}
