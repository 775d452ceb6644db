//! Fetches, as a leader answers them: it leads epoch 6, its log ends at 13, and all of it is committed.

use crate::host::{Host, Least, header, key};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::KnownHighWatermark::{self, At, Unknown, Unsupported};
use kafka_coordination::kraft::{FetchRecordsRequest, OffsetAndEpoch, Reply, RequestHeader};

fn fetch_as(
    host: &mut Host,
    header: &RequestHeader<'_>,
    log_end: (i64, i32),
    leader_epoch: i32,
    max_wait_ms: i32,
    high_watermark: KnownHighWatermark,
) -> Vec<Reply> {
    host.effects.clear();
    let id = host.request_id();
    let request = FetchRecordsRequest {
        replica: key(7),
        leader_epoch,
        log_end: OffsetAndEpoch::new(log_end.0, log_end.1),
        max_wait_ms,
        max_bytes: 1_000,
        high_watermark,
    };
    let (random, now) = (&mut Least, host.now);
    host.replica.handle_fetch(id, header, &request, log_end.0, random, now);
    host.carry_out();
    host.replies()
}

fn fetch(
    host: &mut Host,
    log_end: (i64, i32),
    leader_epoch: i32,
    max_wait_ms: i32,
    high_watermark: KnownHighWatermark,
) -> Vec<Reply> {
    fetch_as(host, &header(), log_end, leader_epoch, max_wait_ms, high_watermark)
}

/// The error, whether there are records, where the logs part, and what is committed.
fn told(replies: &[Reply]) -> (ErrorCode, bool, Option<OffsetAndEpoch>, Option<i64>) {
    let [Reply::Fetch(answer)] = replies else { panic!("{replies:?}") };
    let Some(partition) = &answer.partition else { return (answer.error, false, None, None) };
    let body = &partition.body;
    (partition.error, body.records.is_some(), body.diverging, body.high_watermark)
}

#[test]
fn a_fetch_waits_if_there_is_nothing_to_tell() {
    for high_watermark in [Unsupported, At(13), At(99)] {
        let mut host = Host::only_leader();
        assert_eq!(fetch(&mut host, (13, 6), 6, 500, high_watermark), []);
        host.after(499);
        assert_eq!(host.replies(), []);
        host.after(1);
        assert_eq!(told(&host.replies()), (ErrorCode::None, false, None, Some(13)));
        assert_eq!(host.replica.next_deadline(), None, "it is answered once");
    }
}

#[test]
fn a_fetch_is_answered_at_once_if_there_is_something_to_tell() {
    let parts = OffsetAndEpoch::new(13, 6);
    for (log_end, leader_epoch, max_wait_ms, high_watermark, expected) in [
        ((13, 6), 6, 500, At(12), (ErrorCode::None, false, None, Some(13))),
        ((13, 6), 6, 500, Unknown, (ErrorCode::None, false, None, Some(13))),
        ((13, 6), 6, 0, Unsupported, (ErrorCode::None, false, None, Some(13))),
        ((11, 6), 6, 500, Unsupported, (ErrorCode::None, true, None, Some(13))),
        ((0, 0), 6, 500, Unsupported, (ErrorCode::None, true, None, Some(13))),
        ((15, 6), 6, 500, Unsupported, (ErrorCode::None, false, Some(parts), Some(13))),
        ((13, 7), 6, 500, Unsupported, (ErrorCode::InvalidRequest, false, None, None)),
        ((-1, 6), 6, 500, Unsupported, (ErrorCode::InvalidRequest, false, None, None)),
        ((13, 6), 6, -1, Unsupported, (ErrorCode::InvalidRequest, false, None, None)),
        ((13, -1), 6, 500, Unsupported, (ErrorCode::InvalidRequest, false, None, None)),
        ((13, 4), 5, 500, Unsupported, (ErrorCode::FencedLeaderEpoch, false, None, None)),
        ((13, 6), 7, 500, Unsupported, (ErrorCode::UnknownLeaderEpoch, false, None, None)),
    ] {
        let mut host = Host::only_leader();
        let replies = fetch(&mut host, log_end, leader_epoch, max_wait_ms, high_watermark);
        assert_eq!(told(&replies), expected, "{log_end:?} {leader_epoch} {max_wait_ms}");
    }
}

#[test]
fn a_fetch_that_waits_is_answered_by_an_append() {
    let mut host = Host::only_leader();
    assert_eq!(fetch(&mut host, (13, 6), 6, 500, Unsupported), []);
    let records = vec![Bytes::from_static(b"record")];
    host.replica.prepare_append(6, records, host.now).expect("it leads");
    host.tick();
    assert_eq!(host.replies(), [], "it is only prepared");
    host.replica.schedule_append(host.now).expect("it leads");
    host.tick();
    assert_eq!(told(&host.replies()), (ErrorCode::None, true, None, Some(13)));
}
