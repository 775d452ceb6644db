//! What the control records say up to an offset, committed or not.

mod epoch_start;
mod error;

pub use epoch_start::EpochStartError;
pub use error::{ControlLogError, NotReadError};

#[cfg(feature = "std")]
use super::records::Batch;
use super::records::{ControlRecord, SnapshotHeader};
use super::voters::{HistoryError, KRaftVersion, LogHistory, VoterHistory, VoterSet};
use crate::kraft::OffsetAndEpoch;
use crate::time::Timestamp;

/// The voters and the level of `kraft.version` along a log, read up to an offset. Kafka:
/// `KRaftControlRecordStateMachine`.
///
/// A control record holds from the moment at which it is read, committed or not: the set in force is
/// the last one of the log, and the static one of the configuration while there is none. The host
/// tells of every append, by whomever, of every truncation and of every snapshot.
///
/// ```
/// use kafka_coordination::kraft::{ControlLog, ControlRecord, KRaftVersion, NextRead, VoterSet};
///
/// let mut log = ControlLog::new(VoterSet::empty());
/// // At the start: what is to be read, of a log from 0 to 2 without snapshot?
/// assert_eq!(log.next_read(None, 0, 2), NextRead::Log { from: 0 });
/// log.on_control_batch(0, &[ControlRecord::KRaftVersion(KRaftVersion::V1)])?;
/// log.on_data(1, 1)?;
/// assert_eq!(log.next_read(None, 0, 2), NextRead::Nothing);
/// assert_eq!(log.kraft_version(), KRaftVersion::V1);
///
/// // A new leader's log ends at 0: the record was never committed.
/// log.truncate_to(0);
/// assert_eq!((log.next_offset(), log.kraft_version()), (0, KRaftVersion::V0));
/// # Ok::<(), kafka_coordination::kraft::ControlLogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlLog {
    voters: VoterHistory,
    versions: LogHistory<KRaftVersion>,
    /// Every record below is read; -1: nothing is, not even the bootstrap checkpoint.
    next_offset: i64,
}

/// What is to be read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRead {
    /// The snapshot with this id: its control records go to [`ControlLog::load_snapshot`].
    Snapshot(OffsetAndEpoch),
    /// The batches of the log that start at this offset.
    Log {
        /// The offset.
        from: i64,
    },
    /// Everything is read.
    Nothing,
}

/// The value of [`ControlLog::next_offset`] while nothing is read.
const NOTHING_READ: i64 = -1;

impl ControlLog {
    /// Nothing is read yet; the voters are the static ones of the configuration, which may be none.
    pub const fn new(static_voters: VoterSet) -> Self {
        Self {
            voters: VoterHistory::new(static_voters),
            versions: LogHistory::new(),
            next_offset: NOTHING_READ,
        }
    }

    /// What the host must read, given the id of its latest snapshot and where its log starts and
    /// ends: asked at the start and after each install of a snapshot, until the answer is
    /// [`NextRead::Nothing`]. If there is no snapshot at the start, that is noted.
    pub fn next_read(
        &mut self,
        latest_snapshot: Option<OffsetAndEpoch>,
        log_start_offset: i64,
        log_end_offset: i64,
    ) -> NextRead {
        match latest_snapshot {
            // Before anything is read even the bootstrap checkpoint is due, whose end is 0.
            Some(id)
                if self.next_offset == NOTHING_READ || self.is_behind(log_start_offset, id) =>
            {
                return NextRead::Snapshot(id);
            }
            _ => self.next_offset = self.log_position(),
        }
        if self.next_offset < log_end_offset {
            return NextRead::Log { from: self.next_offset };
        }
        NextRead::Nothing
    }

    /// Replaces everything by the control records of the snapshot that ends at `end_offset`. Where they
    /// stand in the file plays no part: they all hold at `end_offset - 1`, which is -1 for the bootstrap
    /// checkpoint.
    ///
    /// # Errors
    /// [`ControlLogError`]; nothing changes then.
    pub fn load_snapshot(
        &mut self,
        end_offset: i64,
        records: impl IntoIterator<Item = ControlRecord>,
    ) -> Result<(), ControlLogError> {
        let offset = end_offset.saturating_sub(1);
        let mut loaded = Self::new(self.static_voters().clone());
        for record in records {
            loaded.apply(offset, &record)?;
        }
        loaded.next_offset = end_offset.max(0);
        *self = loaded;
        Ok(())
    }

    /// Reads a batch of control records that the log holds from `base_offset` on, each at an offset of
    /// its own. O(records), and O(voters) for those of voters.
    ///
    /// # Errors
    /// [`ControlLogError::Position`] if it is not the batch that is to be read next; nothing changes
    /// then.
    pub fn on_control_batch(
        &mut self,
        base_offset: i64,
        records: &[ControlRecord],
    ) -> Result<(), ControlLogError> {
        let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
        let next_offset = self.advance(base_offset, base_offset.checked_add(count))?;
        // The offset comes second: none is asked for behind the last record's.
        for (record, offset) in records.iter().zip(base_offset..) {
            self.apply(offset, record)?;
        }
        self.next_offset = next_offset;
        Ok(())
    }

    /// Passes over a batch of data that the log holds from `base_offset` to `last_offset`, or over
    /// several that follow each other. O(1).
    ///
    /// # Errors
    /// [`ControlLogError::Position`] if it is not the batch that is to be read next; nothing changes
    /// then.
    pub fn on_data(&mut self, base_offset: i64, last_offset: i64) -> Result<(), ControlLogError> {
        self.next_offset = self.advance(base_offset, last_offset.checked_add(1))?;
        Ok(())
    }

    /// Reads a batch of the log.
    ///
    /// # Errors
    /// [`ControlLogError`]; nothing changes then.
    #[cfg(feature = "std")]
    pub fn on_batch(&mut self, batch: &Batch<'_>) -> Result<(), ControlLogError> {
        let Some(messages) = &batch.control_records else {
            return self.on_data(batch.base_offset, batch.last_offset);
        };
        let records = messages.iter().map(super::records::ControlMessage::to_record);
        let records: alloc::vec::Vec<_> = records.collect::<Result<_, _>>()?;
        self.on_control_batch(batch.base_offset, &records)
    }

    /// The log was truncated and now ends at `end_offset`: the end after the truncation, which may be
    /// lower than what was asked for, as a log drops whole batches. What comes next is read from there.
    ///
    /// Deviation: Kafka goes on reading where it was, and never reads what takes the place of the
    /// truncated records: a new leader's voters, say.
    pub fn truncate_to(&mut self, end_offset: i64) {
        // The bootstrap checkpoint is no part of the log.
        let end_offset = end_offset.max(0);
        self.voters.truncate_new_entries(end_offset);
        self.versions.truncate_new_entries(end_offset);
        // What is not read yet stays so.
        self.next_offset = self.next_offset.min(end_offset);
    }

    /// A snapshot that ends at `end_offset` is complete: what holds only before its last record is
    /// dropped.
    ///
    /// Deviation: Kafka keeps what holds at the record behind, and may so drop voters that a snapshot
    /// with the same end would have to hold.
    pub fn on_snapshot(&mut self, end_offset: i64) {
        let last = end_offset.saturating_sub(1);
        self.voters.truncate_old_entries(last);
        self.versions.truncate_old_entries(last);
    }

    /// Every record below is read. -1: nothing is yet. 0: the bootstrap checkpoint is, if there is one.
    pub const fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// The voter set in force: the last one of the log, else the static one. O(1).
    pub fn voters(&self) -> &VoterSet {
        self.voters.last_value()
    }

    /// The offset of the voter set in force: -1 if it is that of the bootstrap checkpoint, `None` if it
    /// is the static one.
    pub fn voters_offset(&self) -> Option<i64> {
        self.voters.last_offset()
    }

    /// The voters of the configuration.
    pub const fn static_voters(&self) -> &VoterSet {
        self.voters.static_voters()
    }

    /// Whether there are static voters that a voter set of the log overrides. Kafka: the metric
    /// `ignored-static-voters`.
    ///
    /// Deviation: Kafka's stays raised when a snapshot without voters takes the log's place.
    pub fn ignores_static_voters(&self) -> bool {
        !self.static_voters().is_empty() && self.voters_offset().is_some()
    }

    /// The level of `kraft.version` in force. O(1).
    pub fn kraft_version(&self) -> KRaftVersion {
        self.versions.last_entry().map(|(_, version)| *version).unwrap_or_default()
    }

    /// The voter set that the log holds at `offset`; `None` if there is only the static one. O(log n).
    ///
    /// # Errors
    /// [`NotReadError`] if the log is not read so far.
    pub fn voters_at(&self, offset: i64) -> Result<Option<&VoterSet>, NotReadError> {
        self.check_read(offset)?;
        Ok(self.voters.value_at_or_before(offset))
    }

    /// The level of `kraft.version` at `offset`. O(log n).
    ///
    /// # Errors
    /// [`NotReadError`] if the log is not read so far.
    pub fn kraft_version_at(&self, offset: i64) -> Result<KRaftVersion, NotReadError> {
        self.check_read(offset)?;
        Ok(self.versions.value_at_or_before(offset).copied().unwrap_or_default())
    }

    /// What a snapshot that ends at `end_offset` says of the quorum: what holds at the record before.
    ///
    /// # Errors
    /// [`NotReadError`] if the log is not read so far.
    pub fn snapshot_header(
        &self,
        end_offset: i64,
        last_contained_log_timestamp: Timestamp,
    ) -> Result<SnapshotHeader, NotReadError> {
        let last = end_offset.saturating_sub(1);
        let kraft_version = self.kraft_version_at(last)?;
        let voters = self.voters_at(last)?.cloned();
        Ok(SnapshotHeader { last_contained_log_timestamp, kraft_version, voters })
    }

    /// The voter sets of the log with their offsets, ascending.
    pub fn voter_sets(&self) -> impl ExactSizeIterator<Item = (i64, &VoterSet)> {
        self.voters.iter()
    }

    /// The levels of `kraft.version` with their offsets, ascending.
    pub fn kraft_versions(&self) -> impl ExactSizeIterator<Item = (i64, KRaftVersion)> {
        self.versions.iter().map(|(offset, version)| (offset, *version))
    }

    /// Whether records are missing that are in the snapshot and in the log no more.
    const fn is_behind(&self, log_start_offset: i64, snapshot: OffsetAndEpoch) -> bool {
        self.next_offset < log_start_offset && self.next_offset < snapshot.offset
    }

    /// Where the log is to be read from.
    const fn log_position(&self) -> i64 {
        if self.next_offset == NOTHING_READ { 0 } else { self.next_offset }
    }

    /// Where the log is read up to, once a batch is.
    fn advance(&self, base_offset: i64, end: Option<i64>) -> Result<i64, ControlLogError> {
        let expected = self.log_position();
        let position = ControlLogError::Position { expected, base_offset };
        end.filter(|&end| base_offset == expected && end > base_offset).ok_or(position)
    }

    fn apply(&mut self, offset: i64, record: &ControlRecord) -> Result<(), HistoryError> {
        match record {
            ControlRecord::Voters(voters) => self.voters.add_at(offset, voters.clone()),
            ControlRecord::KRaftVersion(version) => self.versions.add_at(offset, *version),
            ControlRecord::LeaderChange(_)
            | ControlRecord::SnapshotHeader { .. }
            | ControlRecord::SnapshotFooter => Ok(()),
        }
    }

    const fn check_read(&self, offset: i64) -> Result<(), NotReadError> {
        if offset < self.next_offset {
            return Ok(());
        }
        Err(NotReadError { offset, next_offset: self.next_offset })
    }
}
