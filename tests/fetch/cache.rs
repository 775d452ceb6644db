//! The cache: who gets a session, who loses one, and which ids there are.

use crate::support::{BAR, Broker, FOO, answered, at, fetch, one_shard, refused};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{CacheConfig, CacheState, FetchCache, ShardRouter, StateError};

const RANGE: i32 = i32::MAX / 8;

/// A consumer's session of that many partitions, if there is room.
fn create(broker: &mut Broker, partitions: i32) -> i32 {
    let request = fetch(0, 0).wants_first(FOO, partitions);
    broker.serve(&request, |_| at(10)).session_id
}

fn create_privileged(broker: &mut Broker, partitions: i32) -> i32 {
    let request = fetch(0, 0).follower().wants_first(FOO, partitions);
    broker.serve(&request, |_| at(10)).session_id
}

/// An empty request of a session that must live.
fn touch(broker: &mut Broker, id: i32) {
    let epoch = broker.session(id).epoch;
    let response = broker.serve(&fetch(id, epoch), |_| at(10));
    assert_eq!(response, answered(id, &[]));
}

#[test]
fn s01_session_ids_are_positive() {
    let mut broker = Broker::new(one_shard(10_000, 120_000));
    broker.draws.scripted = [0, i32::MAX.cast_unsigned() - 2].into();
    assert_eq!(create(&mut broker, 1), 1);
    assert_eq!(create(&mut broker, 1), i32::MAX - 1);
    for _ in 2..10_000 {
        assert!(create(&mut broker, 0) > 0);
    }
    assert_eq!(broker.cache.stats().sessions, 10_000);
}

#[allow(clippy::many_single_char_names, reason = "the names of Kafka's test")]
#[test]
fn s02_the_stalest_goes_first_then_the_smallest_that_has_aged() {
    let mut broker = Broker::of_one_shard(3, 100);
    let a = create(broker.at(0), 10);
    let b = create(broker.at(10), 20);
    let c = create(broker.at(20), 30);
    assert_eq!(create(broker.at(30), 40), 0, "all are too young");
    assert_eq!(create(broker.at(40), 5), 0);
    assert_eq!(broker.live(), [a, b, c]);

    touch(broker.at(200), a);
    let e = create(broker.at(210), 11);
    assert_eq!(broker.live(), [a, c, e], "b was stale");

    touch(broker.at(390), c);
    touch(broker.at(400), a);
    touch(broker.at(400), e);
    let f = create(broker.at(410), 50);
    assert_eq!(broker.live(), [c, e, f], "a was the smallest that had aged");
    assert_eq!(create(broker.at(410), 5), 0, "the smallest has 11");

    let g = create_privileged(broker.at(410), 5);
    assert_eq!(broker.live(), [c, f, g]);
}

#[test]
fn s03_partitions_are_counted_as_of_the_last_use() {
    let mut broker = Broker::of_one_shard(2, 100);
    let small = create(broker.at(0), 2);
    let big = create(broker.at(0), 4);
    let counted = |broker: &Broker| {
        let stats = broker.cache.stats();
        (stats.sessions, stats.partitions, stats.evictions())
    };
    assert_eq!(counted(&broker), (2, 6, 0));
    touch(broker.at(200), small);
    touch(broker.at(200), big);
    let new = create(broker.at(200), 5);
    assert_eq!(broker.live(), [big, new]);
    assert_eq!(counted(&broker), (2, 9, 1));
    let close = fetch(new, -1);
    broker.serve(&close, |_| at(10));
    assert_eq!(counted(&broker), (1, 4, 1), "a close is no eviction");
    let forget = fetch(big, 2).forgets(FOO, 0);
    broker.serve(&forget, |_| at(10));
    assert_eq!(counted(&broker), (1, 3, 1));
}

#[test]
fn s16_the_session_that_was_idle_too_long_is_evicted() {
    let mut broker = Broker::of_one_shard(2, 1000);
    let first = create(broker.at(0), 2);
    let second = create(broker.at(500), 2);
    touch(broker.at(1000), first);
    assert_eq!(create(broker.at(1500), 1), 0, "1000 is not too long");
    let third = create(broker.at(1501), 1);
    assert_eq!(broker.live(), [first, third]);
    let evicted = fetch(second, 1);
    let gone = refused(ErrorCode::FetchSessionIdNotFound);
    assert_eq!(broker.serve(&evicted, |_| at(10)), gone);
}

#[test]
fn s17_a_follower_displaces_any_consumer_and_a_stale_follower() {
    let mut broker = Broker::of_one_shard(2, 1000);
    let first = create_privileged(broker.at(0), 2);
    let second = create(broker.at(500), 20);
    let third = create_privileged(broker.at(1000), 2);
    assert_eq!(broker.live(), [first, third], "{second} was the consumer's");
    let fourth = create_privileged(broker.at(1501), 1);
    assert_eq!(broker.live(), [third, fourth]);
}

#[test]
fn a_consumer_displaces_a_follower_only_if_it_is_stale() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let follower = create_privileged(broker.at(0), 1);
    touch(broker.at(1001), follower);
    assert_eq!(create(broker.at(2001), 1000), 0, "aged, and not stale");
    let consumer = create(broker.at(2002), 1);
    assert_eq!(broker.live(), [consumer]);
}

#[test]
fn a_session_of_equal_size_is_not_displaced() {
    for is_follower in [false, true] {
        let mut broker = Broker::of_one_shard(1, 1000);
        let create = if is_follower { create_privileged } else { create };
        let first = create(broker.at(0), 3);
        touch(broker.at(1001), first);
        assert_eq!(create(broker.at(1002), 3), 0);
        assert_ne!(create(broker.at(1002), 4), 0);
    }
}

#[test]
fn ageing_alone_does_not_make_a_session_displaceable() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let first = create(broker.at(0), 1);
    touch(broker.at(1000), first);
    assert_eq!(create(broker.at(1999), 9), 0, "at its last use it was young");
    touch(broker.at(1999), first);
    assert_ne!(create(broker.at(1999), 9), 0);
}

#[test]
fn a_clock_that_goes_back_postpones_evictions() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let first = create(broker.at(5000), 1);
    touch(broker.at(100), first);
    assert_eq!(create(broker.at(1100), 9), 0);
    assert_eq!(create(broker.at(-5000), 9), 0);
    assert_ne!(create(broker.at(1101), 9), 0);
}

#[test]
fn the_ends_of_time_evict_nothing_that_is_in_use() {
    let mut broker = Broker::of_one_shard(1, 1000);
    assert_ne!(create(broker.at(i64::MAX), 1), 0);
    assert_eq!(create(broker.at(i64::MIN), 9), 0, "the clock went back");
    let mut broker = Broker::of_one_shard(1, 1000);
    assert_ne!(create(broker.at(i64::MIN), 1), 0);
    assert_ne!(create(broker.at(i64::MAX), 1), 0, "it went on, far");
}

/// The shard that would hold the session, `None` if no shard issues the id.
fn shard_of(session_id: i32, config: CacheConfig) -> Option<usize> {
    let mut state = CacheState { sessions: Vec::new(), next_shard: 0 };
    let mut broker = Broker::of_one_shard(1, 0);
    let session = create(&mut broker, 0);
    state.sessions.push(broker.session(session));
    state.sessions[0].id = session_id;
    // There is no room for it, and the error says where.
    match FetchCache::import(config.with_slots(0).unwrap(), &state) {
        Err(StateError::ShardFull { shard, .. }) => Some(shard),
        Err(StateError::SessionId { .. }) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn s23_each_shard_has_its_range_of_ids() {
    for (id, shard) in [
        (1, Some(0)),
        (RANGE - 1, Some(0)),
        (RANGE, Some(1)),
        (2 * RANGE - 1, Some(1)),
        (2 * RANGE, Some(2)),
        (8 * RANGE - 1, Some(7)),
        (8 * RANGE, None),
        (i32::MAX, None),
        (0, None),
        (-1, None),
        (-RANGE, None),
        (i32::MIN, None),
    ] {
        assert_eq!(shard_of(id, CacheConfig::default()), shard, "{id}");
    }
    assert_eq!(shard_of(i32::MAX - 1, one_shard(0, 0)), Some(0));
    assert_eq!(shard_of(i32::MAX, one_shard(0, 0)), None);
}

fn shards_of_new_sessions(config: CacheConfig, count: usize) -> Vec<i32> {
    let mut broker = Broker::new(config);
    (0..count).map(|_| create(&mut broker, 1) / RANGE).collect()
}

#[test]
fn s24_new_sessions_are_dealt_out_to_the_shards_in_turn() {
    let twice: Vec<i32> = (0..8).chain(0..8).collect();
    assert_eq!(shards_of_new_sessions(CacheConfig::default(), 16), twice);
}

#[test]
fn s25_they_are_when_the_counter_wraps_around() {
    let twice: Vec<i32> = (0..8).chain(0..8).collect();
    let config = CacheConfig::default().with_first_shard(i32::MIN);
    assert_eq!(shards_of_new_sessions(config, 16), twice);
    let config = CacheConfig::default().with_first_shard(i32::MAX);
    assert_eq!(shards_of_new_sessions(config, 4), [7, 0, 1, 2]);
    let config = CacheConfig::default().with_first_shard(-1);
    assert_eq!(shards_of_new_sessions(config, 3), [7, 0, 1]);
}

#[test]
fn a_refused_creation_takes_its_turn_and_tries_no_other_shard() {
    let mut broker = Broker::new(CacheConfig::default().with_slots(8).unwrap());
    let first = create(&mut broker, 1);
    for _ in 1..8 {
        create(&mut broker, 1);
    }
    let close = fetch(first, -1);
    broker.serve(&close, |_| at(10));
    assert_ne!(create(&mut broker, 1), 0, "its turn is shard 0's");
    assert_eq!(create(&mut broker, 1), 0);
    let close = fetch(first, -1);
    broker.serve(&close, |_| at(10));
    for _ in 2..8 {
        assert_eq!(create(&mut broker, 1), 0, "shard 0 has room, others have not");
    }
}

#[test]
fn s67_slots_are_shared_out_rounding_down() {
    for (slots, sessions) in [(0, 0), (7, 0), (8, 8), (15, 8), (1001, 1000)] {
        let mut broker = Broker::new(CacheConfig::default().with_slots(slots).unwrap());
        for _ in 0..slots + 8 {
            let response = broker.serve(&fetch(0, 0).wants(FOO, 0), |_| at(10));
            assert_eq!(response.partitions, ["foo-0"]);
        }
        let stats = broker.cache.stats();
        assert_eq!(stats.sessions, sessions, "{slots}");
        assert_eq!(stats.created + stats.refused, u64::from(slots) + 8);
    }
}

#[test]
fn s67_ids_that_no_shard_issues_are_not_found() {
    let mut broker = Broker::new(CacheConfig::default());
    let live = broker.open(&fetch(0, 0).wants(FOO, 0));
    for id in [2_147_483_640, i32::MAX, -1, -RANGE, i32::MIN, 0] {
        let not_found = refused(ErrorCode::FetchSessionIdNotFound);
        assert_eq!(broker.serve(&fetch(id, 1), |_| at(10)), not_found, "{id}");
        let ended = broker.serve(&fetch(id, -1).wants(FOO, 0), |_| at(10));
        assert_eq!(ended, answered(0, &["foo-0"]), "{id}");
        let renewed = broker.serve(&fetch(id, 0).wants(FOO, 0), |_| at(10));
        assert_ne!(renewed.session_id, 0, "{id}");
    }
    assert!(broker.live().contains(&live));
}

#[test]
fn a_cache_a_shard_with_a_router_is_as_good_as_one_of_all_shards() {
    let config = CacheConfig::default().with_slots(16).unwrap().with_first_shard(5);
    let mut whole = Broker::new(config.clone());
    let mut router = ShardRouter::of_config(&config);
    let mut shards: Vec<Broker> = (0..8)
        .map(|shard| {
            let mut broker = Broker::new(config.clone());
            broker.cache = FetchCache::of_shard(config.clone(), shard).expect("one of eight");
            broker
        })
        .collect();
    assert!(FetchCache::of_shard(config, 8).is_none());
    let mut ids = Vec::new();
    for round in 0..30 {
        // A new session, which may name an old one; all draw the same.
        let old = ids.get(round / 2).copied().unwrap_or(0);
        for broker in shards.iter_mut().chain([&mut whole]) {
            broker.draws.scripted = [7 + u32::try_from(round).unwrap()].into();
        }
        let request = fetch(old, 0).wants(FOO, 0);
        let due = whole.serve(&request, |_| at(10));
        if let Some(shard) = router.shard_of(old) {
            shards[shard].cache.close(old);
        }
        let next = router.next_shard();
        assert_eq!(shards[next].serve(&request, |_| at(10)), due, "{round}");
        ids.push(due.session_id);
        // And a request of some session.
        let id = ids[round * 5 % ids.len()];
        let request = fetch(id, 1).wants(BAR, 0);
        let due = whole.serve(&request, |_| at(10));
        let shard = router.shard_of(id).unwrap_or(0);
        assert_eq!(shards[shard].serve(&request, |_| at(10)), due, "{round}");
    }
    let live: Vec<i32> = shards.iter().flat_map(Broker::live).collect();
    assert_eq!(live, whole.live());
    assert!(!live.is_empty());
}

#[test]
fn the_state_of_one_shard_enters_only_that_shard() {
    let config = CacheConfig::default().with_first_shard(3);
    let mut broker = Broker::new(config.clone());
    broker.cache = FetchCache::of_shard(config.clone(), 3).expect("one of eight");
    let session_id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let state = broker.cache.export();
    let entered = FetchCache::import_shard(config.clone(), 3, &state).expect("its own state");
    assert_eq!(entered.export(), state);
    for other in [2, 4] {
        let error = FetchCache::import_shard(config.clone(), other, &state).unwrap_err();
        assert_eq!(error, StateError::SessionId { session_id }, "{other}");
    }
    let error = FetchCache::import_shard(config.clone(), 8, &state).unwrap_err();
    assert_eq!(error, StateError::NoShard { shard: 8, shards: 8 });
    let config = config.with_slots(7).unwrap();
    let error = FetchCache::import_shard(config, 3, &state).unwrap_err();
    assert_eq!(error, StateError::ShardFull { shard: 3, capacity: 0, sessions: 1 });
}

#[test]
fn an_answer_says_who_was_evicted_and_why() {
    use kafka_coordination::fetch::EvictionReason;
    use kafka_coordination::{ErrorCode, Monotonic};
    let mut broker = Broker::of_one_shard(1, 1000);
    let first = broker.open(&fetch(0, 0).principal(7).wants(FOO, 0));
    let mut create = |now: i64, request| {
        let context = broker.at(now).begin(&request);
        let mut reads = Vec::new();
        let now = Monotonic::from_millis(now);
        let (cache, draws) = (&mut broker.cache, &mut broker.draws);
        cache.finish(context, &mut reads, draws, now)
    };
    let answer = create(1001, fetch(0, 0).principal(8));
    let evicted = answer.evicted.expect("one slot");
    assert_eq!((evicted.session_id, evicted.principal), (first, 7));
    assert_eq!(evicted.reason, EvictionReason::Stale);
    let answer = create(1002, fetch(0, 0).follower());
    let evicted = answer.evicted.expect("a follower's");
    assert_eq!(evicted.principal, 8);
    assert_eq!(evicted.reason, EvictionReason::Unprivileged);
    let answer = create(1003, fetch(0, 0).wants(BAR, 0));
    assert_eq!((answer.session_id, answer.evicted), (0, None));
    assert_eq!(answer.error, ErrorCode::None);
    let stats = broker.cache.stats();
    assert_eq!((stats.evicted_stale, stats.evicted_unprivileged), (1, 1));
}
