//! The state of a cache: how it leaves, enters, and is refused.

use crate::support::{BAR, Broker, FOO, Request, Row, ZAR, answered, at, failed, fetch, one_shard};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{
    CacheConfig, CacheState, Change, ChangeTracking, FetchCache, StateError,
};
use kafka_coordination::{TopicId, TopicName};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

/// A state with a session by id (1) and one by name (2), of two partitions each.
fn sound() -> (CacheConfig, CacheState) {
    let config = one_shard(2, 1000);
    let mut broker = Broker::new(config.clone());
    broker.open(&fetch(0, 0).principal(7).wants_first(FOO, 2));
    broker.open(&fetch(0, 0).principal(7).by_name().wants_first(BAR, 2));
    (config, broker.cache.export())
}

/// What the sound state is refused for once it is broken like that.
fn refused(break_it: impl FnOnce(CacheConfig, &mut CacheState) -> CacheConfig) -> StateError {
    let (config, mut state) = sound();
    assert!(FetchCache::import(config.clone(), &state).is_ok());
    let config = break_it(config, &mut state);
    let error = FetchCache::import(config, &state).expect_err("it is broken");
    assert!(!error.to_string().is_empty());
    error
}

#[test]
fn an_id_that_no_shard_issues_is_refused() {
    for id in [0, -1, i32::MIN, i32::MAX] {
        let error = refused(|config, state| {
            state.sessions[0].id = id;
            config
        });
        assert_eq!(error, StateError::SessionId { session_id: id });
    }
}

#[test]
fn a_session_that_is_there_twice_is_refused() {
    let error = refused(|config, state| {
        state.sessions[1].id = 1;
        config
    });
    assert_eq!(error, StateError::DuplicateSession { session_id: 1 });
}

#[test]
fn an_epoch_that_none_expects_is_refused() {
    for epoch in [0, -1, i32::MIN] {
        let error = refused(|config, state| {
            state.sessions[1].epoch = epoch;
            config
        });
        assert_eq!(error, StateError::Epoch { session_id: 2, epoch });
    }
}

#[test]
fn a_partition_by_id_in_a_session_by_name_is_refused() {
    let expected = StateError::NotByName { session_id: 2, partition: 1 };
    let error = refused(|config, state| {
        state.sessions[1].partitions[1].topic = None;
        config
    });
    assert_eq!(error, expected);
    let error = refused(|config, state| {
        state.sessions[1].partitions[1].topic_id = TopicId::from_u128(2);
        config
    });
    assert_eq!(error, expected);
}

#[test]
fn a_partition_that_is_there_twice_is_refused() {
    for session in [0, 1] {
        let error = refused(|config, state| {
            let partitions = &mut state.sessions[session].partitions;
            partitions[1].partition = 0;
            config
        });
        let session_id = session as i32 + 1;
        assert_eq!(error, StateError::DuplicatePartition { session_id, partition: 0 });
    }
    // By id a name makes no difference.
    let error = refused(|config, state| {
        let partitions = &mut state.sessions[0].partitions;
        partitions[1].partition = 0;
        partitions[1].topic = Some(TopicName::from("other"));
        config
    });
    assert_eq!(error, StateError::DuplicatePartition { session_id: 1, partition: 0 });
}

#[test]
fn more_than_there_is_room_for_is_refused() {
    let error = refused(|config, _| config.with_slots(1).unwrap());
    let full = StateError::ShardFull { shard: 0, capacity: 1, sessions: 2 };
    assert_eq!(error, full);
    let error = refused(|config, _| config.with_session_partitions_max(1).unwrap());
    let big = StateError::SessionPartitions { session_id: 1, partitions: 2, max: 1 };
    assert_eq!(error, big);
    let error = refused(|config, _| config.with_cached_partitions_max(3));
    assert_eq!(error, StateError::CachedPartitions { partitions: 4, max: 3 });
    let error = refused(|config, _| config.with_principal_sessions_max(1));
    let many = StateError::PrincipalSessions { principal: 7, sessions: 2, max: 1 };
    assert_eq!(error, many);
}

#[test]
fn what_just_fits_enters() {
    let (config, state) = sound();
    let config = config
        .with_slots(2)
        .and_then(|it| it.with_session_partitions_max(2))
        .unwrap()
        .with_cached_partitions_max(4)
        .with_principal_sessions_max(2);
    let cache = FetchCache::import(config, &state).expect("it fits");
    assert_eq!(cache.export(), state);
    assert_eq!(cache.stats().partitions, 4);
}

#[test]
fn an_imported_cache_keeps_the_limits_for_what_it_imported() {
    let (config, state) = sound();
    let config = config.with_slots(9).unwrap().with_principal_sessions_max(2);
    let mut broker = Broker::new(config.clone());
    broker.cache = FetchCache::import(config, &state).expect("it fits");
    let one_more = fetch(0, 0).principal(7).wants(FOO, 0);
    assert_eq!(broker.serve(&one_more, |_| at(10)).session_id, 0);
    let close = fetch(1, -1);
    let _ = broker.serve(&close, |_| at(10));
    assert_ne!(broker.serve(&one_more, |_| at(10)).session_id, 0);
}

/// Replaces the cache by one that entered the state which it leaves.
fn leave_and_enter(broker: &mut Broker, config: &CacheConfig) {
    let state = broker.cache.export();
    broker.cache = FetchCache::import(config.clone(), &state).expect("it is sound");
    assert_eq!(broker.cache.export(), state);
}

/// A request of one of a few sessions, right or wrong.
fn any_request(random: &mut Pcg32, broker: &Broker) -> Request {
    let mut below = |bound: u32| random.next_u32() % bound;
    let id = below(5) as i32;
    let epochs: Vec<i32> =
        broker.cache.export().sessions.iter().filter(|it| it.id == id).map(|it| it.epoch).collect();
    let epoch = match below(8) {
        0 => -1,
        1 | 2 => 0,
        3 => 9,
        _ => epochs.first().copied().unwrap_or(1),
    };
    let mut request = fetch(id, epoch);
    if below(3) == 0 {
        request = request.by_name();
    }
    if below(3) == 0 {
        request = request.follower();
    }
    for _ in 0..below(4) {
        let topic = [FOO, BAR, ZAR][below(3) as usize];
        let partition = below(3) as i32;
        request = match below(3) {
            0 => request.forgets(topic, partition),
            _ => request.wants(topic, partition),
        };
    }
    request
}

fn any_row(versions: &Versions, label: &str) -> Row {
    let (topic, partition) = label.rsplit_once('-').expect("a label");
    let partition: i32 = partition.parse().expect("a number");
    let is_it = |&(&at, _): &(&(&str, i32), &u32)| at == (topic, partition);
    let version = versions.iter().find(is_it).map_or(0, |(_, &version)| version);
    match version % 5 {
        1 => at(10).records(5),
        3 => failed(ErrorCode::NotLeaderOrFollower),
        _ => at(10 + i64::from(version)),
    }
}

/// How often each partition has changed: its reads depend on nothing else.
type Versions = BTreeMap<(&'static str, i32), u32>;

#[test]
fn leaving_and_entering_in_the_middle_changes_no_answer() {
    for seed in 0..40 {
        for tracking in [ChangeTracking::Off, ChangeTracking::On] {
            let config = one_shard(3, 50).with_change_tracking(tracking);
            let mut random = Pcg32::new(seed, 1);
            let mut brokers = [Broker::new(config.clone()), Broker::new(config.clone())];
            let mut versions = Versions::new();
            for step in 0..60 {
                let request = any_request(&mut random, &brokers[0]);
                let pause = i64::from(random.next_u32() % 40);
                let knows_bar = !random.next_u32().is_multiple_of(4);
                let is_throttled = random.next_u32().is_multiple_of(8);
                let changed = [FOO, BAR, ZAR][random.next_u32() as usize % 3];
                let partition = random.next_u32() as i32 % 3;
                *versions.entry((changed.name, partition)).or_default() += 1;
                leave_and_enter(&mut brokers[1], &config);
                let responses = brokers.each_mut().map(|broker| {
                    broker.now += pause;
                    broker.names.remove(&BAR.id);
                    if knows_bar {
                        broker.learn(BAR);
                    }
                    let id = TopicId::from_u128(changed.id);
                    let change = Change::Unspecified;
                    broker.cache.mark(id, changed.name, partition, change, |_| {});
                    let context = broker.begin(&request);
                    if is_throttled {
                        return broker.throttle(context, 10);
                    }
                    broker.answer(context, |label| any_row(&versions, label))
                });
                assert_eq!(responses[0], responses[1], "seed {seed}, step {step}");
            }
        }
    }
}

#[test]
fn a_state_may_enter_a_cache_that_tracks_changes_and_leave_it_for_one_that_does_not() {
    let mut broker = Broker::of_one_shard(2, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let tracking = one_shard(2, 1000).with_change_tracking(ChangeTracking::On);
    leave_and_enter(&mut broker, &tracking);
    // It knows of no changes before its time, and visits all.
    let response = broker.serve(&fetch(id, 1), |_| at(20));
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
    let context = broker.begin(&fetch(id, 2));
    assert!(broker.listed(&context).is_empty());
    let state = broker.cache.export();
    broker.cache = FetchCache::import(one_shard(2, 1000), &state).expect("it is sound");
    let response = broker.serve(&fetch(id, 3), |_| at(30));
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
}
