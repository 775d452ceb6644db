//! From fetch messages to the inputs of the cache, and from a fetcher's wishes to messages.

use crate::filled;
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{
    FetchMetadata, FetchParams, FetcherKind, PartitionRequest, Profile,
};
use kafka_coordination::wire::decode_request;
use kafka_coordination::wire::fetch::{RequestBuilder, Sender, replica_id, with_request};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::{ApiKey, FetchRequest, RequestKind};
use kafka_protocol::protocol::Encodable;

const ID: TopicId = TopicId::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

/// A follower's request with every field in use, over the wire.
fn over_the_wire(version: i16) -> FetchRequest {
    let (header, body) = filled::request(ApiKey::Fetch, version);
    match decode_request(filled::encode(&header, &body)) {
        Ok((_, RequestKind::Fetch(request))) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_has_what_its_version_carries_and_the_rest_is_absent() {
    let sender = Sender { profile: 0xfeed, principal: 99 };
    for version in 4..=18 {
        let message = over_the_wire(version);
        with_request(&message, version, sender, |request| {
            assert_eq!(request.version, version);
            assert_eq!(
                request.metadata,
                if version < 7 {
                    FetchMetadata::LEGACY
                } else {
                    FetchMetadata { session_id: 123, epoch: 2 }
                }
            );
            assert_eq!(request.fetcher, FetcherKind::Follower);
            let profile = Profile { read_committed: true, host: 0xfeed };
            assert_eq!(request.profile, profile);
            assert_eq!(request.principal, 99);

            let params = FetchParams {
                fetch_offset: 10,
                log_start_offset: if version < 5 { -1 } else { 1 },
                max_bytes: 1_000,
                leader_epoch: (version >= 9).then_some(5),
                last_fetched_epoch: (version >= 12).then_some(4),
            };
            let topics: Vec<_> = request
                .topics
                .iter()
                .map(|topic| (topic.id, topic.name, topic.partitions.to_vec()))
                .collect();
            let partition = |partition| PartitionRequest { partition, params };
            let key = |name| {
                if version >= 13 { (ID, "") } else { (TopicId::ZERO, name) }
            };
            let expected =
                [(key("foo"), vec![partition(0), partition(1)]), (key("bar"), vec![partition(2)])];
            assert_eq!(topics, expected.map(|((id, name), partitions)| (id, name, partitions)));

            let forgotten: Vec<_> = request
                .forgotten
                .iter()
                .map(|topic| ((topic.id, topic.name), topic.partitions.to_vec()))
                .collect();
            if version < 7 {
                assert_eq!(forgotten, []);
            } else {
                assert_eq!(forgotten, [(key("old"), vec![4, 5, 6])]);
            }
        });
    }
}

#[test]
fn the_replica_is_found_where_the_version_has_it() {
    let old = FetchRequest::default().with_replica_id(3.into());
    let new = FetchRequest::default()
        .with_replica_state(ReplicaState::default().with_replica_id(3.into()));
    for version in 4..=18 {
        let (has, lacks) = if version >= 15 { (&new, &old) } else { (&old, &new) };
        assert_eq!(replica_id(has, version), 3);
        assert_eq!(replica_id(lacks, version), -1);
        let kind = |message| with_request(message, version, Sender::default(), |r| r.fetcher);
        assert_eq!(kind(has), FetcherKind::Follower);
        assert_eq!(kind(lacks), FetcherKind::Consumer);
    }
    // The debugging consumer of Kafka's tools has -2, and broker 0 is a broker.
    let kind = |id: i32| {
        let message = FetchRequest::default().with_replica_id(id.into());
        with_request(&message, 12, Sender::default(), |request| request.fetcher)
    };
    assert_eq!(kind(-2), FetcherKind::Consumer);
    assert_eq!(kind(0), FetcherKind::Follower);
}

#[test]
fn negative_epochs_are_absent_and_zero_is_not() {
    for (wire, expected) in [(i32::MIN, None), (-1, None), (0, Some(0)), (7, Some(7))] {
        let partition =
            FetchPartition::default().with_current_leader_epoch(wire).with_last_fetched_epoch(wire);
        let message = FetchRequest::default()
            .with_topics(vec![FetchTopic::default().with_partitions(vec![partition])]);
        with_request(&message, 18, Sender::default(), |request| {
            let params = request.topics[0].partitions[0].params;
            assert_eq!(params.leader_epoch, expected);
            assert_eq!(params.last_fetched_epoch, expected);
        });
    }
}

#[test]
fn only_isolation_level_one_is_read_committed() {
    for level in [-1, 0, 1, 2] {
        let message = FetchRequest::default().with_isolation_level(level);
        let profile = with_request(&message, 11, Sender::default(), |r| r.profile);
        assert_eq!(profile.read_committed, level == 1);
    }
}

#[test]
fn a_request_without_partitions_allocates_nothing() {
    let message = FetchRequest::default().with_session_id(1).with_session_epoch(9);
    let memory = allocation_counter::measure(|| {
        with_request(&message, 18, Sender::default(), |request| {
            assert_eq!(request.metadata.epoch, 9);
        });
    });
    assert_eq!(memory.count_total, 0);
}

fn wish(partition: i32) -> PartitionRequest {
    PartitionRequest {
        partition,
        params: FetchParams {
            fetch_offset: 100,
            log_start_offset: -1,
            max_bytes: 10,
            leader_epoch: None,
            last_fetched_epoch: Some(1),
        },
    }
}

#[test]
fn a_request_names_topics_as_its_version_does() {
    for version in 4..=18 {
        let message = FetchRequest::default();
        let mut builder = RequestBuilder::new(version, FetchMetadata::INITIAL, message);
        builder.fetch(ID, "foo", [wish(3), wish(1)]);
        builder.fetch(ID, "bar", [wish(0)]);
        builder.forget(ID, "old", [7, 2]);
        let message = builder.finish();
        message
            .encode(&mut bytes::BytesMut::new(), version)
            .unwrap_or_else(|error| panic!("v{version}: {error:#}"));

        let key = |name| {
            if version >= 13 { (ID.as_u128(), "") } else { (0, name) }
        };
        let topics: Vec<_> = message
            .topics
            .iter()
            .map(|topic| {
                let partitions: Vec<_> = topic.partitions.iter().map(|p| p.partition).collect();
                ((topic.topic_id.as_u128(), topic.topic.as_str()), partitions)
            })
            .collect();
        assert_eq!(topics, [(key("foo"), vec![3, 1]), (key("bar"), vec![0])]);

        let forgotten: Vec<_> = message
            .forgotten_topics_data
            .iter()
            .map(|topic| {
                ((topic.topic_id.as_u128(), topic.topic.as_str()), topic.partitions.clone())
            })
            .collect();
        if version < 7 {
            assert_eq!(forgotten, []);
        } else {
            assert_eq!(forgotten, [(key("old"), vec![7, 2])]);
        }
    }
}

#[test]
fn what_a_fetcher_asks_is_what_the_broker_reads() {
    for version in 4..=18 {
        let metadata = FetchMetadata::new_incremental(55);
        let message = FetchRequest::default();
        let mut builder = RequestBuilder::new(version, metadata, message).replica(2, 6);
        builder.fetch(ID, "foo", [wish(4)]);
        let message = builder.finish();
        assert_eq!(replica_id(&message, version), 2);
        with_request(&message, version, Sender::default(), |request| {
            let expected = if version < 7 { FetchMetadata::LEGACY } else { metadata };
            assert_eq!(request.metadata, expected);
            let mut asked = wish(4);
            if version < 12 {
                asked.params.last_fetched_epoch = None;
            }
            assert_eq!(request.topics[0].partitions, [asked]);
        });
    }
}
