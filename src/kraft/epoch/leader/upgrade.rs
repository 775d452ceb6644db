//! The voters that a leader collects before they can be written.

use super::Leader;
use crate::kraft::voters::{KRaftVersion, VoterNode, VoterSet};

/// How far an upgrade of `kraft.version` has come in a leader's epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Upgrade {
    /// The epoch started at level 1 or above: there is nothing to upgrade to.
    NotNeeded,
    /// The epoch started at level 0: the static voters, with what each has told of itself by
    /// `UpdateRaftVoter` (the leader of itself). Kept in memory, and lost with the epoch.
    Collecting(VoterSet),
    /// An upgrade to this level was accepted.
    Requested(KRaftVersion),
}

impl Upgrade {
    pub(super) fn new(level: KRaftVersion, voters: &VoterSet, local: &VoterNode) -> Self {
        if level.is_reconfiguration_supported() {
            return Self::NotNeeded;
        }
        // It cannot fail: a leader is a voter when it is elected.
        let own = voters.update_voter_ignoring_directory_id(local.clone());
        Self::Collecting(own.unwrap_or_else(|_| voters.clone()))
    }
}

impl Leader {
    /// How far an upgrade of `kraft.version` has come in this epoch.
    pub const fn upgrade(&self) -> &Upgrade {
        &self.upgrade
    }

    /// The static voters with what each has told of itself; `None` if the epoch started at level 1 or
    /// an upgrade was accepted.
    pub const fn volatile_voters(&self) -> Option<&VoterSet> {
        match &self.upgrade {
            Upgrade::Collecting(voters) => Some(voters),
            _ => None,
        }
    }

    /// The level to which an upgrade was accepted in this epoch. It counts for `UpdateFeatures` and
    /// `ApiVersions` at once; voter changes go by the level in the log.
    pub const fn requested_version(&self) -> Option<KRaftVersion> {
        match self.upgrade {
            Upgrade::Requested(level) => Some(level),
            _ => None,
        }
    }

    pub(in crate::kraft) fn set_upgrade(&mut self, upgrade: Upgrade) {
        self.upgrade = upgrade;
    }
}
