//! The tables by which a broker decides, row by row.

use crate::support::{
    BAR, BY_NAME, Broker, FOO, FOO_AGAIN, Row, Topic, answered, at, failed, fetch, refused,
};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{
    ContextKind, FetchMetadata, FetchParams, Reported, inclusion, retention,
};

/// What a pair of session id and epoch leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Sessionless,
    Full,
    Incremental,
    Refused(ErrorCode),
}

const NOT_FOUND: Effect = Effect::Refused(ErrorCode::FetchSessionIdNotFound);
const INVALID: Effect = Effect::Refused(ErrorCode::InvalidFetchSessionEpoch);

fn effect(broker: &mut Broker, id: i32, epoch: i32) -> Effect {
    let context = broker.begin(&fetch(id, epoch).wants(FOO, 0));
    match context.kind() {
        ContextKind::Sessionless => Effect::Sessionless,
        ContextKind::Full => Effect::Full,
        ContextKind::Incremental => Effect::Incremental,
        _ => Effect::Refused(context.error()),
    }
}

#[test]
fn every_pair_of_session_id_and_epoch_has_its_effect() {
    const LIVE: i32 = 1;
    const EPOCHS: [i32; 9] = [i32::MIN, -3, -2, -1, 0, 1, 2, 3, i32::MAX];
    for id in [i32::MIN, -1, 0, LIVE, 2, 77, i32::MAX - 1, i32::MAX] {
        for epoch in EPOCHS {
            for expected in [1, 3, i32::MAX] {
                let mut broker = Broker::of_one_shard(10, 1000);
                assert_eq!(broker.open(&fetch(0, 0).wants(FOO, 0)), LIVE);
                broker.cache.set_session_epoch(LIVE, expected);
                let before = broker.cache.export();
                let effect = effect(&mut broker, id, epoch);
                let due = match epoch {
                    -1 => Effect::Sessionless,
                    0 => Effect::Full,
                    _ if id != LIVE => NOT_FOUND,
                    _ if epoch == expected => Effect::Incremental,
                    _ => INVALID,
                };
                let case = (id, epoch, expected);
                assert_eq!(effect, due, "{case:?}");
                // What happened to the session that lives.
                let live = broker.live().contains(&LIVE);
                assert_eq!(live, id != LIVE || !matches!(epoch, -1 | 0), "{case:?}");
                if matches!(effect, Effect::Refused(_)) {
                    assert_eq!(broker.cache.export(), before, "{case:?}");
                }
                if effect == Effect::Incremental {
                    let next = FetchMetadata::next_epoch(expected);
                    assert_eq!(broker.session(LIVE).epoch, next, "{case:?}");
                }
            }
        }
    }
}

#[test]
fn a_refused_request_is_no_use_of_its_session() {
    let mut broker = Broker::of_one_shard(1, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    for request in [fetch(id, 9), fetch(id, -2), fetch(id, 1).by_name()] {
        broker.at(1001).serve(&request, |_| at(10));
    }
    let new = broker.serve(&fetch(0, 0).wants(FOO, 0), |_| at(10));
    assert_eq!(new.evicted, Some(id), "it is stale");
}

const WANTED: FetchParams = FetchParams {
    fetch_offset: 7,
    log_start_offset: 3,
    max_bytes: 77,
    leader_epoch: Some(2),
    last_fetched_epoch: Some(1),
};

/// Opens a session with foo-0 while only `first` is known, asks again for it (under another id
/// maybe) while only `then` is known, and answers what is listed, each with its offset.
fn update(first: &[Topic], asked: Topic, then: &[Topic]) -> (Broker, Vec<(String, i64)>) {
    let mut broker = Broker::of_one_shard(10, 1000);
    broker.names = first.iter().map(|topic| (topic.id, topic.name)).collect();
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    broker.names = then.iter().map(|topic| (topic.id, topic.name)).collect();
    let context = broker.begin(&fetch(id, 1).wants_with(asked, 0, WANTED));
    let labels = broker.listed(&context);
    let params: Vec<FetchParams> = broker.cache.visit(&context).map(|it| it.params).collect();
    let altered = params.iter().filter(|&&params| params == WANTED);
    assert_eq!(altered.count(), 1, "one took the parameters of the request");
    let offsets = params.iter().map(|params| params.fetch_offset);
    let listed = labels.into_iter().zip(offsets).collect();
    (broker, listed)
}

fn listed(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|&(label, offset)| (label.to_owned(), offset)).collect()
}

#[test]
fn update_1_resolved_again_resolved() {
    let (mut broker, rows) = update(&[FOO], FOO, &[FOO]);
    assert_eq!(rows, listed(&[("foo-0", 7)]));
    assert_eq!(broker.serve(&fetch(1, 2), |_| at(10)), answered(1, &[]));
}

#[test]
fn update_2_unresolved_again_unresolved() {
    let (mut broker, rows) = update(&[], FOO, &[]);
    assert_eq!(rows, listed(&[("?-0", 7)]));
    for epoch in 2..5 {
        let response = broker.serve(&fetch(1, epoch), |_| at(10));
        assert_eq!(response, answered(1, &["?-0"]));
    }
    let response = broker.serve(&fetch(1, 5).forgets(FOO, 0), |_| at(10));
    assert_eq!(response, answered(0, &[]));
}

#[test]
fn update_3_unresolved_then_resolved() {
    let (mut broker, rows) = update(&[], FOO, &[FOO]);
    assert_eq!(rows, listed(&[("foo-0", 7)]));
    assert_eq!(broker.serve(&fetch(1, 2), |_| at(10)), answered(1, &["foo-0"]));
    assert_eq!(broker.serve(&fetch(1, 3), |_| at(10)), answered(1, &[]));
}

#[test]
fn update_4_resolved_then_unresolved_keeps_the_name() {
    let (mut broker, rows) = update(&[FOO], FOO, &[]);
    assert_eq!(rows, listed(&[("foo-0", 7)]));
    let gone = failed(ErrorCode::UnknownTopicOrPartition);
    assert_eq!(broker.serve(&fetch(1, 2), |_| gone), answered(1, &["foo-0"]));
}

#[test]
fn update_5_another_id_under_the_same_name_is_another_partition() {
    let (mut broker, rows) = update(&[FOO], FOO_AGAIN, &[FOO_AGAIN]);
    assert_eq!(rows, listed(&[("foo-0", 0), ("foo-0", 7)]));
    let context = broker.begin(&fetch(1, 2).forgets(FOO, 0));
    assert_eq!(context.partition_count(), 1);
    let visit = broker.cache.visit(&context);
    let ids: Vec<u128> = visit.map(|it| it.topic_id.as_u128()).collect();
    assert_eq!(ids, [FOO_AGAIN.id]);
    let (_, rows) = update(&[FOO], FOO_AGAIN, &[FOO]);
    assert_eq!(rows, listed(&[("foo-0", 0), ("?-0", 7)]));
}

#[test]
fn forget_1_to_4_goes_by_id_whether_either_is_resolved_or_not() {
    for was_known in [false, true] {
        for is_known in [false, true] {
            let mut broker = Broker::of_one_shard(10, 1000);
            if !was_known {
                broker.names.remove(&FOO.id);
            }
            let id = broker.open(&fetch(0, 0).wants(FOO, 0).wants(BAR, 0));
            broker.learn(FOO);
            if !is_known {
                broker.names.remove(&FOO.id);
            }
            let context = broker.begin(&fetch(id, 1).forgets(FOO, 0));
            assert_eq!(broker.listed(&context), ["bar-0"], "{was_known} {is_known}");
        }
    }
}

#[test]
fn forget_5_another_id_under_the_same_name_removes_nothing() {
    let mut broker = Broker::of_one_shard(10, 1000);
    broker.learn(FOO_AGAIN);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let context = broker.begin(&fetch(id, 1).forgets(FOO_AGAIN, 0));
    assert_eq!(context.error(), ErrorCode::None);
    assert_eq!(broker.listed(&context), ["foo-0"]);
}

#[test]
fn forget_6_by_name() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).by_name().wants(FOO, 0).wants(BAR, 0));
    let context = broker.begin(&fetch(id, 1).by_name().forgets(FOO, 0));
    assert_eq!(broker.listed(&context), ["bar-0"]);
}

#[test]
fn forget_7_the_last_partition_closes_the_session() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let context = broker.begin(&fetch(id, 1).forgets(FOO, 0));
    assert_eq!(context.kind(), ContextKind::Sessionless);
    assert_eq!(broker.answer(context, |_| at(10)), answered(0, &[]));
    assert!(broker.live().is_empty());
}

#[test]
fn forget_8_removals_come_after_additions() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let context = broker.begin(&fetch(id, 1).wants(BAR, 0).forgets(BAR, 0));
    assert_eq!(broker.listed(&context), ["foo-0"]);
}

/// A row of the table of inclusion: the read, whether it is carried, what was told afterwards, and
/// whether the partition goes to the end. It was told a high watermark of 10 and a log start of 0.
const INCLUSION: [(Row, bool, (i64, i64), bool); 9] = [
    (at(10), false, (10, 0), false),
    (at(10).records(50), true, (10, 0), true),
    (at(11), true, (11, 0), false),
    (at(9), true, (9, 0), false),
    (at(10).log_start(5), true, (10, 5), false),
    (failed(ErrorCode::NotLeaderOrFollower), true, (-1, -1), false),
    (at(10).error(ErrorCode::OffsetMovedToTieredStorage), true, (-1, 0), false),
    (at(10).preferred(), true, (10, 0), false),
    (at(10).diverging(), true, (10, 0), false),
];

#[test]
fn a_response_carries_what_the_table_of_inclusion_says() {
    for (row, is_carried, told, moves) in INCLUSION {
        let mut broker = Broker::of_one_shard(10, 1000);
        let id = broker.open(&fetch(0, 0).wants_first(FOO, 2));
        let before = broker.session(id).partitions;
        let context = broker.begin(&fetch(id, 1));
        let reads = broker.read(&context, |label| if label == "foo-0" { row } else { at(10) });
        let plain: Vec<_> = reads.iter().map(|(_, read)| *read).collect();
        let size = broker.cache.response_size(&context, &plain);
        assert_eq!(size > 4 + 12, is_carried, "{row:?}");
        assert_eq!(broker.session(id).partitions, before, "sizing commits nothing");
        let expected: &[&str] = if is_carried { &["foo-0"] } else { &[] };
        assert_eq!(broker.finish(context, reads), answered(id, expected), "{row:?}");
        assert_eq!(broker.reported(id, "foo-0"), told, "{row:?}");
        assert_eq!(broker.order(id)[1] == "foo-0", moves, "{row:?}");
    }
}

#[test]
fn nothing_known_told_as_nothing_known_is_no_news() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let nothing = |label: &str| if label == "foo-1" { at(-1).log_start(-1) } else { at(10) };
    let response = broker.serve(&fetch(id, 1).wants(FOO, 1), nothing);
    assert_eq!(response, answered(id, &[]));
    assert_eq!(broker.reported(id, "foo-1"), (-1, -1));
}

#[test]
fn aborted_transactions_and_the_leader_are_no_news() {
    let mut broker = Broker::of_one_shard(10, 1000);
    let id = broker.open(&fetch(0, 0).wants(FOO, 0));
    let row = |_: &str| at(10).aborted(Some(3)).leader();
    assert_eq!(broker.serve(&fetch(id, 1), row), answered(id, &[]));
}

#[test]
fn a_partition_is_visited_again_exactly_if_another_read_would_be_carried() {
    // By the kernels alone: what is read twice in a row is carried the second time only if the
    // first read asks for another visit.
    let mut broker = Broker::of_one_shard(10, 1000);
    let context = broker.begin(&fetch(0, 0).wants(FOO, 0));
    let slot = broker.cache.visit(&context).next().expect("one").slot;
    for (row, _, told, _) in INCLUSION {
        let reported = Reported { high_watermark: 10, log_start_offset: 0 };
        let read = row.of(slot);
        let (_, now_told) = inclusion(reported, &read);
        assert_eq!((now_told.high_watermark, now_told.log_start_offset), told);
        let (again, _) = inclusion(now_told, &read);
        assert_eq!(retention(now_told, &read).is_some(), again, "{row:?}");
    }
    let withheld = at(10).revisit().of(slot);
    let reported = Reported { high_watermark: 10, log_start_offset: 0 };
    assert!(!inclusion(reported, &withheld).0);
    assert!(retention(reported, &withheld).is_some());
}

#[test]
fn a_session_stays_in_the_mode_in_which_it_was_created() {
    let mixed = refused(ErrorCode::FetchSessionTopicIdError);
    for created in [7, 11, 12, 13, 18] {
        for then in 7..=18 {
            let mut broker = Broker::of_one_shard(10, 1000);
            let id = broker.open(&fetch(0, 0).version(created).wants(FOO, 0));
            let response = broker.serve(&fetch(id, 1).version(then), |_| at(10));
            let is_same_mode = (created > BY_NAME) == (then > BY_NAME);
            let due = if is_same_mode { answered(id, &[]) } else { mixed.clone() };
            assert_eq!(response, due, "{created} {then}");
            // A full request does not care: it closes the session and gets another.
            let again = broker.serve(&fetch(id, 0).version(then).wants(FOO, 0), |_| at(10));
            assert_eq!(again.partitions, ["foo-0"]);
            let new = again.session_id;
            assert_eq!(broker.live(), [new]);
            assert_eq!(broker.session(new).uses_topic_ids, then > BY_NAME);
        }
    }
}
