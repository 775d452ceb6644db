//! Producers that are known.

use crate::allocations;
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    Batch, Content, EndMarker, MarkerKind, Origin, ProducerConfig, ProducerStates, SnapshotEntry,
    TransactionVersion, Verdict, Verify,
};

const NOW: Timestamp = Timestamp::from_millis(1_000);
const SIZES: [i64; 3] = [1, 1_000, 100_000];

/// A state of producers that have a batch each, at sequence 0.
fn known(producers: i64) -> ProducerStates {
    let config = ProducerConfig::default().with_verification(Verify::Off);
    let mut states = ProducerStates::new(config);
    for producer in 0..producers {
        write(&mut states, &[data(producer, 0, producer, false)]);
    }
    states
}

fn data(producer_id: i64, base_sequence: i32, offset: i64, is_transactional: bool) -> Batch {
    Batch {
        producer_id,
        producer_epoch: 0,
        base_offset: offset,
        last_offset: offset,
        content: Content::Data { base_sequence, max_timestamp: NOW, is_transactional },
        position: None,
    }
}

fn commit_marker(producer_id: i64, offset: i64) -> Batch {
    let marker = EndMarker { kind: MarkerKind::Commit, coordinator_epoch: 0, timestamp: NOW };
    let content = Content::Marker(marker);
    Batch { content, ..data(producer_id, 0, offset, true) }
}

/// Appends batches as one append of a replica, or of a client if it is one of data.
fn write(states: &mut ProducerStates, batches: &[Batch]) {
    let origin = match batches {
        [batch] if !batch.is_marker() => Origin::Client,
        [_] => Origin::Coordinator,
        _ => Origin::Replication,
    };
    let mut append = states.begin(origin).with_transaction_version(TransactionVersion::V0);
    for batch in batches {
        assert_eq!(states.push(&mut append, batch), Ok(Verdict::New));
    }
    assert_eq!(states.commit(append, NOW), Ok(()));
    while states.next_completed().is_some() {
        states.confirm_completed();
    }
}

#[test]
fn batches_in_order_and_again_allocate_nothing() {
    for producers in SIZES {
        let mut states = known(producers);
        let count = allocations(|| {
            for sequence in 1..20 {
                for producer in (0..producers).step_by(997) {
                    let batch = data(producer, sequence, states.map_end_offset(), false);
                    write(&mut states, &[batch]);
                    let mut append = states.begin(Origin::Client);
                    let again = states.push(&mut append, &batch_at_end(&batch, &states));
                    assert!(matches!(again, Ok(Verdict::Duplicate(_))));
                }
            }
        });
        assert_eq!(count, 0, "{producers} producers");
    }
}

fn batch_at_end(batch: &Batch, states: &ProducerStates) -> Batch {
    let offset = states.map_end_offset();
    Batch { base_offset: offset, last_offset: offset, ..*batch }
}

#[test]
fn transactions_allocate_nothing_once_the_lists_are_sized() {
    let mut states = known(10);
    let mut rounds = |rounds: core::ops::Range<i32>| {
        for round in rounds {
            for producer in 0..10 {
                let offset = states.map_end_offset();
                write(&mut states, &[data(producer, round, offset, true)]);
            }
            for producer in 0..10 {
                let offset = states.map_end_offset();
                write(&mut states, &[commit_marker(producer, offset)]);
            }
            states.on_high_watermark(states.map_end_offset() - 3);
        }
    };
    rounds(1..5);
    assert_eq!(allocations(|| rounds(5..50)), 0);
}

#[test]
fn appends_of_many_batches_allocate_nothing_once_the_lists_are_sized() {
    let mut states = known(10);
    let mut rounds = |rounds: core::ops::Range<i32>| {
        for round in rounds {
            let first = states.map_end_offset();
            let mut batches = [data(0, 0, 0, false); 40];
            for (at, (offset, batch)) in (first..).zip(&mut batches).enumerate() {
                let producer = i64::try_from(at % 10).unwrap();
                *batch = match at {
                    30.. => commit_marker(producer, offset),
                    _ => data(producer, round, offset, true),
                };
            }
            write(&mut states, &batches);
            states.on_high_watermark(states.map_end_offset());
        }
    };
    rounds(1..3);
    assert_eq!(allocations(|| rounds(3..20)), 0);
}

#[test]
fn an_expiry_of_nobody_allocates_nothing() {
    for producers in SIZES {
        let mut states = known(producers);
        let count = allocations(|| assert_eq!(states.expire(NOW), 0));
        assert_eq!(count, 0, "{producers} producers");
    }
}

#[test]
fn a_producer_takes_no_more_than_200_bytes() {
    // The last number is the first for which the hash table doubles: its worst case.
    for producers in [10_000, 100_000, 114_689] {
        let memory = allocation_counter::measure(|| {
            let states = known(producers);
            core::mem::forget(states);
        });
        let bytes = memory.bytes_current / producers;
        assert!(bytes <= 200, "{bytes} bytes a producer of {producers}");
        let entries = (0..producers).map(|producer_id| SnapshotEntry {
            producer_id,
            producer_epoch: 0,
            last_sequence: -1,
            last_offset: -1,
            offset_delta: 0,
            timestamp: 0,
            coordinator_epoch: -1,
            current_txn_first_offset: -1,
        });
        let memory = allocation_counter::measure(|| {
            let mut states = ProducerStates::new(ProducerConfig::default());
            states.load_snapshot(1, entries, Timestamp::from_millis(0)).unwrap();
            core::mem::forget(states);
        });
        let bytes = memory.bytes_current / producers;
        assert!(bytes <= 200, "{bytes} bytes a loaded producer of {producers}");
    }
}
