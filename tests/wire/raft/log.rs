//! What a replica appends: byte for byte what Kafka writes.

use super::{bytes, kafka};
use bytes::Bytes;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    BatchContent, ControlRecord, EncodeError, KRaftVersion, LeaderChange, LogBatch,
    encode_log_batch,
};
use kafka_coordination::wire::kraft::log_batches;
use kafka_coordination::wire::producer::RecordBatch;

const NOW: Timestamp = Timestamp::from_millis(99);

fn values() -> LogBatch {
    let values = vec![Bytes::from_static(b"value"), Bytes::from_static(&[0; 200])];
    LogBatch { base_offset: 10, last_offset: 11, epoch: 5, content: BatchContent::Records(values) }
}

fn control() -> LogBatch {
    let change = LeaderChange { leader_id: 3, voters: vec![1, 3], granting_voters: vec![3] };
    let records =
        vec![ControlRecord::LeaderChange(change), ControlRecord::KRaftVersion(KRaftVersion::V1)];
    let content = BatchContent::Control(records);
    LogBatch { base_offset: 14, last_offset: 15, epoch: 5, content }
}

fn encoded(batch: &LogBatch) -> Vec<u8> {
    let mut out = b"before".to_vec();
    encode_log_batch(batch, NOW, &mut out).unwrap();
    out.split_off(6)
}

#[test]
fn values_and_control_records_are_written_as_kafka_writes_them() {
    assert_eq!(encoded(&values()), bytes(kafka::VALUES));
    assert_eq!(encoded(&control()), bytes(kafka::CONTROL));
}

#[test]
fn a_batch_that_came_from_a_leader_is_written_as_it_is() {
    let [batch] = &log_batches(&bytes(kafka::GZIP)).unwrap()[..] else { panic!("one batch") };
    assert_eq!(encoded(batch), bytes(kafka::GZIP));
}

#[test]
fn what_is_written_is_read_again() {
    let written = encoded(&values());
    let batch = RecordBatch::read(&written).unwrap();
    let values: Vec<_> = batch.records().unwrap().map(|it| it.unwrap().value.unwrap()).collect();
    assert_eq!(values, [&b"value"[..], &[0; 200]]);

    let mut written = encoded(&values_of(3));
    written.extend(encoded(&control()));
    let read = log_batches(&written.into()).unwrap();
    let offsets: Vec<_> = read.iter().map(|it| (it.base_offset, it.last_offset)).collect();
    assert_eq!(offsets, [(10, 12), (14, 15)]);
}

fn values_of(count: usize) -> LogBatch {
    let records = vec![Bytes::from_static(b"v"); count];
    let last_offset = 9 + i64::try_from(count).unwrap();
    LogBatch { last_offset, content: BatchContent::Records(records), ..values() }
}

#[test]
fn a_batch_with_other_offsets_than_records_is_refused_and_nothing_written() {
    let mut out = b"before".to_vec();
    for last_offset in [10, 12, i64::MIN, i64::MAX] {
        let refused = encode_log_batch(&LogBatch { last_offset, ..values() }, NOW, &mut out);
        assert_eq!(refused, Err(EncodeError::Offsets { base_offset: 10, count: 2 }));
    }
    let refused = encode_log_batch(&values_of(0), NOW, &mut out);
    assert!(matches!(refused, Err(EncodeError::TooLarge { .. })), "{refused:?}");
    assert_eq!(out, b"before");
}
