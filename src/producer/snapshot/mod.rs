//! Snapshot files: their bytes and their names, as Kafka's.

#[cfg(feature = "std")]
mod codec;
mod entry;
mod file_name;

#[cfg(feature = "std")]
pub use codec::{Snapshot, SnapshotError, encode_snapshot};
pub use entry::SnapshotEntry;
pub use file_name::{deleted_snapshot_file_name, snapshot_file_name, snapshot_offset};
