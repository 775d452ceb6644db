//! Limits that Kafka does not have: partitions of a session, of all sessions, sessions of a principal.

use crate::support::{
    BAR, Broker, FOO, ZAR, answered, at, fetch, one_shard, refused, stale, throttled,
};
use kafka_coordination::fetch::{CacheConfig, ChangeTracking, ConfigError, ContextKind};
use kafka_coordination::{ErrorCode, TopicId};

fn not_found() -> crate::support::Response {
    refused(ErrorCode::FetchSessionIdNotFound)
}

fn at_most_three_partitions() -> Broker {
    Broker::new(one_shard(10, 1000).with_session_partitions_max(3).unwrap())
}

#[test]
fn too_big_a_session_is_not_created_and_its_fetch_is_answered() {
    let mut broker = at_most_three_partitions();
    let response = broker.serve(&fetch(0, 0).wants_first(FOO, 4), |_| at(10));
    assert_eq!(response, answered(0, &["foo-0", "foo-1", "foo-2", "foo-3"]));
    assert_eq!(broker.cache.stats().refused, 1);
    let response = broker.serve(&fetch(0, 0).wants_first(FOO, 3), |_| at(10));
    assert_eq!(response, answered(1, &["foo-0", "foo-1", "foo-2"]));
}

#[test]
fn a_session_that_grows_too_big_is_answered_and_then_gone() {
    let mut broker = at_most_three_partitions();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let context = broker.begin(&fetch(id, 1).wants(BAR, 0));
    assert_eq!(broker.listed(&context), ["foo-0", "foo-1", "foo-2", "bar-0"]);
    assert_eq!(broker.answer(context, |_| at(10)), answered(id, &["bar-0"]));
    assert_eq!(broker.serve(&fetch(id, 2), |_| at(10)), not_found());
    let stats = broker.cache.stats();
    assert_eq!((stats.over_limit, stats.partitions, stats.evictions()), (1, 0, 0));
}

#[test]
fn it_is_answered_whatever_the_cache_keeps_of_sessions_that_are_gone() {
    let config = one_shard(10, 1000).with_session_partitions_max(3).unwrap();
    for tracking in [ChangeTracking::Off, ChangeTracking::On] {
        let config = config.clone().with_change_tracking(tracking).with_detached_max(0, 0);
        let mut broker = Broker::new(config);
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
        let earlier = broker.begin(&fetch(id, 1));
        let context = broker.begin(&fetch(id, 2).wants(BAR, 0));
        assert_eq!(context.kind(), ContextKind::Incremental);
        assert_eq!((context.session_id(), context.partition_count()), (id, 4));
        let reads = broker.read(&context, |label| if label == "foo-1" { at(20) } else { at(10) });
        let plain: Vec<_> = reads.iter().map(|(_, read)| *read).collect();
        // Two of four partitions: a topic each.
        assert_eq!(broker.cache.response_size(&context, &plain), 4 + 12 + 2 * (18 + 37));
        let foo = TopicId::from_u128(FOO.id);
        assert_eq!(broker.cache.slots(&context).find(foo, "", 1), Some(plain[1].slot()));
        assert_eq!(broker.finish(context, reads), answered(id, &["foo-1", "bar-0"]));
        let stale = stale(ErrorCode::InvalidFetchSessionEpoch, id);
        assert_eq!(broker.answer(earlier, |_| at(10)), stale);
    }
}

#[test]
fn it_may_be_throttled() {
    let mut broker = at_most_three_partitions();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let context = broker.begin(&fetch(id, 1).wants(BAR, 0));
    assert_eq!(broker.throttle(context, 7), throttled(id, 7));
    assert_eq!(broker.serve(&fetch(id, 2), |_| at(10)), not_found());
}

#[test]
fn a_session_at_its_limit_may_exchange_and_alter_partitions() {
    let mut broker = at_most_three_partitions();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let exchange = fetch(id, 1).wants(BAR, 0).forgets(FOO, 0);
    assert_eq!(broker.serve(&exchange, |_| at(10)), answered(id, &["bar-0"]));
    let alter = fetch(id, 2).wants(FOO, 1).wants(FOO, 2).wants(BAR, 0).wants(BAR, 0);
    assert_eq!(broker.serve(&alter, |_| at(10)), answered(id, &[]));
    assert_eq!(broker.session(id).partitions.len(), 3);
}

#[test]
fn partitions_are_limited_over_all_sessions_and_shards() {
    let config = CacheConfig::default().with_cached_partitions_max(5);
    let mut broker = Broker::new(config);
    let first = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let second = broker.serve(&fetch(0, 0).wants_first(BAR, 3), |_| at(10));
    assert_eq!(second, answered(0, &["bar-0", "bar-1", "bar-2"]));
    let second = broker.open(&fetch(0, 0).wants_first(BAR, 2));
    let growth = broker.serve(&fetch(first, 1).wants(ZAR, 0), |_| at(10));
    assert_eq!(growth, answered(first, &["zar-0"]));
    assert_eq!(broker.serve(&fetch(first, 2), |_| at(10)), not_found());
    assert_eq!(broker.live(), [second]);
    let growth = broker.serve(&fetch(second, 1).wants_first(ZAR, 3), |_| at(10));
    assert_eq!(growth.partitions.len(), 3, "there is room again");
    assert_eq!(broker.live(), [second]);
    assert_eq!(broker.cache.stats().partitions, 5);
}

#[test]
fn an_idle_session_is_not_removed_because_others_filled_the_cache() {
    let mut broker = Broker::new(one_shard(10, 1000).with_cached_partitions_max(4));
    let first = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    broker.open(&fetch(0, 0).wants_first(BAR, 2));
    assert_eq!(broker.serve(&fetch(first, 1), |_| at(10)), answered(first, &[]));
    let same = fetch(first, 2).wants(FOO, 1);
    assert_eq!(broker.serve(&same, |_| at(10)), answered(first, &[]));
}

#[test]
fn a_principal_has_so_many_sessions_and_no_more() {
    let config = CacheConfig::default().with_principal_sessions_max(2);
    let mut broker = Broker::new(config);
    let of = |principal| fetch(0, 0).principal(principal).wants(FOO, 0);
    let first = broker.open(&of(7));
    broker.open(&of(7));
    let third = broker.serve(&of(7), |_| at(10));
    assert_eq!(third, answered(0, &["foo-0"]));
    broker.open(&of(8));
    // Asking for another in exchange for one that it has is fine.
    let exchanged = broker.serve(&fetch(first, 0).principal(7).wants(FOO, 0), |_| at(10));
    assert_ne!(exchanged.session_id, 0);
    assert_eq!(broker.cache.stats().sessions, 3);
    // A session counts for who created it, whoever uses or closes it.
    let close = fetch(exchanged.session_id, -1).principal(8);
    let _ = broker.serve(&close, |_| at(10));
    broker.open(&of(7));
    broker.open(&of(8));
    assert_eq!(broker.serve(&of(8), |_| at(10)).session_id, 0);
}

#[test]
fn a_principal_whose_session_was_evicted_may_have_another() {
    let mut broker = Broker::new(one_shard(1, 1000).with_principal_sessions_max(1));
    let of = |principal| fetch(0, 0).principal(principal).wants(FOO, 0);
    broker.open(&of(7));
    let evicting = broker.at(1001).serve(&of(8), |_| at(10));
    assert!(evicting.evicted.is_some());
    let back = broker.at(2002).serve(&of(7), |_| at(10));
    assert!(back.evicted.is_some());
    assert_eq!(broker.at(3003).serve(&of(7), |_| at(10)).session_id, 0);
}

#[test]
fn no_limit_touches_an_ordinary_client() {
    let mut broker = Broker::new(CacheConfig::default());
    // A follower of 20,000 partitions, and a thousand sessions of one principal.
    broker.open(&fetch(0, 0).follower().wants_first(FOO, 20_000));
    for _ in 1..1000 {
        broker.open(&fetch(0, 0).wants_first(BAR, 10));
    }
    let stats = broker.cache.stats();
    assert_eq!((stats.sessions, stats.refused, stats.over_limit), (1000, 0, 0));
    assert_eq!(stats.partitions, 20_000 + 9990);
}

#[test]
fn numbers_out_of_range_are_no_configuration() {
    let config = CacheConfig::default();
    let out_of_range = |result: Result<CacheConfig, ConfigError>| {
        let ConfigError::OutOfRange { name, .. } = result.expect_err("out of range") else {
            panic!("another error")
        };
        name
    };
    assert_eq!(out_of_range(config.clone().with_slots(u32::MAX)), "slots");
    assert_eq!(out_of_range(config.clone().with_shards(0)), "shards");
    assert_eq!(out_of_range(config.clone().with_shards(1025)), "shards");
    assert_eq!(out_of_range(config.clone().with_eviction_ms(-1)), "eviction_ms");
    for partitions in [0, (1 << 27) + 1] {
        let result = config.clone().with_session_partitions_max(partitions);
        assert_eq!(out_of_range(result), "session_partitions_max");
    }
    assert!(config.clone().with_shards(1024).is_ok());
    assert!(config.with_slots(i32::MAX.cast_unsigned()).is_ok());
}
