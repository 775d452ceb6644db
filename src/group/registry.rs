//! Things with names, found by name and by number.

use alloc::vec::Vec;
use core::hash::BuildHasher;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// What is kept in a [`Registry`].
pub(super) trait Named {
    /// The name, which does not change.
    fn name(&self) -> &str;
}

/// Things with distinct names, each with a number that stays while it is here and is given to another one later.
#[derive(Clone, Debug)]
pub(super) struct Registry<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: FixedState,
}

impl<T: Named> Registry<T> {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::with_seed(seed),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let is_it = |&number: &u32| self.get(number).is_some_and(|it| it.name() == name);
        self.index.find(self.hasher.hash_one(name), is_it).copied()
    }

    /// The number of what has this name, which is made if it is not here.
    pub(super) fn find_or_insert(&mut self, name: &str, make: impl FnOnce() -> T) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // A name takes more bytes than 2^32 names would leave.
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(slot) = self.slots.get_mut(number as usize) {
            *slot = Some(make());
        }
        let Self { slots, index, hasher, .. } = self;
        let rehash = |&number: &u32| {
            let it = slots.get(number as usize).and_then(Option::as_ref);
            hasher.hash_one(it.map_or("", Named::name))
        };
        index.insert_unique(hasher.hash_one(name), number, rehash);
        number
    }

    pub(super) fn remove(&mut self, number: u32) {
        let Some(it) = self.slots.get_mut(number as usize).and_then(Option::take) else { return };
        let hash = self.hasher.hash_one(it.name());
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == number) {
            entry.remove();
        }
        self.free.push(number);
    }

    /// All, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// All with their numbers, in their order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (0..).zip(&mut self.slots).filter_map(|(number, slot)| Some((number, slot.as_mut()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    impl Named for String {
        fn name(&self) -> &str {
            self
        }
    }

    #[test]
    fn numbers_stay_and_are_given_again() {
        let mut registry = Registry::new(3);
        let insert = |registry: &mut Registry<String>, name: &str| {
            registry.find_or_insert(name, || name.into())
        };
        let names: Vec<String> = (0..100).map(|at| format!("name {at}")).collect();
        for (number, name) in (0..).zip(&names) {
            assert_eq!(insert(&mut registry, name), number);
        }
        registry.remove(7);
        registry.remove(7);
        assert_eq!((registry.find("name 7"), registry.get(7)), (None, None));
        assert_eq!((registry.len(), registry.iter().count()), (99, 99));
        assert_eq!(insert(&mut registry, "another"), 7);
        assert_eq!(insert(&mut registry, "another"), 7);
        for (number, name) in (0..).zip(&names).filter(|(number, _)| *number != 7) {
            assert_eq!(registry.find(name), Some(number));
        }
        assert_eq!(
            registry.iter_mut().nth(7).map(|(number, name)| (number, name.as_str())),
            Some((7, "another"))
        );
    }
}
