//! What the state machine takes in and gives away.

use super::{BATCH, BATCH_BYTES, Machine};
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    Batches, ControlRecord, KRaftVersion, LeaderChange, OffsetAndEpoch, SnapshotHeader,
    encode_control_batch, encode_data_batch,
};

const NOW: Timestamp = Timestamp::from_millis(1_000);

const HEADER: SnapshotHeader = SnapshotHeader {
    last_contained_log_timestamp: NOW,
    kraft_version: KRaftVersion::V1,
    voters: None,
};

/// A machine that was fed these records, after a control record.
fn fed(records: &[Vec<u8>]) -> Machine {
    let mut log = Vec::new();
    let change = ControlRecord::LeaderChange(LeaderChange::default());
    encode_control_batch(0, 1, NOW, &[change], &mut log).unwrap();
    for (record, offset) in records.iter().zip(1..) {
        encode_data_batch(offset, 1, NOW, [record], &mut log).unwrap();
    }
    let mut machine = Machine::default();
    for batch in Batches::new(&log) {
        machine.apply(&batch.unwrap()).unwrap();
    }
    machine
}

#[test]
fn control_records_are_passed_over() {
    let machine = fed(&[b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(machine.records(), ["one", "two"]);
    assert_eq!(machine.next_offset(), 3);
}

#[test]
fn a_batch_that_comes_again_is_passed_over() {
    let mut machine = fed(&[b"one".to_vec()]);
    let mut again = Vec::new();
    encode_data_batch(1, 1, NOW, ["one"], &mut again).unwrap();
    machine.apply(&Batches::new(&again).next().unwrap().unwrap()).unwrap();
    assert_eq!((machine.records().len(), machine.next_offset()), (1, 2));
}

#[test]
fn a_snapshot_is_all_that_there_was() {
    let small = |number: usize| number.to_string().into_bytes();
    let many: Vec<_> = (0..=BATCH * 2).map(small).collect();
    let large = vec![vec![7; BATCH_BYTES + 1], vec![8; 10], vec![9; BATCH_BYTES]];
    for records in [Vec::new(), many, large] {
        let machine = fed(&records);
        let bytes = machine.snapshot(&HEADER, 4, NOW).unwrap();
        let mut loaded = fed(&[b"of another past".to_vec()]);
        loaded.load(OffsetAndEpoch::new(70_000, 4), &bytes).unwrap();
        assert!(loaded.records() == machine.records());
        assert_eq!(loaded.next_offset(), 70_000);
    }
}

#[test]
fn what_is_no_snapshot_changes_nothing() {
    let mut machine = fed(&[b"one".to_vec()]);
    let mut bytes = machine.snapshot(&HEADER, 4, NOW).unwrap();
    for byte in bytes.iter_mut().rev().take(70) {
        *byte ^= 1;
    }
    assert!(machine.load(OffsetAndEpoch::new(9, 4), &bytes).is_err());
    assert_eq!((machine.records().len(), machine.next_offset()), (1, 2));
}
