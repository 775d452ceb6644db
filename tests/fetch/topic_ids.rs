//! Topic ids that the broker does not know yet, no longer, or for another topic than before.

use crate::support::{
    BAR, Broker, FOO, FOO_AGAIN, Topic, ZAR, ZERO, answered, at, failed, fetch, refused,
};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::ContextKind;
use std::collections::BTreeMap;

fn broker_that_knows(topics: &[Topic]) -> Broker {
    let mut broker = Broker::of_one_shard(10, 1000);
    broker.names = BTreeMap::new();
    for &topic in topics {
        broker.learn(topic);
    }
    broker
}

#[test]
fn s08_a_request_by_name_needs_no_ids() {
    let mut broker = broker_that_knows(&[]);
    let context = broker.begin(&fetch(0, 0).by_name().wants_first(FOO, 2));
    assert_eq!(context.kind(), ContextKind::Full);
    let response = broker.answer(context, |_| at(10));
    assert_eq!(response, answered(1, &["foo-0", "foo-1"]));
}

#[test]
fn s09_unknown_ids_are_answered_kept_and_resolved_later() {
    let mut broker = broker_that_knows(&[]);
    let context = broker.begin(&fetch(0, 0).wants_first(FOO, 2).wants(BAR, 1));
    assert_eq!(context.kind(), ContextKind::Full);
    assert_eq!(broker.listed(&context), ["?-0", "?-1", "?-1"]);
    let response = broker.answer(context, |_| unreachable!("all are unknown"));
    assert_eq!(response, answered(1, &["?-0", "?-1", "?-1"]));
    broker.learn(FOO);
    let context = broker.begin(&fetch(1, 1));
    assert_eq!(broker.listed(&context), ["foo-0", "foo-1", "?-1"]);
    let response = broker.answer(context, |_| at(10));
    assert_eq!(response, answered(1, &["foo-0", "foo-1", "?-1"]));
    let response = broker.serve(&fetch(1, 2), |_| at(10));
    assert_eq!(response, answered(1, &["?-1"]), "its error lasts");
}

#[test]
fn s10_a_session_by_name_takes_no_ids() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).by_name().wants_first(FOO, 2));
    let before = broker.cache.export();
    let response = broker.serve(&fetch(id, 1).wants(BAR, 0), |_| at(10));
    assert_eq!(response, refused(ErrorCode::FetchSessionTopicIdError));
    assert_eq!(broker.cache.export(), before);
}

#[test]
fn s11_a_session_by_id_takes_no_names() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let before = broker.cache.export();
    let response = broker.serve(&fetch(id, 1).by_name().forgets(FOO, 0), |_| at(10));
    assert_eq!(response, refused(ErrorCode::FetchSessionTopicIdError));
    assert_eq!(broker.cache.export(), before);
}

#[test]
fn s12_a_session_survives_that_its_topic_gets_another_id() {
    let mut broker = broker_that_knows(&[FOO]);
    let gone = failed(ErrorCode::UnknownTopicOrPartition);
    let request = fetch(0, 0).wants(FOO, 0);
    let id = broker.serve(&request, |_| gone).session_id;
    broker.names.remove(&FOO.id);
    broker.learn(FOO_AGAIN);
    let inconsistent = failed(ErrorCode::InconsistentTopicId);
    let response = broker.serve(&fetch(id, 1), |_| inconsistent);
    assert_eq!(response, answered(id, &["foo-0"]));
    assert_eq!(broker.live(), [id]);
}

#[test]
fn s13_names_are_learnt_one_by_one_and_never_lost() {
    let mut broker = broker_that_knows(&[]);
    let unknown = |_: &str| at(10);
    let request = fetch(0, 0).wants(FOO, 0).wants(BAR, 0).wants(ZAR, 0);
    let id = broker.serve(&request, unknown).session_id;
    broker.learn(FOO);
    let context = broker.begin(&fetch(id, 1));
    assert_eq!(broker.listed(&context), ["foo-0", "?-0", "?-0"]);
    broker.learn(BAR);
    let context = broker.begin(&fetch(id, 2).wants(BAR, 0));
    assert_eq!(broker.listed(&context), ["foo-0", "bar-0", "?-0"]);
    broker.learn(ZAR);
    let context = broker.begin(&fetch(id, 3));
    assert_eq!(broker.listed(&context), ["foo-0", "bar-0", "zar-0"]);
    broker.names.clear();
    let context = broker.begin(&fetch(id, 4));
    assert_eq!(broker.listed(&context), ["foo-0", "bar-0", "zar-0"]);
}

#[test]
fn s14_a_partition_is_forgotten_whether_its_name_is_known_or_not() {
    for foo_is_known_at_first in [false, true] {
        for foo_is_known_when_forgotten in [false, true] {
            let known: &[Topic] = if foo_is_known_at_first { &[FOO] } else { &[] };
            let mut broker = broker_that_knows(known);
            let id = broker.open(&fetch(0, 0).wants(FOO, 0).wants(BAR, 0));
            broker.names.clear();
            if foo_is_known_when_forgotten {
                broker.learn(FOO);
            }
            let context = broker.begin(&fetch(id, 1).forgets(FOO, 0));
            assert_eq!(context.kind(), ContextKind::Incremental);
            assert_eq!(broker.listed(&context), ["?-0"]);
            let context = broker.begin(&fetch(id, 2).forgets(BAR, 0));
            assert_eq!(context.kind(), ContextKind::Sessionless);
            assert!(broker.listed(&context).is_empty());
        }
    }
}

#[test]
fn s15_errors_are_carried_by_every_kind_of_answer() {
    let mut broker = broker_that_knows(&[FOO]);
    let row = |_: &str| failed(ErrorCode::UnknownTopicOrPartition);
    let wanted = |id, epoch| fetch(id, epoch).wants(FOO, 0).wants(BAR, 0);
    let both = ["foo-0", "?-0"];
    assert_eq!(broker.serve(&wanted(0, -1), row), answered(0, &both));
    assert_eq!(broker.serve(&wanted(0, 0), row), answered(1, &both));
    assert_eq!(broker.serve(&fetch(1, 1), row), answered(1, &both));
    let replayed = broker.begin(&fetch(1, 1));
    assert_eq!(replayed.kind(), ContextKind::Error);
    let invalid = refused(ErrorCode::InvalidFetchSessionEpoch);
    assert_eq!(broker.answer(replayed, row), invalid);
}

#[test]
fn s21_partitions_are_told_apart_by_id_or_by_name_as_the_session_goes() {
    let mut broker = broker_that_knows(&[FOO, FOO_AGAIN, BAR]);
    let all = |it: crate::support::Request| {
        it.wants(FOO, 0).wants(FOO_AGAIN, 0).wants(BAR, 0).wants(ZERO, 0)
    };
    let by_id = broker.begin(&all(fetch(0, 0)));
    assert_eq!(broker.listed(&by_id), ["foo-0", "foo-0", "bar-0", "?-0"]);
    let by_name = broker.begin(&all(fetch(0, 0).by_name()));
    assert_eq!(broker.listed(&by_name), ["foo-0", "bar-0", "-0"]);
    // Known by one id under two names, it is still one partition.
    broker.names.remove(&FOO.id);
    let id = broker.serve(&fetch(0, 0).wants(FOO, 0), |_| at(10)).session_id;
    broker.learn(FOO);
    let context = broker.begin(&fetch(id, 1).wants(FOO, 0));
    assert_eq!(context.partition_count(), 1);
}

#[test]
fn s22_a_name_is_learnt_once_and_then_stays() {
    let mut broker = broker_that_knows(&[FOO]);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0).wants(BAR, 0));
    broker.names.insert(FOO.id, "renamed");
    let context = broker.begin(&fetch(id, 1).wants(FOO, 0));
    assert_eq!(broker.listed(&context), ["foo-0", "?-0"]);
    broker.names.insert(BAR.id, "bar");
    let context = broker.begin(&fetch(id, 2));
    assert_eq!(broker.listed(&context), ["foo-0", "bar-0"]);
    broker.names.insert(BAR.id, "renamed");
    let context = broker.begin(&fetch(id, 3));
    assert_eq!(broker.listed(&context), ["foo-0", "bar-0"]);
}

#[test]
fn a_topics_partitions_may_differ_in_whether_they_are_resolved() {
    let mut broker = broker_that_knows(&[FOO]);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    broker.names.clear();
    let context = broker.begin(&fetch(id, 1).wants(FOO, 1));
    assert_eq!(broker.listed(&context), ["foo-0", "?-1"]);
    let reads = broker.answer(context, |_| failed(ErrorCode::UnknownTopicOrPartition));
    assert_eq!(reads, answered(id, &["foo-0", "?-1"]));
    // Forgetting either leaves the other.
    let context = broker.begin(&fetch(id, 2).forgets(FOO, 0));
    assert_eq!(broker.listed(&context), ["?-1"]);
    let context = broker.begin(&fetch(id, 3).wants(FOO, 0).wants(FOO, 1));
    assert_eq!(broker.listed(&context), ["?-1", "?-0"]);
    broker.learn(FOO);
    let context = broker.begin(&fetch(id, 4));
    assert_eq!(broker.listed(&context), ["foo-1", "foo-0"]);
    assert_eq!(context.partition_count(), 2);
}

#[test]
fn a_name_is_asked_for_once_a_topic_and_only_while_it_is_not_known() {
    use core::cell::Cell;
    use kafka_coordination::fetch::{
        CacheConfig, FetchCache, FetchMetadata, FetchRequest, FetcherKind, PartitionRequest,
        Profile, RequestTopic,
    };
    use kafka_coordination::{Monotonic, TopicId, TopicName};
    let asked = Cell::new(0);
    let known = Cell::new(false);
    let names = |_: TopicId| {
        asked.set(asked.get() + 1);
        known.get().then(|| TopicName::from("foo"))
    };
    let partitions: Vec<_> = (0..1000)
        .map(|partition| PartitionRequest { partition, params: crate::support::PARAMS })
        .collect();
    let topic = |id| RequestTopic { id: TopicId::from_u128(id), name: "", partitions: &partitions };
    let topics = [topic(1), topic(2)];
    let request = |session_id, epoch, topics| FetchRequest {
        version: 13,
        metadata: FetchMetadata { session_id, epoch },
        fetcher: FetcherKind::Consumer,
        profile: Profile::default(),
        principal: 0,
        topics,
        forgotten: &[],
    };
    let mut cache = FetchCache::new(CacheConfig::default());
    let now = Monotonic::from_millis(0);
    let context = cache.begin(&request(0, 0, &topics), &names, now);
    assert_eq!(asked.take(), 2, "once for each of two topics of 1000 partitions");
    let mut reads: Vec<_> = cache.visit(&context).map(|it| at(10).of(it.slot)).collect();
    let id =
        cache.finish(context, &mut reads, &mut crate::support::Draws::default(), now).session_id;
    let _context = cache.begin(&request(id, 1, &[]), &names, now);
    assert_eq!(asked.take(), 2, "both are unresolved");
    known.set(true);
    let _context = cache.begin(&request(id, 2, &topics), &names, now);
    assert_eq!(asked.take(), 2, "they resolve; what the request lists is there already");
    let _context = cache.begin(&request(id, 3, &topics), &names, now);
    let _context = cache.begin(&request(id, 4, &[]), &names, now);
    assert_eq!(asked.take(), 0, "all are resolved");
}

#[test]
fn the_zero_id_has_no_name_whatever_the_metadata_says() {
    let zero = Topic { id: 0, name: "zero" };
    let mut broker = Broker::of_one_shard(10, 1000);
    broker.learn(zero);
    let full = broker.begin(&fetch(0, 0).wants(zero, 0));
    assert_eq!(broker.listed(&full), ["?-0"]);
    let id = broker.answer(full, |_| at(10)).session_id;
    let context = broker.begin(&fetch(id, 1).wants(zero, 1));
    assert_eq!(broker.listed(&context), ["?-0", "?-1"]);
}
