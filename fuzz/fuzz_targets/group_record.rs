//! Records of groups of any bytes: nothing panics, memory stays within a bound, what is read is written back in no more
//! bytes and read as the same.
#![no_main]

use kafka_coordination::group_record::{
    ConsumerGroupMetadataValue, GroupRecordKey, ShareGroupMetadataValue, StreamsGroupMetadataValue,
};
use libfuzzer_sys::fuzz_target;

/// A configuration takes three bytes and becomes two texts in a list that grows by doubling.
const BYTES_A_BYTE: u64 = 64;

fuzz_target!(|bytes: &[u8]| {
    let mut written = Vec::new();
    if let Ok(key) = GroupRecordKey::decode(bytes) {
        key.encode(&mut written).unwrap();
        assert_eq!(written, bytes);
    }
    if let Ok(value) = ConsumerGroupMetadataValue::decode(bytes) {
        written.clear();
        value.encode(&mut written);
        assert_eq!(ConsumerGroupMetadataValue::decode(&written), Ok(value));
        assert!(written.len() <= bytes.len());
    }
    if let Ok(value) = ShareGroupMetadataValue::decode(bytes) {
        written.clear();
        value.encode(&mut written);
        assert_eq!(ShareGroupMetadataValue::decode(&written), Ok(value));
        assert!(written.len() <= bytes.len());
    }
    let mut streams = None;
    let memory =
        allocation_counter::measure(|| streams = StreamsGroupMetadataValue::decode(bytes).ok());
    assert!(memory.bytes_max <= 256 + BYTES_A_BYTE * bytes.len() as u64);
    if let Some(value) = streams {
        written.clear();
        value.encode(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(StreamsGroupMetadataValue::decode(&written), Ok(value));
    }
});
