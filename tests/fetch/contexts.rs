//! What a request is classified as, what it lists, and what its answer carries.

use crate::support::{
    BAR, Broker, FOO, PARAMS, ZAR, answered, at, failed, fetch, refused, stale, throttled,
};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{ContextKind, FetchContext, FetchParams};

fn epochs(leader: Option<i32>, last_fetched: Option<i32>) -> FetchParams {
    FetchParams { leader_epoch: leader, last_fetched_epoch: last_fetched, ..PARAMS }
}

/// Leader epoch and last fetched epoch of each partition that a context lists.
fn listed_epochs(broker: &mut Broker, context: &FetchContext) -> Vec<(Option<i32>, Option<i32>)> {
    let visit = broker.cache.visit(context);
    visit.map(|it| (it.params.leader_epoch, it.params.last_fetched_epoch)).collect()
}

/// Opens a session with the first epochs, checks that it remembers them, and that it takes the
/// second.
fn remembers(first: [FetchParams; 3], second: [FetchParams; 3]) {
    let of = |params: FetchParams| (params.leader_epoch, params.last_fetched_epoch);
    let request = |id, epoch, params: [FetchParams; 3]| {
        (0..)
            .zip(params)
            .fold(fetch(id, epoch), |it, (partition, params)| it.wants_with(FOO, partition, params))
    };
    let mut broker = Broker::of_one_shard(10, 1000);
    let full = broker.begin(&request(0, 0, first));
    assert_eq!(listed_epochs(&mut broker, &full), first.map(of));
    let id = broker.answer(full, |_| at(10)).session_id;
    let same = broker.begin(&fetch(id, 1));
    assert_eq!(listed_epochs(&mut broker, &same), first.map(of));
    let altered = broker.begin(&request(id, 2, second));
    assert_eq!(listed_epochs(&mut broker, &altered), second.map(of));
    let same = broker.begin(&fetch(id, 3));
    assert_eq!(listed_epochs(&mut broker, &same), second.map(of));
}

#[test]
fn s04_a_session_remembers_leader_epochs() {
    remembers(
        [epochs(None, None), epochs(Some(1), None), epochs(Some(2), None)],
        [epochs(Some(6), None), epochs(None, None), epochs(Some(3), None)],
    );
}

#[test]
fn s05_a_session_remembers_last_fetched_epochs() {
    remembers(
        [epochs(None, None), epochs(Some(2), None), epochs(None, Some(1))],
        [epochs(Some(0), Some(5)), epochs(None, None), epochs(Some(1), Some(3))],
    );
}

#[test]
fn s06_a_session_from_its_creation_to_its_close() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let wanted = |id, epoch| fetch(id, epoch).wants_first(FOO, 2);

    let sessionless = broker.begin(&wanted(0, -1));
    assert_eq!(sessionless.kind(), ContextKind::Sessionless);
    let response = broker.answer(sessionless, |_| at(100));
    assert_eq!(response, answered(0, &["foo-0", "foo-1"]));

    let full = broker.begin(&wanted(0, 0));
    assert_eq!(full.kind(), ContextKind::Full);
    assert_eq!(broker.listed(&full), ["foo-0", "foo-1"]);
    let response = broker.answer(full, |_| at(100));
    let id = response.session_id;
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
    assert_ne!(id, 0);

    let invalid_epoch = refused(ErrorCode::InvalidFetchSessionEpoch);
    assert_eq!(broker.serve(&fetch(id, 5), |_| at(100)), invalid_epoch);
    let not_found = refused(ErrorCode::FetchSessionIdNotFound);
    assert_eq!(broker.serve(&fetch(id + 1, 1), |_| at(100)), not_found);

    let incremental = broker.begin(&fetch(id, 1));
    assert_eq!(incremental.kind(), ContextKind::Incremental);
    assert_eq!(incremental.session_id(), id);
    assert_eq!(broker.listed(&incremental), ["foo-0", "foo-1"]);
    assert_eq!(broker.answer(incremental, |_| at(100)), answered(id, &[]));

    assert_eq!(broker.serve(&fetch(id, 5), |_| at(100)), invalid_epoch);
    let over_quota = broker.begin(&fetch(id, 2));
    assert_eq!(broker.throttle(over_quota, 100), throttled(id, 100));

    let last = broker.begin(&fetch(id, -1));
    assert_eq!(last.kind(), ContextKind::Sessionless);
    assert_eq!(broker.answer(last, |_| at(100)), answered(0, &[]));
    assert!(broker.live().is_empty());
}

#[test]
fn s07_a_session_takes_what_is_added_and_drops_what_is_forgotten() {
    for version in [12, 18] {
        let mut broker = Broker::of_one_shard(10, 1000);
        let id = broker.open(&fetch(0, 0).version(version).wants_first(FOO, 2));
        let request = fetch(id, 1).version(version).wants(BAR, 0).forgets(FOO, 0);
        let context = broker.begin(&request);
        assert_eq!(broker.listed(&context), ["foo-1", "bar-0"]);
        assert_eq!(broker.answer(context, |_| at(10)), answered(id, &["bar-0"]));
    }
}

#[test]
fn s18_a_session_that_loses_its_last_partition_is_closed() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let context = broker.begin(&fetch(id, 1).forgets(FOO, 0).forgets(FOO, 1));
    assert_eq!(context.kind(), ContextKind::Sessionless);
    assert_eq!(broker.answer(context, |_| at(10)), answered(0, &[]));
    let stats = broker.cache.stats();
    assert_eq!((stats.sessions, stats.closed, stats.evictions()), (0, 1, 0));
}

#[test]
fn s18_it_still_serves_what_the_request_itself_lists() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let request = fetch(id, 1).wants(BAR, 0).forgets(FOO, 0).forgets(BAR, 0);
    let context = broker.begin(&request);
    assert_eq!(broker.listed(&context), ["bar-0"]);
    assert_eq!(broker.answer(context, |_| at(10)), answered(0, &["bar-0"]));
    assert!(broker.live().is_empty());
}

#[test]
fn s19_a_diverging_epoch_is_answered_until_it_is_gone() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let diverging = |label: &str| if label == "foo-1" { at(10).diverging() } else { at(10) };
    let response = broker.serve(&fetch(id, 1), diverging);
    assert_eq!(response, answered(id, &["foo-1"]));
    let response = broker.serve(&fetch(id, 2), |_| at(10).diverging());
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
    let moved = |label: &str| if label == "foo-1" { at(110) } else { at(10).diverging() };
    let response = broker.serve(&fetch(id, 3), moved);
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
    let response =
        broker.serve(&fetch(id, 4), |label| if label == "foo-1" { at(110) } else { at(10) });
    assert_eq!(response, answered(id, &[]));
}

#[test]
fn s20_only_partitions_with_records_lose_their_turn() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0).wants(BAR, 0).wants(ZAR, 0));
    assert_eq!(broker.serve(&fetch(id, 1), |_| at(10)), answered(id, &[]));
    let row = |label: &str| match label {
        "foo-0" => at(60),
        "bar-0" => at(60).records(50),
        _ => at(10),
    };
    let response = broker.serve(&fetch(id, 2), row);
    assert_eq!(response, answered(id, &["foo-0", "bar-0"]));
    assert_eq!(broker.order(id), ["foo-0", "zar-0", "bar-0"]);
    let context = broker.begin(&fetch(id, 3));
    assert_eq!(broker.listed(&context), ["foo-0", "zar-0", "bar-0"]);
}

#[test]
fn several_that_move_keep_their_order_among_each_other() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 5));
    let row = |label: &str| match label {
        "foo-0" | "foo-2" | "foo-3" => at(10).records(1),
        _ => at(10),
    };
    let response = broker.serve(&fetch(id, 1), row);
    assert_eq!(response, answered(id, &["foo-0", "foo-2", "foo-3"]));
    assert_eq!(broker.order(id), ["foo-1", "foo-4", "foo-0", "foo-2", "foo-3"]);
}

#[test]
fn altering_and_resolving_move_nothing() {
    let mut broker = Broker::of_one_shard(10, 1000);
    broker.names.remove(&BAR.id);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0).wants(ZAR, 0).wants(BAR, 0).wants(FOO, 1));
    // What could not be read is last in a new session.
    assert_eq!(broker.order(id), ["foo-0", "zar-0", "foo-1", "?-0"]);
    broker.learn(BAR);
    let context = broker.begin(&fetch(id, 1).wants(FOO, 1).wants(FOO, 0).wants(ZAR, 1));
    let order = ["foo-0", "zar-0", "foo-1", "bar-0", "zar-1"];
    assert_eq!(broker.listed(&context), order);
}

#[test]
fn s61_a_throttled_full_fetch_creates_no_session() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let context = broker.begin(&fetch(0, 0).wants(FOO, 0));
    assert_eq!(broker.throttle(context, 50), throttled(0, 50));
    assert_eq!(broker.cache.stats().created, 0);
    let again = broker.serve(&fetch(0, 0).wants(FOO, 0), |_| at(10));
    assert_eq!(again, answered(1, &["foo-0"]));
}

#[test]
fn s61_it_closes_the_session_that_it_names() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let context = broker.begin(&fetch(id, 0).wants(FOO, 0));
    assert_eq!(broker.throttle(context, 50), throttled(0, 50));
    assert!(broker.live().is_empty());
}

#[test]
fn s62_a_throttled_answer_hides_the_error_of_its_request() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    for request in [fetch(99, 1), fetch(id, 7), fetch(id, 1).by_name()] {
        let context = broker.begin(&request);
        assert_eq!(context.kind(), ContextKind::Error);
        assert_ne!(context.error(), ErrorCode::None);
        assert_eq!(broker.throttle(context, 10), throttled(0, 10));
    }
    assert_eq!(broker.session(id).epoch, 1);
}

#[test]
fn s64_of_two_requests_in_flight_the_later_wins() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let first = broker.begin(&fetch(id, 1));
    let reads = broker.read(&first, |_| at(20).records(10));
    let second = broker.begin(&fetch(id, 2));
    assert!(broker.listed(&first).is_empty());
    let before = broker.session(id);
    let late = stale(ErrorCode::InvalidFetchSessionEpoch, id);
    assert_eq!(broker.finish(first, reads), late);
    assert_eq!(broker.session(id), before);
    let response = broker.answer(second, |_| at(20));
    assert_eq!(response, answered(id, &["foo-0", "foo-1"]));
}

#[test]
fn s64_a_throttled_earlier_request_is_stale_too() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let first = broker.begin(&fetch(id, 1));
    let second = broker.begin(&fetch(id, 2));
    let mut late = stale(ErrorCode::InvalidFetchSessionEpoch, id);
    late.throttle_ms = 30;
    assert_eq!(broker.throttle(first, 30), late);
    assert_eq!(broker.answer(second, |_| at(10)), answered(id, &[]));
}

#[test]
fn s65_offsets_that_go_down_are_answered_like_those_that_go_up() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    for (epoch, row, is_answered) in [
        (1, at(9), true),
        (2, at(9), false),
        (3, at(9).log_start(5), true),
        (4, at(9).log_start(2), true),
        (5, at(9).log_start(2), false),
        (6, at(10).log_start(0), true),
    ] {
        let response = broker.serve(&fetch(id, epoch), |_| row);
        assert_eq!(response.partitions.len(), usize::from(is_answered), "{epoch}");
    }
    assert_eq!(broker.reported(id, "foo-0"), (10, 0));
}

#[test]
fn s66_what_is_fetched_and_forgotten_at_once_is_forgotten() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
    let request = fetch(id, 1).wants(FOO, 0).wants(BAR, 0).forgets(BAR, 0).forgets(FOO, 0);
    let context = broker.begin(&request);
    assert_eq!(broker.listed(&context), ["foo-1"]);
    assert_eq!(context.partition_count(), 1);
}

#[test]
fn s66_a_repeated_key_keeps_its_first_place_and_takes_its_last_parameters() {
    let offset = |fetch_offset| FetchParams { fetch_offset, ..PARAMS };
    let repeating = |id, epoch| {
        fetch(id, epoch)
            .wants_with(FOO, 1, offset(1))
            .wants_with(FOO, 0, offset(2))
            .wants_with(BAR, 0, offset(3))
            .wants_with(FOO, 1, offset(4))
    };
    let expected = [("foo-1", 4), ("foo-0", 2), ("bar-0", 3)];
    let mut broker = Broker::of_one_shard(10, 1000);
    for epoch in [-1, 0] {
        let context = broker.begin(&repeating(0, epoch));
        let listed = broker.listed(&context);
        let visit = broker.cache.visit(&context);
        let offsets: Vec<_> = visit.map(|it| it.params.fetch_offset).collect();
        for (at, (label, offset)) in expected.into_iter().enumerate() {
            assert_eq!((&*listed[at], offsets[at]), (label, offset));
        }
        assert_eq!(context.partition_count(), 3);
    }
    let id = broker.open(&fetch(0, 0).wants(ZAR, 0));
    let context = broker.begin(&repeating(id, 1).forgets(ZAR, 7).forgets(ZAR, 0).forgets(ZAR, 0));
    assert_eq!(broker.listed(&context), expected.map(|(label, _)| label));
}

#[test]
fn s68_partitions_in_error_are_last_in_a_new_session() {
    let mut broker = Broker::of_one_shard(10, 1000);
    broker.names.remove(&ZAR.id);
    let response = broker.serve(&fetch(0, 0).wants(ZAR, 0).wants(FOO, 0).wants(BAR, 0), |_| at(10));
    assert_eq!(response.partitions, ["foo-0", "bar-0", "?-0"]);
    assert_eq!(broker.order(response.session_id), ["foo-0", "bar-0", "?-0"]);
}

#[test]
fn an_error_is_repeated_and_its_end_is_told_once() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let error = failed(ErrorCode::NotLeaderOrFollower);
    for (epoch, row, is_answered) in
        [(1, error, true), (2, error, true), (3, at(10), true), (4, at(10), false)]
    {
        let response = broker.serve(&fetch(id, epoch), |_| row);
        assert_eq!(response.partitions.len(), usize::from(is_answered), "{epoch}");
    }
}

#[test]
fn the_answer_that_creates_a_session_remembers_what_it_reports_verbatim() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let tiered = at(10).error(ErrorCode::OffsetMovedToTieredStorage);
    let id = broker.serve(&fetch(0, 0).wants(FOO, 0), |_| tiered).session_id;
    assert_eq!(broker.reported(id, "foo-0"), (10, 0));
    assert_eq!(broker.serve(&fetch(id, 1), |_| at(10)), answered(id, &[]));
}
