//! Contexts that are dropped, late, overtaken, or whose session goes away under them.

use crate::support::{
    BAR, BY_NAME, Broker, FOO, Request, Response, ZAR, answered, at, failed, fetch, one_shard,
    refused, stale, throttled,
};
use kafka_coordination::fetch::{
    Change, ChangeTracking, FetchCache, FetchContext, FetcherKind, PartitionRead, Profile,
};
use kafka_coordination::{ErrorCode, Monotonic, TopicId};

const MODES: [ChangeTracking; 2] = [ChangeTracking::Off, ChangeTracking::On];

fn broker(slots: u32, tracking: ChangeTracking) -> Broker {
    Broker::new(one_shard(slots, 1000).with_change_tracking(tracking))
}

fn tracking() -> Broker {
    broker(10, ChangeTracking::On)
}

/// Marks a partition; the sessions that hear of it.
fn mark(
    broker: &mut Broker,
    topic: crate::support::Topic,
    partition: i32,
    change: Change,
) -> Vec<i32> {
    let mut heard = Vec::new();
    let id = TopicId::from_u128(topic.id);
    let on_marked = |marked: kafka_coordination::fetch::Marked| heard.push(marked.session_id);
    broker.cache.mark(id, topic.name, partition, change, on_marked);
    heard
}

fn late(id: i32) -> Response {
    stale(ErrorCode::InvalidFetchSessionEpoch, id)
}

fn not_found() -> Response {
    refused(ErrorCode::FetchSessionIdNotFound)
}

/// Fetches until nothing is left to visit or tell; the next epoch.
fn settle(broker: &mut Broker, id: i32) -> i32 {
    for _ in 0..2 {
        let session = broker.session(id);
        let request = fetch(id, session.epoch);
        let is_follower = session.fetcher == FetcherKind::Follower;
        let request = if is_follower { request.follower() } else { request };
        let _ = broker.serve(&request, |_| at(10));
    }
    broker.session(id).epoch
}

#[test]
fn a_context_can_wait_in_another_thread() {
    fn is_send<T: Send + Sync + 'static>() {}
    is_send::<FetchContext>();
    is_send::<FetchCache>();
    is_send::<PartitionRead>();
}

#[test]
fn a_dropped_context_leaves_what_its_request_changed_and_tells_nothing() {
    for tracking in MODES {
        let mut broker = broker(10, tracking);
        let id = broker.open(&fetch(0, 0).wants(FOO, 0));
        settle(&mut broker, id);
        let before = broker.session(id);
        mark(&mut broker, FOO, 0, Change::HighWatermark);
        let context = broker.begin(&fetch(id, 3).wants(BAR, 0));
        let _reads = broker.read(&context, |_| at(20).records(5));
        drop(context);
        let after = broker.session(id);
        assert_eq!(after.epoch, before.epoch + 1);
        assert_eq!(broker.order(id), ["foo-0", "bar-0"]);
        assert_eq!(broker.reported(id, "foo-0"), (10, 0));
        assert_eq!(broker.reported(id, "bar-0"), (-1, -1));
        // Nothing is lost: the next answer tells both.
        let response = broker.serve(&fetch(id, 4), |_| at(20));
        assert_eq!(response, answered(id, &["foo-0", "bar-0"]), "{tracking:?}");
    }
}

#[test]
fn a_dropped_full_context_leaves_nothing() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let before = broker.cache.export();
    drop(broker.begin(&fetch(0, 0).wants(FOO, 0)));
    assert_eq!(broker.cache.export(), before);
    assert_eq!(broker.cache.stats(), Broker::of_one_shard(10, 1000).cache.stats());
}

#[test]
fn a_late_answer_is_as_good_as_a_prompt_one() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let context = broker.begin(&fetch(id, 1));
    broker.at(1_000_000);
    assert_eq!(broker.answer(context, |_| at(20)), answered(id, &["foo-0"]));
    assert_eq!(broker.session(id).last_used, Monotonic::from_millis(0), "as of its acceptance");
}

/// A way in which a session goes away.
type Removal = fn(&mut Broker, i32);

/// How a session may go away while its fetch waits.
fn removals() -> Vec<(&'static str, Removal)> {
    vec![
        ("evicted", |broker, _| {
            while broker.cache.stats().evictions() == 0 {
                let _ = broker.serve(&fetch(0, 0).follower().wants(ZAR, 0), |_| at(10));
            }
        }),
        ("closed", |broker, id| drop(broker.serve(&fetch(id, -1), |_| at(10)))),
        ("replaced", |broker, id| drop(broker.serve(&fetch(id, 0).wants(ZAR, 0), |_| at(10)))),
        ("closed by another mode", |broker, id| {
            drop(broker.serve(&fetch(id, -1).version(BY_NAME), |_| at(10)));
        }),
    ]
}

#[test]
fn a_fetch_whose_session_is_gone_is_answered_as_if_it_were_not() {
    for tracking in MODES {
        for (how, remove) in removals() {
            let mut broker = broker(3, tracking);
            let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
            let context = broker.begin(&fetch(id, 1).wants(BAR, 0));
            let row = |label: &str| if label == "foo-1" { at(20) } else { at(10) };
            let reads = broker.read(&context, row);
            let plain: Vec<_> = reads.iter().map(|(_, read)| *read).collect();
            let size = broker.cache.response_size(&context, &plain);
            remove(&mut broker, id);
            assert!(!broker.live().contains(&id), "{how}");
            let (listed, sized) =
                (broker.listed(&context), broker.cache.response_size(&context, &plain));
            assert_eq!(listed, ["foo-0", "foo-1", "foo-2", "bar-0"], "{how}");
            assert_eq!(sized, size, "{how}");
            let bar = TopicId::from_u128(BAR.id);
            let found = broker.cache.slots(&context).find(bar, "", 0);
            assert_eq!(found, Some(plain[3].slot()), "{how}");
            let before = (broker.cache.export(), broker.cache.stats());
            let response = broker.finish(context, reads);
            assert_eq!(response, answered(id, &["foo-1", "bar-0"]), "{how}");
            assert_eq!((broker.cache.export(), broker.cache.stats()), before, "{how}");
            assert_eq!(broker.serve(&fetch(id, 2), |_| at(10)), not_found(), "{how}");
        }
    }
}

#[test]
fn a_fetch_whose_session_is_gone_may_be_throttled() {
    for (how, remove) in removals() {
        let mut broker = Broker::of_one_shard(3, 1000);
        let id = broker.open(&fetch(0, 0).wants(FOO, 0));
        let context = broker.begin(&fetch(id, 1));
        remove(&mut broker, id);
        assert_eq!(broker.throttle(context, 9), throttled(id, 9), "{how}");
    }
}

#[test]
fn a_fetch_that_was_overtaken_is_stale_even_if_its_session_is_gone() {
    for (how, remove) in removals() {
        let mut broker = Broker::of_one_shard(3, 1000);
        let id = broker.open(&fetch(0, 0).wants(FOO, 0));
        let first = broker.begin(&fetch(id, 1));
        let reads = broker.read(&first, |_| at(20));
        let second = broker.begin(&fetch(id, 2));
        remove(&mut broker, id);
        assert!(broker.listed(&first).is_empty(), "{how}");
        assert_eq!(broker.finish(first, reads), late(id), "{how}");
        assert_eq!(broker.answer(second, |_| at(20)), answered(id, &["foo-0"]), "{how}");
    }
}

#[test]
fn a_fetch_whose_session_was_emptied_has_nothing_to_tell() {
    for tracking in MODES {
        let mut broker = broker(10, tracking);
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
        let context = broker.begin(&fetch(id, 1));
        let reads = broker.read(&context, |_| at(20));
        let emptied = broker.serve(&fetch(id, 2).forgets(FOO, 0).forgets(FOO, 1), |_| at(10));
        assert_eq!(emptied, answered(0, &[]));
        assert!(broker.listed(&context).is_empty());
        assert_eq!(broker.finish(context, reads), answered(id, &[]));
    }
}

#[test]
fn what_a_later_request_forgot_is_not_told_by_an_earlier_one() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let first = broker.begin(&fetch(id, 1));
    let reads = broker.read(&first, |_| at(20));
    let second = broker.begin(&fetch(id, 2).forgets(FOO, 0).wants(BAR, 0));
    assert_eq!(broker.finish(first, reads), late(id));
    assert_eq!(broker.answer(second, |_| at(10)), answered(id, &["bar-0"]));
}

#[test]
fn beyond_the_bound_the_oldest_of_those_that_wait_are_given_up() {
    let config = one_shard(100, 1000).with_detached_max(3, 1000);
    let mut broker = Broker::new(config);
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let id = broker.open(&fetch(0, 0).wants(FOO, 0));
        let context = broker.begin(&fetch(id, 1));
        let reads = broker.read(&context, |_| at(20));
        let _ = broker.serve(&fetch(id, -1), |_| at(10));
        waiting.push((id, context, reads));
    }
    for (place, (id, context, reads)) in waiting.into_iter().enumerate() {
        let due = if place < 2 { late(id) } else { answered(id, &["foo-0"]) };
        assert_eq!(broker.finish(context, reads), due, "{place}");
    }
}

#[test]
fn the_bound_counts_partitions_too() {
    let config = one_shard(100, 1000).with_detached_max(100, 5);
    let mut broker = Broker::new(config);
    let mut detach = |partitions| {
        let id = broker.open(&fetch(0, 0).wants_first(FOO, partitions));
        let context = broker.begin(&fetch(id, 1));
        let _ = broker.serve(&fetch(id, -1), |_| at(10));
        context
    };
    let waiting = [detach(3), detach(2), detach(1)];
    let visited = waiting.each_ref().map(|context| broker.listed(context).len());
    assert_eq!(visited, [0, 2, 1], "the oldest goes first");
}

#[test]
fn one_that_is_over_the_bound_by_itself_does_not_push_the_others_out() {
    let config = one_shard(100, 1000).with_detached_max(100, 5);
    let mut broker = Broker::new(config);
    let mut detach = |partitions| {
        let id = broker.open(&fetch(0, 0).wants_first(FOO, partitions));
        let context = broker.begin(&fetch(id, 1));
        let _ = broker.serve(&fetch(id, -1), |_| at(10));
        context
    };
    let waiting = [detach(2), detach(6), detach(3)];
    let visited = waiting.each_ref().map(|context| broker.listed(context).len());
    assert_eq!(visited, [2, 0, 3]);
}

#[test]
fn what_was_answered_makes_room_for_others() {
    let config = one_shard(100, 1000).with_detached_max(1, 1);
    let mut broker = Broker::new(config);
    for _ in 0..50 {
        let id = broker.open(&fetch(0, 0).wants(FOO, 0));
        let context = broker.begin(&fetch(id, 1));
        let _ = broker.serve(&fetch(id, -1), |_| at(10));
        assert_eq!(broker.answer(context, |_| at(20)), answered(id, &["foo-0"]));
    }
}

#[test]
fn an_id_that_is_issued_again_is_not_taken_for_the_old_session() {
    for tracking in MODES {
        let mut broker = broker(10, tracking);
        broker.draws.scripted = [41, 41].into();
        let id = broker.open(&fetch(0, 0).wants(FOO, 0));
        let old = broker.begin(&fetch(id, 1));
        let old_reads = broker.read(&old, |_| at(50).records(3));
        let _ = broker.serve(&fetch(id, -1), |_| at(10));
        let again = broker.open(&fetch(0, 0).wants(BAR, 7).wants(BAR, 8));
        assert_eq!((again, id), (42, 42));
        // Both wait for the same epoch, in the same place, under the same id.
        let new = broker.begin(&fetch(id, 1));
        let new_reads = broker.read(&new, |_| at(20));
        assert_eq!(broker.listed(&old), ["foo-0"]);
        assert_eq!(broker.listed(&new), ["bar-7", "bar-8"]);
        let before = broker.session(id);
        assert_eq!(broker.finish(old, old_reads), answered(id, &["foo-0"]));
        assert_eq!(broker.session(id), before, "it is not the old one's");
        assert_eq!(broker.finish(new, new_reads), answered(id, &["bar-7", "bar-8"]));
    }
}

#[test]
fn a_place_that_is_used_again_many_times_keeps_its_contexts_apart() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let mut waiting = Vec::new();
    for partition in 0..20 {
        let id = broker.open(&fetch(0, 0).wants(FOO, partition));
        waiting.push((id, broker.begin(&fetch(id, 1))));
        let _ = broker.serve(&fetch(id, -1), |_| at(10));
    }
    for (partition, (id, context)) in waiting.into_iter().enumerate() {
        let label = format!("foo-{partition}");
        assert_eq!(broker.answer(context, |_| at(20)), answered(id, &[&*label]));
    }
}

#[test]
fn slots_of_another_context_do_no_harm() {
    for tracking in MODES {
        let mut broker = broker(10, tracking);
        let big = broker.begin(&fetch(0, -1).wants_first(ZAR, 40));
        let strays: Vec<_> =
            broker.cache.visit(&big).map(|it| at(99).records(1).of(it.slot)).collect();
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
        let epoch = settle(&mut broker, id);
        let _ = broker.serve(&fetch(id, epoch).forgets(FOO, 1), |_| at(10));
        for request in [
            fetch(id, epoch + 1),
            fetch(0, -1).wants(BAR, 0),
            fetch(9, 9),
            fetch(0, 0).wants(BAR, 0),
        ] {
            let context = broker.begin(&request);
            let expected = context.partition_count();
            let mut reads = strays.clone();
            let _ = broker.cache.response_size(&context, &reads);
            let now = Monotonic::from_millis(0);
            let _ = broker.cache.finish(context, &mut reads, &mut broker.draws, now);
            let carried = reads.iter().filter(|read| read.is_included()).count();
            assert_eq!(carried, expected, "only those that are a place of its own");
        }
        let state = broker.cache.export();
        assert!(state.sessions.iter().all(|it| it.partitions.len() <= 2));
    }
}

#[test]
fn a_full_fetch_keeps_only_what_was_read_and_each_once() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let context = broker.begin(&fetch(0, 0).wants_first(FOO, 4).wants(BAR, 0));
    let mut reads = broker.read(&context, |_| at(10));
    let repeated = (reads[1].0.clone(), at(77).of(reads[1].1.slot()));
    reads.truncate(3);
    reads.swap(0, 2);
    reads.push(repeated);
    let id = broker.finish(context, reads).session_id;
    assert_eq!(broker.order(id), ["foo-2", "foo-1", "foo-0"]);
    assert_eq!(broker.reported(id, "foo-1"), (77, 0));
    assert_eq!(broker.cache.stats().partitions, 3);
    let context = broker.begin(&fetch(id, 1).wants(BAR, 0).wants(FOO, 3));
    assert_eq!(broker.listed(&context), ["foo-2", "foo-1", "foo-0", "bar-0", "foo-3"]);
}

#[test]
fn a_context_of_one_cache_means_nothing_to_the_cache_that_took_over_its_state() {
    for tracking in MODES {
        let config = one_shard(10, 1000).with_change_tracking(tracking);
        let mut broker = Broker::new(config.clone());
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
        // Slots in the new cache will not be those of the old.
        let _ = broker.serve(&fetch(id, 1).forgets(FOO, 0), |_| at(10));
        broker.cache.mark_all();
        let context = broker.begin(&fetch(id, 2));
        let reads = broker.read(&context, |_| at(20).records(1));
        let state = broker.cache.export();
        broker.cache = FetchCache::import(config, &state).expect("it is sound");
        assert!(broker.listed(&context).is_empty());
        assert_eq!(broker.finish(context, reads), late(id));
        assert_eq!(broker.cache.export(), state);
        let response = broker.serve(&fetch(id, 3), |_| at(20));
        assert_eq!(response, answered(id, &["foo-1", "foo-2"]));
    }
}

// With changes tracked.

#[test]
fn an_idle_session_visits_nothing_and_waits_for_all_of_it() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 500));
    let epoch = settle(&mut broker, id);
    let context = broker.begin(&fetch(id, epoch));
    assert!(broker.listed(&context).is_empty());
    assert_eq!(context.partition_count(), 500);
    assert_eq!(mark(&mut broker, FOO, 123, Change::HighWatermark), [id]);
    assert_eq!(broker.listed(&context), ["foo-123"]);
    assert_eq!(broker.answer(context, |_| at(11)), answered(id, &["foo-123"]));
}

#[test]
fn a_mark_between_the_visit_and_the_answer_is_not_lost() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let epoch = settle(&mut broker, id);
    mark(&mut broker, FOO, 0, Change::HighWatermark);
    let context = broker.begin(&fetch(id, epoch));
    let reads = broker.read(&context, |_| at(11));
    mark(&mut broker, FOO, 0, Change::HighWatermark);
    mark(&mut broker, FOO, 2, Change::HighWatermark);
    assert_eq!(broker.finish(context, reads), answered(id, &["foo-0"]));
    let context = broker.begin(&fetch(id, epoch + 1));
    assert_eq!(broker.listed(&context), ["foo-0", "foo-2"]);
    assert_eq!(broker.answer(context, |_| at(12)), answered(id, &["foo-0", "foo-2"]));
    let context = broker.begin(&fetch(id, epoch + 2));
    assert!(broker.listed(&context).is_empty());
}

#[test]
fn only_the_last_visit_counts() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let epoch = settle(&mut broker, id);
    let context = broker.begin(&fetch(id, epoch));
    for partition in [2, 0] {
        mark(&mut broker, FOO, partition, Change::HighWatermark);
    }
    assert_eq!(broker.listed(&context), ["foo-0", "foo-2"], "in the order of the session");
    mark(&mut broker, FOO, 0, Change::HighWatermark);
    assert_eq!(broker.answer(context, |_| at(11)), answered(id, &["foo-0", "foo-2"]));
    let context = broker.begin(&fetch(id, epoch + 1));
    assert!(broker.listed(&context).is_empty());
}

#[test]
fn what_is_not_told_stays_to_be_visited() {
    type Answer = fn(&mut Broker, FetchContext);
    let answers: [(&str, Answer); 3] = [
        ("throttled", |broker, context| drop(broker.throttle(context, 5))),
        ("dropped", |_, context| drop(context)),
        ("overtaken", |broker, context| {
            let reads = broker.read(&context, |_| at(11));
            let (id, epoch) = (context.session_id(), broker.session(context.session_id()).epoch);
            drop(broker.begin(&fetch(id, epoch)));
            assert_eq!(broker.finish(context, reads), late(id));
        }),
    ];
    for (how, answer) in answers {
        let mut broker = tracking();
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
        let epoch = settle(&mut broker, id);
        mark(&mut broker, FOO, 1, Change::LogStartOffset);
        let context = broker.begin(&fetch(id, epoch));
        assert_eq!(broker.listed(&context), ["foo-1"]);
        answer(&mut broker, context);
        let epoch = broker.session(id).epoch;
        let response = broker.serve(&fetch(id, epoch), |_| at(11));
        assert_eq!(response, answered(id, &["foo-1"]), "{how}");
    }
}

#[test]
fn what_has_more_to_tell_is_visited_again_without_a_mark() {
    let rows = [
        ("records", at(10).records(1), true),
        ("withheld", at(10).revisit(), true),
        ("an error", failed(ErrorCode::NotLeaderOrFollower), true),
        ("a preferred replica", at(10).preferred(), true),
        ("a diverging epoch", at(10).diverging(), true),
        ("a high watermark", at(11), false),
        ("a log start", at(10).log_start(1), false),
        ("nothing", at(10), false),
    ];
    for (what, row, is_visited) in rows {
        let mut broker = tracking();
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
        let epoch = settle(&mut broker, id);
        mark(&mut broker, FOO, 0, Change::Unspecified);
        let _ = broker.serve(&fetch(id, epoch), |_| row);
        let context = broker.begin(&fetch(id, epoch + 1));
        let visited = broker.listed(&context);
        assert_eq!(visited.is_empty(), !is_visited, "{what}: {visited:?}");
    }
}

#[test]
fn a_request_that_names_a_partition_visits_it() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let epoch = settle(&mut broker, id);
    let context =
        broker.begin(&fetch(id, epoch).wants(FOO, 2).wants(BAR, 0).wants(FOO, 0).forgets(FOO, 0));
    assert_eq!(broker.listed(&context), ["foo-2", "bar-0"]);
}

#[test]
fn another_profile_visits_everything() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let epoch = settle(&mut broker, id);
    let other = Profile { host: 7, ..Profile::default() };
    let context = broker.begin(&fetch(id, epoch).profile(other));
    assert_eq!(broker.listed(&context).len(), 2);
    let _ = broker.answer(context, |_| at(10));
    let context = broker.begin(&fetch(id, epoch + 1).profile(other));
    assert!(broker.listed(&context).is_empty());
    let _ = broker.answer(context, |_| at(10));
    let context = broker.begin(&fetch(id, epoch + 2));
    assert_eq!(broker.listed(&context).len(), 2, "back is a change too");
}

#[test]
fn a_change_is_heard_by_those_whom_it_concerns() {
    let mut broker = tracking();
    let committed = Profile { read_committed: true, host: 0 };
    let consumer = broker.open(&fetch(0, 0).wants(FOO, 0));
    let reader = broker.open(&fetch(0, 0).profile(committed).wants(FOO, 0));
    let by_name = broker.open(&fetch(0, 0).by_name().wants(FOO, 0));
    let follower = broker.open(&fetch(0, 0).follower().wants(FOO, 0));
    broker.open(&fetch(0, 0).wants(FOO, 64).wants(BAR, 0));
    let all = [consumer, reader, by_name, follower];
    let consumers = [consumer, reader, by_name];
    for (change, due) in [
        (Change::Appended, &[follower][..]),
        (Change::HighWatermark, &all),
        (Change::LastStableOffset, &[reader]),
        (Change::LogStartOffset, &all),
        (Change::Truncated, &all),
        (Change::Leadership, &all),
        (Change::Metadata, &all),
        (Change::ReplicaSelection, &consumers),
        (Change::FollowerState, &[follower]),
        (Change::Unspecified, &all),
    ] {
        let mut heard = mark(&mut broker, FOO, 0, change);
        heard.sort_unstable();
        assert_eq!(heard, due, "{change:?}");
    }
    assert!(mark(&mut broker, FOO, 1, Change::Unspecified).is_empty());
    assert!(mark(&mut broker, ZAR, 0, Change::Unspecified).is_empty());
}

#[test]
fn a_mark_says_who_waits_and_since_when_all_was_quiet() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).follower().wants_first(FOO, 2));
    settle(broker.at(50), id);
    let marked = |broker: &mut Broker, partition| {
        let mut heard = None;
        let foo = TopicId::from_u128(FOO.id);
        broker.cache.mark(foo, "foo", partition, Change::Appended, |it| heard = Some(it));
        heard.expect("the session holds it")
    };
    let first = marked(&mut broker, 0);
    assert_eq!((first.session_id, first.fetcher), (id, FetcherKind::Follower));
    assert!(!first.is_waiting);
    assert_eq!(first.quiet_at, Some(Monotonic::from_millis(50)));
    assert_eq!(marked(&mut broker, 0).quiet_at, None, "it was marked before");
    let context = broker.at(70).begin(&fetch(id, 3).follower());
    assert_eq!(broker.listed(&context), ["foo-0"]);
    let second = marked(&mut broker, 1);
    assert!(second.is_waiting);
    assert_eq!(second.quiet_at, Some(Monotonic::from_millis(70)), "as of the last visit");
    let _ = broker.answer(context, |_| at(10));
    assert!(!marked(&mut broker, 1).is_waiting);
}

#[test]
fn a_session_hears_of_a_change_once_though_it_knows_the_topic_twice() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    broker.names.clear();
    // Partition 64 is unresolved, and its place in the index of changes is that of partition 0.
    let _ = broker.serve(&fetch(id, 1).wants(FOO, 64), |_| at(10));
    assert_eq!(mark(&mut broker, FOO, 0, Change::HighWatermark), [id]);
    assert_eq!(mark(&mut broker, FOO, 64, Change::HighWatermark), [id]);
}

/// A session by id whose topic foo is known by name in one partition and not in the other.
fn half_resolved(broker: &mut Broker) -> i32 {
    broker.learn(FOO);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    broker.names.remove(&FOO.id);
    let _ = broker.serve(&fetch(id, 1).wants(FOO, 1), |_| at(10));
    broker.learn(FOO);
    id
}

#[test]
fn a_removed_session_that_knew_a_topic_twice_leaves_the_index_of_changes_whole() {
    let mut broker = tracking();
    let other = broker.open(&fetch(0, 0).wants(FOO, 0));
    let first = half_resolved(&mut broker);
    let _ = broker.serve(&fetch(first, -1), |_| at(10));
    // This one takes the place of the first, and has other topics under the same numbers.
    let id = broker.open(&fetch(0, 0).wants(BAR, 0).wants(ZAR, 0));
    let _ = broker.serve(&fetch(other, -1), |_| at(10));
    settle(&mut broker, id);
    let epoch = broker.session(id).epoch;
    let _ = broker.serve(&fetch(id, epoch).wants(ZAR, 5).wants(BAR, 5), |_| at(10));
    let _ = broker.serve(&fetch(id, epoch + 1), |_| at(10));
    for (topic, partition, label) in [(ZAR, 5, "zar-5"), (BAR, 5, "bar-5"), (ZAR, 0, "zar-0")] {
        assert_eq!(mark(&mut broker, topic, partition, Change::HighWatermark), [id], "{label}");
        let epoch = broker.session(id).epoch;
        let context = broker.begin(&fetch(id, epoch));
        assert_eq!(broker.listed(&context), [label]);
        let _ = broker.answer(context, |_| at(10));
    }
}

#[test]
fn sessions_come_and_go_and_each_mark_finds_those_that_live() {
    // Many sessions over the same few topics, some of which they know twice.
    let mut broker = broker(1000, ChangeTracking::On);
    let mut live: Vec<(i32, Request)> = Vec::new();
    for round in 0..300_i32 {
        broker.learn(FOO);
        broker.learn(BAR);
        let mut request = fetch(0, 0).wants(FOO, round % 5).wants(BAR, round % 3);
        if round % 4 == 0 {
            request = request.by_name();
        }
        let id = broker.open(&request);
        if round % 4 != 0 && round % 3 == 0 {
            broker.names.clear();
            let _ = broker.serve(&fetch(id, 1).wants(FOO, 7).wants(BAR, 7), |_| at(10));
        }
        if round % 4 != 0 && round % 5 == 0 {
            let epoch = broker.session(id).epoch;
            let _ = broker.serve(&fetch(id, epoch).forgets(FOO, round % 5), |_| at(10));
        }
        live.push((id, request));
        if round % 3 != 1 {
            let (id, _) = live.remove((round as usize * 7) % live.len());
            let _ = broker.serve(&fetch(id, -1), |_| at(10));
        }
        for (topic, partition) in [(FOO, round % 5), (BAR, 7)] {
            let mut heard = mark(&mut broker, topic, partition, Change::Unspecified);
            heard.sort_unstable();
            let state = broker.cache.export();
            let holders = state.sessions.iter().filter(|session| {
                session.partitions.iter().any(|it| {
                    let is_it = if session.uses_topic_ids {
                        it.topic_id.as_u128() == topic.id
                    } else {
                        it.topic.as_deref() == Some(topic.name)
                    };
                    is_it && it.partition == partition
                })
            });
            let holders: Vec<i32> = holders.map(|it| it.id).collect();
            assert_eq!(heard, holders, "round {round}, {}-{partition}", topic.name);
        }
    }
}

#[test]
fn marking_everything_during_a_fetch_keeps_everything_to_be_visited() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 3));
    let epoch = settle(&mut broker, id);
    let context = broker.begin(&fetch(id, epoch));
    let reads = broker.read(&context, |_| at(11));
    assert!(reads.is_empty());
    broker.cache.mark_all();
    assert_eq!(broker.finish(context, reads), answered(id, &[]));
    let context = broker.begin(&fetch(id, epoch + 1));
    assert_eq!(broker.listed(&context).len(), 3);
    let reads = broker.read(&context, |_| at(11));
    broker.cache.mark_all();
    assert_eq!(broker.finish(context, reads).partitions.len(), 3);
    let context = broker.begin(&fetch(id, epoch + 2));
    assert_eq!(broker.listed(&context).len(), 3);
    let _ = broker.answer(context, |_| at(11));
    let context = broker.begin(&fetch(id, epoch + 3));
    assert!(broker.listed(&context).is_empty());
}

#[test]
fn a_partition_that_was_never_seen_quiet_is_not_said_to_have_been() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).follower().wants_first(FOO, 2));
    settle(broker.at(50), id);
    // From here on partition 0 has records that its fetcher has not confirmed.
    mark(&mut broker, FOO, 0, Change::Appended);
    let _ = broker.at(60).serve(&fetch(id, 3).follower(), |_| at(10).records(1));
    broker.cache.mark_all();
    let context = broker.at(70).begin(&fetch(id, 4).follower());
    let reads = broker.read(&context, |_| at(10));
    broker.cache.mark_all();
    let _ = broker.finish(context, reads);
    let mut quiet_at = None;
    let foo = TopicId::from_u128(FOO.id);
    broker.cache.mark(foo, "foo", 0, Change::Appended, |it| quiet_at = it.quiet_at);
    assert_ne!(quiet_at, Some(Monotonic::from_millis(60)), "it had records then");
}

#[test]
fn what_was_read_without_a_visit_is_kept_as_what_was_visited() {
    let mut broker = tracking();
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let epoch = settle(&mut broker, id);
    let context = broker.begin(&fetch(id, epoch));
    assert!(broker.listed(&context).is_empty());
    let foo = TopicId::from_u128(FOO.id);
    let slot = broker.cache.slots(&context).find(foo, "", 1).expect("the session has it");
    // Read twice, even: the leader changed in between.
    let reads = [at(10), failed(ErrorCode::NotLeaderOrFollower)];
    let reads = reads.map(|row| (String::from("foo-1"), row.of(slot)));
    assert_eq!(broker.finish(context, reads.into()), answered(id, &["foo-1"]));
    // An error is repeated until it clears.
    let context = broker.begin(&fetch(id, epoch + 1));
    assert_eq!(broker.listed(&context), ["foo-1"]);
    let response = broker.answer(context, |_| at(10));
    assert_eq!(response, answered(id, &["foo-1"]));
    let context = broker.begin(&fetch(id, epoch + 2));
    assert!(broker.listed(&context).is_empty());
}
