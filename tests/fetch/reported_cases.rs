//! What went wrong in other brokers and clients, each as a case.

use crate::support::{
    BAR, BY_ID, Broker, FOO, Topic, ZERO, answered, at, failed, fetch, refused, throttled,
};
use core::num::NonZeroU32;
use kafka_coordination::fetch::{CacheConfig, ContextKind, FetchMetadata, FetchParams};
use kafka_coordination::{ErrorCode, Monotonic, Random};

const INVALID_EPOCH: ErrorCode = ErrorCode::InvalidFetchSessionEpoch;
const NOT_FOUND: ErrorCode = ErrorCode::FetchSessionIdNotFound;

/// KAFKA-8443: preferred replicas and log starts were left out of incremental responses.
#[test]
fn f07_what_forces_a_partition_into_an_incremental_response() {
    let told = at(100).log_start(10);
    let once = [
        (told, false, (100, 10)),
        (at(101).log_start(10), true, (101, 10)),
        (at(99).log_start(10), true, (99, 10)),
        (at(100).log_start(11), true, (100, 11)),
        (at(100).log_start(9), true, (100, 9)),
    ];
    let repeated = [
        (told.records(1), (100, 10)),
        (told.preferred(), (100, 10)),
        (told.diverging(), (100, 10)),
        (told.error(ErrorCode::NotLeaderOrFollower), (-1, 10)),
    ];
    let carries = |is_carried: bool| if is_carried { vec!["foo-0"] } else { Vec::new() };
    let open = || {
        let mut broker = Broker::of_one_shard(1, 1000);
        let id = broker.serve(&fetch(0, 0).wants(FOO, 0), |_| told).session_id;
        (broker, id)
    };
    for (row, is_carried, reported) in once {
        let (mut broker, id) = open();
        for (epoch, is_carried) in [(1, is_carried), (2, false)] {
            let response = broker.serve(&fetch(id, epoch), |_| row);
            assert_eq!(response.partitions, carries(is_carried), "{row:?}");
            assert_eq!(broker.reported(id, "foo-0"), reported, "{row:?}");
        }
    }
    for (row, reported) in repeated {
        let (mut broker, id) = open();
        for epoch in 1..4 {
            let response = broker.serve(&fetch(id, epoch), |_| row);
            assert_eq!(response.partitions, ["foo-0"], "{row:?}");
            assert_eq!(broker.reported(id, "foo-0"), reported, "{row:?}");
        }
        // Then all is well again, which only the error's end is news of.
        let is_carried = reported.0 == -1;
        for (epoch, is_carried) in [(4, is_carried), (5, false)] {
            let response = broker.serve(&fetch(id, epoch), |_| told);
            assert_eq!(response.partitions, carries(is_carried), "{row:?}");
        }
    }
}

#[test]
fn f07_a_partition_that_is_not_in_the_session_is_left_out() {
    let mut broker = Broker::of_one_shard(2, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let other = broker.begin(&fetch(0, 0).wants_first(BAR, 3));
    let mut stray = broker.read(&other, |_| at(10).records(1));
    let context = broker.begin(&fetch(id, 1));
    let response = broker.finish(context, stray.split_off(1));
    assert_eq!(response, answered(id, &[]));
}

/// KAFKA-9338: the leader epoch was checked only on the first fetch of a session.
#[test]
fn f08_every_field_of_a_request_is_replaced_even_by_nothing() {
    let first = FetchParams {
        fetch_offset: 0,
        max_bytes: 100,
        log_start_offset: 0,
        leader_epoch: Some(5),
        last_fetched_epoch: Some(4),
    };
    let second = FetchParams {
        fetch_offset: 20,
        max_bytes: 777,
        log_start_offset: 3,
        leader_epoch: Some(6),
        last_fetched_epoch: None,
    };
    let third = FetchParams { leader_epoch: None, ..second };
    // On the wire every negative number stands for "none".
    let negative =
        FetchParams { leader_epoch: Some(-7), last_fetched_epoch: Some(i32::MIN), ..second };
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).follower().wants_with(FOO, 0, first));
    let mut params = |request| {
        let context = broker.begin(&request);
        broker.cache.visit(&context).next().expect("one").params
    };
    assert_eq!(params(fetch(id, 1)), first);
    assert_eq!(params(fetch(id, 2).wants_with(FOO, 0, second)), second);
    assert_eq!(params(fetch(id, 3).wants_with(FOO, 0, third)), third);
    assert_eq!(params(fetch(id, 4)), third);
    assert_eq!(params(fetch(id, 5).wants_with(FOO, 0, second)), second);
    assert_eq!(params(fetch(id, 6).wants_with(FOO, 0, negative)), third);
}

/// KAFKA-6946: a throttled answer dropped the session.
#[test]
fn f09_a_throttled_answer_keeps_its_session() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let context = broker.begin(&fetch(id, 1));
    assert_eq!(broker.throttle(context, 100), throttled(id, 100));
    assert_eq!(broker.serve(&fetch(id, 1), |_| at(10)), refused(INVALID_EPOCH));
    assert_eq!(broker.serve(&fetch(id, 2), |_| at(10)), answered(id, &[]));
}

#[test]
fn f09_without_a_session_it_makes_none() {
    let mut broker = Broker::of_one_shard(1, 1000);
    for request in [fetch(0, 0), fetch(0, -1), fetch(9, 1)] {
        let context = broker.begin(&request.wants(FOO, 0));
        assert_eq!(broker.throttle(context, 100), throttled(0, 100));
        assert!(broker.live().is_empty());
    }
}

#[test]
fn f09_what_was_sized_and_then_throttled_is_still_told() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let context = broker.begin(&fetch(id, 1));
    let reads = broker.read(&context, |_| at(20).records(5));
    let reads: Vec<_> = reads.into_iter().map(|(_, read)| read).collect();
    let size = broker.cache.response_size(&context, &reads);
    assert_eq!(broker.cache.response_size(&context, &reads), size);
    let _ = broker.throttle(context, 100);
    assert_eq!(broker.reported(id, "foo-0"), (10, 0));
    assert_eq!(broker.order(id), ["foo-0", "foo-1"]);
    let response = broker.serve(&fetch(id, 2), |_| at(20));
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
}

const ZED: Topic = Topic { id: 26, name: "zed" };
const XEN: Topic = Topic { id: 24, name: "xen" };

/// KAFKA-13111: a topic reaches the fetcher before the metadata reaches the broker.
#[test]
fn f10_an_id_resolves_later() {
    let mut broker = Broker::of_one_shard(1, 1000);
    broker.learn(ZED);
    let context = broker.begin(&fetch(0, 0).version(13).wants(ZED, 0).wants(XEN, 0));
    assert_eq!(broker.listed(&context), ["zed-0", "?-0"]);
    let id = broker.answer(context, |_| at(10)).session_id;
    let next = |epoch| fetch(id, epoch).version(13);
    assert_eq!(broker.serve(&next(1), |_| at(10)), answered(id, &["?-0"]));
    broker.learn(XEN);
    let context = broker.begin(&next(2));
    assert_eq!(broker.listed(&context), ["zed-0", "xen-0"]);
    broker.names.remove(&XEN.id);
    let context = broker.begin(&next(3));
    assert_eq!(broker.listed(&context), ["zed-0", "xen-0"]);
}

#[test]
fn f10_it_is_forgotten_or_asked_for_again_whether_its_name_is_known_or_not() {
    for known_first in [false, true] {
        for known_then in [false, true] {
            let mut broker = Broker::of_one_shard(1, 1000);
            broker.learn(ZED);
            let know = |broker: &mut Broker, is_known| {
                broker.names.remove(&XEN.id);
                if is_known {
                    broker.learn(XEN);
                }
            };
            know(&mut broker, known_first);
            let id = broker.open(&fetch(0, 0).wants(ZED, 0).wants(XEN, 0));
            know(&mut broker, known_then);
            let context = broker.begin(&fetch(id, 1).wants(XEN, 0));
            assert_eq!(context.partition_count(), 2, "no second entry");
            let context = broker.begin(&fetch(id, 2).forgets(XEN, 0));
            assert_eq!(context.kind(), ContextKind::Incremental);
            assert_eq!(broker.listed(&context), ["zed-0"]);
        }
    }
}

/// KAFKA-10580.
#[test]
fn f11_ids_and_names_do_not_mix() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).version(13).wants(FOO, 0));
    let named = |id, epoch| fetch(id, epoch).by_name().wants(BAR, 0).forgets(FOO, 0);
    let mixed = refused(ErrorCode::FetchSessionTopicIdError);
    assert_eq!(broker.serve(&named(id, 1), |_| at(10)), mixed);
    assert_eq!(broker.serve(&named(id, 7), |_| at(10)), refused(INVALID_EPOCH));
    assert_eq!(broker.serve(&named(99, 1), |_| at(10)), refused(NOT_FOUND));
    let context = broker.begin(&fetch(id, 1).version(13));
    assert_eq!(broker.listed(&context), ["foo-0"], "nothing leaked in or out");
    let response = broker.serve(&fetch(id, 0).by_name().wants(BAR, 0), |_| at(10));
    assert_eq!(response.partitions, ["bar-0"]);
    let by_name = response.session_id;
    assert_eq!(broker.live(), [by_name]);
    assert_eq!(broker.serve(&fetch(by_name, 1).version(13), |_| at(10)), mixed);
    assert_eq!(broker.serve(&fetch(by_name, 1).by_name(), |_| at(10)), answered(by_name, &[]));
}

#[test]
fn f12_epochs_wrap_to_one() {
    for (epoch, next) in [
        (i32::MIN, -1),
        (-5, -1),
        (-1, -1),
        (0, 1),
        (1, 2),
        (i32::MAX - 1, i32::MAX),
        (i32::MAX, 1),
    ] {
        assert_eq!(FetchMetadata::next_epoch(epoch), next, "{epoch}");
    }
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    broker.cache.set_session_epoch(id, i32::MAX - 1);
    for epoch in [i32::MAX - 1, i32::MAX, 1, 2] {
        assert_eq!(broker.session(id).epoch, epoch);
        let response = broker.serve(&fetch(id, epoch), |_| at(10));
        assert_eq!(response, answered(id, &[]), "{epoch}");
    }
}

/// KAFKA-9401 cut the cache by ranges of ids, and some ids are in none.
#[test]
fn f13_hostile_session_ids_are_not_found() {
    let mut broker = Broker::new(CacheConfig::default());
    for id in [i32::MAX, i32::MIN, -1, 0] {
        assert_eq!(broker.serve(&fetch(id, 3), |_| at(10)), refused(NOT_FOUND));
    }
    let context = broker.begin(&fetch(i32::MAX, 0));
    assert_eq!(context.kind(), ContextKind::Full);
    assert_ne!(broker.answer(context, |_| at(10)).session_id, 0);
    let context = broker.begin(&fetch(i32::MIN, -1));
    assert_eq!(context.kind(), ContextKind::Sessionless);
}

/// Always the same number, in range or not.
struct Stuck(u32);

impl Random for Stuck {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        self.0
    }
}

#[test]
fn f13_a_random_source_that_repeats_itself_gives_distinct_ids() {
    const SESSIONS: usize = 200;
    for stuck in [0, 7, i32::MAX.cast_unsigned() - 2, i32::MAX.cast_unsigned(), u32::MAX] {
        let mut broker = Broker::of_one_shard(1000, 1000);
        let mut ids = Vec::new();
        for _ in 0..SESSIONS {
            let context = broker.begin(&fetch(0, 0));
            let now = Monotonic::from_millis(0);
            let answer = broker.cache.finish(context, &mut [], &mut Stuck(stuck), now);
            assert!(answer.session_id > 0, "{stuck}");
            ids.push(answer.session_id);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), SESSIONS, "{stuck}");
        assert_eq!(broker.live(), ids, "{stuck}");
    }
}

/// franz-go 535: forgetting the all-zero id crashed brokers.
#[test]
fn f14_the_zero_id_is_an_id_like_any_other_that_is_not_known() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let response =
        broker.serve(&fetch(0, 0).wants(ZERO, 0).wants(ZERO, 1).wants(FOO, 0), |_| at(10));
    let id = response.session_id;
    assert_eq!(response, answered(id, &["foo-0", "?-0", "?-1"]));
    let context = broker.begin(&fetch(id, 1).forgets(ZERO, 7));
    assert_eq!(broker.listed(&context), ["foo-0", "?-0", "?-1"]);
    let context = broker.begin(&fetch(id, 2).forgets(ZERO, 0).wants(ZERO, 2));
    assert_eq!(broker.listed(&context), ["foo-0", "?-1", "?-2"]);
}

#[test]
fn f14_names_are_apart_although_all_their_ids_are_zero() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).by_name().wants(FOO, 0).wants(BAR, 0));
    let context = broker.begin(&fetch(id, 1).by_name().forgets(FOO, 0));
    assert_eq!(broker.listed(&context), ["bar-0"]);
}

/// sarama 1644: a client that opened a session on every poll churned those of all others.
#[test]
fn f15_a_client_that_opens_a_session_on_every_poll_does_no_harm() {
    let mut broker = Broker::of_one_shard(2, 120_000);
    let good = broker.open(&fetch(0, 0).wants_first(FOO, 10));
    assert_eq!(good, 1);
    let mut epoch = 0;
    let mut touch = |broker: &mut Broker, now| {
        epoch += 1;
        assert_eq!(broker.at(now).serve(&fetch(good, epoch), |_| at(10)), answered(good, &[]));
    };
    let churn = |broker: &mut Broker, now| {
        let response = broker.at(now).serve(&fetch(0, 0).wants(BAR, 0), |_| at(10));
        assert_eq!(response.error, ErrorCode::None);
        assert_eq!(response.partitions, ["bar-0"], "the data is complete");
        response.session_id
    };
    touch(&mut broker, 1000);
    assert_eq!(churn(&mut broker, 1000), 2);
    for now in 2..=120 {
        touch(&mut broker, now * 1000);
        assert_eq!(churn(&mut broker, now * 1000), 0);
    }
    touch(&mut broker, 120_500);
    assert_eq!(churn(&mut broker, 121_000), 0, "session 2 is exactly 120,000 old");
    assert_eq!(churn(&mut broker, 121_001), 3);
    assert_eq!(broker.live(), [good, 3]);
    assert_eq!(broker.cache.stats().evictions(), 1);
    touch(&mut broker, 121_002);
}

#[test]
fn f15_a_client_without_sessions_takes_no_slot() {
    let mut broker = Broker::of_one_shard(1, 1000);
    for _ in 0..100 {
        let response = broker.serve(&fetch(0, -1).wants(FOO, 0), |_| at(10));
        assert_eq!(response, answered(0, &["foo-0"]));
    }
    assert_eq!(broker.cache.stats().created, 0);
}

/// KAFKA-7109, Redpanda 1115.
#[test]
fn f16_a_session_may_start_empty_and_not_stay_so() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0));
    assert_eq!(broker.cache.stats().partitions, 0);
    let context = broker.begin(&fetch(id, 1));
    assert_eq!(context.kind(), ContextKind::Sessionless);
    assert_eq!(broker.answer(context, |_| at(10)), answered(0, &[]));
    assert_eq!(broker.serve(&fetch(id, 2), |_| at(10)), refused(NOT_FOUND));

    let id = broker.open(&fetch(0, 0));
    let context = broker.begin(&fetch(id, 1).wants(FOO, 0));
    assert_eq!(context.kind(), ContextKind::Incremental);
    assert_eq!(broker.listed(&context), ["foo-0"]);
    assert_eq!(broker.session(id).epoch, 2);
}

#[test]
fn f16_a_request_without_partitions_asks_for_all_of_its_session() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let context = broker.begin(&fetch(id, 1));
    assert_eq!(broker.listed(&context).len(), 3);
    assert_eq!(context.partition_count(), 3);
}

#[test]
fn f16_a_close_serves_what_it_lists() {
    let mut broker = Broker::of_one_shard(1, 1000);
    for known in [true, false] {
        let id = if known { broker.open(&fetch(0, 0).wants(FOO, 0)) } else { 77 };
        let context = broker.begin(&fetch(id, -1).wants(BAR, 0));
        assert_eq!(context.kind(), ContextKind::Sessionless);
        assert_eq!(broker.answer(context, |_| at(10)), answered(0, &["bar-0"]));
        assert!(broker.live().is_empty());
    }
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let new = broker.open(&fetch(id, 0).wants(BAR, 0));
    assert_ne!(new, id);
    assert_eq!(broker.live(), [new]);
}

#[test]
fn f16_partitions_are_counted_through_forgetting_and_closing() {
    let mut broker = Broker::of_one_shard(2, 1000);
    let first = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    broker.open(&fetch(0, 0).version(BY_ID).wants_first(BAR, 2));
    assert_eq!(broker.cache.stats().partitions, 5);
    let _ = broker.serve(&fetch(first, 1).forgets(FOO, 1), |_| failed(ErrorCode::UnknownTopicId));
    assert_eq!(broker.cache.stats().partitions, 4);
    let _ = broker.serve(&fetch(first, -1), |_| at(10));
    assert_eq!(broker.cache.stats().partitions, 2);
}
