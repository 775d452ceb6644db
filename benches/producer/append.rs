//! One batch of a client: in order, again, and of a new producer.
//!
//! Floor: a table from ids to numbers and states in a vector, the order checked first, a duplicate looked for only if it
//! is wrong.

use crate::floor::{Batch as Saved, Slab};
use crate::ratio::paired;
use criterion::Criterion;
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    Batch, Content, Origin, ProducerConfig, ProducerStates, Verdict,
};
use std::hint::black_box;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

/// Benches four numbers of producers.
pub(crate) fn bench(criterion: &mut Criterion) {
    for producers in [1, 1_000, 100_000, 1_000_000] {
        let mut visits = Visits::new(producers);
        let (mut slab, mut states) = (Slab::new(), ProducerStates::new(config()));
        let mut sequences = vec![0_i32; producers as usize];
        for sequence in 0..5 {
            for producer in 0..producers {
                floor_append(&mut slab, producer, sequence);
                append(&mut states, producer, sequence);
            }
        }
        sequences.fill(5);
        let (mut floor_sequences, mut floor_visits) = (sequences.clone(), visits.clone());

        let name = format!("append/in order/{producers}");
        let floor = || {
            let producer = floor_visits.next();
            let sequence = &mut floor_sequences[producer as usize];
            assert!(!floor_append(&mut slab, producer, *sequence));
            *sequence += 1;
        };
        let case = || {
            let producer = visits.next();
            let sequence = &mut sequences[producer as usize];
            assert!(!append(&mut states, producer, *sequence));
            *sequence += 1;
        };
        paired(criterion, &name, floor, case);

        let name = format!("append/duplicate/{producers}");
        let floor = || {
            let producer = floor_visits.next();
            assert!(floor_append(&mut slab, producer, floor_sequences[producer as usize] - 3));
        };
        let case = || {
            let producer = visits.next();
            assert!(append(&mut states, producer, sequences[producer as usize] - 3));
        };
        paired(criterion, &name, floor, case);
    }
    new(criterion);
}

/// New producers with consecutive ids, as brokers give them out, until there are that many.
fn new(criterion: &mut Criterion) {
    for producers in [1_000, 100_000, 1_000_000] {
        let (mut slab, mut states) = (Slab::new(), ProducerStates::new(config()));
        let (mut floor_next, mut next) = (0, 0);
        let floor = || {
            if floor_next == producers {
                (slab, floor_next) = (Slab::new(), 0);
            }
            floor_append(&mut slab, floor_next, 0);
            floor_next += 1;
        };
        let case = || {
            if next == producers {
                (states, next) = (ProducerStates::new(config()), 0);
            }
            append(&mut states, next, 0);
            next += 1;
        };
        paired(criterion, &format!("append/new/{producers}"), floor, case);
    }
}

fn config() -> ProducerConfig {
    ProducerConfig::default().with_hash_seed(0x5eed)
}

/// Producers in random order.
#[derive(Clone)]
struct Visits {
    producers: i64,
    random: u64,
}

impl Visits {
    const fn new(producers: i64) -> Self {
        Self { producers, random: 0x9e37_79b9_7f4a_7c15 }
    }

    const fn next(&mut self) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random as u128 * self.producers as u128) >> 64) as i64
    }
}

/// Appends one record to the floor; answers whether it was there.
fn floor_append(slab: &mut Slab, producer_id: i64, sequence: i32) -> bool {
    let saved = Saved {
        last_offset: i64::from(sequence),
        timestamp: NOW.as_millis(),
        last_sequence: sequence,
        offset_delta: 0,
    };
    black_box(slab.append(producer_id, sequence, saved)).is_some()
}

/// Appends one record; answers whether it was there.
fn append(states: &mut ProducerStates, producer_id: i64, sequence: i32) -> bool {
    let batch = Batch {
        producer_id,
        producer_epoch: 0,
        base_offset: i64::from(sequence),
        last_offset: i64::from(sequence),
        content: Content::Data {
            base_sequence: sequence,
            max_timestamp: NOW,
            is_transactional: false,
        },
        position: None,
    };
    let mut append = states.begin(Origin::Client);
    let verdict = states.push(&mut append, &batch).expect("no gap");
    if matches!(black_box(verdict), Verdict::Duplicate(_)) {
        return true;
    }
    states.commit(append, NOW).expect("nothing else changed it");
    false
}
