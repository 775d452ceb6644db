//! Control records: what the log of the quorum says of the quorum itself.

use alloc::vec::Vec;

use thiserror::Error;

use super::control_type::ControlRecordType;
use super::error::{EncodeError, RecordError};
use super::messages::{
    KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord,
};
use super::voters_record::{InvalidVoter, VotersRecord};
use crate::kraft::voters::{KRaftVersion, ReplicaKey, UnknownKRaftVersion, VoterSet};
use crate::time::Timestamp;

/// A control record as a quorum writes and understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlRecord {
    /// A leader starts its epoch.
    LeaderChange(LeaderChange),
    /// A snapshot starts.
    SnapshotHeader {
        /// The timestamp of the last record that the snapshot stands for.
        last_contained_log_timestamp: Timestamp,
    },
    /// A snapshot ends.
    SnapshotFooter,
    /// From here on this level of `kraft.version` holds.
    KRaftVersion(KRaftVersion),
    /// From here on these are the voters.
    Voters(VoterSet),
}

/// A new epoch's leader and who elected it, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderChange {
    /// The leader.
    pub leader_id: i32,
    /// The voters at the start of the epoch.
    pub voters: Vec<i32>,
    /// Those that elected it.
    pub granting_voters: Vec<i32>,
}

impl ControlRecord {
    /// The record's type, which is its key.
    pub const fn control_type(&self) -> ControlRecordType {
        match self {
            Self::LeaderChange(_) => ControlRecordType::LeaderChange,
            Self::SnapshotHeader { .. } => ControlRecordType::SnapshotHeader,
            Self::SnapshotFooter => ControlRecordType::SnapshotFooter,
            Self::KRaftVersion(_) => ControlRecordType::KRaftVersion,
            Self::Voters(_) => ControlRecordType::KRaftVoters,
        }
    }

    /// Appends the record's value to `out`, equal to what Kafka writes. O(bytes).
    ///
    /// # Errors
    /// [`EncodeError::StringTooLong`] for a voter's endpoint. Nothing is appended then.
    pub fn encode_value(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::LeaderChange(LeaderChange { leader_id, voters, granting_voters }) => {
                let keys =
                    |ids: &[i32]| ids.iter().copied().map(ReplicaKey::without_directory).collect();
                let (leader_id, voters) = (*leader_id, keys(voters));
                let granting_voters = keys(granting_voters);
                LeaderChangeMessage { version: 0, leader_id, voters, granting_voters }
                    .encode(0, out)?;
            }
            &Self::SnapshotHeader { last_contained_log_timestamp } => {
                SnapshotHeaderRecord { version: 0, last_contained_log_timestamp }.encode(out);
            }
            Self::SnapshotFooter => SnapshotFooterRecord::default().encode(out),
            Self::KRaftVersion(level) => {
                KRaftVersionRecord { version: 0, kraft_version: level.level() }.encode(out);
            }
            Self::Voters(voters) => voters.encode(out)?,
        }
        Ok(())
    }
}

/// A control record as it stands in a log's bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ControlMessage<'a> {
    /// A leader starts its epoch.
    LeaderChange(LeaderChangeMessage),
    /// A snapshot starts.
    SnapshotHeader(SnapshotHeaderRecord),
    /// A snapshot ends.
    SnapshotFooter(SnapshotFooterRecord),
    /// The level of `kraft.version`, which may be unknown.
    KRaftVersion(KRaftVersionRecord),
    /// The voters.
    Voters(VotersRecord<'a>),
}

impl<'a> ControlMessage<'a> {
    /// Reads a control record of the quorum's log or of its snapshots. What follows the message in
    /// the value is passed over, as Kafka does.
    ///
    /// Allocates for a leader change alone, and not more than its bytes can hold. O(bytes).
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(key: &[u8], mut value: &'a [u8]) -> Result<Self, RecordError> {
        let type_id = ControlRecordType::id_of_key(key)?;
        let value = &mut value;
        Ok(match ControlRecordType::from_id(type_id) {
            Some(ControlRecordType::LeaderChange) => {
                Self::LeaderChange(LeaderChangeMessage::decode(0, value)?)
            }
            Some(ControlRecordType::SnapshotHeader) => {
                Self::SnapshotHeader(SnapshotHeaderRecord::decode(value)?)
            }
            Some(ControlRecordType::SnapshotFooter) => {
                Self::SnapshotFooter(SnapshotFooterRecord::decode(value)?)
            }
            Some(ControlRecordType::KRaftVersion) => {
                Self::KRaftVersion(KRaftVersionRecord::decode(value)?)
            }
            Some(ControlRecordType::KRaftVoters) => Self::Voters(VotersRecord::decode(value)?),
            Some(ControlRecordType::Abort | ControlRecordType::Commit) | None => {
                return Err(RecordError::Type { type_id });
            }
        })
    }

    /// The record's type.
    pub const fn control_type(&self) -> ControlRecordType {
        match self {
            Self::LeaderChange(_) => ControlRecordType::LeaderChange,
            Self::SnapshotHeader(_) => ControlRecordType::SnapshotHeader,
            Self::SnapshotFooter(_) => ControlRecordType::SnapshotFooter,
            Self::KRaftVersion(_) => ControlRecordType::KRaftVersion,
            Self::Voters(_) => ControlRecordType::KRaftVoters,
        }
    }

    /// What the record says.
    ///
    /// # Errors
    /// [`InvalidControlRecord`] if it can be read, but makes no sense.
    pub fn to_record(&self) -> Result<ControlRecord, InvalidControlRecord> {
        Ok(match self {
            Self::LeaderChange(message) => {
                let ids = |keys: &[ReplicaKey]| keys.iter().map(|key| key.id).collect();
                ControlRecord::LeaderChange(LeaderChange {
                    leader_id: message.leader_id,
                    voters: ids(&message.voters),
                    granting_voters: ids(&message.granting_voters),
                })
            }
            Self::SnapshotHeader(header) => ControlRecord::SnapshotHeader {
                last_contained_log_timestamp: header.last_contained_log_timestamp,
            },
            Self::SnapshotFooter(_) => ControlRecord::SnapshotFooter,
            Self::KRaftVersion(record) => {
                ControlRecord::KRaftVersion(KRaftVersion::from_level(record.kraft_version)?)
            }
            Self::Voters(record) => ControlRecord::Voters(record.to_voter_set()?),
        })
    }
}

/// Why a control record that can be read makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidControlRecord {
    /// The level of `kraft.version` is not known.
    #[error(transparent)]
    Version(#[from] UnknownKRaftVersion),
    /// The voters are no voter set.
    #[error(transparent)]
    Voters(#[from] InvalidVoter),
}
