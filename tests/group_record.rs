//! The metadata records of groups: Kafka's bytes, both ways, and bytes that are not Kafka's.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a test has the standard library, and may fail by panicking"
)]

use kafka_coordination::group_record::{
    AssignmentConfig, ConsumerGroupMetadataValue, GroupIdTooLong, GroupRecordError, GroupRecordKey,
    GroupRecordType, ShareGroupMetadataValue, StreamsGroupMetadataValue,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

/// A streams group at epoch 3 without anything else than the list of configurations.
fn streams() -> StreamsGroupMetadataValue {
    StreamsGroupMetadataValue {
        epoch: 3,
        metadata_hash: 0,
        validated_topology_epoch: -1,
        last_assignment_configs: Some(Vec::new()),
        stored_description_topology_epoch: -1,
        failed_description_topology_epoch: -1,
    }
}

#[test]
fn keys_are_a_type_and_an_id() {
    let types = [
        (GroupRecordType::ConsumerGroupMetadata, "0003"),
        (GroupRecordType::ConsumerGroupPartitionMetadata, "0004"),
        (GroupRecordType::ShareGroupMetadata, "000b"),
        (GroupRecordType::StreamsGroupMetadata, "0011"),
    ];
    for (record_type, number) in types {
        let key = GroupRecordKey { record_type, group_id: "consumer" };
        let expected = bytes(&format!("{number} 0008 636f6e73756d6572"));
        assert_eq!(encoded(|out| key.encode(out).unwrap()), expected);
        assert_eq!(GroupRecordKey::decode(&expected), Ok(key));
    }
}

#[test]
fn a_group_id_that_no_key_can_hold_is_refused_and_nothing_written() {
    let key =
        |group_id| GroupRecordKey { record_type: GroupRecordType::ShareGroupMetadata, group_id };
    let mut out = Vec::new();
    let longest = "g".repeat(32_767);
    assert_eq!(key(&longest).encode(&mut out), Ok(()));
    assert_eq!(GroupRecordKey::decode(&out), Ok(key(&longest)));
    out.clear();
    let error: GroupIdTooLong = key(&"g".repeat(32_768)).encode(&mut out).unwrap_err();
    assert_eq!((error.bytes, out.len()), (32_768, 0));
}

#[test]
fn keys_of_other_records_are_told_apart() {
    let other = |key_type| Err(GroupRecordError::KeyType { key_type });
    for key_type in [-1, 0, 1, 2, 5, 10, 12, 16, 18, i16::MAX] {
        let mut bytes = key_type.to_be_bytes().to_vec();
        bytes.extend([0, 1, b'g']);
        assert_eq!(GroupRecordKey::decode(&bytes), other(key_type));
    }
}

#[test]
fn a_consumer_groups_hash_is_a_tagged_field_that_0_leaves_out() {
    for (metadata_hash, hex) in
        [(0, "0000 0000000b 00"), (1, "0000 0000000b 01 00 08 0000000000000001")]
    {
        let value = ConsumerGroupMetadataValue { epoch: 11, metadata_hash };
        assert_eq!(encoded(|out| value.encode(out)), bytes(hex));
        assert_eq!(ConsumerGroupMetadataValue::decode(&bytes(hex)), Ok(value));
    }
}

#[test]
fn a_share_groups_hash_is_always_there() {
    let value = ShareGroupMetadataValue { epoch: 11, metadata_hash: 1 };
    let expected = bytes("0000 0000000b 0000000000000001 00");
    assert_eq!(encoded(|out| value.encode(out)), expected);
    assert_eq!(ShareGroupMetadataValue::decode(&expected), Ok(value));
}

#[test]
fn a_streams_group_writes_what_is_not_the_default() {
    let uncertain =
        StreamsGroupMetadataValue { stored_description_topology_epoch: -2, ..streams() };
    let stored = StreamsGroupMetadataValue { stored_description_topology_epoch: 9, ..streams() };
    let config = AssignmentConfig { key: "num.standby.replicas".into(), value: "0".into() };
    let full = StreamsGroupMetadataValue {
        metadata_hash: -4_393_777_982_459_830_161,
        validated_topology_epoch: 0,
        last_assignment_configs: Some(vec![config]),
        failed_description_topology_epoch: 7,
        ..stored
    };
    let cases = [
        (streams(), "0000 00000003 0000000000000000 01 01 01 01"),
        (uncertain, "0000 00000003 0000000000000000 02 01 01 01 02 04 fffffffe"),
        (stored, "0000 00000003 0000000000000000 02 01 01 01 02 04 00000009"),
        (
            StreamsGroupMetadataValue { last_assignment_configs: None, ..streams() },
            "0000 00000003 0000000000000000 00",
        ),
        (
            full,
            "0000 00000003 c3062a34458ca06f 04 00 04 00000000 01 19 02 15 6e756d2e7374616e6462792e7265706c69636173 \
             02 30 00 02 04 00000009 03 04 00000007",
        ),
    ];
    for (value, hex) in cases {
        assert_eq!(encoded(|out| value.encode(out)), bytes(hex));
        assert_eq!(StreamsGroupMetadataValue::decode(&bytes(hex)), Ok(value));
    }
}

#[test]
fn fields_that_are_added_later_are_read_over() {
    let consumer = bytes("0000 0000000b 02 00 08 0000000000000001 05 02 abcd");
    let value = ConsumerGroupMetadataValue { epoch: 11, metadata_hash: 1 };
    assert_eq!(ConsumerGroupMetadataValue::decode(&consumer), Ok(value));
    let share = bytes("0000 0000000b 0000000000000001 01 00 01 ff");
    let value = ShareGroupMetadataValue { epoch: 11, metadata_hash: 1 };
    assert_eq!(ShareGroupMetadataValue::decode(&share), Ok(value));
    // In the group, and in a configuration of it.
    let value = bytes("0000 00000003 0000000000000000 02 01 07 02 02 6b 01 01 00 00 04 01 00");
    let config = AssignmentConfig { key: "k".into(), value: String::new() };
    let expected =
        StreamsGroupMetadataValue { last_assignment_configs: Some(vec![config]), ..streams() };
    assert_eq!(StreamsGroupMetadataValue::decode(&value), Ok(expected));
}

#[test]
fn damage_is_told() {
    use GroupRecordError as E;
    let consumer = |hex: &str| ConsumerGroupMetadataValue::decode(&bytes(hex)).unwrap_err();
    assert_eq!(consumer("0001 0000000b 00"), E::Version { version: 1 });
    assert_eq!(consumer("ffff 0000000b 00"), E::Version { version: -1 });
    assert_eq!(consumer("0000 0000000b 00 00"), E::Trailing { bytes: 1 });
    assert_eq!(consumer("0000 0000000b ffffffff0f"), E::Truncated);
    assert_eq!(consumer("0000 0000000b ffffffff1f"), E::Overlong);
    assert_eq!(consumer("0000 0000000b 8080808080 00"), E::Overlong);
    assert_eq!(consumer("0000 0000000b 01 00 07 00000000000001"), E::TagSize { tag: 0, size: 7 });
    assert_eq!(
        consumer("0000 0000000b 01 00 09 000000000000000100"),
        E::TagSize { tag: 0, size: 9 }
    );
    assert_eq!(consumer("0000 0000000b 01 00 ffffffff0f 00"), E::Truncated);
    let twice = "0000 0000000b 02 00 08 0000000000000001 00 08 0000000000000001";
    assert_eq!(consumer(twice), E::TagOrder { tag: 0 });
    let last_twice = "0000 0000000b 02 ffffffff0f 00 ffffffff0f 00";
    assert_eq!(consumer(last_twice), E::TagOrder { tag: u32::MAX });

    let streams = |tags: &str| {
        let value = bytes(&format!("0000 00000003 0000000000000000 {tags}"));
        StreamsGroupMetadataValue::decode(&value).unwrap_err()
    };
    assert_eq!(streams("02 02 04 00000001 00 04 00000001"), E::TagOrder { tag: 0 });
    // A list of more entries than there are bytes, one that does not fill its field, a key that is missing, and one that
    // is not text.
    assert_eq!(streams("01 01 05 ffffffff0f"), E::TagSize { tag: 1, size: 5 });
    assert_eq!(streams("01 01 02 01 00"), E::TagSize { tag: 1, size: 2 });
    assert_eq!(streams("01 01 04 02 00 01 00"), E::Length);
    assert_eq!(streams("01 01 05 02 02 ff 01 00"), E::Text);

    let key = |hex: &str| GroupRecordKey::decode(&bytes(hex)).map(|_| ()).unwrap_err();
    assert_eq!(key("0003 ffff"), E::Length);
    assert_eq!(key("0003 0002 61"), E::Truncated);
    assert_eq!(key("0003 0001 61 62"), E::Trailing { bytes: 1 });
    assert_eq!(key("0003 0001 ff"), E::Text);
}

#[test]
fn no_prefix_of_a_record_is_a_record() {
    let config = AssignmentConfig { key: "k".into(), value: "v".into() };
    let value = StreamsGroupMetadataValue {
        metadata_hash: 7,
        validated_topology_epoch: 1,
        last_assignment_configs: Some(vec![config.clone(), config]),
        failed_description_topology_epoch: 2,
        ..streams()
    };
    let whole = encoded(|out| value.encode(out));
    for length in 0..whole.len() {
        assert!(StreamsGroupMetadataValue::decode(&whole[..length]).is_err(), "{length}");
    }
    let whole =
        encoded(|out| ConsumerGroupMetadataValue { epoch: 1, metadata_hash: 2 }.encode(out));
    for length in 0..whole.len() {
        assert!(ConsumerGroupMetadataValue::decode(&whole[..length]).is_err(), "{length}");
    }
}

prop_compose! {
    fn any_streams()(
        epoch in any::<i32>(),
        metadata_hash in any::<i64>(),
        epochs in any::<[i32; 3]>(),
        configs in proptest::option::of(vec((any::<String>(), ".{0,200}"), 0..5)),
    ) -> StreamsGroupMetadataValue {
        let config = |(key, value)| AssignmentConfig { key, value };
        StreamsGroupMetadataValue {
            epoch,
            metadata_hash,
            validated_topology_epoch: epochs[0],
            last_assignment_configs: configs.map(|configs| configs.into_iter().map(config).collect()),
            stored_description_topology_epoch: epochs[1],
            failed_description_topology_epoch: epochs[2],
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_survive_their_bytes(value in any_streams()) {
        let (epoch, metadata_hash) = (value.epoch, value.metadata_hash);
        let whole = encoded(|out| value.encode(out));
        prop_assert_eq!(StreamsGroupMetadataValue::decode(&whole), Ok(value));
        let consumer = ConsumerGroupMetadataValue { epoch, metadata_hash };
        let whole = encoded(|out| consumer.encode(out));
        prop_assert_eq!(ConsumerGroupMetadataValue::decode(&whole), Ok(consumer));
        let share = ShareGroupMetadataValue { epoch, metadata_hash };
        let whole = encoded(|out| share.encode(out));
        prop_assert_eq!(ShareGroupMetadataValue::decode(&whole), Ok(share));
    }

    /// Damaged bytes are refused, or say something else that is again written in no more bytes.
    #[test]
    fn any_bytes_are_refused_or_understood(value in any_streams(), at in any::<prop::sample::Index>(), byte in any::<u8>(), noise in vec(any::<u8>(), 0..100)) {
        let mut damaged = encoded(|out| value.encode(out));
        let at = at.index(damaged.len());
        damaged[at] = byte;
        for bytes in [damaged, noise] {
            let _ = GroupRecordKey::decode(&bytes);
            let _ = ShareGroupMetadataValue::decode(&bytes);
            let _ = ConsumerGroupMetadataValue::decode(&bytes);
            if let Ok(value) = StreamsGroupMetadataValue::decode(&bytes) {
                prop_assert!(encoded(|out| value.encode(out)).len() <= bytes.len());
            }
        }
    }
}
