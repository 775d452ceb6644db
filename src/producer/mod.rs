//! Producers.

mod append;
mod batch;
mod config;
mod entry;
mod error;
mod expiry;
mod judgement;
mod ordered;
mod pages;
mod reload;
mod sequence;
mod snapshot;
mod snapshots;
mod states;
mod table;
mod transaction;
mod verification;
mod window;

pub use append::Append;
pub use batch::{Batch, Content, EndMarker, MarkerKind, Origin, Position, TransactionVersion};
pub use config::{ExpiryTime, ProducerConfig, ProducerConfigError};
pub use entry::{ProducerEntry, TransactionChange};
pub use error::{AppendError, CommitError};
pub use judgement::{Circumstances, FirstSequence, Verdict, Verify, judge};
pub use reload::{LoadError, ReloadFrom, Truncation};
pub use sequence::{
    MAX_SEQUENCE, NO_SEQUENCE, compare, decrement, follows, increment, last_sequence,
};
#[cfg(feature = "std")]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub use snapshot::{Snapshot, SnapshotError, encode_snapshot};
pub use snapshot::{
    SnapshotEntry, deleted_snapshot_file_name, snapshot_file_name, snapshot_offset,
};
pub use snapshots::Snapshots;
pub use states::ProducerStates;
pub use transaction::{
    CompletedTransaction, OngoingTransaction, UnreplicatedTransaction, UnstableOffset,
};
pub use verification::{EpochBump, Guard, Verification, VerificationError};
pub use window::{CachedBatch, WINDOW, Window};
