//! Markers that somebody else sends, and what is known of the producers that they are about.

use super::client::{Client, Failure, Named};
use super::transactional::Transactional;
use super::transactions::{committed, seen};
use super::{Checks, Subject};
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{DescribeProducersRequest, WriteTxnMarkersRequest};

/// Id, epoch, last sequence, coordinator epoch and start of the open transaction of a producer.
type Described = (i64, i32, i32, i32, i64);

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("markers", 1).await?;
    let mut producer = Transactional::init(subject.address, "markers", 60_000).await?;
    let id = producer.id;
    producer.write(&topic, 0).await?;
    let found = describe(&mut client, &topic).await?;
    checks.equal(found, vec![(id, 0, 1, -1, 0)], "a producer is described");

    let unknown = id + 1_000_000;
    for (what, id, epoch, coordinator_epoch, expected) in [
        ("one of an unknown producer is taken", unknown, 0, 0, 0),
        ("one of an older epoch is fenced", id, -1, 0, 47),
        ("one of a newer coordinator ends the transaction", id, 0, 7, 0),
        ("one of an older coordinator is fenced", id, 0, 6, 52),
        ("the same once more ends nothing", id, 0, 7, 0),
    ] {
        let marker = marker(&topic, id, epoch, coordinator_epoch);
        checks.equal(write(&mut client, marker).await?, vec![expected], what);
    }
    let aborted = Some(vec![(id, 0)]);
    let found = seen(&committed(subject, &topic).await?);
    checks.equal(found, Some((5, true, aborted)), "readers see the one end");
    let found = describe(&mut client, &topic).await?;
    let expected = vec![(id, 0, 1, 7, -1), (unknown, 0, -1, 0, -1)];
    checks.equal(found, expected, "and the producer has no transaction any more");

    let mut twice = marker(&topic, id, 0, 7);
    for topic in &mut twice.topics {
        topic.partition_indexes = vec![0, 0, 9];
    }
    checks.equal(
        write(&mut client, twice).await?,
        vec![0, 42, 3],
        "a partition is written to once",
    );
    Ok(())
}

/// An abort in partition 0.
fn marker(topic: &Named, id: i64, epoch: i16, coordinator_epoch: i32) -> WritableTxnMarker {
    let topic = WritableTxnMarkerTopic::default()
        .with_name(topic.name.clone().into())
        .with_partition_indexes(vec![0]);
    WritableTxnMarker::default()
        .with_producer_id(id.into())
        .with_producer_epoch(epoch)
        .with_coordinator_epoch(coordinator_epoch)
        .with_topics(vec![topic])
}

async fn write(client: &mut Client, marker: WritableTxnMarker) -> Result<Vec<i16>, Failure> {
    let request = WriteTxnMarkersRequest::default().with_markers(vec![marker]);
    let response = client.call(1, &request).await?;
    let topics = response.markers.iter().flat_map(|marker| &marker.topics);
    Ok(topics.flat_map(|topic| &topic.partitions).map(|it| it.error_code).collect())
}

async fn describe(client: &mut Client, topic: &Named) -> Result<Vec<Described>, Failure> {
    let wanted = TopicRequest::default()
        .with_name(topic.name.clone().into())
        .with_partition_indexes(vec![0]);
    let request = DescribeProducersRequest::default().with_topics(vec![wanted]);
    let response = client.call(0, &request).await?;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let producers = partitions.flat_map(|partition| &partition.active_producers);
    let described = producers.map(|it| {
        let (id, start) = (*it.producer_id, it.current_txn_start_offset);
        (id, it.producer_epoch, it.last_sequence, it.coordinator_epoch, start)
    });
    Ok(described.collect())
}
