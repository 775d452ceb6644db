//! What outlives the process: files below `--data-dir`, with Kafka's names and bytes.
//!
//! ```text
//! .lock                                          held by the node that runs
//! meta.properties                                whose directory it is
//! __cluster_metadata-0/
//!   quorum-state                                 what was promised in elections
//!   00000000000000000000.log                     the log
//!   00000000000000000000-0000000000.checkpoint   the first voters, as formatting wrote them
//!   00000000000000001000-0000000003.checkpoint   a snapshot of what is before offset 1000
//! ```
//!
//! Files that are replaced are written beside the old one, forced to the disk and then renamed, and a log is forced when
//! the replica says so: the node outlives `kill -9`, and a power failure too. One that cannot write ends.

mod files;
mod format;
mod log;
mod meta;
mod quorum_state;
mod recovery;
mod snapshots;
#[cfg(test)]
mod tests;

pub(crate) use format::{First, Identity};
use kafka_coordination::kraft::{OffsetAndEpoch, Persist};
use log::Log;
pub(crate) use meta::Meta;
pub(crate) use recovery::Recovered;
use snapshots::Snapshots;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Where the metadata log is.
const METADATA: &str = "__cluster_metadata-0";

/// The directory, of which this process has the lock.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) log: Log,
    pub(crate) snapshots: Snapshots,
    directory: PathBuf,
    _lock: File,
}

impl Disk {
    /// Makes what a replica has promised durable.
    pub(crate) fn persist(&self, persist: &Persist) -> io::Result<()> {
        quorum_state::write(&self.directory, persist)
    }

    /// The log starts where this snapshot ends, which has just been received and is ahead of it.
    pub(crate) fn restart_at(&mut self, snapshot: OffsetAndEpoch) -> io::Result<()> {
        self.log.restart_at(snapshot.offset)?;
        self.snapshots.delete_before(snapshot)
    }

    /// Drops what this snapshot has: records and older snapshots.
    pub(crate) fn delete_before(&mut self, snapshot: OffsetAndEpoch) -> io::Result<()> {
        self.log.delete_before(snapshot.offset)?;
        self.snapshots.delete_before(snapshot)
    }
}

fn lock(root: &Path) -> io::Result<File> {
    fs::create_dir_all(root)?;
    let lock = File::create(root.join(".lock"))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => {
            let text = format!("{}: another node is using it", root.display());
            io::Error::new(io::ErrorKind::WouldBlock, text)
        }
    })?;
    Ok(lock)
}
