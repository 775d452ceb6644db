//! Which topic ids a request knows, and the name that each stands for.

use super::entries::NO_SLOT;
use crate::topic::TopicId;
use alloc::vec::Vec;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// How many dead ids are not worth a clean-up.
const SLACK: usize = 16;

/// An id with the topics that it stood for in two wish lists: the last one that was built and the open one.
#[derive(Clone, Copy, Debug)]
struct KnownId {
    id: TopicId,
    named: [Named; 2],
}

/// "In this generation the id stands for this topic."
#[derive(Clone, Copy, Debug)]
struct Named {
    generation: u32,
    topic: u32,
}

impl KnownId {
    fn topic(&self, generation: u32) -> Option<u32> {
        let mut named = self.named.iter();
        named.find(|named| named.generation == generation).map(|named| named.topic)
    }
}

/// The map from ids to topics, for the wish list built last and for the open one.
///
/// A generation is the number of a wish list; 0 is nobody's.
#[derive(Clone, Debug)]
pub(super) struct KnownIds {
    ids: Vec<KnownId>,
    index: HashTable<u32>,
    hasher: FixedState,
    /// The wish list whose ids are known.
    built: u32,
    /// How many ids the wish list built last named.
    live: usize,
    /// How many ids the open wish list has named.
    named: usize,
}

#[allow(clippy::indexing_slicing, reason = "the index holds places in the list")]
impl KnownIds {
    pub(super) fn new(hasher: FixedState) -> Self {
        Self { ids: Vec::new(), index: HashTable::new(), hasher, built: 0, live: 0, named: 0 }
    }

    /// How many ids there are, dead ones included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The topic that `id` stood for in the request built last.
    pub(super) fn topic(&self, id: TopicId) -> Option<u32> {
        self.ids[self.place(id)? as usize].topic(self.generation()?)
    }

    /// All ids of the request built last, with their topics.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TopicId, u32)> {
        let built = self.generation();
        self.ids.iter().filter_map(move |known| Some((known.id, known.topic(built?)?)))
    }

    /// Opens a wish list: what an unfinished one said is void, dead ids are dropped if they are many.
    pub(super) fn open(&mut self) {
        self.named = 0;
        if self.ids.len() <= 2 * self.live + SLACK {
            return;
        }
        let built = self.built;
        self.ids.retain(|known| built != 0 && known.topic(built).is_some());
        self.index.clear();
        for place in (0..).take(self.ids.len()) {
            self.enter(place);
        }
    }

    /// The wish list `generation` names `topic` with `id`; the first name of an id counts. Gives the id's place, which is
    /// found without hashing if it is `guess`.
    pub(super) fn name(&mut self, id: TopicId, guess: u32, topic: u32, generation: u32) -> u32 {
        let named = Named { generation, topic };
        let guessed = self.ids.get(guess as usize).filter(|known| known.id == id);
        let place = guessed.map(|_| guess).or_else(|| self.place(id));
        let place = place.unwrap_or_else(|| self.add(id));
        let known = &mut self.ids[place as usize];
        if known.topic(generation).is_none() {
            let kept = usize::from(known.named[0].generation == self.built);
            known.named[kept] = named;
            self.named += 1;
        }
        place
    }

    /// The wish list `generation` was built; without the use of ids its request knows none.
    pub(super) fn built(&mut self, generation: Option<u32>) {
        self.built = generation.unwrap_or(0);
        self.live = generation.map_or(0, |_| self.named);
    }

    /// Renumbers the wish list built last, if there is one, to `generation`.
    pub(super) fn renumber(&mut self, generation: u32) {
        let built = self.built;
        for named in self.ids.iter_mut().flat_map(|known| &mut known.named) {
            named.generation = if built != 0 && named.generation == built { generation } else { 0 };
        }
        self.built = if built == 0 { 0 } else { generation };
    }

    fn generation(&self) -> Option<u32> {
        (self.built != 0).then_some(self.built)
    }

    fn place(&self, id: TopicId) -> Option<u32> {
        let is_it = |place: &u32| self.ids[*place as usize].id == id;
        self.index.find(hash(&self.hasher, id), is_it).copied()
    }

    fn add(&mut self, id: TopicId) -> u32 {
        let nobody = Named { generation: 0, topic: NO_SLOT };
        // Each id was named with a partition, and those are limited.
        let place = u32::try_from(self.ids.len()).unwrap_or(NO_SLOT);
        self.ids.push(KnownId { id, named: [nobody; 2] });
        self.enter(place);
        place
    }

    fn enter(&mut self, place: u32) {
        let (ids, hasher) = (&self.ids, &self.hasher);
        let rehash = |place: &u32| hash(hasher, ids[*place as usize].id);
        self.index.insert_unique(rehash(&place), place, rehash);
    }
}

fn hash(hasher: &FixedState, id: TopicId) -> u64 {
    id.seeded_hash(hasher)
}
