//! A snapshot of 100,000 producers: to bytes, and from bytes to a state.
//!
//! Floor of writing: the fields into a reused buffer, and the checksum. Floor of loading: the checksum, and the fields into
//! new states and a new table.

use crate::floor::{Batch, State};
use crate::ratio::paired;
use criterion::Criterion;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    ProducerConfig, ProducerStates, Snapshot, SnapshotEntry, encode_snapshot,
};
use std::hint::black_box;

const PRODUCERS: i64 = 100_000;
const NOW: i64 = 1_000_000;

/// Benches writing and loading.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut bytes = Vec::new();
    let entries: Vec<_> = (0..PRODUCERS).map(entry).collect();
    encode_snapshot(entries.into_iter(), &mut bytes);

    let mut states = ProducerStates::new(ProducerConfig::default());
    load(&mut states, &bytes);
    let plain: Vec<_> = (0..PRODUCERS).map(entry).map(state).collect();
    let (mut floor_out, mut out) = (Vec::new(), Vec::new());
    let floor = || {
        floor_out.clear();
        write(&plain, &mut floor_out);
        black_box(&floor_out);
    };
    let case = || {
        out.clear();
        states.encode_snapshot(&mut out);
        black_box(&out);
    };
    paired(criterion, "snapshot/to bytes/100000", floor, case);
    assert_eq!(floor_out, out);
    assert_eq!(bytes, out);

    let floor = || drop(black_box(read(&bytes)));
    let case = || {
        let mut states = ProducerStates::new(ProducerConfig::default());
        load(&mut states, &bytes);
        drop(black_box(states));
    };
    paired(criterion, "snapshot/from bytes/100000", floor, case);
}

fn load(states: &mut ProducerStates, bytes: &[u8]) {
    let snapshot = Snapshot::parse(bytes).expect("as it was encoded");
    let now = Timestamp::from_millis(NOW);
    states.load_snapshot(i64::MAX, snapshot.iter(), now).expect("as it was encoded");
}

fn entry(number: i64) -> SnapshotEntry {
    SnapshotEntry {
        producer_id: number,
        producer_epoch: 3,
        last_sequence: number as i32,
        last_offset: 1_000 + number,
        offset_delta: 9,
        timestamp: NOW,
        coordinator_epoch: -1,
        current_txn_first_offset: -1,
    }
}

fn state(entry: SnapshotEntry) -> State {
    let mut batches = [Batch::default(); 5];
    batches[0] = Batch {
        last_offset: entry.last_offset,
        timestamp: entry.timestamp,
        last_sequence: entry.last_sequence,
        offset_delta: entry.offset_delta,
    };
    State {
        batches,
        producer_id: entry.producer_id,
        timestamp: entry.timestamp,
        transaction: entry.current_txn_first_offset,
        coordinator_epoch: entry.coordinator_epoch,
        epoch: entry.producer_epoch,
        newest: 0,
        len: 1,
    }
}

fn write(states: &[State], out: &mut Vec<u8>) {
    out.reserve(10 + states.len() * 46);
    out.extend_from_slice(&[0, 1, 0, 0, 0, 0]);
    out.extend_from_slice(&(states.len() as u32).to_be_bytes());
    for state in states {
        let newest = &state.batches[usize::from(state.newest)];
        let mut entry = [0; 46];
        entry[..8].copy_from_slice(&state.producer_id.to_be_bytes());
        entry[8..10].copy_from_slice(&state.epoch.to_be_bytes());
        entry[10..14].copy_from_slice(&newest.last_sequence.to_be_bytes());
        entry[14..22].copy_from_slice(&newest.last_offset.to_be_bytes());
        entry[22..26].copy_from_slice(&newest.offset_delta.to_be_bytes());
        entry[26..34].copy_from_slice(&state.timestamp.to_be_bytes());
        entry[34..38].copy_from_slice(&state.coordinator_epoch.to_be_bytes());
        entry[38..].copy_from_slice(&state.transaction.to_be_bytes());
        out.extend_from_slice(&entry);
    }
    let checksum = crc32c::crc32c(&out[6..]);
    out[2..6].copy_from_slice(&checksum.to_be_bytes());
}

fn read(bytes: &[u8]) -> (HashMap<i64, u32, FixedState>, Vec<State>) {
    let checksum = crc32c::crc32c(&bytes[6..]);
    assert_eq!(checksum.to_be_bytes(), bytes[2..6]);
    let count = bytes.len() / 46;
    let mut index = HashMap::with_capacity_and_hasher(count, FixedState::with_seed(1));
    let mut states = Vec::with_capacity(count);
    for entry in bytes[10..].chunks_exact(46) {
        let i64_at = |at: usize| i64::from_be_bytes(entry[at..at + 8].try_into().expect("8 bytes"));
        let i32_at = |at: usize| i32::from_be_bytes(entry[at..at + 4].try_into().expect("4 bytes"));
        index.insert(i64_at(0), states.len() as u32);
        states.push(state(SnapshotEntry {
            producer_id: i64_at(0),
            producer_epoch: i16::from_be_bytes([entry[8], entry[9]]),
            last_sequence: i32_at(10),
            last_offset: i64_at(14),
            offset_delta: i32_at(22),
            timestamp: i64_at(26),
            coordinator_epoch: i32_at(34),
            current_txn_first_offset: i64_at(38),
        }));
    }
    (index, states)
}
