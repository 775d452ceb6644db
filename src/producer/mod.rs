//! Idempotent and transactional producers (KIP-98): what a partition's log knows of those that
//! write to it.
//!
//! [`ProducerStates`] decides whether a batch is new, a retry of one that was written, or an error
//! (a gap, a fenced epoch, a transaction that nobody opened). It keeps the open transactions and with
//! them the last stable offset, forgets producers by age, and is rebuilt from snapshots, whose bytes
//! are Kafka's, and a replay of the log. One for each partition log, on leaders and followers.
//!
//! # Vocabulary
//!
//! | term | meaning |
//! | --- | --- |
//! | producer id, epoch | who writes; a higher epoch fences the lower ones. -1: none |
//! | sequence | the number of a record, counted by producer, epoch and partition; after 2147483647 comes 0 |
//! | window | the last five batches of a producer's epoch, by which its retries are known |
//! | origin | who appends: a client, a coordinator, the leader through replication (or the log itself, read back) |
//! | marker | the control record that ends a transaction here |
//! | ongoing, unreplicated | a transaction without marker; one whose marker the high watermark has not passed |
//! | last stable offset | where readers of committed data stop: the first offset of either |
//! | verification, guard | the question to the coordinator whether a transaction may start here (KIP-890), and what ties the append to it |
//! | map end | the end, exclusive, of the log prefix that the state covers |
//! | snapshot offset | the same of a snapshot file, and the number in its name |
//!
//! # An append
//!
//! ```
//! use kafka_coordination::Timestamp;
//! use kafka_coordination::producer::{
//!     AppendError, Batch, Content, Origin, ProducerConfig, ProducerStates, Verdict,
//! };
//!
//! let mut states = ProducerStates::new(ProducerConfig::default());
//! let now = Timestamp::from_millis(1_000);
//! // The header of a batch of ten records, to which the log has given offsets.
//! let batch = |base_sequence: i32, base_offset: i64| Batch {
//!     producer_id: 7,
//!     producer_epoch: 0,
//!     base_offset,
//!     last_offset: base_offset + 9,
//!     content: Content::Data { base_sequence, max_timestamp: now, is_transactional: false },
//!     position: None,
//! };
//!
//! // Decide, write, commit. Dropping the append instead leaves no trace.
//! let mut append = states.begin(Origin::Client);
//! assert_eq!(states.push(&mut append, &batch(0, 100)), Ok(Verdict::New));
//! // ... the log writes the batch here ...
//! states.commit(append, now)?;
//!
//! // The answer was lost and the client sends it again: nothing is written, the offsets are told.
//! let mut append = states.begin(Origin::Client);
//! let Ok(Verdict::Duplicate(known)) = states.push(&mut append, &batch(0, 110)) else { panic!() };
//! assert_eq!((known.first_offset(), known.last_offset), (100, 109));
//!
//! // A batch is missing between.
//! let gap = states.push(&mut append, &batch(20, 110));
//! assert!(matches!(gap, Err(AppendError::OutOfOrder { last_sequence: 9, .. })));
//! # Ok::<(), kafka_coordination::producer::CommitError>(())
//! ```
//!
//! One log appends one after the other: an append that is begun must be committed or dropped before
//! the next is begun, or its commit is refused. Everything else may happen between; the guard of a
//! verification is what lasts across appends.
//!
//! A marker that ends a transaction makes its commit leave it in
//! [`next_completed`](ProducerStates::next_completed): the host writes the transaction index, if it
//! was aborted, and [confirms](ProducerStates::confirm_completed). Until then it is ongoing.
//!
//! # What else happens
//!
//! | when | call |
//! | --- | --- |
//! | a transactional batch comes, before the coordinator is asked | [`start_verification`](ProducerStates::start_verification) |
//! | the high watermark moves | [`on_high_watermark`](ProducerStates::on_high_watermark) |
//! | the log start moves | [`on_log_start`](ProducerStates::on_log_start) |
//! | a segment is rolled | [`set_map_end_offset`](ProducerStates::set_map_end_offset), then write the snapshot that is [due](ProducerStates::snapshot_due) |
//! | a segment is deleted | [`forget_snapshot`](ProducerStates::forget_snapshot) |
//! | every ten minutes | [`expire`](ProducerStates::expire) |
//! | start-up, truncation | [`rebuild`](ProducerStates::rebuild) |
//! | this broker stops to lead | [`clear_verifications`](ProducerStates::clear_verifications) |
//!
//! # Invariants
//!
//! - PS-1: a window has at most five batches, of its producer's epoch, with rising offsets if the
//!   log's rise.
//! - PS-2: if only clients wrote, the batches of a window follow one another.
//! - PS-3: each ongoing transaction is the current one of its producer, or ended and not confirmed;
//!   each current one is ongoing.
//! - PS-4: no unreplicated transaction starts where an ongoing one does; after
//!   `on_high_watermark(hw)` no marker is below hw.
//! - PS-5: what is refused, a duplicate or dropped changes nothing, verifications included.
//! - PS-6: any of the last five batches of a client's epoch, sent again, is a duplicate with its
//!   offsets, as often as it is sent.
//! - PS-7: unless replicated, epochs and coordinator epochs of a known producer never go down.
//! - PS-8: a follower that gets a leader's batches, however they are cut into appends, ends in the
//!   leader's state and writes the leader's transaction index.
//! - PS-9: the last stable offset is not above the high watermark, nor above the first offset of an
//!   open transaction, and does not go back while the high watermark does not.
//! - PS-10: expiry removes each producer that has reached its age and has no open transaction, and no
//!   other.
//! - PS-11: decoding what was encoded gives each producer with the newest of its batches; the bytes
//!   depend on the producers alone; any damage is found.
//! - PS-12: a snapshot from any time and a replay of the rest give the state that was never lost, but
//!   for what [`Rebuild`] names.
//! - PS-13: a snapshot is due once for an offset; the offsets rise until the log is truncated.
//! - PS-14: while verification is required, a client or coordinator starts a transaction only with the
//!   guard of the pending verification; no guard is given out for two.
//! - PS-15: after a marker of transaction version 2 the producer has its epoch and no transaction;
//!   lower epochs are refused, the same marker again is taken and ends nothing.
//! - PS-16: `increment` and `decrement` undo each other within 0 to 2147483647.
//! - PS-17: a late transaction stays late as time goes on.
//! - PS-18: after stray snapshots were removed, each that is left is of a segment, but for one above
//!   all segments.
//! - PS-19: a model that remembers every batch ever written agrees on new, duplicate and error; older
//!   duplicates than the window's are out of order (45).

mod append;
mod batch;
mod config;
mod entry;
mod error;
mod expiry;
mod judgement;
mod ordered;
mod pages;
mod rebuild;
mod reload;
mod sequence;
mod snapshot;
mod snapshots;
mod stable_offset;
mod state;
mod states;
mod table;
mod transaction;
mod unreplicated;
mod verification;
mod window;

pub use append::Append;
pub use batch::{Batch, Content, EndMarker, MarkerKind, Origin, Position, TransactionVersion};
pub use config::{ExpiryTime, ProducerConfig, ProducerConfigError};
pub use entry::{ProducerEntry, TransactionChange};
pub use error::{AppendError, CommitError};
pub use judgement::{Circumstances, FirstSequence, Verdict, Verify, judge};
pub use rebuild::{MissingSnapshots, Rebuild, RebuildStep};
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
pub use state::{PartitionState, ProducerState, ProducerStateError};
pub use states::ProducerStates;
pub use transaction::{
    CompletedTransaction, OngoingTransaction, UnreplicatedTransaction, UnstableOffset,
};
pub use verification::{EpochBump, Guard, Verification, VerificationError};
pub use window::{CachedBatch, WINDOW, Window};
