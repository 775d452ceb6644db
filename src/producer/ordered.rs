//! A map by offset for keys that are inserted mostly in ascending order.

use alloc::collections::VecDeque;

/// Values by offset. Inserting above all keys is O(1), any other operation O(log n), counted over
/// many; inserting below the highest key is O(n). Nothing is allocated while its size stays.
///
/// Removed values leave a gap behind until half are gaps, but never at either end.
#[derive(Clone, Debug)]
pub(super) struct Ordered<T> {
    places: VecDeque<(i64, Option<T>)>,
    len: usize,
}

impl<T> Ordered<T> {
    pub(super) const fn new() -> Self {
        Self { places: VecDeque::new(), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.len = 0;
    }

    fn find(&self, key: i64) -> Result<usize, usize> {
        match self.places.back() {
            Some(&(last, _)) if key <= last => self.places.binary_search_by_key(&key, |it| it.0),
            _ => Err(self.places.len()),
        }
    }

    pub(super) fn contains(&self, key: i64) -> bool {
        let place = self.find(key).ok().and_then(|at| self.places.get(at));
        place.is_some_and(|(_, value)| value.is_some())
    }

    /// Inserts a value under a key that is not there; a key that is there keeps its value.
    pub(super) fn insert(&mut self, key: i64, value: T) {
        match self.find(key) {
            Ok(at) => {
                if let Some((_, place @ None)) = self.places.get_mut(at) {
                    *place = Some(value);
                    self.len += 1;
                }
            }
            Err(at) => {
                self.places.insert(at, (key, Some(value)));
                self.len += 1;
            }
        }
    }

    pub(super) fn remove(&mut self, key: i64) -> Option<T> {
        let at = self.find(key).ok()?;
        let value = self.places.get_mut(at)?.1.take()?;
        self.len -= 1;
        while self.places.front().is_some_and(|(_, value)| value.is_none()) {
            self.places.pop_front();
        }
        while self.places.back().is_some_and(|(_, value)| value.is_none()) {
            self.places.pop_back();
        }
        if self.places.len() > 2 * self.len + 8 {
            self.places.retain(|(_, value)| value.is_some());
        }
        Some(value)
    }

    /// The lowest key and its value.
    pub(super) fn first(&self) -> Option<(i64, &T)> {
        self.iter().next()
    }

    /// By ascending key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &T)> {
        self.places.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_does_what_a_map_does(operations in prop::collection::vec((any::<bool>(), 0_i64..40), 0..300)) {
            let (mut ordered, mut map) = (Ordered::new(), BTreeMap::new());
            for (step, (inserts, key)) in operations.into_iter().enumerate() {
                if inserts {
                    ordered.insert(key, step);
                    map.entry(key).or_insert(step);
                } else {
                    prop_assert_eq!(ordered.remove(key), map.remove(&key));
                }
                prop_assert_eq!(ordered.contains(key), map.contains_key(&key));
                prop_assert_eq!(ordered.len(), map.len());
                let all: Vec<_> = ordered.iter().collect();
                prop_assert_eq!(all, map.iter().map(|(&key, value)| (key, value)).collect::<Vec<_>>());
                prop_assert_eq!(ordered.first(), map.first_key_value().map(|(&key, value)| (key, value)));
                prop_assert!(ordered.places.len() <= 2 * map.len() + 8);
            }
        }
    }
}
