//! Transactions and the offsets that readers of committed data may not pass.

use super::states::ProducerStates;
use super::transaction::{
    CompletedTransaction, OngoingTransaction, UnreplicatedTransaction, UnstableOffset,
};
use crate::time::Timestamp;

/// How much longer than the longest time-out a transaction may take until it is late, in ms.
const LATE_BUFFER_MS: i64 = 300_000;

impl ProducerStates {
    /// The transaction that ended first and is not confirmed, with the last stable offset that goes
    /// into the transaction index if it was aborted.
    ///
    /// It is ongoing until [`confirm_completed`](Self::confirm_completed) says that the index is
    /// written (KAFKA-7866); whoever has no index to write, as when a log is read back, confirms at
    /// once.
    pub fn next_completed(&self) -> Option<(CompletedTransaction, i64)> {
        self.transactions.next_ended()
    }

    /// Takes the transaction of [`next_completed`](Self::next_completed) as complete: it becomes
    /// stable when its marker is replicated. O(log n) of the ongoing transactions.
    pub fn confirm_completed(&mut self) {
        self.transactions.confirm_ended();
        self.settle();
    }

    /// Releases the transactions whose marker is below the high watermark. O(released).
    pub fn on_high_watermark(&mut self, high_watermark: i64) {
        self.transactions.release_below(high_watermark);
    }

    /// The first offset of a transaction that is open, or whose marker is not replicated. O(1).
    pub fn first_unstable_offset(&self) -> Option<UnstableOffset> {
        self.transactions.first_unstable()
    }

    /// The first offset of a transaction that is open. O(1).
    pub fn first_undecided_offset(&self) -> Option<i64> {
        self.transactions.first_ongoing().map(|transaction| transaction.first_offset)
    }

    /// How far readers of committed data may read, exclusive: the first unstable offset, but not below
    /// the log's start, nor above the high watermark. O(1).
    ///
    /// Take the high watermark once for a fetch, and give the same one here (KAFKA-9807).
    pub fn last_stable_offset(&self, high_watermark: i64, log_start_offset: i64) -> i64 {
        let unstable = self.first_unstable_offset().map(|it| it.offset.max(log_start_offset));
        unstable.unwrap_or(high_watermark).min(high_watermark)
    }

    /// Whether the transaction that started first is overdue: 5 minutes longer without a batch than a
    /// transaction may take. O(1).
    pub fn has_late_transaction(&self, now: Timestamp) -> bool {
        let producer = self.transactions.first_ongoing().map(|it| it.producer_id);
        let entry = producer.and_then(|producer_id| self.table.get(producer_id));
        let last = entry.map_or(-1, |entry| entry.last_timestamp().as_millis());
        let limit = i64::from(self.config.transaction_timeout_max_ms) + LATE_BUFFER_MS;
        last > 0 && now.as_millis().saturating_sub(last) > limit
    }

    /// Ongoing transactions by first offset.
    pub fn ongoing_transactions(&self) -> impl Iterator<Item = &OngoingTransaction> {
        self.transactions.ongoing()
    }

    /// Transactions whose marker is not replicated, by first offset. O(n log n).
    pub fn unreplicated_transactions(&self) -> impl Iterator<Item = &UnreplicatedTransaction> {
        self.transactions.unreplicated()
    }
}
