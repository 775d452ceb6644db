//! What the open wish list changed, and what the session held before.

use super::entries::Want;
use alloc::vec::Vec;
use core::slice;

/// The entries of the session that the open wish list changed, with what they held: each once, numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// Apart from what was held, since most plans ask for nothing else.
    slots: Vec<u32>,
    held: Vec<Want>,
}

impl Changes {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// What the entry in `slot` held, if this is the number of its change.
    pub(super) fn held(&self, number: usize, slot: u32) -> Option<&Want> {
        self.held.get(number).filter(|_| self.slots.get(number) == Some(&slot))
    }

    /// Notes that the entry in `slot` is to change from `held`.
    #[inline]
    pub(super) fn note(&mut self, slot: u32, held: &Want) {
        self.slots.push(slot);
        // A push would copy it twice.
        self.held.extend_from_slice(slice::from_ref(held));
    }

    /// Moves the slots to the end of `list`.
    pub(super) fn move_slots_to(&mut self, list: &mut Vec<u32>) {
        list.append(&mut self.slots);
        self.held.clear();
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.held.clear();
    }

    /// Takes out everything, each slot with what it held.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u32, Want)> {
        self.slots.drain(..).zip(self.held.drain(..))
    }
}
