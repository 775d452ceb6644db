//! What is asked of a leader beside its own protocol: how the quorum is, and the level of `kraft.version`.

use super::{LogVoters, Replica};
use crate::kraft::change::{UpgradeError, UpgradeMode};
use crate::kraft::epoch::{DescribeVersion, EpochState, QuorumDescription};
use crate::kraft::voters::KRaftVersion;
use crate::time::{Monotonic, Timestamp};

impl Replica {
    /// What `DescribeQuorum` is answered; none if this replica does not lead, which is `NOT_LEADER_OR_FOLLOWER`. See
    /// [`Leader::describe_quorum`](crate::kraft::Leader::describe_quorum).
    pub fn describe_quorum(
        &mut self,
        version: DescribeVersion,
        now: Monotonic,
        timestamp: Timestamp,
    ) -> Option<QuorumDescription> {
        let leader = self.leader_mut()?;
        Some(leader.describe_quorum(version, now, timestamp))
    }

    /// The level of `kraft.version` that `ApiVersions` and `UpdateFeatures` tell of: that of the log, or one to which
    /// this leader is about to upgrade.
    pub fn kraft_version(&self) -> KRaftVersion {
        let requested = match self.quorum.state() {
            EpochState::Leader(leader) => leader.requested_version(),
            _ => None,
        };
        requested.unwrap_or_else(|| self.control.kraft_version())
    }

    /// Upgrades `kraft.version` for a caller that led in `epoch`. Gives whether there is something to upgrade; it is
    /// written when [`handle_timeout`](Self::handle_timeout) is called next, which is due then.
    ///
    /// # Errors
    ///
    /// [`UpgradeError::NotLeader`], and else those of
    /// [`VoterChanges::upgrade_version`](crate::kraft::VoterChanges::upgrade_version); nothing changes.
    pub fn upgrade_kraft_version(
        &mut self,
        epoch: i32,
        level: KRaftVersion,
        mode: UpgradeMode,
        now: Monotonic,
    ) -> Result<bool, UpgradeError> {
        let log = LogVoters::from(&self.control);
        let (Some(changes), EpochState::Leader(leader), None) =
            (&mut self.changes, self.quorum.state_mut(), &self.fatal)
        else {
            return Err(UpgradeError::NotLeader);
        };
        let is_upgrade = changes.upgrade_version(epoch, level, mode, leader, log)?;
        self.wake = Some(now);
        Ok(is_upgrade)
    }
}
