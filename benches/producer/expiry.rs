//! An expiry pass: nobody is due, and everybody is, which is the work of Kafka's `ProducerStateManagerBench`.
//!
//! Floor: nobody due, a scan of one number a producer; everybody due, the scan and a new table of the survivors, the old
//! one freed.

use criterion::{BatchSize, Criterion};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{ProducerConfig, ProducerStates, SnapshotEntry};
use std::hint::black_box;
use std::time::Instant;

use crate::ratio::{is_measuring, median, paired};

const THEN: i64 = 1_000_000;
const AGE_MS: i64 = 86_400_000;
const ROUNDS: usize = 11;

/// Benches three numbers of producers.
pub(crate) fn bench(criterion: &mut Criterion) {
    for producers in [10_000, 100_000, 1_000_000] {
        let early = Timestamp::from_millis(THEN + AGE_MS - 1);
        let mut states = loaded(producers);
        let stamps = vec![THEN; producers as usize];
        let floor = || {
            let last = black_box(THEN - 1);
            black_box(stamps.iter().filter(|&&stamp| stamp <= last).count());
        };
        let case = || assert_eq!(states.expire(early), 0);
        paired(criterion, &format!("expiry/none due/{producers}"), floor, case);
        all_due(criterion, producers);
    }
}

fn all_due(criterion: &mut Criterion, producers: i64) {
    let name = format!("expiry/all due/{producers}");
    let due = Timestamp::from_millis(THEN + AGE_MS);
    if is_measuring(&name) {
        let mut rounds: Vec<_> = (0..ROUNDS)
            .map(|_| {
                let mut table = table(producers);
                let start = Instant::now();
                let left = table.iter().filter(|(_, stamp)| **stamp > black_box(THEN));
                table = left.map(|(id, stamp)| (*id, *stamp)).collect();
                black_box(&table);
                let floor = start.elapsed();
                let mut states = loaded(producers);
                let start = Instant::now();
                black_box(states.expire(due));
                (floor.as_secs_f64() * 1e9, start.elapsed().as_secs_f64() * 1e9)
            })
            .collect();
        let ratio = median(&mut rounds, |(floor, case)| case / floor);
        let floor = median(&mut rounds, |(floor, _)| floor);
        let case = median(&mut rounds, |(_, case)| case);
        println!("ratio {name}: floor {floor:.1} ns, crate {case:.1} ns, ratio {ratio:.2}");
    }
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    group.bench_function("crate", |bencher| {
        bencher.iter_batched(
            || loaded(producers),
            |mut states| {
                states.expire(due);
                states
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn table(producers: i64) -> HashMap<i64, i64, FixedState> {
    let mut table = HashMap::with_hasher(FixedState::with_seed(1));
    table.extend((0..producers).map(|id| (id, THEN)));
    table
}

/// Producers without batches, all heard of at the same time.
fn loaded(producers: i64) -> ProducerStates {
    let mut states = ProducerStates::new(ProducerConfig::default());
    let entries = (0..producers).map(|producer_id| SnapshotEntry {
        producer_id,
        producer_epoch: 0,
        last_sequence: -1,
        last_offset: -1,
        offset_delta: 0,
        timestamp: THEN,
        coordinator_epoch: -1,
        current_txn_first_offset: -1,
    });
    states.load_snapshot(i64::MAX, entries, Timestamp::from_millis(THEN)).expect("legal");
    states
}
