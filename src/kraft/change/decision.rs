//! Which voters come next: the checks on a change, as functions of plain values.

use super::error::ChangeError;
use crate::kraft::voters::{
    Endpoint, Endpoints, KRaftVersion, ListenerName, ReplicaKey, SupportedVersions,
    VoterChangeError, VoterNode, VoterSet,
};

/// What the leader's log says of voters, committed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an argument list with names")]
pub struct LogVoters<'a> {
    /// The last voters.
    pub voters: &'a VoterSet,
    /// Where they are; -1 is the bootstrap checkpoint. `None`: they are the static ones.
    pub offset: Option<i64>,
    /// The last level of `kraft.version`.
    pub kraft_version: KRaftVersion,
}

/// What else a leader must know before it changes voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "an argument list with names")]
pub struct Situation<'a> {
    /// Whether a change is under way.
    pub pending: PendingChange,
    /// Its high watermark, once it has committed a record of its own epoch. An older one does not
    /// count: a change that an earlier leader wrote may be in the log and not be committed.
    pub high_watermark: Option<i64>,
    /// Its log.
    pub log: LogVoters<'a>,
}

/// Whether a change is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "yes or no")]
pub enum PendingChange {
    /// None.
    No,
    /// One is, and only one at a time may be.
    Yes,
}

impl Situation<'_> {
    /// The high watermark, if no change is under way.
    fn idle(&self) -> Result<i64, ChangeError> {
        if self.pending == PendingChange::Yes {
            return Err(ChangeError::ChangePending);
        }
        self.high_watermark.ok_or(ChangeError::HighWatermarkUnknown)
    }

    /// Whether the next change may be decided.
    fn changeable(&self) -> Result<(), ChangeError> {
        let high_watermark = self.idle()?;
        let level = self.log.kraft_version;
        if !level.is_reconfiguration_supported() {
            return Err(ChangeError::UnsupportedVersion { level });
        }
        self.log.committed(high_watermark)?;
        Ok(())
    }
}

impl<'a> LogVoters<'a> {
    /// The voters, if they are in the log and committed.
    fn committed(&self, high_watermark: i64) -> Result<&'a VoterSet, ChangeError> {
        let offset = self.offset.ok_or(ChangeError::VotersNotInLog)?;
        if offset >= high_watermark {
            return Err(ChangeError::UncommittedVoters { offset, high_watermark });
        }
        Ok(self.voters)
    }
}

/// Whether a voter may be added, before it is asked what it supports.
///
/// # Errors
/// In this order:
/// - [`ChangeError::ChangePending`].
/// - [`ChangeError::HighWatermarkUnknown`].
/// - [`ChangeError::UnsupportedVersion`].
/// - [`ChangeError::VotersNotInLog`], [`ChangeError::UncommittedVoters`].
/// - [`ChangeError::Voters`]: the id is a voter's, whatever its directory id.
pub fn check_add(situation: &Situation<'_>, voter: ReplicaKey) -> Result<(), ChangeError> {
    situation.changeable()?;
    if let Some(known) = situation.log.voters.get(voter.id) {
        return Err(VoterChangeError::Duplicate { key: voter, voter: known.key }.into());
    }
    Ok(())
}

/// The voters with a new one, of which is known what it supports and whether it has caught up.
///
/// # Errors
/// In this order:
/// - [`ChangeError::LevelUnsupported`].
/// - [`ChangeError::NotCaughtUp`].
/// - [`ChangeError::Voters`].
pub fn decide_add(
    log: LogVoters<'_>,
    voter: ReplicaKey,
    endpoints: Endpoints,
    supported: Option<SupportedVersions>,
    progress: Progress,
) -> Result<VoterSet, ChangeError> {
    let supported_versions = check_level(log.kraft_version, voter.id, supported)?;
    if progress == Progress::Behind {
        return Err(ChangeError::NotCaughtUp { voter });
    }
    Ok(log.voters.add_voter(VoterNode { key: voter, endpoints, supported_versions })?)
}

/// Whether a new voter has caught up with the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "yes or no")]
pub enum Progress {
    /// It has.
    CaughtUp,
    /// It has not.
    Behind,
}

/// The voters without one.
///
/// # Errors
/// As [`check_add`] in its order, and last:
/// - [`ChangeError::Voters`]: the key is not exactly a voter's, or it is the only voter.
pub fn decide_remove(
    situation: &Situation<'_>,
    voter: &ReplicaKey,
) -> Result<VoterSet, ChangeError> {
    situation.changeable()?;
    Ok(situation.log.voters.remove_voter(voter)?)
}

/// Whether a voter's update may be taken up: then it is asked at the returned endpoint what it
/// supports. Whether it is a voter at all is looked at afterwards.
///
/// # Errors
/// In this order:
/// - [`ChangeError::ChangePending`].
/// - [`ChangeError::HighWatermarkUnknown`].
/// - [`ChangeError::NoDefaultListener`].
pub fn check_update<'a>(
    situation: &Situation<'_>,
    endpoints: &'a Endpoints,
    default_listener: &ListenerName,
) -> Result<&'a Endpoint, ChangeError> {
    situation.idle()?;
    let endpoint = endpoints.get(default_listener);
    endpoint.ok_or_else(|| ChangeError::NoDefaultListener { listener: default_listener.clone() })
}

/// What becomes of an updated voter set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "another one is another decision")]
pub enum UpdatedVoters {
    /// It is written to the log.
    Write(VoterSet),
    /// Level 0 of `kraft.version` has no voters in the log: the leader keeps it in memory.
    Keep(VoterSet),
}

/// The voters with one as it says to be, of which is known what it supports.
///
/// `collected` are the static voters with what each has told of itself, at level 0 of `kraft.version`;
/// directory ids are not compared there.
///
/// # Errors
/// In this order:
/// - [`ChangeError::OtherVersions`]: it supports other levels than it says.
/// - [`ChangeError::LevelUnsupported`].
/// - [`ChangeError::HighWatermarkUnknown`].
/// - [`ChangeError::VotersNotInLog`], [`ChangeError::UncommittedVoters`], at level 0
///   [`ChangeError::UpgradeUnderWay`].
/// - [`ChangeError::Voters`]: it is not a voter.
pub fn decide_update(
    situation: &Situation<'_>,
    collected: Option<&VoterSet>,
    voter: VoterNode,
    supported: Option<SupportedVersions>,
) -> Result<UpdatedVoters, ChangeError> {
    let (id, claimed) = (voter.key.id, voter.supported_versions);
    if supported != Some(claimed) {
        return Err(ChangeError::OtherVersions { id, claimed, supported });
    }
    let log = situation.log;
    check_level(log.kraft_version, id, supported)?;
    let high_watermark = situation.high_watermark.ok_or(ChangeError::HighWatermarkUnknown)?;
    if log.kraft_version.is_reconfiguration_supported() {
        let voters = log.committed(high_watermark)?;
        return Ok(UpdatedVoters::Write(voters.update_voter(voter)?));
    }
    let voters = collected.ok_or(ChangeError::UpgradeUnderWay)?;
    Ok(UpdatedVoters::Keep(voters.update_voter_ignoring_directory_id(voter)?))
}

fn check_level(
    level: KRaftVersion,
    id: i32,
    supported: Option<SupportedVersions>,
) -> Result<SupportedVersions, ChangeError> {
    let supports = supported.filter(|supported| supported.contains(level));
    supports.ok_or(ChangeError::LevelUnsupported { id, level, supported })
}
