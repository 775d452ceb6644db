//! What a finished wish list makes of the session.

use super::entries::{NO_SLOT, Pending, Want};
use super::{Dropped, FetcherSession};
use core::mem;

impl FetcherSession {
    /// Makes the wish list `generation`, which names `kept` partitions of the session, the session.
    pub(super) fn replace_partitions(&mut self, generation: u32, kept: usize) {
        self.changes.clear();
        let has_added = self.wished.len() > kept;
        let has_removed = self.order.len() > kept;
        mem::swap(&mut self.order, &mut self.wished);
        self.order_ascends = self.order.is_sorted();
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
    /// removed can be forgotten by topic id. Unless the changes are intricate, all are alterations.
    pub(super) fn update_partitions(
        &mut self,
        generation: u32,
        kept: usize,
        is_intricate: bool,
    ) -> bool {
        let added = self.wished.len();
        for &slot in &self.wished {
            self.entries.get_mut(slot).pending = Pending::NOTHING;
        }
        let mut can_forget_by_id = true;
        let has_removed = kept < self.order.len();
        let is_plain =
            self.changes.slots().is_empty() || (!is_intricate && self.changes_are_in_order());
        if is_plain && !has_removed {
            self.changes.move_slots_to(&mut self.wished);
        } else {
            self.settle_all(generation, has_removed);
            self.changes.clear();
            can_forget_by_id = !self.dropped.iter().any(|dropped| dropped.id.is_zero());
            self.forgotten = self.dropped.len();
            self.dropped.append(&mut self.replaced);
            self.link_dropped();
        }
        for &slot in self.wished.get(..added).unwrap_or_default() {
            self.order_ascends &= self.order.last().is_none_or(|last| *last < slot);
            self.order.push(slot);
        }
        can_forget_by_id
    }

    /// Whether the changes came in the session's order, so that the rest of it need not be looked at.
    fn changes_are_in_order(&self) -> bool {
        self.order_ascends && self.changes.slots().is_sorted()
    }

    /// Removes what the wish list does not name, and lists what it changed, in the session's order.
    fn settle_all(&mut self, generation: u32, has_removed: bool) {
        let mut order = mem::take(&mut self.order);
        if has_removed {
            order.retain(|slot| self.is_still_wished(*slot, generation));
        }
        for &slot in &order {
            let entry = self.entries.get(slot);
            let Some(held) = entry.noted(slot, &self.changes) else { continue };
            // A partition that was added twice may have come back to what the session holds.
            if *held == entry.want {
                continue;
            }
            self.wished.push(slot);
            if held.id != entry.want.id && !held.id.is_zero() && !entry.want.id.is_zero() {
                self.replaced.push(Dropped::of(entry.topic, held));
            }
        }
        self.order = order;
    }

    /// Removes an entry that the wish list does not name.
    fn is_still_wished(&mut self, slot: u32, generation: u32) -> bool {
        let entry = self.entries.get(slot);
        if entry.seen == generation {
            return true;
        }
        self.dropped.push(Dropped::of(entry.topic, &entry.want));
        self.remove_entry(slot);
        false
    }

    /// Links what was dropped of one topic and id, in order.
    fn link_dropped(&mut self) {
        for position in 0..self.dropped.len() {
            let Some(&dropped) = self.dropped.get(position) else { return };
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
    fn of(topic: u32, want: &Want) -> Self {
        Self { id: want.id, topic, partition: want.partition, next: NO_SLOT, leads: true }
    }
}
