//! What a finished wish list makes of the session.

use super::entries::{NO_SLOT, Pending};
use super::{Change, Dropped, FetcherSession};
use core::mem;

impl FetcherSession {
    /// Makes the wish list `generation`, which names `kept` partitions of the session, the session.
    pub(super) fn replace_partitions(&mut self, generation: u32, kept: usize) {
        for Change { slot, want } in self.changes.drain(..) {
            let entry = self.entries.get_mut(slot);
            entry.pending = Pending::NOTHING;
            entry.want = want;
        }
        let has_added = self.wished.len() > kept;
        let has_removed = self.order.len() > kept;
        mem::swap(&mut self.order, &mut self.wished);
        if has_added {
            for &slot in &self.order {
                self.entries.get_mut(slot).pending = Pending::NOTHING;
            }
        }
        if has_removed {
            while let Some(slot) = self.wished.pop() {
                if self.entries.get(slot).seen != generation {
                    self.remove_entry(slot);
                }
            }
        }
        self.wished.clear();
    }

    /// Updates the session to the wish list `generation`, which names `kept` of its partitions. Says whether all that it
    /// removed can be forgotten by topic id.
    pub(super) fn update_partitions(&mut self, generation: u32, kept: usize) -> bool {
        let added = self.wished.len();
        let mut can_forget_by_id = true;
        if kept < self.order.len() || !self.changes.is_empty() {
            let mut order = mem::take(&mut self.order);
            order.retain(|slot| self.is_still_wished(*slot, generation));
            self.order = order;
            can_forget_by_id = !self.dropped.iter().any(|dropped| dropped.id.is_zero());
            self.forgotten = self.dropped.len();
            self.find_replaced(added);
            self.link_dropped();
        }
        for slot in self.wished.iter().copied().take(added) {
            self.entries.get_mut(slot).pending = Pending::NOTHING;
            self.order.push(slot);
        }
        self.changes.clear();
        can_forget_by_id
    }

    /// Exchanges what the session and the wish list want of an entry, where they differ; removes the entry if the wish
    /// list does not name it.
    fn is_still_wished(&mut self, slot: u32, generation: u32) -> bool {
        let entry = self.entries.get_mut(slot);
        if entry.seen != generation {
            let (id, topic, partition) = (entry.want.id, entry.topic, entry.want.partition);
            self.dropped.push(Dropped::new(id, topic, partition));
            self.remove_entry(slot);
            return false;
        }
        if let Some(change) = self.changes.get_mut(entry.pending.number()) {
            // A partition that was added twice may have come back to what the session holds.
            if change.want == entry.want {
                entry.pending = Pending::NOTHING;
            } else {
                mem::swap(&mut change.want, &mut entry.want);
                self.wished.push(slot);
            }
        }
        true
    }

    /// Lists which of the altered entries, those from `altered` on, went from one topic id to another.
    fn find_replaced(&mut self, altered: usize) {
        for slot in self.wished.iter().copied().skip(altered) {
            let entry = self.entries.get_mut(slot);
            let pending = mem::replace(&mut entry.pending, Pending::NOTHING);
            let Some(old) = self.changes.get(pending.number()).map(|change| change.want) else {
                continue;
            };
            if old.id != entry.want.id && !old.id.is_zero() && !entry.want.id.is_zero() {
                self.dropped.push(Dropped::new(old.id, entry.topic, old.partition));
            }
        }
    }

    /// Links what was dropped of one topic and id, in order.
    fn link_dropped(&mut self) {
        for position in 0..self.dropped.len() {
            let Some(&dropped) = self.dropped.get(position) else {
                return;
            };
            // There are at most twice as many as entries, but those that matter have numbers: see `Pending`.
            let number = u32::try_from(position).unwrap_or(NO_SLOT);
            let before = self.topics.last_dropped(dropped.topic, number);
            let (earlier, later) = self.dropped.split_at_mut(position);
            let before = earlier.get_mut(before as usize);
            let Some(before) =
                before.filter(|before| before.topic == dropped.topic && before.id == dropped.id)
            else {
                continue;
            };
            before.next = number;
            if let Some(dropped) = later.first_mut() {
                dropped.leads = false;
            }
        }
    }
}

impl Dropped {
    fn new(id: crate::topic::TopicId, topic: u32, partition: i32) -> Self {
        Self { id, topic, partition, next: NO_SLOT, leads: true }
    }
}
