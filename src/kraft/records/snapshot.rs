//! The control batches at both ends of a snapshot file.

use alloc::vec::Vec;

use thiserror::Error;

use super::batch::{Batch, BatchError, Batches, encode_control_batch};
use super::control_record::{ControlMessage, ControlRecord};
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

/// Appends to `out` the first batch of the snapshot whose id has this epoch. Returns the offset at
/// which the next batch starts: offsets in a snapshot count from 0 and say nothing of the log.
///
/// # Errors
/// [`EncodeError`]. Nothing is appended then.
pub fn encode_snapshot_header(
    header: &SnapshotHeader,
    epoch: i32,
    now: Timestamp,
    out: &mut Vec<u8>,
) -> Result<i64, EncodeError> {
    let records = header.to_records()?;
    encode_control_batch(0, epoch, now, &records, out)?;
    i64::try_from(records.len()).map_err(|_| EncodeError::TooLarge { length: records.len() })
}

/// Appends to `out` the last batch of the snapshot whose id has this epoch; `base_offset` is where
/// the batch before ended.
///
/// # Errors
/// None, for any offset from 0 on.
pub fn encode_snapshot_footer(
    base_offset: i64,
    epoch: i32,
    now: Timestamp,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    encode_control_batch(base_offset, epoch, now, &[ControlRecord::SnapshotFooter], out)
}

/// Reads the batches of a snapshot file, the first and the last included. Kafka:
/// `RecordsSnapshotReader`.
#[derive(Clone, Debug)]
pub struct SnapshotReader<'a> {
    last_contained_log_timestamp: Timestamp,
    batches: Batches<'a>,
}

impl<'a> SnapshotReader<'a> {
    /// Checks that a snapshot starts with its header.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn open(bytes: &'a [u8]) -> Result<Self, SnapshotError> {
        let batches = Batches::new(bytes);
        let first = batches.clone().next().ok_or(SnapshotError::Empty)??;
        match first.control_records.as_deref() {
            Some([ControlMessage::SnapshotHeader(header), ..]) => {
                let last_contained_log_timestamp = header.last_contained_log_timestamp;
                Ok(Self { last_contained_log_timestamp, batches })
            }
            _ => Err(SnapshotError::NoHeader),
        }
    }

    /// The timestamp of the last record of the log that the snapshot stands for.
    pub const fn last_contained_log_timestamp(&self) -> Timestamp {
        self.last_contained_log_timestamp
    }
}

impl<'a> Iterator for SnapshotReader<'a> {
    type Item = Result<Batch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}

/// Why bytes are not a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// There is no whole batch.
    #[error("a snapshot without a batch")]
    Empty,
    /// It does not start with the header.
    #[error("a snapshot that does not start with its header")]
    NoHeader,
    /// The first batch cannot be read.
    #[error(transparent)]
    Batch(#[from] BatchError),
}
