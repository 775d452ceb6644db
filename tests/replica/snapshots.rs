//! Snapshots that a follower takes, part by part.

use crate::host::{Host, Least, voter};
use crate::peers::{answer, fetched};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    ControlRecord, Correlation, Effect, FetchedRecords, FetchedSnapshot, KRaftVersion,
    OffsetAndEpoch, Request, Response, VoterSet,
};

const SNAPSHOT: OffsetAndEpoch = OffsetAndEpoch::new(50, 5);

fn from_leader(body: FetchedSnapshot<Bytes>) -> Response {
    Response::FetchSnapshot(answer(ErrorCode::None, Some(2), 5, body))
}

fn part(position: i64, length: usize, size: i64) -> Response {
    let bytes = Bytes::from(vec![7; length]);
    from_leader(FetchedSnapshot { snapshot: SNAPSHOT, size, position, bytes })
}

/// A follower that was sent to a snapshot and has asked for its first part.
fn downloading() -> (Host, Correlation) {
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    let body = FetchedRecords {
        high_watermark: Some(60),
        log_start_offset: 50,
        diverging: None,
        snapshot: Some(SNAPSHOT),
        records: Vec::new(),
    };
    host.respond(correlation, fetched(2, 5, body));
    assert!(host.effects.contains(&Effect::OpenSnapshot(SNAPSHOT)));
    host.effects.clear();
    host.tick();
    let (correlation, _, request) = host.only_sent();
    assert!(matches!(request, Request::FetchSnapshot(fetch) if fetch.position == 0));
    (host, correlation)
}

#[test]
fn a_snapshot_takes_the_place_of_the_log() {
    let (mut host, correlation) = downloading();
    host.respond(correlation, part(0, 60, 100));
    host.effects.clear();
    host.tick();
    let (correlation, _, request) = host.only_sent();
    assert!(matches!(request, Request::FetchSnapshot(fetch) if fetch.position == 60));
    host.respond(correlation, part(60, 40, 100));
    assert!(host.effects.contains(&Effect::InstallSnapshot(SNAPSHOT)), "{:?}", host.effects);
    host.effects.clear();
    host.tick();
    assert_eq!(host.sent(), [], "nothing is fetched before the snapshot is in its place");

    let four = VoterSet::new([1, 2, 3, 4].map(voter));
    let records = vec![ControlRecord::KRaftVersion(KRaftVersion::V1), ControlRecord::Voters(four)];
    host.replica.snapshot_installed(SNAPSHOT, records, &mut Least, host.now);
    host.carry_out();
    assert!(host.effects.contains(&Effect::LoadSnapshot(SNAPSHOT)), "{:?}", host.effects);
    assert_eq!(host.replica.control_log().voters().len(), 4);
    assert_eq!((host.replica.log().start_offset(), host.replica.log().high_watermark()), (50, 50));
    host.effects.clear();
    host.tick();
    let (_, _, request) = host.only_sent();
    assert!(matches!(request, Request::Fetch(fetch) if fetch.log_end == SNAPSHOT));
}

/// Kafka's process ends on each of these.
#[test]
fn parts_that_were_not_asked_for_are_not_taken() {
    let other = OffsetAndEpoch::new(51, 5);
    let wrong = [
        part(10, 10, 100),
        part(0, 101, 100),
        part(0, 0, 100),
        part(-1, 10, 100),
        from_leader(FetchedSnapshot {
            snapshot: other,
            size: 100,
            position: 0,
            bytes: Bytes::from_static(b"bytes"),
        }),
    ];
    for response in wrong {
        let (mut host, correlation) = downloading();
        host.respond(correlation, response);
        assert_eq!(host.effects, []);
        assert_eq!(host.replica.fatal(), None);
        // The part is asked for again, once the connection has rested.
        host.after(20);
        let sent = host.sent();
        assert!(
            sent.iter().all(|(_, _, request)| match request {
                Request::FetchSnapshot(fetch) => fetch.position == 0,
                request => matches!(request, Request::Fetch(_)),
            }),
            "{sent:?}"
        );
    }
}

#[test]
fn a_snapshot_that_the_leader_has_no_more_is_given_up() {
    let (mut host, correlation) = downloading();
    let body = FetchedSnapshot { snapshot: SNAPSHOT, size: 0, position: 0, bytes: Bytes::new() };
    let gone = answer(ErrorCode::SnapshotNotFound, Some(2), 5, body);
    host.respond(correlation, Response::FetchSnapshot(gone));
    assert!(host.effects.contains(&Effect::DropSnapshot), "{:?}", host.effects);
    host.effects.clear();
    host.tick();
    let (_, _, request) = host.only_sent();
    assert!(matches!(request, Request::Fetch(_)), "{request:?}");
}

/// Kafka loads it, and ends on finding that it cannot take the log's place.
#[test]
fn a_snapshot_that_is_not_ahead_of_the_log_is_not_loaded() {
    for snapshot in
        [OffsetAndEpoch::new(8, 4), OffsetAndEpoch::new(10, 4), OffsetAndEpoch::new(90, 3)]
    {
        let mut host = Host::follower();
        host.effects.clear();
        host.tick();
        let (correlation, ..) = host.only_sent();
        let body = FetchedRecords {
            high_watermark: Some(10),
            log_start_offset: 8,
            diverging: None,
            snapshot: Some(snapshot),
            records: Vec::new(),
        };
        host.respond(correlation, fetched(2, 5, body));
        assert_eq!(host.effects, []);
        host.after(20);
        let (_, _, request) = host.only_sent();
        assert!(matches!(request, Request::Fetch(_)), "{request:?}");
    }
}
