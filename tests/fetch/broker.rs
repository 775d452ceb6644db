//! Fetches over logs: what the read stage and the session make of each other.

use crate::log::{Carried, Logs};
use crate::support::{
    BAR, Broker, FOO, FOO_AGAIN, PARAMS, Request, Topic, ZAR, answered, at, fetch, one_shard,
    refused,
};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{ChangeTracking, FetchParams};

const PLENTY: u32 = 1 << 20;

/// A broker with a partition foo-0 of three records in epoch 5.
fn with_foo() -> (Broker, Logs) {
    let mut logs = Logs::default();
    logs.create(FOO, 0);
    for _ in 0..3 {
        logs.append("foo", 0, 10);
    }
    (Broker::of_one_shard(10, 1000), logs)
}

fn carried(rows: &[(&str, ErrorCode, u32)]) -> Vec<Carried> {
    rows.iter().map(|&(label, error, bytes)| (label.to_owned(), error, bytes)).collect()
}

/// Asks for a partition of a topic from an offset on.
fn from(request: Request, topic: Topic, fetch_offset: i64) -> Request {
    request.wants_with(topic, 0, FetchParams { fetch_offset, ..PARAMS })
}

#[test]
fn s46_an_unknown_partition_by_name_is_answered_until_it_is_created() {
    let (mut broker, mut logs) = with_foo();
    logs.create(FOO, 1);
    let unknown = ("bar-0", ErrorCode::UnknownTopicOrPartition, 0);
    let named = |id, epoch| fetch(id, epoch).by_name();
    let request = from(named(0, 0), FOO, 3).wants(FOO, 1).wants(BAR, 0);
    let (response, rows) = logs.serve(&mut broker, &request, PLENTY);
    let id = response.session_id;
    let none = ErrorCode::None;
    assert_eq!(rows, carried(&[("foo-0", none, 0), ("foo-1", none, 0), unknown]));
    let (_, rows) = logs.serve(&mut broker, &named(id, 1), PLENTY);
    assert_eq!(rows, carried(&[unknown]));
    logs.create(BAR, 0);
    let (_, rows) = logs.serve(&mut broker, &named(id, 2), PLENTY);
    assert_eq!(rows, carried(&[("bar-0", none, 0)]));
    let (response, _) = logs.serve(&mut broker, &named(id, 3), PLENTY);
    assert_eq!(response, answered(id, &[]));
}

#[test]
fn s47_leader_epochs_are_checked_on_every_fetch_of_a_session() {
    let (mut broker, mut logs) = with_foo();
    let of_epoch = |request: Request, leader_epoch| {
        let params = FetchParams { fetch_offset: 3, leader_epoch, ..PARAMS };
        request.wants_with(FOO, 0, params)
    };
    let (response, _) = logs.serve(&mut broker, &of_epoch(fetch(0, 0), Some(5)), PLENTY);
    let id = response.session_id;
    let error = |broker: &mut Broker, logs: &Logs, request: &Request| {
        let (_, rows) = logs.serve(broker, request, PLENTY);
        rows.first().map(|&(_, error, _)| error)
    };
    assert_eq!(error(&mut broker, &logs, &fetch(id, 1)), None);
    let older = of_epoch(fetch(id, 2), Some(4));
    assert_eq!(error(&mut broker, &logs, &older), Some(ErrorCode::FencedLeaderEpoch));
    let newer = of_epoch(fetch(id, 3), Some(6));
    assert_eq!(error(&mut broker, &logs, &newer), Some(ErrorCode::UnknownLeaderEpoch));
    let right = of_epoch(fetch(id, 4), Some(5));
    assert_eq!(error(&mut broker, &logs, &right), Some(ErrorCode::None));
    logs.replica("foo", 0).leader_epoch = 6;
    let idle = fetch(id, 5);
    assert_eq!(error(&mut broker, &logs, &idle), Some(ErrorCode::FencedLeaderEpoch));
    let without = of_epoch(fetch(id, 6), None);
    assert_eq!(error(&mut broker, &logs, &without), Some(ErrorCode::None));
}

#[test]
fn s48_a_log_that_has_diverged_is_told_so_without_records() {
    let (mut broker, mut logs) = with_foo();
    logs.replica("foo", 0).leader_epoch = 7;
    logs.append("foo", 0, 10);
    let of_last = |request: Request, last_fetched_epoch| {
        let params = FetchParams { fetch_offset: 2, last_fetched_epoch, ..PARAMS };
        request.wants_with(FOO, 0, params)
    };
    let (response, rows) = logs.serve(&mut broker, &of_last(fetch(0, 0), Some(5)), PLENTY);
    assert_eq!(rows, carried(&[("foo-0", ErrorCode::None, 20)]));
    let id = response.session_id;
    for epoch in 1..4 {
        let request = of_last(fetch(id, epoch), Some(6));
        let (_, rows) = logs.serve(&mut broker, &request, PLENTY);
        assert_eq!(rows, carried(&[("foo-0", ErrorCode::None, 0)]), "each time");
    }
    let (_, rows) = logs.serve(&mut broker, &of_last(fetch(id, 4), Some(5)), PLENTY);
    assert_eq!(rows, carried(&[("foo-0", ErrorCode::None, 20)]));
}

#[test]
fn s49_an_unknown_id_fails_its_partition_and_nothing_else() {
    let (mut broker, logs) = with_foo();
    broker.names.remove(&ZAR.id);
    let request = fetch(0, 0).wants(ZAR, 0).wants(FOO, 0);
    let (response, rows) = logs.serve(&mut broker, &request, PLENTY);
    assert_eq!(response.error, ErrorCode::None);
    let unknown = ("?-0", ErrorCode::UnknownTopicId, 0);
    assert_eq!(rows, carried(&[("foo-0", ErrorCode::None, 30), unknown]));
}

#[test]
fn s50_partitions_come_in_the_order_of_the_request_and_share_its_limit() {
    let (mut broker, mut logs) = with_foo();
    for (topic, bytes) in [(ZAR, 500), (BAR, 30)] {
        logs.create(topic, 0);
        logs.append(topic.name, 0, bytes);
    }
    let request = fetch(0, 0).wants(ZAR, 0).wants(BAR, 0).wants(FOO, 0);
    let (response, rows) = logs.serve(&mut broker, &request, 100);
    // The first may exceed any limit, the others get what is left: here nothing.
    let none = ErrorCode::None;
    assert_eq!(rows, carried(&[("zar-0", none, 500), ("bar-0", none, 0), ("foo-0", none, 0)]));
    // Full answers do not move anything yet: the order is that of the response.
    assert_eq!(broker.order(response.session_id), ["zar-0", "bar-0", "foo-0"]);
    let id = response.session_id;
    let (_, rows) = logs.serve(&mut broker, &from(fetch(id, 1), ZAR, 1), 45);
    assert_eq!(rows, carried(&[("bar-0", none, 30), ("foo-0", none, 10)]));
    assert_eq!(broker.order(id), ["zar-0", "bar-0", "foo-0"]);
}

#[test]
fn s51_an_unresolved_partition_is_not_read() {
    for is_follower in [false, true] {
        let mut broker = Broker::of_one_shard(10, 1000);
        broker.names.clear();
        let request = fetch(0, 0).wants(FOO, 0);
        let request = if is_follower { request.follower() } else { request };
        let context = broker.begin(&request);
        let partition = broker.cache.visit(&context).next().expect("one");
        assert_eq!((partition.topic, partition.topic_id.as_u128()), (None, FOO.id));
        let reads = broker.read(&context, |_| unreachable!("it has no name"));
        let (_, read) = &reads[0];
        assert_eq!(read.error(), ErrorCode::UnknownTopicId);
        assert_eq!((read.high_watermark(), read.log_start_offset()), (-1, -1));
        assert_eq!(broker.finish(context, reads), answered(1, &["?-0"]));
    }
}

#[test]
fn s52_a_broker_that_leads_no_more_names_the_leader() {
    let (mut broker, mut logs) = with_foo();
    let (response, _) = logs.serve(&mut broker, &from(fetch(0, 0).version(16), FOO, 3), PLENTY);
    let id = response.session_id;
    logs.replica("foo", 0).is_leader = false;
    let context = broker.begin(&fetch(id, 1).version(16));
    let reads = logs.read_all(&mut broker, &context, PLENTY);
    let plain: Vec<_> = reads.iter().map(|(_, read)| *read).collect();
    assert!(plain[0].has_current_leader());
    // 67 bytes of body without the tag of the leader, and 4 before them.
    assert_eq!(broker.cache.response_size(&context, &plain), 4 + 67 + 11);
    assert_eq!(broker.finish(context, reads), answered(id, &["foo-0"]));
}

#[test]
fn s53_some_partitions_can_be_sized_alone() {
    let (mut broker, mut logs) = with_foo();
    for topic in [BAR, ZAR] {
        logs.create(topic, 0);
        logs.append(topic.name, 0, 100);
    }
    let context = broker.begin(&fetch(0, 0).follower().wants(FOO, 0).wants(BAR, 0).wants(ZAR, 0));
    let reads = logs.read_all(&mut broker, &context, PLENTY);
    let throttled: Vec<_> =
        reads.iter().filter(|(label, _)| label != "foo-0").map(|(_, read)| *read).collect();
    // Two topics, each of 18 bytes and a partition of 37 and its records.
    let size = broker.cache.response_size(&context, &throttled);
    assert_eq!(size, 4 + 12 + 2 * (18 + 37 + 100));
    let _ = broker.finish(context, reads);
}

#[test]
fn s54_an_id_that_is_not_the_logs_is_answered_so_and_none_is_not_checked() {
    let (mut broker, logs) = with_foo();
    broker.learn(FOO_AGAIN);
    let (_, rows) = logs.serve(&mut broker, &fetch(0, 0).wants(FOO_AGAIN, 0), PLENTY);
    assert_eq!(rows, carried(&[("foo-0", ErrorCode::InconsistentTopicId, 0)]));
    let (_, rows) = logs.serve(&mut broker, &fetch(0, 0).by_name().wants(FOO_AGAIN, 0), PLENTY);
    assert_eq!(rows, carried(&[("foo-0", ErrorCode::None, 30)]));
}

#[test]
fn a_topic_that_is_deleted_and_created_again_heals() {
    let (mut broker, mut logs) = with_foo();
    let (response, _) = logs.serve(&mut broker, &from(fetch(0, 0), FOO, 3), PLENTY);
    let id = response.session_id;
    broker.names.remove(&FOO.id);
    broker.learn(FOO_AGAIN);
    logs.create(FOO_AGAIN, 0);
    logs.append("foo", 0, 10);
    let inconsistent = carried(&[("foo-0", ErrorCode::InconsistentTopicId, 0)]);
    for epoch in 1..3 {
        let (_, rows) = logs.serve(&mut broker, &fetch(id, epoch), PLENTY);
        assert_eq!(rows, inconsistent);
    }
    let request = fetch(id, 3).wants(FOO_AGAIN, 0).forgets(FOO, 0);
    let (_, rows) = logs.serve(&mut broker, &request, PLENTY);
    assert_eq!(rows, carried(&[("foo-0", ErrorCode::None, 10)]));
    assert_eq!(broker.session(id).partitions.len(), 1);
}

#[test]
fn s63_a_fetch_whose_session_is_evicted_while_it_waits_is_answered() {
    let (mut broker, mut logs) = with_foo();
    let (response, _) = logs.serve(&mut broker, &from(fetch(0, 0), FOO, 3), PLENTY);
    let id = response.session_id;
    let context = broker.begin(&fetch(id, 1));
    let reads = logs.read_all(&mut broker, &context, PLENTY);
    assert_eq!(reads[0].1.records_size(), 0, "so it waits");
    for _ in 0..10 {
        let follower = fetch(0, 0).follower().wants(BAR, 0);
        let _ = broker.serve(&follower, |_| at(10));
    }
    assert!(!broker.live().contains(&id));
    logs.append("foo", 0, 10);
    let reads = logs.read_all(&mut broker, &context, PLENTY);
    assert_eq!(reads[0].1.records_size(), 10);
    let plain: Vec<_> = reads.iter().map(|(_, read)| *read).collect();
    assert_eq!(broker.cache.response_size(&context, &plain), 4 + 67 + 10);
    assert_eq!(broker.finish(context, reads), answered(id, &["foo-0"]));
    let gone = refused(ErrorCode::FetchSessionIdNotFound);
    assert_eq!(broker.serve(&fetch(id, 2), |_| at(10)), gone);
}

#[test]
fn s69_what_never_fits_is_served_once_the_others_are_behind_it() {
    for tracking in [ChangeTracking::Off, ChangeTracking::On] {
        let mut broker = Broker::new(one_shard(10, 1000).with_change_tracking(tracking));
        let mut logs = Logs::default();
        for (topic, bytes) in [(FOO, 40), (ZAR, 900), (BAR, 40)] {
            logs.create(topic, 0);
            for _ in 0..3 {
                logs.append(topic.name, 0, bytes);
            }
        }
        let request = fetch(0, 0).wants(FOO, 0).wants(ZAR, 0).wants(BAR, 0);
        let (response, _) = logs.serve(&mut broker, &request, 0);
        let id = response.session_id;
        let served = |broker: &mut Broker, request: &Request| {
            let (_, rows) = logs.serve(broker, request, 100);
            rows.into_iter()
                .filter(|(_, _, bytes)| *bytes > 0)
                .map(|(label, ..)| label)
                .collect::<Vec<_>>()
        };
        let next = from(fetch(id, 1), FOO, 1);
        assert_eq!(served(&mut broker, &next), ["foo-0"], "80 of 100 bytes");
        let next = from(fetch(id, 2), FOO, 3);
        assert_eq!(served(&mut broker, &next), ["zar-0"], "its turn: {tracking:?}");
        let next = fetch(id, 3);
        assert_eq!(served(&mut broker, &next), ["bar-0"]);
        let next = from(fetch(id, 4), BAR, 3);
        assert_eq!(served(&mut broker, &next), ["zar-0"]);
    }
}
