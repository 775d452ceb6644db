//! What a follower fetches, and when it says that it has it.

use crate::host::{Host, Least};
use crate::peers;
use bytes::Bytes;
use kafka_coordination::kraft::{
    BatchContent, Effect, Fatal, FetchedRecords, LogBatch, OffsetAndEpoch, Request, Response,
};

fn batch(base_offset: i64, last_offset: i64, epoch: i32) -> LogBatch {
    let content = BatchContent::Encoded { bytes: Bytes::from_static(b"batch"), control: None };
    LogBatch { base_offset, last_offset, epoch, content }
}

fn fetched(
    records: Vec<LogBatch>,
    high_watermark: i64,
    diverging: Option<OffsetAndEpoch>,
) -> Response {
    let body = FetchedRecords {
        high_watermark: Some(high_watermark),
        log_start_offset: 0,
        diverging,
        snapshot: None,
        records,
    };
    peers::fetched(2, 5, body)
}

fn fetch_offset(request: &Request) -> i64 {
    match request {
        Request::Fetch(fetch) => fetch.log_end.offset,
        request => panic!("{request:?}"),
    }
}

#[test]
fn records_are_acknowledged_once_they_are_durable() {
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, _, request) = host.only_sent();
    assert_eq!(fetch_offset(&request), 10);

    let response = fetched(vec![batch(10, 12, 5)], 10, None);
    host.replica.handle_response(correlation, response, &mut Least, host.now);
    let mut flush = None;
    while let Some(effect) = host.replica.poll_effect() {
        if let Effect::Flush { end_offset } = effect {
            flush = Some(end_offset);
        }
    }
    assert_eq!(flush, Some(13));
    // The flush takes its time, and nothing is acknowledged meanwhile.
    host.tick();
    assert_eq!(host.sent(), []);
    host.replica.flushed(13, &mut Least, host.now);
    host.tick();
    let (_, _, request) = host.only_sent();
    assert_eq!(fetch_offset(&request), 13);
}

#[test]
fn batches_that_do_not_continue_the_log_are_not_taken() {
    for wrong in [
        batch(11, 12, 5),
        batch(9, 12, 5),
        batch(10, 9, 5),
        batch(10, i64::MAX, 5),
        batch(10, 12, 6),
        batch(10, 12, 3),
    ] {
        let mut host = Host::follower();
        host.effects.clear();
        host.tick();
        let (correlation, ..) = host.only_sent();
        host.respond(correlation, fetched(vec![wrong], 10, None));
        assert_eq!(host.replica.log().end_offset(), 10);
        assert_eq!(host.replica.fatal(), None);
    }
}

#[test]
fn a_log_that_parts_from_the_leaders_is_cut_before_the_next_fetch() {
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    host.respond(correlation, fetched(Vec::new(), 5, Some(OffsetAndEpoch::new(7, 4))));
    assert!(host.effects.contains(&Effect::Truncate { end_offset: 7 }), "{:?}", host.effects);
    host.effects.clear();
    host.tick();
    assert_eq!(host.sent(), []);
    host.replica.truncated(7, &mut Least, host.now);
    host.tick();
    let (_, _, request) = host.only_sent();
    assert_eq!(fetch_offset(&request), 7);
}

#[test]
fn a_leader_that_would_take_back_what_is_committed_stops_the_replica() {
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    host.respond(correlation, fetched(Vec::new(), 10, None));
    host.tick();
    let (correlation, ..) = host.only_sent();
    host.respond(correlation, fetched(Vec::new(), 10, Some(OffsetAndEpoch::new(7, 4))));
    let expected = Fatal::Diverged { offset: 7, high_watermark: 10 };
    assert_eq!(host.replica.fatal(), Some(&expected));
    // It does nothing more, whatever comes.
    host.effects.clear();
    host.after(100_000);
    assert_eq!(host.effects, []);
    host.replica.shut_down(1_000, host.now);
    assert_eq!(host.replica.next_deadline(), None, "nothing is ever due");
}

#[test]
fn a_high_watermark_below_0_is_none() {
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    host.respond(correlation, fetched(Vec::new(), -1, None));
    assert_eq!(host.replica.quorum().state().high_watermark(), None);
    assert_eq!(host.effects, []);
}
