//! Transactions that ended, until their markers are replicated.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::transaction::UnreplicatedTransaction;

/// Transactions by marker: that is the order in which they come, and in which the high watermark
/// releases them. Each operation is O(1), counted over many, but for a marker below one that is
/// there, which is O(n). Nothing is allocated while its size stays.
#[derive(Clone, Debug)]
pub(super) struct Unreplicated {
    by_marker: VecDeque<UnreplicatedTransaction>,
    /// Those that start below all with later markers. The first of them starts below all.
    lowest: VecDeque<UnreplicatedTransaction>,
    first_offsets: HashSet<i64, FixedState>,
}

impl Unreplicated {
    pub(super) const fn new() -> Self {
        Self {
            by_marker: VecDeque::new(),
            lowest: VecDeque::new(),
            first_offsets: HashSet::with_hasher(FixedState::with_seed(0)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_marker.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.by_marker.clear();
        self.lowest.clear();
        self.first_offsets.clear();
    }

    /// Whether one starts at this offset.
    pub(super) fn contains(&self, first_offset: i64) -> bool {
        self.first_offsets.contains(&first_offset)
    }

    /// Adds a transaction, unless one starts where it does.
    pub(super) fn add(&mut self, transaction: UnreplicatedTransaction) {
        if !self.first_offsets.insert(transaction.first_offset) {
            return;
        }
        let marker = transaction.last_offset;
        if self.by_marker.back().is_none_or(|last| last.last_offset <= marker) {
            self.by_marker.push_back(transaction);
            self.add_lowest(transaction);
            return;
        }
        let at = self.by_marker.partition_point(|it| it.last_offset <= marker);
        self.by_marker.insert(at, transaction);
        self.lowest.clear();
        for at in 0..self.by_marker.len() {
            if let Some(&transaction) = self.by_marker.get(at) {
                self.add_lowest(transaction);
            }
        }
    }

    fn add_lowest(&mut self, transaction: UnreplicatedTransaction) {
        while { self.lowest.back() }.is_some_and(|it| it.first_offset > transaction.first_offset) {
            self.lowest.pop_back();
        }
        self.lowest.push_back(transaction);
    }

    /// Releases those whose marker is below this offset.
    pub(super) fn release_below(&mut self, offset: i64) {
        while let Some(&UnreplicatedTransaction { first_offset, last_offset, .. }) =
            self.by_marker.front()
            && last_offset < offset
        {
            self.by_marker.pop_front();
            self.first_offsets.remove(&first_offset);
            if self.first().is_some_and(|it| it.first_offset == first_offset) {
                self.lowest.pop_front();
            }
        }
    }

    /// The one that starts first.
    pub(super) fn first(&self) -> Option<&UnreplicatedTransaction> {
        self.lowest.front()
    }

    /// By first offset. O(n log n).
    pub(super) fn iter(&self) -> impl Iterator<Item = &UnreplicatedTransaction> {
        let mut all: Vec<_> = self.by_marker.iter().collect();
        all.sort_unstable_by_key(|transaction| transaction.first_offset);
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_does_what_a_map_does(
            steps in prop::collection::vec((0_i64..60, -3_i64..5, prop::option::weighted(0.2, 0_i64..60)), 0..200),
        ) {
            let (mut unreplicated, mut map) = (Unreplicated::new(), BTreeMap::new());
            let mut marker = 0;
            for (first_offset, ahead, high_watermark) in steps {
                marker = (marker + ahead).max(0);
                let transaction = UnreplicatedTransaction {
                    first_offset,
                    producer_id: marker,
                    last_offset: marker,
                    position: None,
                };
                unreplicated.add(transaction);
                map.entry(first_offset).or_insert(transaction);
                if let Some(high_watermark) = high_watermark {
                    unreplicated.release_below(high_watermark);
                    map.retain(|_, it| it.last_offset >= high_watermark);
                }
                prop_assert_eq!(unreplicated.first(), map.values().next());
                prop_assert!(unreplicated.iter().eq(map.values()));
                prop_assert_eq!(unreplicated.is_empty(), map.is_empty());
                for offset in 0..60 {
                    prop_assert_eq!(unreplicated.contains(offset), map.contains_key(&offset));
                }
            }
            unreplicated.clear();
            prop_assert!(unreplicated.is_empty() && unreplicated.first().is_none());
        }
    }
}
