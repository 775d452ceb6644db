//! What a leader writes first.

use alloc::vec::Vec;

use thiserror::Error;

use super::ControlLog;
use crate::kraft::records::{ControlRecord, LeaderChange};
use crate::kraft::voters::{KRaftVersion, LogHistory, ReplicaKey, VoterNode, VoterSet};

impl ControlLog {
    /// The control records with which a leader starts its epoch: one batch, before everything else.
    ///
    /// | `kraft.version` | voters | the leader's entry | after the leader change |
    /// | --- | --- | --- | --- |
    /// | 0 | | | nothing |
    /// | 1 | from the bootstrap checkpoint | | version and voters: so the checkpoint, which is never handed out, gets into the log |
    /// | 1 | from a record of the log | differs from `local` | version and voters, with the entry put right |
    /// | 1 | from a record of the log | is `local` | nothing |
    ///
    /// O(voters).
    ///
    /// # Errors
    /// [`EpochStartError`].
    pub fn epoch_start(
        &self,
        local: &VoterNode,
        granting_voters: impl IntoIterator<Item = i32>,
    ) -> Result<Vec<ControlRecord>, EpochStartError> {
        let voters = self.voters();
        if !voters.is_voter(&local.key) {
            return Err(EpochStartError::NotVoter { key: local.key });
        }
        let mut records = Vec::from([ControlRecord::LeaderChange(LeaderChange {
            leader_id: local.key.id,
            voters: voters.ids().collect(),
            granting_voters: granting_voters.into_iter().collect(),
        })]);
        let kraft_version = self.kraft_version();
        if kraft_version.is_reconfiguration_supported()
            && let Some(voters) = self.voters_at_epoch_start(local)?
        {
            records.push(ControlRecord::KRaftVersion(kraft_version));
            records.push(ControlRecord::Voters(voters));
        }
        Ok(records)
    }

    fn voters_at_epoch_start(
        &self,
        local: &VoterNode,
    ) -> Result<Option<VoterSet>, EpochStartError> {
        let kraft_version = self.kraft_version();
        let offset = self.voters_offset().ok_or(EpochStartError::NoVoters { kraft_version })?;
        let voters = self.voters();
        if offset != LogHistory::<VoterSet>::BOOTSTRAP_OFFSET && !voters.voter_needs_update(local) {
            return Ok(None);
        }
        let not_voter = |_| EpochStartError::NotVoter { key: local.key };
        voters.update_voter(local.clone()).map(Some).map_err(not_voter)
    }
}

/// Why a replica cannot start an epoch as its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EpochStartError {
    /// It is not a voter.
    #[error("{key} leads, but is not a voter")]
    NotVoter {
        /// The replica.
        key: ReplicaKey,
    },
    /// The log holds a level that has its voters in the log, and no voters.
    #[error("no voters in the log at kraft.version {kraft_version}")]
    NoVoters {
        /// The level.
        kraft_version: KRaftVersion,
    },
}
