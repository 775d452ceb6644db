//! The small messages that are values of control records.

use alloc::vec::Vec;

use super::error::{EncodeError, RecordError};
use super::reader::Reader;
use super::writer::{self, NO_TAGGED_FIELDS, whole_or_nothing};
use crate::kraft::voters::ReplicaKey;
use crate::time::Timestamp;

/// A new epoch's leader and who elected it. Kafka: `LeaderChangeMessage`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderChangeMessage {
    /// A number that Kafka writes as 0 and does not look at.
    pub version: i16,
    /// The leader.
    pub leader_id: i32,
    /// The voters at the start of the epoch.
    pub voters: Vec<ReplicaKey>,
    /// Those that elected it.
    pub granting_voters: Vec<ReplicaKey>,
}

impl LeaderChangeMessage {
    /// Appends the message to `out` in version 0, which is what logs hold, or 1, which has directory
    /// ids.
    ///
    /// # Errors
    /// [`EncodeError::Version`]; [`EncodeError::DirectoryId`] in version 0. Nothing is appended then.
    pub fn encode(&self, version: i16, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let with_directories = match version {
            0 => false,
            1 => true,
            _ => return Err(EncodeError::Version { version }),
        };
        whole_or_nothing(out, |out| {
            out.extend_from_slice(&self.version.to_be_bytes());
            out.extend_from_slice(&self.leader_id.to_be_bytes());
            for voters in [&self.voters, &self.granting_voters] {
                writer::count(voters.len(), out)?;
                for voter in voters {
                    let id = voter.id;
                    out.extend_from_slice(&id.to_be_bytes());
                    if with_directories {
                        out.extend_from_slice(&voter.directory_bits().to_be_bytes());
                    } else if voter.directory_id.is_some() {
                        return Err(EncodeError::DirectoryId { id });
                    }
                    out.push(NO_TAGGED_FIELDS);
                }
            }
            out.push(NO_TAGGED_FIELDS);
            Ok(())
        })
    }

    /// Reads a message of version 0 or 1 off the start of `bytes`.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(version: i16, bytes: &mut &[u8]) -> Result<Self, RecordError> {
        let with_directories = match version {
            0 => false,
            1 => true,
            _ => return Err(RecordError::Version { version }),
        };
        let mut reader = Reader::new(bytes);
        let version = reader.int16("version")?;
        let leader_id = reader.int32("leader id")?;
        let mut voters = |field| {
            let count = reader.count(field, if with_directories { 21 } else { 5 })?;
            let mut voters = Vec::with_capacity(count);
            for _ in 0..count {
                let id = reader.int32("voter id")?;
                let directory_id =
                    if with_directories { reader.uuid("voter directory id")? } else { 0 };
                reader.tagged_fields()?;
                voters.push(ReplicaKey::from_wire(id, directory_id));
            }
            Ok(voters)
        };
        let (voters, granting_voters) = (voters("voters")?, voters("granting voters")?);
        reader.tagged_fields()?;
        *bytes = reader.rest();
        Ok(Self { version, leader_id, voters, granting_voters })
    }
}

/// The level of `kraft.version`. Kafka: `KRaftVersionRecord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KRaftVersionRecord {
    /// A number that Kafka writes as 0 and does not look at.
    pub version: i16,
    /// The level, which may be unknown.
    pub kraft_version: i16,
}

impl KRaftVersionRecord {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.to_be_bytes());
        out.extend_from_slice(&self.kraft_version.to_be_bytes());
        out.push(NO_TAGGED_FIELDS);
    }

    /// Reads a message off the start of `bytes`.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader::new(bytes);
        let version = reader.int16("version")?;
        let kraft_version = reader.int16("kraft.version")?;
        reader.tagged_fields()?;
        *bytes = reader.rest();
        Ok(Self { version, kraft_version })
    }
}

/// The start of a snapshot. Kafka: `SnapshotHeaderRecord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotHeaderRecord {
    /// A number that Kafka writes as 0 and does not look at.
    pub version: i16,
    /// The timestamp of the last record of the log that the snapshot stands for.
    pub last_contained_log_timestamp: Timestamp,
}

impl SnapshotHeaderRecord {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.to_be_bytes());
        out.extend_from_slice(&self.last_contained_log_timestamp.as_millis().to_be_bytes());
        out.push(NO_TAGGED_FIELDS);
    }

    /// Reads a message off the start of `bytes`.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader::new(bytes);
        let version = reader.int16("version")?;
        let last_contained_log_timestamp = Timestamp::from_millis(reader.int64("timestamp")?);
        reader.tagged_fields()?;
        *bytes = reader.rest();
        Ok(Self { version, last_contained_log_timestamp })
    }
}

/// The end of a snapshot. Kafka: `SnapshotFooterRecord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotFooterRecord {
    /// A number that Kafka writes as 0 and does not look at.
    pub version: i16,
}

impl SnapshotFooterRecord {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.to_be_bytes());
        out.push(NO_TAGGED_FIELDS);
    }

    /// Reads a message off the start of `bytes`.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader::new(bytes);
        let version = reader.int16("version")?;
        reader.tagged_fields()?;
        *bytes = reader.rest();
        Ok(Self { version })
    }
}
