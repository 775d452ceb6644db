//! The transactions of a partition, from their first batch until their end is replicated, and the
//! offsets that readers of committed data may not pass.

use alloc::collections::VecDeque;

use super::batch::Position;
use super::ordered::Ordered;
use super::unreplicated::Unreplicated;

/// A transaction that ended here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "Kafka's CompletedTxn")]
pub struct CompletedTransaction {
    /// Its producer.
    pub producer_id: i64,
    /// The offset of its first record.
    pub first_offset: i64,
    /// The offset of its marker.
    pub last_offset: i64,
    /// Whether it was aborted: then it goes into the transaction index.
    pub is_aborted: bool,
}

/// A transaction without marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "what is known of one")]
pub struct OngoingTransaction {
    /// The offset of its first record.
    pub first_offset: i64,
    /// Its producer.
    pub producer_id: i64,
    /// Where that first batch lies, if the host told and it was not read back.
    pub position: Option<Position>,
}

/// A transaction whose marker is not replicated yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "what is known of one")]
pub struct UnreplicatedTransaction {
    /// The offset of its first record.
    pub first_offset: i64,
    /// Its producer.
    pub producer_id: i64,
    /// The offset of its marker.
    pub last_offset: i64,
    /// Where its first batch lies, if the host told and it was not read back.
    pub position: Option<Position>,
}

/// An offset that cannot be read yet, with the place where it lies if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "an offset and where it lies")]
pub struct UnstableOffset {
    /// The offset.
    pub offset: i64,
    /// Where the batch lies, if the host told and it was not read back.
    pub position: Option<Position>,
}

/// All transactions of a partition.
#[derive(Clone, Debug)]
pub(super) struct Transactions {
    ongoing: Ordered<OngoingTransaction>,
    unreplicated: Unreplicated,
    /// Ended, in the order of the log, and ongoing until the host has written the index.
    ended: VecDeque<CompletedTransaction>,
}

impl Transactions {
    pub(super) const fn new() -> Self {
        Self { ongoing: Ordered::new(), unreplicated: Unreplicated::new(), ended: VecDeque::new() }
    }

    pub(super) fn clear(&mut self) {
        self.ongoing.clear();
        self.unreplicated.clear();
        self.ended.clear();
    }

    /// Whether a transaction starts at this offset.
    pub(super) fn contains(&self, first_offset: i64) -> bool {
        self.ongoing.contains(first_offset) || self.unreplicated.contains(first_offset)
    }

    pub(super) const fn ongoing_count(&self) -> usize {
        self.ongoing.len()
    }

    pub(super) fn has_unreplicated(&self) -> bool {
        !self.unreplicated.is_empty()
    }

    pub(super) fn ongoing(&self) -> impl Iterator<Item = &OngoingTransaction> {
        self.ongoing.iter().map(|(_, transaction)| transaction)
    }

    pub(super) fn unreplicated(&self) -> impl Iterator<Item = &UnreplicatedTransaction> {
        self.unreplicated.iter()
    }

    pub(super) fn ended(&self) -> impl Iterator<Item = &CompletedTransaction> {
        self.ended.iter()
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    pub(super) fn start(&mut self, transaction: OngoingTransaction) {
        self.ongoing.insert(transaction.first_offset, transaction);
    }

    pub(super) fn end(&mut self, completed: CompletedTransaction) {
        self.ended.push_back(completed);
    }

    /// The transaction that ended first and is not confirmed, with its last stable offset: the
    /// lowest first offset of any other that is ongoing, but not above the offset after its marker.
    ///
    /// Deviation: Kafka passes over all transactions of the same producer. A follower that gets the
    /// marker and that producer's next transaction in one append then indexes too large an offset,
    /// by which readers miss aborted transactions.
    pub(super) fn next_ended(&self) -> Option<(CompletedTransaction, i64)> {
        let completed = *self.ended.front()?;
        let others = self.ongoing.iter().map(|(first_offset, _)| first_offset);
        let first = { others }.find(|&first_offset| first_offset != completed.first_offset);
        let after = completed.last_offset + 1;
        Some((completed, first.map_or(after, |first| first.min(after))))
    }

    /// Takes the transaction that ended first as complete.
    pub(super) fn confirm_ended(&mut self) {
        let Some(CompletedTransaction { first_offset, last_offset, .. }) = self.ended.pop_front()
        else {
            return;
        };
        if let Some(OngoingTransaction { producer_id, position, .. }) =
            self.ongoing.remove(first_offset)
        {
            self.add_unreplicated(UnreplicatedTransaction {
                first_offset,
                producer_id,
                last_offset,
                position,
            });
        }
    }

    pub(super) fn add_unreplicated(&mut self, transaction: UnreplicatedTransaction) {
        self.unreplicated.add(transaction);
    }

    /// Releases those whose marker is below this offset. O(released).
    pub(super) fn release_below(&mut self, offset: i64) {
        self.unreplicated.release_below(offset);
    }

    /// The first offset of a transaction without marker.
    pub(super) fn first_ongoing(&self) -> Option<&OngoingTransaction> {
        self.ongoing.first().map(|(_, transaction)| transaction)
    }

    /// The first offset of any transaction.
    pub(super) fn first_unstable(&self) -> Option<UnstableOffset> {
        let ongoing = self.ongoing.first().map(|(offset, it)| (offset, it.position));
        let unreplicated = self.unreplicated.first().map(|it| (it.first_offset, it.position));
        let first = match (ongoing, unreplicated) {
            (Some(one), Some(other)) => Some(if one.0 <= other.0 { one } else { other }),
            (one, other) => one.or(other),
        };
        first.map(|(offset, position)| UnstableOffset { offset, position })
    }
}
