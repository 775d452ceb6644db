//! The least that each work can cost: plain arrays and tables, no API, no more checks than the answer needs.

use crate::cache::{Log, PARTITIONS_A_TOPIC, topic_id};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry::Vacant;
use kafka_coordination::TopicId;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::hint::black_box;

/// 64 bytes, as an entry that knows its order has to have.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "what an entry has to hold is part of the floor")]
struct Entry {
    fetch_offset: i64,
    fetcher_log_start_offset: i64,
    high_watermark: i64,
    log_start_offset: i64,
    topic: u32,
    partition: i32,
    max_bytes: i32,
    leader_epoch: i32,
    last_fetched_epoch: i32,
    next: u32,
    previous: u32,
    flags: u32,
}

/// A result: 32 bytes.
#[derive(Clone, Copy)]
struct Found {
    slot: u32,
    records: u32,
    high_watermark: i64,
    log_start_offset: i64,
    is_included: bool,
}

/// One session of which every partition is visited.
pub(crate) struct Floor {
    ids: Vec<TopicId>,
    entries: Vec<Entry>,
    index: HashTable<u32>,
    found: Vec<Found>,
    head: u32,
}

const SEED: u64 = 0x5eed;

/// A topic on the wire, in version 18: its id, a count below 127, the tags.
const TOPIC_BYTES: u64 = 18;
/// A partition without its records and their length: index, error, four offsets' worth of fields, the tags.
const PARTITION_BYTES: u64 = 36;

fn hash(topic: TopicId, partition: i32) -> u64 {
    FixedState::with_seed(SEED).hash_one((topic.as_u128(), partition))
}

impl Floor {
    pub(crate) fn new(partitions: usize) -> Self {
        let topics = partitions.div_ceil(PARTITIONS_A_TOPIC);
        let ids = (0..topics).map(|topic| topic_id(topic * PARTITIONS_A_TOPIC)).collect();
        let (entries, index, found) = (Vec::new(), HashTable::new(), Vec::new());
        let mut floor = Self { ids, entries, index, found, head: 0 };
        floor.fill(partitions);
        floor
    }

    fn fill(&mut self, partitions: usize) {
        self.entries = Vec::with_capacity(partitions);
        self.index = HashTable::with_capacity(partitions);
        self.found.reserve(partitions);
        for slot in 0..partitions as u32 {
            let entry = Entry {
                fetch_offset: 0,
                fetcher_log_start_offset: -1,
                high_watermark: 0,
                log_start_offset: 0,
                topic: slot / PARTITIONS_A_TOPIC as u32,
                partition: slot as i32 % PARTITIONS_A_TOPIC as i32,
                max_bytes: 1 << 20,
                leader_epoch: 1,
                last_fetched_epoch: -1,
                next: slot + 1,
                previous: slot.wrapping_sub(1),
                flags: 0,
            };
            // A request may name a partition twice, so each is looked up before it is added.
            let id = self.ids[entry.topic as usize];
            let (entries, ids) = (&self.entries, &self.ids);
            let is_it = |&slot: &u32| {
                let other: &Entry = &entries[slot as usize];
                other.partition == entry.partition && ids[other.topic as usize] == id
            };
            if let Vacant(place) = self.index.entry(hash(id, entry.partition), is_it, |_| 0) {
                place.insert(slot);
                self.entries.push(entry);
            }
        }
        self.entries[partitions - 1].next = u32::MAX;
    }

    /// Builds the entries and their index anew.
    pub(crate) fn rebuild(&mut self) {
        let partitions = self.entries.len();
        self.fill(partitions);
        black_box(&self.entries);
    }

    /// Walks the session, collects what the host found, decides.
    pub(crate) fn run(&mut self, logs: &[Log]) {
        self.found.clear();
        let mut slot = self.head;
        while let Some(entry) = self.entries.get(slot as usize) {
            let id = self.ids[entry.topic as usize];
            black_box((id, entry.partition, entry.fetch_offset));
            black_box((entry.max_bytes, entry.leader_epoch));
            let Log { high_watermark, start_offset: log_start_offset, records } =
                logs[slot as usize];
            let is_included = false;
            self.found.push(Found { slot, records, high_watermark, log_start_offset, is_included });
            slot = entry.next;
        }
        self.decide();
    }

    /// The same, and the results come back by topic and partition.
    pub(crate) fn run_by_key(&mut self, logs: &[Log]) {
        self.found.clear();
        for (partition, log) in logs.iter().enumerate() {
            let Some(slot) = self.slot(partition) else { continue };
            let &Log { high_watermark, start_offset: log_start_offset, records } = log;
            let is_included = false;
            self.found.push(Found { slot, records, high_watermark, log_start_offset, is_included });
        }
        self.decide();
    }

    /// Decides, adds up the size of the answer, which quotas are asked about before anything is told, and then tells.
    fn decide(&mut self) {
        let (mut bytes, mut topic) = (0, u32::MAX);
        for found in &mut self.found {
            let entry = &self.entries[found.slot as usize];
            found.is_included = found.records > 0
                || entry.high_watermark != found.high_watermark
                || entry.log_start_offset != found.log_start_offset;
            if found.is_included {
                if topic != entry.topic {
                    topic = entry.topic;
                    bytes += TOPIC_BYTES;
                }
                // Their length is a varint of one more: as many bits, by seven, rounded up.
                let bits = 32 - (found.records + 1).leading_zeros();
                bytes +=
                    PARTITION_BYTES + u64::from(found.records) + u64::from((bits * 9 + 64) >> 6);
            }
        }
        black_box(bytes);
        for found in self.found.iter().filter(|found| found.is_included) {
            let entry = &mut self.entries[found.slot as usize];
            entry.high_watermark = found.high_watermark;
            entry.log_start_offset = found.log_start_offset;
        }
        black_box(&self.found);
    }

    fn slot(&self, partition: usize) -> Option<u32> {
        let (id, index) = (topic_id(partition), (partition % PARTITIONS_A_TOPIC) as i32);
        let is_it = |&slot: &u32| {
            let entry = &self.entries[slot as usize];
            entry.partition == index && self.ids[entry.topic as usize] == id
        };
        self.index.find(hash(id, index), is_it).copied()
    }

    /// Finds one partition and flags it.
    pub(crate) fn find(&mut self, partition: usize) {
        if let Some(slot) = self.slot(partition) {
            self.entries[slot as usize].flags |= 1;
        }
        black_box(&self.entries);
    }
}

/// One session of which the changed partitions are named.
pub(crate) struct Changed(Floor);

impl Changed {
    pub(crate) fn new(partitions: usize) -> Self {
        Self(Floor::new(partitions))
    }

    pub(crate) fn run(&mut self, slots: &[u32], logs: &[Log]) {
        let Self(floor) = self;
        floor.found.clear();
        for &slot in slots {
            let entry = &floor.entries[slot as usize];
            let id = floor.ids[entry.topic as usize];
            black_box((id, entry.partition, entry.fetch_offset));
            black_box((entry.max_bytes, entry.leader_epoch));
            let Log { high_watermark, start_offset: log_start_offset, records } =
                logs[slot as usize];
            let is_included = false;
            floor.found.push(Found {
                slot,
                records,
                high_watermark,
                log_start_offset,
                is_included,
            });
        }
        floor.decide();
    }
}

/// Sessions found by id and ordered by last use in a list.
pub(crate) struct Lru {
    by_id: HashTable<(i32, u32)>,
    sessions: Vec<Listed>,
    tail: u32,
    head: u32,
}

#[derive(Clone, Copy)]
struct Listed {
    id: i32,
    epoch: i32,
    previous: u32,
    next: u32,
}

impl Lru {
    pub(crate) fn new(count: usize) -> Self {
        let mut random = Pcg64Mcg::new(7);
        let last = count as u32 - 1;
        let mut by_id = HashTable::with_capacity(count);
        let listed = |place: u32| Listed {
            id: random.next_u32() as i32 & i32::MAX,
            epoch: 1,
            previous: place.wrapping_sub(1),
            next: if place == last { u32::MAX } else { place + 1 },
        };
        let sessions: Vec<Listed> = (0..=last).map(listed).collect();
        for (place, session) in sessions.iter().enumerate() {
            by_id.insert_unique(hash_of(session.id), (session.id, place as u32), |_| 0);
        }
        Self { by_id, sessions, tail: last, head: 0 }
    }

    /// The id of the session with that number.
    pub(crate) fn id(&self, session: usize) -> i32 {
        self.sessions[session].id
    }

    /// Accepts a request: finds the session, moves its epoch on and itself to the tail.
    pub(crate) fn touch(&mut self, id: i32) {
        let found = self.by_id.find(hash_of(id), |&(other, _)| other == id);
        let Some(&(_, session)) = found else { return };
        let Listed { previous, next, .. } = self.sessions[session as usize];
        self.sessions[session as usize].epoch += 1;
        if session == self.tail {
            return;
        }
        match self.sessions.get_mut(previous as usize) {
            Some(listed) => listed.next = next,
            None => self.head = next,
        }
        self.sessions[next as usize].previous = previous;
        self.sessions[self.tail as usize].next = session;
        let moved = &mut self.sessions[session as usize];
        (moved.previous, moved.next) = (self.tail, u32::MAX);
        self.tail = session;
        black_box(&self.sessions);
    }
}

fn hash_of(id: i32) -> u64 {
    FixedState::with_seed(SEED).hash_one(id)
}

/// Sessions of ten partitions in two ordered maps.
pub(crate) struct Sessions {
    by_use: BTreeMap<(i64, i32), u32>,
    by_size: BTreeMap<(bool, u32, i32), u32>,
    by_id: HashTable<(i32, u32)>,
    partitions: Vec<Floor>,
    now: i64,
    random: Pcg64Mcg,
}

impl Sessions {
    pub(crate) fn new(count: usize) -> Self {
        let mut sessions = Self {
            by_use: BTreeMap::new(),
            by_size: BTreeMap::new(),
            by_id: HashTable::new(),
            partitions: Vec::new(),
            now: 0,
            random: Pcg64Mcg::new(7),
        };
        for place in 0..count as u32 {
            sessions.partitions.push(Floor::new(PARTITIONS_A_TOPIC));
            sessions.insert(place);
        }
        sessions
    }

    fn insert(&mut self, place: u32) {
        self.now += 1;
        let id = self.random.next_u32() as i32 & i32::MAX;
        self.by_use.insert((self.now, id), place);
        self.by_size.insert((false, PARTITIONS_A_TOPIC as u32, id), place);
        self.by_id.insert_unique(hash_of(id), (id, place), |&(id, _)| hash_of(id));
    }

    /// The session that was used the longest ago goes, a new one takes its place.
    pub(crate) fn replace_stalest(&mut self) {
        let Some(((_, id), place)) = self.by_use.pop_first() else { return };
        self.by_size.remove(&(false, PARTITIONS_A_TOPIC as u32, id));
        if let Ok(found) = self.by_id.find_entry(hash_of(id), |&(other, _)| other == id) {
            found.remove();
        }
        self.partitions[place as usize] = Floor::new(PARTITIONS_A_TOPIC);
        self.insert(place);
    }
}
