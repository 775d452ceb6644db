//! What a snapshot says of the quorum.

use alloc::vec::Vec;

use super::control_record::ControlRecord;
use super::error::EncodeError;
use crate::kraft::voters::{KRaftVersion, VoterSet};
use crate::time::Timestamp;

/// What a snapshot says of the quorum, in its first batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// The timestamp of the last record of the log that the snapshot stands for.
    pub last_contained_log_timestamp: Timestamp,
    /// The level of `kraft.version` there; at level 0 it is not written.
    pub kraft_version: KRaftVersion,
    /// The voters there, if the log had any.
    pub voters: Option<VoterSet>,
}

impl SnapshotHeader {
    /// The records of the header, in the order in which they are written.
    ///
    /// # Errors
    /// [`EncodeError::VotersAtLevelZero`].
    pub fn to_records(&self) -> Result<Vec<ControlRecord>, EncodeError> {
        let last_contained_log_timestamp = self.last_contained_log_timestamp;
        let mut records =
            Vec::from([ControlRecord::SnapshotHeader { last_contained_log_timestamp }]);
        if self.kraft_version.is_reconfiguration_supported() {
            records.push(ControlRecord::KRaftVersion(self.kraft_version));
            records.extend(self.voters.clone().map(ControlRecord::Voters));
        } else if self.voters.is_some() {
            return Err(EncodeError::VotersAtLevelZero);
        }
        Ok(records)
    }
}
