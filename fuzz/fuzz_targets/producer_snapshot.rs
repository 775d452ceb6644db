//! Snapshots of any bytes: parsing neither panics nor allocates; what parses is written back as it was, and what a state
//! loads it writes by ascending id.
#![no_main]

use kafka_coordination::Timestamp;
use kafka_coordination::producer::{ProducerConfig, ProducerStates, Snapshot, encode_snapshot};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check(input);
    // With the header made right, so that the entries are reached.
    let entries = input.len() / 46;
    let mut bytes = vec![0, 1, 0, 0, 0, 0];
    bytes.extend_from_slice(&u32::try_from(entries).unwrap().to_be_bytes());
    bytes.extend_from_slice(&input[..entries * 46]);
    let checksum = crc32c::crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&checksum.to_be_bytes());
    check(&bytes);
});

fn check(bytes: &[u8]) {
    let mut parsed = None;
    let memory = allocation_counter::measure(|| parsed = Snapshot::parse(bytes).ok());
    assert_eq!(memory.count_total, 0);
    let Some(snapshot) = parsed else {
        return;
    };
    let mut written = Vec::new();
    encode_snapshot(snapshot.iter(), &mut written);
    // A batch without offset is none: its other numbers are kept here, but not by a state.
    assert_eq!(written, bytes);

    let mut states = ProducerStates::new(ProducerConfig::default());
    let now = Timestamp::from_millis(i64::MIN);
    if states.load_snapshot(1 << 40, snapshot.iter(), now).is_ok() {
        assert_eq!(states.producer_count(), snapshot.len());
        let mut own = Vec::new();
        states.encode_snapshot(&mut own);
        let mut again = ProducerStates::new(ProducerConfig::default());
        let own = Snapshot::parse(&own).unwrap();
        again.load_snapshot(1 << 40, own.iter(), now).unwrap();
        assert!(states.producers().eq(again.producers()));
        assert!(states.ongoing_transactions().eq(again.ongoing_transactions()));
        let exported = states.export();
        let entered = ProducerStates::import(ProducerConfig::default(), &exported).unwrap();
        assert_eq!(entered.export(), exported);
    }
}
