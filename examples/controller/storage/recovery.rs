//! What a node finds on its disk when it starts.
//!
//! 1. `meta.properties` says whose directory it is; one without is formatted.
//! 2. The log is read, batch after batch, and cut off at the first that is not whole.
//! 3. If the latest snapshot is ahead of the log, a crash has come between the two: the log starts there.
//! 4. [`ControlLog::next_read`] says of which snapshot and which batches the control records are to be read.

use super::format::{self, First, Identity};
use super::log::Log;
use super::meta::Meta;
use super::snapshots::Snapshots;
use super::{Disk, METADATA, files, lock, quorum_state};
use kafka_coordination::kraft::{
    Batches, ControlLog, LogIndex, NextRead, SnapshotReader, Storage, VoterSet,
};
use kafka_coordination::{Random, Timestamp};
use std::fs;
use std::io;
use std::path::Path;

/// Bytes of the log that are read at a time.
const READ: usize = 1 << 20;

/// A disk that is ready, and what the replica is to know of it.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) meta: Meta,
    pub(crate) disk: Disk,
    pub(crate) storage: Storage,
    /// Bytes that were no whole batch.
    pub(crate) bytes_cut: u64,
}

impl Disk {
    /// Opens the directory, of which no other process may be using it, and formats it before.
    pub(crate) fn open(
        root: &Path,
        identity: &Identity,
        first: &First,
        static_voters: VoterSet,
        now: Timestamp,
        random: &mut impl Random,
    ) -> io::Result<Recovered> {
        let lock = lock(root)?;
        let meta = match Meta::read(root)? {
            Some(meta) => meta,
            None => format::format(root, identity, first, now, random)?,
        };
        check_identity(root, &meta, identity)?;
        let directory = root.join(METADATA);
        fs::create_dir_all(&directory)?;
        let snapshots = Snapshots::open(&directory)?;
        let has_snapshot = |offset| snapshots.ids().iter().any(|id| id.offset == offset);
        let (log, bytes_cut) = Log::open(&directory, |start| start == 0 || has_snapshot(start))?;
        let mut disk = Self { log, snapshots, directory, _lock: lock };
        let index = disk.index()?;
        let control = disk.control_log(&index, static_voters)?;
        let election = quorum_state::read(&disk.directory)?;
        Ok(Recovered { meta, disk, storage: Storage { election, log: index, control }, bytes_cut })
    }

    /// The bounds and epochs of the log, which is brought in line with the snapshots.
    fn index(&mut self) -> io::Result<LogIndex> {
        let start = self.log.start_offset();
        let at_start = self.snapshots.ids().iter().find(|id| id.offset == start);
        let mut index = match at_start {
            Some(snapshot) if start > 0 => {
                let snapshot = *snapshot;
                // Older ones were to be deleted.
                self.snapshots.delete_before(snapshot)?;
                LogIndex::after_snapshot(snapshot)
            }
            _ => LogIndex::new(),
        };
        for batch in self.log.batches() {
            index.append(batch.last_offset, batch.epoch);
        }
        for snapshot in self.snapshots.ids() {
            index.add_snapshot(*snapshot);
        }
        if index.truncate_to_latest_snapshot()
            && let Some(latest) = index.latest_snapshot()
        {
            self.restart_at(latest)?;
        }
        Ok(index)
    }

    /// What the control records of the latest snapshot and of the log say.
    fn control_log(&mut self, index: &LogIndex, static_voters: VoterSet) -> io::Result<ControlLog> {
        let mut control = ControlLog::new(static_voters);
        let bad = |error: &dyn std::error::Error| files::invalid(Path::new(METADATA), error);
        loop {
            let (latest, start, end) =
                (index.latest_snapshot(), index.start_offset(), index.end_offset());
            match control.next_read(latest, start, end) {
                NextRead::Snapshot(id) => {
                    let bytes = self.snapshots.read(id)?;
                    let reader = SnapshotReader::open(&bytes).map_err(|error| bad(&error))?;
                    let records = reader.control_records().map_err(|error| bad(&error))?;
                    control.load_snapshot(id.offset, records).map_err(|error| bad(&error))?;
                }
                NextRead::Log { from } => {
                    for batch in Batches::new(&self.log.read(from, READ)?) {
                        let batch = batch.map_err(|error| bad(&error))?;
                        control.on_batch(&batch).map_err(|error| bad(&error))?;
                    }
                }
                NextRead::Nothing => return Ok(control),
            }
        }
    }
}

fn check_identity(root: &Path, meta: &Meta, identity: &Identity) -> io::Result<()> {
    if meta.node_id != identity.node_id {
        return Err(files::invalid(root, format!("it is node {}'s", meta.node_id)));
    }
    if identity.cluster_id.as_ref().is_some_and(|id| *id != meta.cluster_id) {
        return Err(files::invalid(root, format!("it is of cluster {}", meta.cluster_id)));
    }
    Ok(())
}
