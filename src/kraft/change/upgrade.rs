//! The upgrade of `kraft.version`, by which the voters get into the log.

use thiserror::Error;

use super::decision::LogVoters;
use super::voter_changes::VoterChanges;
use crate::error_code::ErrorCode;
use crate::kraft::epoch::{Leader, Upgrade};
use crate::kraft::voters::{KRaftVersion, VoterSet};

/// Whether an upgrade is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "yes or no")]
pub enum UpgradeMode {
    /// It is.
    Apply,
    /// It is only looked at whether it could be.
    ValidateOnly,
}

/// What an upgrade that is not refused does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "another one is another decision")]
pub enum UpgradeDecision {
    /// Nothing: the level is reached, or asked for already.
    Nothing,
    /// It writes the level and, if they are not those of the configuration, the voters.
    Write {
        /// The voters; `None`: they have not changed.
        voters: Option<VoterSet>,
    },
}

/// Why `kraft.version` is not upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UpgradeError {
    /// The replica does not lead.
    #[error("this replica does not lead")]
    NotLeader,
    /// The caller led in an earlier epoch.
    #[error("the leader's epoch is {epoch}, later than {received}")]
    StaleEpoch {
        /// The leader's epoch.
        epoch: i32,
        /// The caller's.
        received: i32,
    },
    /// The caller means a later epoch.
    #[error("the leader's epoch is {epoch}, earlier than {received}")]
    FutureEpoch {
        /// The leader's epoch.
        epoch: i32,
        /// The caller's.
        received: i32,
    },
    /// An upgrade to another level was accepted in this epoch.
    #[error("an upgrade to level {} of kraft.version is under way", .requested.level())]
    OtherLevelRequested {
        /// That level.
        requested: KRaftVersion,
    },
    /// There is no way down.
    #[error("kraft.version is {} and cannot go down to {}", .current.level(), .requested.level())]
    Downgrade {
        /// The level in the log.
        current: KRaftVersion,
        /// What is asked for.
        requested: KRaftVersion,
    },
    /// The epoch did not start at level 0, so that no voters were collected in it.
    #[error("no voters were collected in this epoch")]
    NothingCollected,
    /// The collected voters are not those of the configuration: something is wrong on this replica.
    #[error("the collected voters are not those that are configured")]
    OtherVoters,
    /// Not every voter has told that it supports the level.
    #[error("voter {id} does not support level {} of kraft.version, or did not tell", .level.level())]
    LevelUnsupported {
        /// One that did not.
        id: i32,
        /// The level.
        level: KRaftVersion,
    },
    /// A voter has told of itself without directory id: something is wrong on this replica.
    #[error("voter {id} has no directory id")]
    NoDirectoryId {
        /// The voter.
        id: i32,
    },
}

impl UpgradeError {
    /// What Kafka answers to `UpdateFeatures`.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NotLeader | Self::StaleEpoch { .. } => ErrorCode::NotLeaderOrFollower,
            Self::OtherVoters | Self::NoDirectoryId { .. } => ErrorCode::UnknownServerError,
            _ => ErrorCode::InvalidUpdateVersion,
        }
    }
}

/// What an upgrade to `level` does, when this is what the leader has collected in its epoch.
///
/// # Errors
/// In this order:
/// - [`UpgradeError::OtherLevelRequested`].
/// - [`UpgradeError::Downgrade`].
/// - [`UpgradeError::NothingCollected`].
/// - [`UpgradeError::OtherVoters`].
/// - [`UpgradeError::LevelUnsupported`].
/// - [`UpgradeError::NoDirectoryId`].
pub fn decide_upgrade(
    level: KRaftVersion,
    collected: &Upgrade,
    log: LogVoters<'_>,
) -> Result<UpgradeDecision, UpgradeError> {
    if let Upgrade::Requested(requested) = *collected {
        if requested == level {
            return Ok(UpgradeDecision::Nothing);
        }
        return Err(UpgradeError::OtherLevelRequested { requested });
    }
    let current = log.kraft_version;
    if current == level {
        return Ok(UpgradeDecision::Nothing);
    }
    if current > level {
        return Err(UpgradeError::Downgrade { current, requested: level });
    }
    let Upgrade::Collecting(voters) = collected else {
        return Err(UpgradeError::NothingCollected);
    };
    if !voters.ids().eq(log.voters.ids()) {
        return Err(UpgradeError::OtherVoters);
    }
    if let Some(voter) = voters.iter().find(|voter| !voter.supported_versions.contains(level)) {
        return Err(UpgradeError::LevelUnsupported { id: voter.key.id, level });
    }
    if let Some(key) = voters.keys().find(|key| key.directory_id.is_none()) {
        return Err(UpgradeError::NoDirectoryId { id: key.id });
    }
    Ok(UpgradeDecision::Write { voters: (voters != log.voters).then(|| voters.clone()) })
}

impl VoterChanges {
    /// Upgrades `kraft.version` to `level` for a caller that led in `epoch`. Returns whether there is
    /// something to upgrade; it is written by an effect, and counts when it is in the log.
    ///
    /// The high watermark need not be known.
    ///
    /// # Errors
    /// In this order:
    /// - [`UpgradeError::StaleEpoch`], [`UpgradeError::FutureEpoch`].
    /// - those of [`decide_upgrade`].
    pub fn upgrade_version(
        &mut self,
        epoch: i32,
        level: KRaftVersion,
        mode: UpgradeMode,
        leader: &mut Leader,
        log: LogVoters<'_>,
    ) -> Result<bool, UpgradeError> {
        let received = epoch;
        let epoch = leader.epoch();
        if received < epoch {
            return Err(UpgradeError::StaleEpoch { epoch, received });
        }
        if received > epoch {
            return Err(UpgradeError::FutureEpoch { epoch, received });
        }
        let UpgradeDecision::Write { voters } = decide_upgrade(level, leader.upgrade(), log)?
        else {
            return Ok(false);
        };
        if mode == UpgradeMode::Apply {
            leader.request_version(level);
            self.append(Some(level), voters);
        }
        Ok(true)
    }
}
