//! Record batches of any bytes: reading neither panics nor allocates, what is read lies within the bytes, and a producer
//! state takes or refuses it.
#![no_main]

use kafka_coordination::Timestamp;
use kafka_coordination::producer::{Origin, ProducerConfig, ProducerStates};
use kafka_coordination::wire::producer::RecordBatch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check(input);
    // With length, format and checksum made right, so that the rest is reached.
    if input.len() < 61 {
        return;
    }
    let mut bytes = input.to_vec();
    let length = u32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[16] = 2;
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    check(&bytes);
});

fn check(bytes: &[u8]) {
    let mut rest = bytes;
    let mut batches = Vec::with_capacity(bytes.len() / 61);
    let memory = allocation_counter::measure(|| {
        while let Ok((batch, behind)) = RecordBatch::read_first(rest) {
            assert_eq!(batch.bytes().len() + behind.len(), rest.len());
            if batch.check_checksum().is_ok()
                && let Ok(records) = batch.records()
            {
                let records = records.map_while(Result::ok);
                let count = records
                    .inspect(|it| assert!(it.key.is_none_or(|key| key.len() < bytes.len())))
                    .count();
                assert!(count <= usize::try_from(batch.header().count).unwrap());
            }
            if let Ok(read) = batch.producer_batch() {
                batches.push(read);
            }
            rest = behind;
        }
    });
    assert_eq!(memory.count_total, 0);
    let now = Timestamp::from_millis(0);
    let mut states = ProducerStates::new(ProducerConfig::default());
    for batch in batches {
        assert!(0 <= batch.base_offset && batch.base_offset <= batch.last_offset);
        let mut append = states.begin(Origin::Replication);
        if states.push(&mut append, &batch).is_ok() {
            states.commit(append, now).unwrap();
        }
    }
}
