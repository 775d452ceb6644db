//! Records in, records out: checks of batches, offsets, and the byte limits of fetches.

use super::client::{Client, Failure, Named, batch, produce};
use super::fetcher::Fetcher;
use super::{BY_ID, Checks, Subject};
use bytes::{Bytes, BytesMut};
use kafka_coordination::TopicId;
use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::protocol::StrBytes;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("records", 3).await?;
    appends(checks, &mut client, &topic).await?;
    refusals(checks, &mut client, &topic).await?;
    offsets(checks, &mut client, &topic).await?;
    versions(checks, subject, &topic).await?;
    limits(checks, subject).await
}

async fn appends(checks: &mut Checks, client: &mut Client, topic: &Named) -> Result<(), Failure> {
    for (timestamps, expected) in [([10, 30, 20], 0), ([40, 60, 50], 3)] {
        let (error, offset) = client.produce(topic, 0, batch(&timestamps, 1)?).await?;
        checks.equal(
            (error, offset),
            (0, expected),
            format_args!("a batch is stored at offset {expected}"),
        );
    }
    let mut silent = Client::connect(client.address()?).await?;
    let request = produce(topic, 1, batch(&[1], 1)?).with_acks(0);
    silent.send(&super::client::encode(12, 1, &request)?).await?;
    let answer = silent.produce(topic, 1, batch(&[2], 1)?).await?;
    checks.equal(answer, (0, 1), "acks 0 stores a batch and answers nothing");
    let request = produce(topic, 9, batch(&[1], 1)?).with_acks(0);
    silent.send(&super::client::encode(12, 1, &request)?).await?;
    checks.that(silent.receive().await?.is_none(), "acks 0 closes the connection on an error");
    for version in 3..=13 {
        let mut request = produce(topic, 2, batch(&[5], 1)?);
        for data in &mut request.topic_data {
            if version >= 13 {
                data.name = StrBytes::default().into();
                data.topic_id = topic.id.into();
            }
        }
        let response = client.call(version, &request).await?;
        let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        let ok = partitions.next().is_some_and(|found| {
            found.error_code == 0 && found.base_offset == i64::from(version) - 3
        });
        checks.that(ok, format_args!("Produce {version} stores a batch"));
    }
    Ok(())
}

async fn refusals(checks: &mut Checks, client: &mut Client, topic: &Named) -> Result<(), Failure> {
    let good = batch(&[1, 2], 10)?;
    let twice = Bytes::from([&*good, &*good].concat());
    let changed = |at: usize, to: u8| {
        let mut bytes = BytesMut::from(&*good);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = to;
        }
        bytes.freeze()
    };
    let resealed = |at: usize, to: &[u8]| {
        let mut bytes = good.to_vec();
        if let Some(field) = bytes.get_mut(at..at + to.len()) {
            field.copy_from_slice(to);
        }
        let checksum = crc32c::crc32c(bytes.get(21..).unwrap_or_default());
        if let Some(field) = bytes.get_mut(17..21) {
            field.copy_from_slice(&checksum.to_be_bytes());
        }
        Bytes::from(bytes)
    };
    let longer = (i32::try_from(good.len())?).to_be_bytes();
    for (what, records, expected) in [
        ("a wrong checksum", changed(20, good.get(20).map_or(0, |byte| byte ^ 1)), 2),
        ("a changed byte", changed(good.len() - 1, 0xee), 2),
        ("a cut batch", good.slice(..good.len() - 1), 2),
        ("a cut header", good.slice(..60), 2),
        ("a length beyond the end", resealed(8, &longer), 2),
        ("an old format", changed(16, 1), 87),
        ("no batch", Bytes::new(), 87),
        ("two batches", twice, 87),
        ("a false count", resealed(57, &3_i32.to_be_bytes()), 87),
        ("a huge count", resealed(57, &i32::MAX.to_be_bytes()), 87),
        ("records that do not follow each other", resealed(64, &[40]), 87),
        ("a control batch", resealed(21, &[0, 0x20]), 87),
        ("a transactional batch", resealed(21, &[0, 0x10]), 53),
        ("a batch over the limit", batch(&[1], 1 << 20)?, 10),
    ] {
        let (error, _) = client.produce(topic, 1, records).await?;
        checks.equal(error, expected, format_args!("{what} is refused"));
    }
    let (error, _) = client.produce(topic, 3, good.clone()).await?;
    checks.equal(error, 3, "a partition that does not exist gets 3");
    let mut by_id = produce(topic, 0, good);
    for data in &mut by_id.topic_data {
        data.name = StrBytes::default().into();
        data.topic_id = TopicId::from_u128(99).into();
    }
    let response = client.call(13, &by_id).await?;
    let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    checks.equal(
        partitions.next().map(|found| found.error_code),
        Some(100),
        "an unknown topic id gets 100",
    );
    Ok(())
}

async fn offsets(checks: &mut Checks, client: &mut Client, topic: &Named) -> Result<(), Failure> {
    for (what, timestamp, expected) in [
        ("the end", -1, (-1, 6)),
        ("the start", -2, (-1, 0)),
        ("the largest timestamp", -3, (60, 4)),
        ("a timestamp", 20, (30, 1)),
        ("a timestamp in a later batch", 45, (60, 4)),
        ("a timestamp beyond all", 61, (-1, -1)),
    ] {
        let partition =
            ListOffsetsPartition::default().with_timestamp(timestamp).with_current_leader_epoch(-1);
        let wanted = ListOffsetsTopic::default()
            .with_name(topic.name.clone().into())
            .with_partitions(vec![partition]);
        let request =
            ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![wanted]);
        for version in 1..=10 {
            let response = client.call(version, &request).await?;
            let mut found = response.topics.iter().flat_map(|topic| &topic.partitions);
            let found = found.next().map(|found| (found.timestamp, found.offset));
            checks.equal(found, Some(expected), format_args!("ListOffsets {version} finds {what}"));
        }
    }
    Ok(())
}

async fn versions(checks: &mut Checks, subject: &Subject, topic: &Named) -> Result<(), Failure> {
    for version in 4..=18 {
        let mut fetcher = Fetcher::connect(subject.address, version).await?;
        let answer = fetcher.fetch(&[(topic, 0, 0), (topic, 1, 0)]).await?;
        let ok = answer.error == 0
            && answer.with_records() == [0, 1]
            && (answer.session_id != 0) == (version >= 7);
        checks.that(ok, format_args!("Fetch {version} returns records"));
    }
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    let answer = fetcher.fetch(&[(topic, 0, 6), (topic, 1, 7), (topic, 2, -1)]).await?;
    checks.equal(answer.errors(), vec![(0, 0), (1, 1), (2, 1)], "offsets out of range get 1");
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.replica_id = 2;
    let follower = fetcher.fetch(&[(topic, 0, 0)]).await?;
    checks.equal(follower.errors(), vec![(0, 6)], "a follower that is no replica gets 6");
    Ok(())
}

async fn limits(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("limits", 3).await?;
    let records = batch(&[1], 1_000)?;
    for partition in [0, 0, 1, 2] {
        client.produce(&topic, partition, records.clone()).await?;
    }
    let size = records.len();
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.max_bytes = 1;
    let answer = fetcher.fetch(&[(&topic, 0, 0), (&topic, 1, 0), (&topic, 2, 0)]).await?;
    checks.equal(
        answer.with_records(),
        vec![0],
        "one batch comes even over the limit, and no second one",
    );
    let first = answer.partitions.first().map(|partition| partition.size);
    checks.equal(first, Some(size), "a batch comes whole");
    let mut served = Vec::new();
    for _ in 0..3 {
        served.extend(fetcher.fetch(&[]).await?.with_records());
    }
    checks.equal(served, vec![0, 1, 2], "under a small limit each partition is served in its turn");
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.partition_max_bytes = i32::try_from(size)? + 1;
    let answer = fetcher.fetch(&[(&topic, 0, 0), (&topic, 1, 0)]).await?;
    let sizes: Vec<_> = answer.partitions.iter().map(|partition| partition.size).collect();
    checks.equal(sizes, vec![size, size], "the limit of a partition holds");
    Ok(())
}
