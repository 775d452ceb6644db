//! Forgetting producers: by age, and at the limit.

use alloc::vec::Vec;

use tracing::debug;

use super::states::ProducerStates;
use super::table::{NEVER, Producer};
use crate::time::Timestamp;

/// At the limit, one in this many of it is forgotten at once.
const SHARE: usize = 16;

impl ProducerStates {
    /// Forgets producers and pending verifications that have reached their age; answers how many
    /// producers. Kafka: every `producer.id.expiration.check.interval.ms`, 10 minutes.
    ///
    /// A producer with an open transaction is never forgotten. One that is, is unknown afterwards: any
    /// epoch and sequence is taken of it, and its old batches are not known as duplicates.
    ///
    /// O(n), a scan of 8 bytes a producer; O(1) for each that is forgotten.
    pub fn expire(&mut self, now: Timestamp) -> usize {
        let age_ms = i64::from(self.config.expiration_ms);
        self.verifications.expire(age_ms, now);
        let Some(last) = self.last_expired(now) else {
            return 0;
        };
        let is_due = |producer: Producer| producer.stamp <= last;
        let due = self.table.count(is_due);
        self.forget(is_due, due);
        due
    }

    /// The highest stamp that has reached its age; `None`: no stamp is as low.
    pub(super) fn last_expired(&self, now: Timestamp) -> Option<i64> {
        let last = now.as_millis().checked_sub(i64::from(self.config.expiration_ms))?;
        Some(last.min(NEVER - 1))
    }

    /// How many producers over the limit there would be with that many new ones.
    #[inline]
    pub(super) fn excess(&self, new: usize) -> usize {
        (self.table.len() + new).saturating_sub(self.config.producers_max as usize)
    }

    /// Forgets enough producers for that many new ones, if so many may be forgotten.
    pub(super) fn make_room(&mut self, new: usize) {
        let max = self.config.producers_max as usize;
        let excess = self.excess(new);
        if excess == 0 {
            return;
        }
        let may_go = |producer: Producer| producer.stamp < NEVER;
        let mut candidates: Vec<_> = { self.table.producers() }
            .filter(|&it| may_go(it))
            .map(|Producer { id, stamp }| (stamp, id))
            .collect();
        let count = excess.max(max / SHARE).min(candidates.len());
        let Some(at) = count.checked_sub(1) else {
            return;
        };
        let (_, &mut last, _) = candidates.select_nth_unstable(at);
        debug!(count, max, "producers forgotten for new ones");
        self.forget(|it| may_go(it) && (it.stamp, it.id) <= last, count);
    }

    fn forget(&mut self, is_due: impl Fn(Producer) -> bool, count: usize) {
        if count > 0 {
            self.table.remove_due(is_due, count);
            self.revision += 1;
        }
    }
}
