//! How an epoch starts.

use alloc::vec::Vec;

use super::{Leader, LeaderError};
use crate::kraft::records::{ControlRecord, LeaderChange};
use crate::kraft::voters::{KRaftVersion, VoterSet};

/// The records that start an epoch, in one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EpochStart {
    /// `LeaderChange`: who leads.
    pub leader_id: i32,
    /// `LeaderChange`: who votes, by ascending id.
    pub voter_ids: Vec<i32>,
    /// `LeaderChange`: who voted for the leader.
    pub granting_voter_ids: Vec<i32>,
    /// `KRaftVersion` and `Voters`, if they are written.
    pub voters: Option<(KRaftVersion, VoterSet)>,
}

impl EpochStart {
    /// The records as they are written.
    pub fn into_records(self) -> Vec<ControlRecord> {
        let leader_change = LeaderChange {
            leader_id: self.leader_id,
            voters: self.voter_ids,
            granting_voters: self.granting_voter_ids,
        };
        let voters = self.voters.map(|(version, voters)| {
            [ControlRecord::KRaftVersion(version), ControlRecord::Voters(voters)]
        });
        let leader_change = ControlRecord::LeaderChange(leader_change);
        core::iter::once(leader_change).chain(voters.into_iter().flatten()).collect()
    }
}

impl Leader {
    /// The records that start the epoch, one batch at
    /// [`epoch_start_offset`](Self::epoch_start_offset), before any other.
    ///
    /// Beside the change of leader these are, from level 1 of `kraft.version` on, the level and the
    /// voters, if they are in the bootstrap checkpoint alone or the leader's own entry is out of date.
    ///
    /// # Errors
    /// - [`LeaderError::NoVotersInLog`]: the level is 1, and the voters are the static ones.
    pub fn epoch_start(&self) -> Result<EpochStart, LeaderError> {
        Ok(EpochStart {
            leader_id: self.id(),
            voter_ids: self.voters_at_start.ids().collect(),
            granting_voter_ids: self.granting_voters.clone(),
            voters: self.voters_to_write()?.map(|voters| (self.kraft_version_at_start, voters)),
        })
    }

    fn voters_to_write(&self) -> Result<Option<VoterSet>, LeaderError> {
        if !self.kraft_version_at_start.is_reconfiguration_supported() {
            return Ok(None);
        }
        let level = self.kraft_version_at_start.level();
        let offset = self.voters_offset_at_start.ok_or(LeaderError::NoVotersInLog { level })?;
        let voters = &self.voters_at_start;
        if offset >= 0 && !voters.voter_needs_update(&self.local) {
            return Ok(None);
        }
        // It cannot fail: a leader is a voter when it is elected.
        Ok(voters.update_voter(self.local.clone()).ok())
    }
}
