//! Control records, batches and snapshots of any bytes: reading neither panics nor takes much more memory than the
//! bytes; what is read makes a voter set that is written and read again; a log that is told of it stays in order.
#![no_main]

use kafka_coordination::kraft::{
    Batches, ControlLog, ControlMessage, ControlRecord, ControlRecordType, LeaderChangeMessage,
    SnapshotReader, VoterSet, VotersRecord,
};
use libfuzzer_sys::fuzz_target;

/// The most bytes that are allocated for a byte, beside what a message itself takes.
const AMPLIFICATION: u64 = 64;
const SLACK: u64 = 4_096;

fuzz_target!(|input: &[u8]| {
    let memory = allocation_counter::measure(|| check(input));
    let bound = AMPLIFICATION * input.len() as u64 + SLACK;
    assert!(memory.bytes_max <= bound, "{} of {bound}", memory.bytes_max);
});

fn check(input: &[u8]) {
    values(input);
    batches(input);
    // With length and checksum made right, so that the records are reached.
    if let Some(mut batch) = input.get(..61).map(|_| input.to_vec()) {
        let length = u32::try_from(batch.len() - 12).unwrap();
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        batch[16] = 2;
        let checksum = crc32c::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&checksum.to_be_bytes());
        batches(&batch);
    }
}

fn values(input: &[u8]) {
    for type_id in 2..=6 {
        let key = ControlRecordType::from_id(type_id).unwrap().key();
        if let Ok(message) = ControlMessage::decode(&key, input)
            && let Ok(record) = message.to_record()
        {
            let mut value = Vec::new();
            record.encode_value(&mut value).unwrap();
            let again = ControlMessage::decode(&key, &value).unwrap();
            assert_eq!(again.to_record(), Ok(record));
        }
    }
    let both = (VotersRecord::decode(&mut &*input), VoterSet::decode(&mut &*input));
    if let (Ok(record), decoded) = both {
        assert_eq!(record.to_voter_set(), decoded);
    }
    if let Ok(message) = LeaderChangeMessage::decode(1, &mut &*input) {
        let mut value = Vec::new();
        message.encode(1, &mut value).unwrap();
        assert_eq!(LeaderChangeMessage::decode(1, &mut &*value), Ok(message));
    }
}

fn batches(input: &[u8]) {
    let mut log = ControlLog::new(VoterSet::empty());
    for batch in Batches::new(input) {
        let Ok(batch) = batch else { break };
        assert!(batch.base_offset <= batch.last_offset);
        let before = log.clone();
        if log.on_batch(&batch).is_err() {
            assert_eq!(log, before);
        }
    }
    if let Ok(snapshot) = SnapshotReader::open(input)
        && let Ok(records) = snapshot.control_records()
    {
        assert!(matches!(records.first(), Some(ControlRecord::SnapshotHeader { .. })));
        let before = log.clone();
        if log.load_snapshot(10, records).is_err() {
            assert_eq!(log, before);
        }
    }
}
