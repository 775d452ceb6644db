//! The order of a session's partitions.

use alloc::vec::Vec;
use core::ops::Range;

use super::response::Slot;
use super::table::{NIL, as_number};

/// Slots in order, some places of which are holes.
///
/// Partitions leave from anywhere and come back at the end. Those that are served in turn leave
/// from the front, where holes are passed over at no cost.
#[derive(Clone, Debug)]
pub(super) struct Order {
    slots: Vec<u32>,
    /// How many holes there are in front of the first slot.
    head: usize,
    /// The place of the first element; places wrap around.
    first: u32,
}

/// How many holes there may be whatever the number of slots.
const SPARE: usize = 16;

impl Order {
    pub(super) fn with_capacity(slots: usize) -> Self {
        Self { slots: Vec::with_capacity(slots), head: 0, first: 0 }
    }

    /// Makes room for that many slots in an empty order.
    pub(super) fn reserve(&mut self, slots: usize) {
        self.slots.reserve_exact(slots);
    }

    /// Appends a slot; answers its place.
    #[inline]
    pub(super) fn push(&mut self, slot: Slot) -> u32 {
        let place = self.end();
        self.slots.push(slot.0);
        place
    }

    /// Appends slots.
    pub(super) fn extend(&mut self, slots: Range<u32>) {
        self.slots.extend(slots);
    }

    /// The place that [`push`](Self::push) would answer.
    #[inline]
    pub(super) const fn end(&self) -> u32 {
        self.first.wrapping_add(as_number(self.slots.len()))
    }

    /// How far from the front a place is, counting holes.
    #[inline]
    pub(super) const fn rank(&self, place: u32) -> u32 {
        place.wrapping_sub(self.first)
    }

    /// Leaves a hole at a place.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) {
        let rank = self.rank(place) as usize;
        if rank == self.head {
            self.head += 1;
        } else if let Some(slot) = self.slots.get_mut(rank) {
            *slot = NIL;
            return;
        }
        while self.slots.get(self.head) == Some(&NIL) {
            self.head += 1;
        }
    }

    /// Closes holes if there are more than slots, of which that many are live; `moved` learns of
    /// each slot that has another place then. Called after a number of removals, it costs O(1) for
    /// each.
    pub(super) fn pack(&mut self, live: usize, mut moved: impl FnMut(Slot, u32)) {
        if self.slots.len() <= 2 * live + SPARE {
            return;
        }
        self.slots.drain(..self.head);
        self.first = self.first.wrapping_add(as_number(self.head));
        self.head = 0;
        if self.slots.len() == live {
            return;
        }
        let mut place = self.first;
        self.slots.retain(|&slot| {
            if slot == NIL {
                return false;
            }
            moved(Slot(slot), place);
            place = place.wrapping_add(1);
            true
        });
    }

    /// Forgets all slots.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.head = 0;
        self.first = 0;
    }

    /// The slots in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> {
        self.as_slice().iter().filter(|&&slot| slot != NIL).map(|&slot| Slot(slot))
    }

    /// The slots in order, with holes that are [`NIL`].
    pub(super) fn as_slice(&self) -> &[u32] {
        self.slots.get(self.head..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slots_keep_their_order_through_holes_and_packing(
            first: u32,
            operations in proptest::collection::vec((0_u8..8, any::<usize>()), 1..200),
        ) {
            let mut order = Order { slots: Vec::new(), head: 0, first };
            let mut places = BTreeMap::new();
            let mut plain: Vec<u32> = Vec::new();
            for (next, (operation, which)) in (0_u32..).zip(operations) {
                let at = which.checked_rem(plain.len());
                match (operation, at) {
                    (0..3, _) => {
                        plain.push(next);
                        prop_assert_eq!(order.end(), order.push(Slot(next)));
                        places.insert(next, order.end().wrapping_sub(1));
                    }
                    (3..5, Some(at)) => {
                        order.remove(places.remove(&plain.remove(at)).unwrap());
                    }
                    (5..7, Some(at)) => {
                        let slot = plain.remove(at);
                        plain.push(slot);
                        let place = order.push(Slot(slot));
                        order.remove(places.insert(slot, place).unwrap());
                    }
                    _ => {
                        order.pack(plain.len(), |slot, place| {
                            places.insert(slot.0, place);
                        });
                        prop_assert!(order.slots.len() <= 2 * plain.len() + SPARE);
                    }
                }
                let slots: Vec<u32> = order.iter().map(|slot| slot.0).collect();
                prop_assert_eq!(&slots, &plain);
                prop_assert!(plain.is_sorted_by_key(|slot| order.rank(places[slot])));
            }
        }
    }
}
