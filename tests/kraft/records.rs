//! Control records, their batches and the control batches of snapshots: bytes, and what is no such bytes.

use crate::quorum::voters;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    BatchError, Batches, ControlBatch, ControlMessage, ControlRecord, ControlRecordType,
    DirectoryId, DynamicVoters, EncodeError, Endpoint, Endpoints, InvalidControlRecord,
    KRaftVersion, LeaderChange, LeaderChangeMessage, ListenerName, RecordEndpoint, RecordError,
    RecordVoter, ReplicaKey, SnapshotError, SnapshotHeader, SnapshotReader, SupportedVersions,
    UnknownKRaftVersion, VoterNode, VoterSet, VotersRecord, encode_control_batch,
    encode_data_batch, encode_snapshot_footer, encode_snapshot_header, encode_voters,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

const VOTERS: &str = "00000200000001000102030405060708090a0b0c0d0e0f020b434f4e54524f4c4c45520a6c6f63616c686f7374\
                      23850000000001000000";

/// Voter 1 at localhost:9093.
fn one_voter() -> VoterSet {
    let directory_id = DirectoryId::from_u128(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f).unwrap();
    let endpoints = Endpoints::new([Endpoint::new("CONTROLLER", "localhost", 9_093)]);
    let supported_versions = SupportedVersions::ALL;
    VoterSet::new([VoterNode {
        key: ReplicaKey::new(1, directory_id),
        endpoints,
        supported_versions,
    }])
}

fn leader_change() -> ControlRecord {
    let (voters, granting_voters) = (vec![1], vec![1]);
    ControlRecord::LeaderChange(LeaderChange { leader_id: 1, voters, granting_voters })
}

fn value(record: &ControlRecord) -> String {
    let mut out = Vec::new();
    record.encode_value(&mut out).unwrap();
    hex(&out)
}

fn batch(base_offset: i64, epoch: i32, at: i64, records: &[ControlRecord]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_control_batch(base_offset, epoch, Timestamp::from_millis(at), records, &mut out)
        .unwrap();
    out
}

#[test]
fn values_are_written_as_kafka_writes_them() {
    let last_contained_log_timestamp = Timestamp::from_millis(1_000);
    let three = ControlRecord::LeaderChange(LeaderChange {
        leader_id: 1,
        voters: vec![1, 2, 3],
        granting_voters: vec![1, 2],
    });
    for (record, expected) in [
        (ControlRecord::Voters(one_voter()), VOTERS),
        (leader_change(), "00000000000102000000010002000000010000"),
        (three, "00000000000104000000010000000002000000000300030000000100000000020000"),
        (ControlRecord::KRaftVersion(KRaftVersion::V1), "0000000100"),
        (ControlRecord::SnapshotHeader { last_contained_log_timestamp }, "000000000000000003e800"),
        (ControlRecord::SnapshotFooter, "000000"),
    ] {
        assert_eq!(value(&record), expected);
        let value = bytes(expected);
        let read = ControlMessage::decode(&record.control_type().key(), &value).unwrap();
        assert_eq!(read.control_type(), record.control_type());
        assert_eq!(read.to_record(), Ok(record));
    }
}

#[test]
fn batches_are_written_as_kafka_writes_them() {
    let voters = ControlRecord::Voters(one_voter());
    let version = ControlRecord::KRaftVersion(KRaftVersion::V1);
    let epoch_start = batch(0, 1, 1_000, &[leader_change(), version, voters.clone()]);
    assert_eq!(epoch_start.len(), 174);
    assert_eq!(hex(&epoch_start[17..21]), "f7e3c2ef");
    let leader_alone = batch(0, 1, 1_000, &[leader_change()]);
    assert_eq!((leader_alone.len(), hex(&leader_alone[17..21])), (91, "2b2bb2bd".into()));
    let voters_alone = batch(3, 1, 2_000, &[voters]);
    assert_eq!((voters_alone.len(), hex(&voters_alone[17..21])), (128, "abc41b17".into()));
    let all = [epoch_start, voters_alone].concat();
    let read: Vec<_> = Batches::new(&all).map(Result::unwrap).collect();
    let offsets: Vec<_> = read.iter().map(|batch| (batch.base_offset, batch.last_offset)).collect();
    assert_eq!(offsets, [(0, 2), (3, 3)]);
    assert_eq!(read.iter().map(|batch| batch.bytes.len()).sum::<usize>(), all.len());
}

#[test]
fn a_bootstrap_checkpoint_is_written_as_kafka_writes_it() {
    let now = Timestamp::from_millis(1_000);
    let header = SnapshotHeader {
        last_contained_log_timestamp: now,
        kraft_version: KRaftVersion::V1,
        voters: Some(one_voter()),
    };
    let mut file = Vec::new();
    let next = encode_snapshot_header(&header, 0, now, &mut file).unwrap();
    assert_eq!((next, file.len(), hex(&file[17..21])), (3, 166, "2e7f0efb".into()));
    encode_snapshot_footer(next, 0, now, &mut file).unwrap();
    assert_eq!((file.len() - 166, hex(&file[166 + 17..166 + 21])), (75, "8db697cb".into()));

    let snapshot = SnapshotReader::open(&file).unwrap();
    assert_eq!(snapshot.last_contained_log_timestamp(), now);
    let [first, version, voters, footer] = snapshot.control_records().unwrap().try_into().unwrap();
    assert!(matches!(first, ControlRecord::SnapshotHeader { .. }));
    assert_eq!(version, ControlRecord::KRaftVersion(KRaftVersion::V1));
    assert_eq!(voters, ControlRecord::Voters(one_voter()));
    assert_eq!(footer, ControlRecord::SnapshotFooter);
}

#[test]
fn a_snapshot_has_voters_from_level_one_on() {
    let now = Timestamp::from_millis(1);
    let header = |kraft_version, voters| SnapshotHeader {
        last_contained_log_timestamp: now,
        kraft_version,
        voters,
    };
    let mut out = vec![7];
    let refused = header(KRaftVersion::V0, Some(one_voter()));
    let result = encode_snapshot_header(&refused, 0, now, &mut out);
    assert_eq!((result, out.as_slice()), (Err(EncodeError::VotersAtLevelZero), [7].as_slice()));
    let mut next = |header| encode_snapshot_header(&header, 0, now, &mut out);
    assert_eq!(next(header(KRaftVersion::V0, None)), Ok(1));
    assert_eq!(next(header(KRaftVersion::V1, None)), Ok(2));
}

#[test]
fn a_snapshot_starts_with_its_header() {
    let open = |bytes: &[u8]| SnapshotReader::open(bytes).map(|_| ());
    assert_eq!(open(&[]), Err(SnapshotError::Empty));
    let footer_first = batch(0, 0, 1, &[ControlRecord::SnapshotFooter]);
    assert_eq!(open(&footer_first), Err(SnapshotError::NoHeader));
    let header =
        ControlRecord::SnapshotHeader { last_contained_log_timestamp: Timestamp::from_millis(1) };
    let mut damaged = batch(0, 0, 1, &[header]);
    *damaged.last_mut().unwrap() ^= 1;
    assert!(matches!(
        open(&damaged),
        Err(SnapshotError::Batch(error @ BatchError::Checksum { .. })) if error.is_corrupt()
    ));
}

#[test]
fn every_prefix_of_a_value_is_refused() {
    let mut value = Vec::new();
    voters(1..5).encode(&mut value).unwrap();
    for end in 0..value.len() {
        assert!(VotersRecord::decode(&mut &value[..end]).is_err(), "{end}");
    }
    let mut rest = value.as_slice();
    VotersRecord::decode(&mut rest).unwrap();
    assert!(rest.is_empty());

    let keys: Vec<_> = voters(1..5).keys().collect();
    let message = LeaderChangeMessage {
        voters: keys.clone(),
        granting_voters: keys,
        ..LeaderChangeMessage::default()
    };
    let mut value = Vec::new();
    message.encode(1, &mut value).unwrap();
    for end in 0..value.len() {
        assert!(LeaderChangeMessage::decode(1, &mut &value[..end]).is_err(), "{end}");
    }
    assert_eq!(LeaderChangeMessage::decode(1, &mut value.as_slice()), Ok(message.clone()));
    // Logs hold version 0, which has no place for directories.
    assert_eq!(message.encode(0, &mut value), Err(EncodeError::DirectoryId { id: 1 }));
    assert_eq!(message.encode(2, &mut value), Err(EncodeError::Version { version: 2 }));
}

// Kafka reserves what a count claims before it looks whether so many elements can follow.
#[test]
fn a_huge_count_takes_no_memory() {
    // 2147483646 voters; as many endpoints of the first; voters of a leader change.
    let counts = bytes("0000ffffffff07");
    let mut endpoints = bytes("000002");
    endpoints.extend([0; 4 + 16]);
    endpoints.extend(bytes("ffffffff0700000000"));
    let leader = bytes("000000000001ffffffff0700");
    let measured = allocation_counter::measure(|| {
        let refused = VotersRecord::decode(&mut counts.as_slice()).map(|_| ());
        assert_eq!(
            refused,
            Err(RecordError::Count { field: "voters", count: 2_147_483_646, remaining: 0 })
        );
        let refused = VotersRecord::decode(&mut endpoints.as_slice()).map(|_| ());
        assert!(matches!(refused, Err(RecordError::Count { field: "endpoints", .. })));
        let refused = LeaderChangeMessage::decode(0, &mut leader.as_slice()).map(|_| ());
        assert!(matches!(refused, Err(RecordError::Count { field: "voters", .. })));
    });
    assert_eq!(measured.bytes_total, 0);

    // A batch that claims 2147483647 records, with its checksum put right.
    let mut claims = batch(0, 1, 1, &[leader_change()]);
    claims[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    let checksum = crc32c::crc32c(&claims[21..]);
    claims[17..21].copy_from_slice(&checksum.to_be_bytes());
    let measured = allocation_counter::measure(|| {
        let error = Batches::new(&claims).next().unwrap().unwrap_err();
        assert!(matches!(error, BatchError::Record(RecordError::Truncated { .. })), "{error}");
        assert!(!error.is_corrupt());
    });
    assert!(measured.bytes_total < 4_096, "{}", measured.bytes_total);
}

#[test]
fn reading_voters_copies_nothing() {
    let mut value = Vec::new();
    voters(1..9).encode(&mut value).unwrap();
    let measured = allocation_counter::measure(|| {
        let record = VotersRecord::decode(&mut value.as_slice()).unwrap();
        let endpoints = record.voters().flat_map(|voter| voter.endpoints);
        assert_eq!(endpoints.filter(|endpoint| endpoint.name == "CONTROLLER").count(), 8);
    });
    assert_eq!(measured.count_total, 0);
}

#[test]
fn voters_that_are_read_share_the_names_of_their_listeners() {
    let mut value = Vec::new();
    voters(1..9).encode(&mut value).unwrap();
    let read = VotersRecord::decode(&mut value.as_slice()).unwrap().to_voter_set().unwrap();
    let names = read.iter().flat_map(|voter| &voter.endpoints);
    let mut names = names.map(|endpoint| endpoint.listener.as_str().as_ptr());
    let first = names.next().unwrap();
    assert!(names.all(|name| name == first));
}

#[test]
fn texts_are_bounded_and_utf_8() {
    let long = "h".repeat(32_768);
    let record = |host: &str| VoterSet::from_addresses(&ListenerName::new("C"), [(1, host, 1)]);
    let mut out = vec![7];
    let refused = record(&long).encode(&mut out);
    assert_eq!(refused, Err(EncodeError::StringTooLong { length: 32_768 }));
    assert_eq!(out, [7]);
    let longest = record(&long[1..]);
    let mut out = Vec::new();
    longest.encode(&mut out).unwrap();
    assert!(VotersRecord::decode(&mut out.as_slice()).is_ok());

    // The host, one byte long, of a voter with a name of one byte.
    let mut out = Vec::new();
    record("h").encode(&mut out).unwrap();
    let at = 2 + 1 + 4 + 16 + 1 + 2 + 1;
    assert_eq!(out[at], b'h');
    out[at] = 0xff;
    let error = VotersRecord::decode(&mut out.as_slice()).map(|_| ());
    assert_eq!(error, Err(RecordError::NotUtf8 { field: "host" }));
    out[at - 1] = 0;
    let error = VotersRecord::decode(&mut out.as_slice()).map(|_| ());
    assert_eq!(error, Err(RecordError::Null { field: "host" }));
}

#[test]
fn a_number_of_more_than_five_bytes_is_refused() {
    // Padded with zeros it may be, up to five.
    let padded = bytes("0000818080800000");
    assert_eq!(VotersRecord::decode(&mut padded.as_slice()).map(|it| it.voters().count()), Ok(0));
    let error = VotersRecord::decode(&mut bytes("000081808080800000").as_slice()).map(|_| ());
    assert_eq!(error, Err(RecordError::VarintTooLong { field: "voters" }));
}

#[test]
fn a_record_that_can_be_read_may_make_no_sense() {
    let level = bytes("0000000700");
    let read = ControlMessage::decode(&ControlRecordType::KRaftVersion.key(), &level).unwrap();
    let error = InvalidControlRecord::Version(UnknownKRaftVersion { level: 7 });
    assert_eq!(read.to_record(), Err(error));

    let voter = |name, max_supported_version| RecordVoter {
        key: ReplicaKey::without_directory(1),
        endpoints: vec![RecordEndpoint { name, host: "h", port: 1 }].into_iter(),
        min_supported_version: 1,
        max_supported_version,
    };
    for (voter, is_set) in [(voter("c", 1), true), (voter(" ", 1), false), (voter("c", 0), false)] {
        let mut value = Vec::new();
        encode_voters(0, [voter].into_iter(), &mut value).unwrap();
        let read = ControlMessage::decode(&ControlRecordType::KRaftVoters.key(), &value).unwrap();
        assert_eq!(read.to_record().is_ok(), is_set);
    }
}

#[test]
fn of_voters_with_one_id_the_last_stays() {
    let voter = |directory, host| RecordVoter {
        key: ReplicaKey::from_wire(1, directory),
        endpoints: vec![RecordEndpoint { name: "c", host, port: 1 }].into_iter(),
        min_supported_version: 0,
        max_supported_version: 1,
    };
    let mut value = Vec::new();
    encode_voters(0, [voter(1, "a"), voter(2, "b")].into_iter(), &mut value).unwrap();
    let read = VotersRecord::decode(&mut value.as_slice()).unwrap();
    assert_eq!(read.voters().count(), 2);
    let set = read.to_voter_set().unwrap();
    assert_eq!(set.keys().collect::<Vec<_>>(), [ReplicaKey::from_wire(1, 2)]);
    assert_eq!(set.endpoint(1, &ListenerName::new("C")).map(|it| &*it.host), Some("b"));
}

#[test]
fn keys_of_later_versions_are_read_and_other_types_are_not() {
    let read = |key: &str| ControlRecordType::id_of_key(&bytes(key));
    assert_eq!(read("0005000600ff"), Ok(6));
    assert_eq!(read("00000151"), Ok(337));
    assert_eq!(read("000006"), Err(RecordError::Key { length: 3 }));
    assert_eq!(read("ffff0006"), Err(RecordError::KeyVersion { version: -1 }));
    let error = |type_id| RecordError::Type { type_id };
    for (key, type_id) in [("00000000", 0), ("00000001", 1), ("00000151", 337)] {
        let read = ControlMessage::decode(&bytes(key), &[0; 9]).map(|_| ());
        assert_eq!(read, Err(error(type_id)));
    }
}

#[test]
fn a_batch_that_cannot_be_written_leaves_nothing() {
    let mut out = vec![7];
    let now = Timestamp::from_millis(0);
    let two = [leader_change(), leader_change()];
    let past_the_end = encode_control_batch(i64::MAX, 1, now, &two, &mut out);
    assert_eq!(past_the_end, Err(EncodeError::Offsets { base_offset: i64::MAX, count: 2 }));
    assert!(encode_control_batch(0, 1, now, &[], &mut out).is_err());
    assert_eq!(out, [7]);
    // A record that is refused leaves the batch as it was.
    let mut batch = ControlBatch::new(i64::MAX, 1, now, &mut out);
    batch.push(&two[0]).unwrap();
    assert!(batch.push(&two[1]).is_err());
    batch.finish().unwrap();
    let read = Batches::new(&out[1..]).next().unwrap().unwrap();
    assert_eq!((read.base_offset, read.last_offset), (i64::MAX, i64::MAX));
}

#[test]
fn an_ipv6_voter_stands_in_the_record_as_java_writes_its_address() {
    let parsed: DynamicVoters = "1@[::ffff:1.2.3.4]:1:AAAAAAAAAAcAAAAAAAAAZQ,\
                                 2@[fe80::1]:1:AAAAAAAAAAcAAAAAAAAAyQ"
        .parse()
        .unwrap();
    let set = parsed.to_voter_set(&ListenerName::new("C"));
    let hosts: Vec<_> = set.iter().flat_map(|voter| &voter.endpoints).map(|it| &*it.host).collect();
    assert_eq!(hosts, ["1.2.3.4", "fe80:0:0:0:0:0:0:1"]);
}

/// A batch of data, byte by byte as the format has it.
#[test]
fn a_batch_of_data_has_no_keys_and_one_time() {
    let mut out = vec![7];
    let now = Timestamp::from_millis(1_000);
    encode_data_batch(40, 5, now, ["ab", "c"], &mut out).unwrap();
    let expected = "07\
        0000000000000028 00000042 00000005 02 ???????? 0000 00000001\
        00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000002\
        10 00 00 00 01 04 6162 00\
        0e 00 00 02 01 02 63 00";
    let expected: String = expected.split_whitespace().collect();
    let written = hex(&out);
    assert_eq!(written.len(), expected.len());
    let checksum = expected.find('?').unwrap();
    assert_eq!(written[..checksum], expected[..checksum]);
    assert_eq!(written[checksum + 8..], expected[checksum + 8..]);

    let batch = Batches::new(&out[1..]).next().unwrap().expect("the checksum is right");
    assert_eq!((batch.base_offset, batch.last_offset, batch.epoch), (40, 41, 5));
    assert_eq!(batch.append_timestamp, now);
    assert!(batch.control_records.is_none());
}

#[test]
fn a_batch_of_no_data_is_not_written() {
    let mut out = vec![7];
    let none: [&[u8]; 0] = [];
    assert!(encode_data_batch(0, 1, Timestamp::from_millis(0), none, &mut out).is_err());
    assert_eq!(out, [7]);
}
