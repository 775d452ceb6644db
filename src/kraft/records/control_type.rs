//! The types of control records, which are their keys.

use super::error::RecordError;
use super::reader::Reader;

/// The type of a control record. Kafka: `ControlRecordType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(i16)]
pub enum ControlRecordType {
    /// Aborts a transaction; not in the quorum's log.
    Abort = 0,
    /// Commits a transaction; not in the quorum's log.
    Commit = 1,
    /// A new epoch's leader.
    LeaderChange = 2,
    /// The start of a snapshot.
    SnapshotHeader = 3,
    /// The end of a snapshot.
    SnapshotFooter = 4,
    /// The level of `kraft.version`.
    KRaftVersion = 5,
    /// The voters.
    KRaftVoters = 6,
}

impl ControlRecordType {
    /// The type with this number, if Kafka defines it.
    pub const fn from_id(type_id: i16) -> Option<Self> {
        Some(match type_id {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KRaftVersion,
            6 => Self::KRaftVoters,
            _ => return None,
        })
    }

    /// The type's number.
    pub const fn id(self) -> i16 {
        self as i16
    }

    /// The key of records of this type: the key's version, 0, and the number.
    pub const fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }

    /// The number of the type that a record's key names; it may be one that is not known. Keys of later
    /// versions are read as well, and what follows in them is passed over.
    ///
    /// # Errors
    /// [`RecordError::Key`], [`RecordError::KeyVersion`]: an `INVALID_RECORD`.
    pub fn id_of_key(key: &[u8]) -> Result<i16, RecordError> {
        let mut reader = Reader::new(key);
        let mut next = || reader.int16("key").map_err(|_| RecordError::Key { length: key.len() });
        let (version, type_id) = (next()?, next()?);
        if version < 0 {
            return Err(RecordError::KeyVersion { version });
        }
        Ok(type_id)
    }
}
