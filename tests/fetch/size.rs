//! The size of a response, against an encoder that writes each field out.

use crate::support::{
    BAR, Broker, FOO, FOO_AGAIN, Request, Row, Topic, ZAR, ZERO, at, failed, fetch,
};
use core::ops::RangeInclusive;
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::PartitionRead;

/// The id of "foo" in the vectors.
const VECTOR_ID: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;

/// A partition of a response: its topic, its index and its read.
type Part = (Topic, i32, PartitionRead);

/// Writes a response body as the protocol's schema lists its fields.
struct Encoder {
    version: i16,
    bytes: Vec<u8>,
}

impl Encoder {
    fn response(version: i16, error: i16, session_id: i32, parts: &[Part]) -> Vec<u8> {
        let mut encoder = Self { version, bytes: Vec::new() };
        encoder.body(error, session_id, parts);
        encoder.bytes
    }

    fn is_flexible(&self) -> bool {
        self.version >= 12
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f | 0x80) as u8);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn count(&mut self, count: usize) {
        if self.is_flexible() {
            self.varint(count + 1);
        } else {
            self.put(&(count as i32).to_be_bytes());
        }
    }

    fn tags(&mut self, tags: &[(usize, Vec<u8>)]) {
        if self.is_flexible() {
            self.varint(tags.len());
            for (tag, bytes) in tags {
                self.varint(*tag);
                self.varint(bytes.len());
                self.put(bytes);
            }
        }
    }

    fn body(&mut self, error: i16, session_id: i32, parts: &[Part]) {
        self.put(&0_i32.to_be_bytes()); // throttle time
        if self.version >= 7 {
            self.put(&error.to_be_bytes());
            self.put(&session_id.to_be_bytes());
        }
        let by_id = self.version >= 13;
        let topics =
            parts.chunk_by(
                |(left, ..), (right, ..)| {
                    if by_id { left.id == right.id } else { left.name == right.name }
                },
            );
        let topics: Vec<_> = topics.collect();
        self.count(topics.len());
        for topic in topics {
            let Topic { id, name } = topic[0].0;
            if by_id {
                self.put(&id.to_be_bytes());
            } else if self.is_flexible() {
                self.varint(name.len() + 1);
                self.put(name.as_bytes());
            } else {
                self.put(&(name.len() as i16).to_be_bytes());
                self.put(name.as_bytes());
            }
            self.count(topic.len());
            for (_, partition, read) in topic {
                self.partition(*partition, read);
            }
            self.tags(&[]);
        }
        self.tags(&[]);
    }

    fn partition(&mut self, partition: i32, read: &PartitionRead) {
        self.put(&partition.to_be_bytes());
        self.put(&read.error().code().to_be_bytes());
        self.put(&read.high_watermark().to_be_bytes());
        if self.version >= 4 {
            self.put(&read.high_watermark().to_be_bytes()); // last stable offset
        }
        if self.version >= 5 {
            self.put(&read.log_start_offset().to_be_bytes());
        }
        if self.version >= 4 {
            match read.aborted_transactions() {
                None if self.is_flexible() => self.put(&[0]),
                None => self.put(&(-1_i32).to_be_bytes()),
                Some(count) => {
                    self.count(count as usize);
                    for _ in 0..count {
                        self.put(&[0; 16]); // producer id, first offset
                        self.tags(&[]);
                    }
                }
            }
        }
        if self.version >= 11 {
            self.put(&(-1_i32).to_be_bytes()); // preferred read replica
        }
        let records = read.records_size() as usize;
        self.count(records);
        self.put(&vec![0; records]);
        let mut tags = Vec::new();
        if read.has_diverging_epoch() {
            let [epoch, end] = [3_u64, 90].map(u64::to_be_bytes);
            tags.push((0, [&epoch[4..], &end, &[0]].concat()));
        }
        if read.has_current_leader() {
            let [leader, epoch] = [2_u32, 5].map(u32::to_be_bytes);
            tags.push((1, [&leader[..], &epoch, &[0]].concat()));
        }
        if read.has_snapshot_id() {
            let [end, epoch] = [8_u64, 1].map(u64::to_be_bytes);
            tags.push((2, [&end[..], &epoch[4..], &[0]].concat()));
        }
        self.tags(&tags);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// A response body that Kafka's own encoder wrote.
struct Vector {
    versions: RangeInclusive<i16>,
    error: i16,
    session_id: i32,
    /// The read of foo-0, if it is there.
    row: Option<Row>,
    hex: &'static str,
}

fn vectors() -> Vec<Vector> {
    let not_found = |versions, hex| Vector { versions, error: 70, session_id: 0, row: None, hex };
    let of_foo = |versions, row, hex| {
        let row = Some(row);
        Vector { versions, error: 0, session_id: 123, row, hex }
    };
    let plain = at(10);
    let diverging = at(105).diverging();
    vec![
        not_found(7..=11, "0000000000460000000000000000"),
        not_found(12..=18, "000000000046000000000100"),
        of_foo(
            7..=7,
            plain,
            "0000000000000000007b000000010003666f6f00000001000000000000000000000000000a000000000000000a0000000000000000ffffffff00000000",
        ),
        of_foo(
            11..=11,
            plain,
            "0000000000000000007b000000010003666f6f00000001000000000000000000000000000a000000000000000a0000000000000000ffffffffffffffff00000000",
        ),
        of_foo(
            12..=12,
            plain,
            "0000000000000000007b0204666f6f02000000000000000000000000000a000000000000000a000000000000000000ffffffff01000000",
        ),
        of_foo(
            13..=18,
            plain,
            "0000000000000000007b0200112233445566778899aabbccddeeff02000000000000000000000000000a000000000000000a000000000000000000ffffffff01000000",
        ),
        of_foo(
            13..=18,
            diverging,
            "0000000000000000007b0200112233445566778899aabbccddeeff0200000000000000000000000000690000000000000069000000000000000000ffffffff0101000d00000003000000000000005a000000",
        ),
    ]
}

const VECTOR_FOO: Topic = Topic { id: VECTOR_ID, name: "foo" };

#[test]
fn the_size_is_that_of_kafkas_own_bytes_and_four() {
    for Vector { versions, error, session_id, row, hex: expected } in vectors() {
        for version in versions {
            let mut broker = Broker::of_one_shard(1, 1000);
            broker.learn(VECTOR_FOO);
            let request = match row {
                Some(_) => fetch(0, 0).version(version).wants(VECTOR_FOO, 0),
                None => fetch(99, 1).version(version),
            };
            let context = broker.begin(&request);
            let reads = broker.read(&context, |_| row.expect("it is in the vector"));
            let reads: Vec<_> = reads.into_iter().map(|(_, read)| read).collect();
            let size = broker.cache.response_size(&context, &reads);
            assert_eq!(size as usize, 4 + expected.len() / 2, "{version} {expected}");
            // And the encoder below, which judges all the rest, is right about these.
            let parts: Vec<Part> = reads.iter().map(|&read| (VECTOR_FOO, 0, read)).collect();
            let bytes = Encoder::response(version, error, session_id, &parts);
            assert_eq!(hex(&bytes), expected, "{version}");
        }
    }
}

/// With the endpoint of the new leader the vector has 99 bytes, 21 of them the endpoint's.
#[test]
fn node_endpoints_are_not_counted() {
    let mut broker = Broker::of_one_shard(1, 1000);
    broker.learn(VECTOR_FOO);
    let context = broker.begin(&fetch(0, 0).wants(VECTOR_FOO, 0));
    let moved = failed(ErrorCode::NotLeaderOrFollower).leader();
    let reads: Vec<_> =
        broker.read(&context, |_| moved).into_iter().map(|(_, read)| read).collect();
    assert_eq!(broker.cache.response_size(&context, &reads), 4 + 99 - 21);
}

fn encoded_size(version: i16, parts: &[Part]) -> u64 {
    4 + Encoder::response(version, 0, 1, parts).len() as u64
}

/// Compares the size of the answer to a request with what the encoder writes: that of all reads
/// for a full request, and of those that are carried for an incremental one.
fn check(
    broker: &mut Broker,
    request: &Request,
    version: i16,
    known: &[(&str, Topic)],
    row: impl Fn(&str) -> Row,
) {
    let context = broker.begin(request);
    let topics: Vec<_> = broker
        .cache
        .visit(&context)
        .map(|it| (it.slot, it.topic_id.as_u128(), it.partition))
        .collect();
    let mut reads = broker.read(&context, row);
    let plain: Vec<_> = reads.iter().map(|(_, read)| *read).collect();
    let size = broker.cache.response_size(&context, &plain);
    assert_eq!(broker.cache.response_size(&context, &plain), size);
    let parts: Vec<Part> = reads
        .iter()
        .map(|(label, read)| {
            let &(_, id, partition) =
                topics.iter().find(|(slot, ..)| *slot == read.slot()).expect("visited");
            let name = label.rsplit_once('-').expect("a label").0;
            let named =
                known.iter().find(|(it, _)| *it == name).map_or("?", |(_, topic)| topic.name);
            (Topic { id, name: named }, partition, *read)
        })
        .collect();
    let labels: Vec<String> = reads.iter_mut().map(|(label, _)| label.clone()).collect();
    let response = broker.finish(context, reads);
    let mut carried = response.partitions.into_iter().peekable();
    let kept: Vec<Part> = parts
        .into_iter()
        .zip(labels)
        .filter(|(_, label)| carried.next_if(|it| it == label).is_some())
        .map(|(part, _)| part)
        .collect();
    assert_eq!(size, encoded_size(version, &kept), "version {version}: {kept:?}");
}

const LONG: Topic = Topic {
    id: 40,
    name: "a-topic-whose-name-takes-more-than-126-bytes-so-that-its-length-is-a-varint-of-two-bytes-or-even-more-than-that-as-some-people-do-name-them",
};

const KNOWN: [(&str, Topic); 4] = [("foo", FOO), ("bar", BAR), ("zar", ZAR), (LONG.name, LONG)];

/// What a partition may be answered, by a number.
fn row(number: usize) -> Row {
    match number % 12 {
        0 => at(10),
        1 => at(11).records(1),
        2 => at(11).records(126),
        3 => at(11).records(127),
        4 => at(11).records(16_383),
        5 => at(11).aborted(Some(0)),
        6 => at(11).aborted(Some(1)).records(5),
        7 => at(11).aborted(Some(127)),
        8 => failed(ErrorCode::NotLeaderOrFollower).leader(),
        9 => at(10).diverging().leader(),
        10 => at(10).preferred(),
        _ => at(12).log_start(3),
    }
}

#[test]
fn every_version_is_sized_as_it_is_encoded() {
    for version in 4..=18 {
        for shift in 0..12 {
            let mut broker = Broker::of_one_shard(1, 1000);
            broker.learn(LONG);
            let numbered = |label: &str| {
                let number: usize =
                    label.rsplit_once('-').expect("a label").1.parse().expect("a number");
                row(number + shift)
            };
            let full = fetch(0, if version >= 7 { 0 } else { -1 })
                .version(version)
                .wants_first(FOO, 13)
                .wants_first(LONG, 5)
                .wants(FOO, 20)
                .wants(BAR, 3);
            check(&mut broker, &full, version, &KNOWN, numbered);
            if version < 7 {
                continue;
            }
            let id = broker.live()[0];
            check(&mut broker, &fetch(id, 1).version(version), version, &KNOWN, numbered);
            let shifted =
                |label: &str| if label.starts_with("foo") { numbered(label) } else { at(99) };
            let added = fetch(id, 2).version(version).wants(ZAR, 1).wants(FOO, 30);
            check(&mut broker, &added, version, &KNOWN, shifted);
        }
    }
}

#[test]
fn counts_that_need_longer_varints_are_sized() {
    for version in [11, 12, 18] {
        for partitions in [126, 127, 128, 16_383] {
            let mut broker = Broker::of_one_shard(1, 1000);
            let request = fetch(0, 0).version(version).wants_first(FOO, partitions);
            check(&mut broker, &request, version, &KNOWN, |_| at(10));
            let mut broker = Broker::of_one_shard(1, 1000);
            let request = (0..partitions.min(200))
                .fold(fetch(0, 0).version(version), |it, partition| {
                    it.wants(if partition % 2 == 0 { FOO } else { BAR }, partition)
                });
            check(&mut broker, &request, version, &KNOWN, |_| at(10));
        }
    }
}

#[test]
fn topics_are_grouped_only_with_their_neighbours() {
    let single = |broker: &mut Broker, request: &Request, version| {
        check(broker, request, version, &KNOWN, |_| at(10));
    };
    for version in [7, 12, 13, 18] {
        let mut broker = Broker::of_one_shard(8, 1000);
        broker.learn(FOO_AGAIN);
        let apart = fetch(0, 0).version(version).wants(FOO, 0).wants(BAR, 0).wants(FOO, 1);
        single(&mut broker, &apart, version);
        // Two ids under one name are two topics by id, and one by name.
        let recreated =
            fetch(0, 0).version(version).wants(FOO, 0).wants(FOO_AGAIN, 1).wants(FOO, 2);
        single(&mut broker, &recreated, version);
    }
    for version in 13..=18 {
        // Several partitions of the all-zero id are one topic.
        let mut broker = Broker::of_one_shard(8, 1000);
        let zero = fetch(0, 0).version(version).wants(ZERO, 0).wants(ZERO, 1).wants(ZERO, 2);
        single(&mut broker, &zero, version);
        // And so are those of one id of which some are resolved.
        let id = broker.open(&fetch(0, 0).version(version).wants(FOO, 0));
        broker.names.clear();
        let request = fetch(id, 1).version(version).wants(FOO, 1);
        check(&mut broker, &request, version, &KNOWN, |_| at(11));
    }
}

#[test]
fn what_left_the_order_is_not_sized() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let context = broker.begin(&fetch(id, 1));
    let stray = broker.read(&context, |_| at(20));
    let reads: Vec<_> = stray.iter().map(|(_, read)| *read).collect();
    let empty = encoded_size(18, &[]);
    assert!(broker.cache.response_size(&context, &reads) > empty);
    let next = broker.begin(&fetch(id, 2).forgets(FOO, 1));
    assert_eq!(broker.cache.response_size(&context, &reads), empty, "it is overtaken");
    let two: Vec<Part> = [0, 2].map(|it| (FOO, it, reads[it as usize])).into();
    assert_eq!(broker.cache.response_size(&next, &reads), encoded_size(18, &two));
}
