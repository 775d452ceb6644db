//! Truncating, and building the state again from a snapshot and the log.

use alloc::vec::Vec;

use thiserror::Error;

use super::entry::ProducerEntry;
use super::snapshot::SnapshotEntry;
use super::snapshots::Snapshots;
use super::states::{ProducerStates, stamp_of};
use super::table::{Producer, ProducerTable};
use super::transaction::OngoingTransaction;
use crate::time::Timestamp;

/// From which snapshot a state is built again. The older it is, the longer the part of the log that
/// is read after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the newest, an older one, by offset, or none")]
pub enum ReloadFrom {
    /// The newest, as in Kafka. It holds the newest batch of each producer only: a retry of an older
    /// one is then refused with 45, and an idempotent client writes that batch a second time.
    #[default]
    Newest,
    /// The one before the newest, if there is one: what is read of the log fills the windows of the
    /// producers that wrote since.
    OneBefore,
    /// The newest of at most this offset; without one the oldest, from which more is read than from
    /// any other. With the high watermark no transaction is taken as replicated whose marker is not;
    /// with the offset of the fifth last batch of each producer that may have batches in flight, all
    /// of their retries are known.
    AtMost(i64),
    /// None: the log is read from its start. All windows are full then, as far as the log reaches; a
    /// producer whose batches are all below the log's start is not known any more.
    LogStart,
}

/// What truncating means for the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "the files of dropped snapshots are to be deleted, and the state may have to be loaded"]
#[non_exhaustive]
pub struct Truncation {
    /// The snapshots whose files are to be deleted, ascending.
    pub deleted: Vec<i64>,
    /// Whether the state was cleared and is to be loaded: [`ProducerStates::snapshot_to_load`].
    pub must_load: bool,
}

/// Why a snapshot cannot be loaded: it is corrupt, and the host deletes it. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A producer occurs twice.
    ///
    /// Deviation: Kafka takes the later entry, and the transactions of both.
    #[error("producer {producer_id} occurs twice")]
    DuplicateProducer {
        /// The producer.
        producer_id: i64,
    },
    /// The transactions of two producers start at one offset.
    ///
    /// Deviation: Kafka loads it, and fails when the second one ends.
    #[error("two transactions start at offset {first_offset}")]
    DuplicateTransaction {
        /// The offset.
        first_offset: i64,
    },
    /// A transaction starts behind the log prefix that the snapshot covers.
    ///
    /// Deviation: Kafka loads it.
    #[error("a transaction of producer {producer_id} starts at {first_offset}, not below {offset}")]
    TransactionBeyondEnd {
        /// The producer.
        producer_id: i64,
        /// Where its transaction starts.
        first_offset: i64,
        /// The snapshot's offset.
        offset: i64,
    },
    /// A batch would start below offset 0.
    ///
    /// Deviation: Kafka loads it.
    #[error(
        "the batch of producer {producer_id} starts {offset_delta} before offset {last_offset}"
    )]
    BeforeStart {
        /// The producer.
        producer_id: i64,
        /// The batch's last offset.
        last_offset: i64,
        /// How far its first is below it.
        offset_delta: i32,
    },
}

impl ProducerStates {
    /// Takes the snapshot files that the directory holds for the truth, by their offsets
    /// ([`snapshot_offset`](super::snapshot_offset) reads names).
    pub fn list_snapshots(&mut self, offsets: impl IntoIterator<Item = i64>) {
        self.snapshots.list(offsets);
    }

    /// The snapshot files that are known.
    pub const fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// The offset at which a snapshot is to be written, unless the last one covers as much, or an
    /// ended transaction waits to be confirmed.
    ///
    /// Kafka writes one when a segment is rolled (after
    /// [`set_map_end_offset`](Self::set_map_end_offset) with its base offset), when the log is closed
    /// and after each rebuild.
    pub fn snapshot_due(&self) -> Option<i64> {
        let end = self.map_end_offset();
        let is_due = end > self.snapshots.last_taken() && !self.transactions.has_ended();
        is_due.then_some(end)
    }

    /// Says that the snapshot of this offset was written: under another name first and then renamed,
    /// so that nothing of a longer file stays behind it.
    pub fn snapshot_written(&mut self, offset: i64) {
        self.snapshots.insert(offset);
    }

    /// Drops the snapshot of a segment that is deleted; answers whether there was one. The host
    /// renames its file to [`deleted_snapshot_file_name`](super::deleted_snapshot_file_name) at once
    /// and deletes it later (KAFKA-12964).
    pub fn forget_snapshot(&mut self, offset: i64) -> bool {
        self.snapshots.remove(offset)
    }

    /// Drops the snapshots below this offset; answers which.
    pub fn forget_snapshots_before(&mut self, offset: i64) -> Vec<i64> {
        self.snapshots.remove_all(|it| it < offset)
    }

    /// Drops the snapshots that belong to no segment, given by their base offsets, but the highest if
    /// it is above all of them; answers which. At start-up, after listing.
    pub fn forget_stray_snapshots(&mut self, segments: impl IntoIterator<Item = i64>) -> Vec<i64> {
        self.snapshots.remove_stray(segments)
    }

    /// The log now starts at `offset`. Producers and open transactions stay, even if all their records
    /// are gone (KIP-360).
    pub fn on_log_start(&mut self, offset: i64) {
        self.transactions.release_below(offset);
        if self.end_offset < offset {
            self.end_offset = offset;
        }
        self.settle();
        self.snapshots.set_last(self.snapshots.latest().unwrap_or(offset));
    }

    /// The log now reaches from `log_start` to `log_end`, exclusive, which is not above the high
    /// watermark. Snapshots outside are dropped, and so is one at the start. If that is what this
    /// state covers, it stays; else it is cleared, to be loaded and the log after that to be
    /// replayed. Pending verifications stay.
    pub fn truncate(&mut self, log_start: i64, log_end: i64) -> Truncation {
        let deleted = self.snapshots.remove_all(|offset| offset > log_end || offset <= log_start);
        let must_load = log_end != self.map_end_offset();
        if must_load {
            self.clear(log_start);
            self.snapshots.set_last(log_start);
        } else {
            self.on_log_start(log_start);
        }
        Truncation { deleted, must_load }
    }

    /// The log is empty and starts at `offset`: forgets all but pending verifications; answers the
    /// snapshots that are to be deleted.
    pub fn truncate_fully(&mut self, offset: i64) -> Vec<i64> {
        self.clear(offset);
        self.snapshots.set_last(0);
        self.snapshots.remove_all(|_| true)
    }

    fn clear(&mut self, end_offset: i64) {
        self.table.clear();
        self.transactions.clear();
        self.end_offset = end_offset;
        self.settle();
        self.revision += 1;
    }

    /// The snapshot to load after [`truncate`](Self::truncate); `None`: the log is to be replayed
    /// from its start.
    ///
    /// One that is damaged is dropped with [`forget_snapshot`](Self::forget_snapshot), its file
    /// deleted, and this asked again. An error of reading is not damage.
    pub fn snapshot_to_load(&self, from: ReloadFrom) -> Option<i64> {
        let latest = self.snapshots.latest();
        let wanted = match from {
            ReloadFrom::Newest => None,
            ReloadFrom::OneBefore => self.snapshots.iter().nth_back(1),
            ReloadFrom::AtMost(offset) => {
                self.snapshots.latest_until(offset).or_else(|| self.snapshots.oldest())
            }
            ReloadFrom::LogStart => return None,
        };
        wanted.or(latest)
    }

    /// Loads what a snapshot of that offset holds, instead of all producers and transactions that are
    /// there. Producers without open transaction that have reached their age are left out; answers
    /// how many.
    ///
    /// Then the log is replayed from [`map_end_offset`](Self::map_end_offset) on: begin, push and
    /// commit with [`Origin::Replication`](super::Origin::Replication), and confirm what ends.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load_snapshot(
        &mut self,
        offset: i64,
        entries: impl IntoIterator<Item = SnapshotEntry>,
        now: Timestamp,
    ) -> Result<usize, LoadError> {
        let entries = entries.into_iter();
        let mut table = ProducerTable::with_capacity(entries.size_hint().0, self.config.hash_seed);
        let mut ongoing = Vec::new();
        for saved in entries {
            check(&saved, offset)?;
            let producer_id = saved.producer_id;
            let entry = ProducerEntry::from(&saved);
            if let Some(first_offset) = entry.current_transaction() {
                ongoing.push(OngoingTransaction { first_offset, producer_id, position: None });
            }
            let heard_of = entry.last_timestamp().min(now);
            let stamp = stamp_of(&self.config, &entry, heard_of);
            if !table.insert(producer_id, &entry, stamp) {
                return Err(LoadError::DuplicateProducer { producer_id });
            }
        }
        ongoing.sort_unstable_by_key(|transaction| transaction.first_offset);
        let pairs = { ongoing.iter() }.zip(ongoing.iter().skip(1));
        if let Some((twice, _)) =
            { pairs }.find(|(one, next)| one.first_offset == next.first_offset)
        {
            return Err(LoadError::DuplicateTransaction { first_offset: twice.first_offset });
        }
        let last_expired = self.last_expired(now);
        let is_due = |producer: Producer| last_expired.is_some_and(|last| producer.stamp <= last);
        let expired = table.count(is_due);
        table.remove_due(is_due, expired);

        self.clear(offset);
        self.table = table;
        for transaction in ongoing {
            self.transactions.start(transaction);
        }
        self.make_room(0);
        self.snapshots.set_last(offset);
        Ok(expired)
    }
}

/// Whether an entry can be of a snapshot of that offset.
fn check(saved: &SnapshotEntry, offset: i64) -> Result<(), LoadError> {
    let &SnapshotEntry { producer_id, last_offset, offset_delta, .. } = saved;
    if last_offset >= 0 && i64::from(offset_delta) > last_offset {
        return Err(LoadError::BeforeStart { producer_id, last_offset, offset_delta });
    }
    let first_offset = saved.current_txn_first_offset;
    if first_offset >= offset {
        return Err(LoadError::TransactionBeyondEnd { producer_id, first_offset, offset });
    }
    Ok(())
}
