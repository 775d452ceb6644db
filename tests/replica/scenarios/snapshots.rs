//! Snapshots, made, handed out, and taken.

use super::{led_by, with};
use crate::host::{Host, Least, config, header, key, node, nothing_fetched, storage};
use crate::peers::{answer, fetch_of};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Follower, Prospective, Unattached};
use kafka_coordination::kraft::{
    Correlation, Effect, ElectionState, EpochState, FetchSnapshotRequest, FetchedRecords,
    FetchedSnapshot, LogIndex, OffsetAndEpoch, PartitionAnswer, ReadSnapshot, Reply, Request,
    Response,
};

const SNAPSHOT: OffsetAndEpoch = OffsetAndEpoch::new(50, 5);

/// The leader of three in epoch 6, which has a snapshot of 100 bytes at 13.
fn leader() -> (Host, OffsetAndEpoch) {
    let mut host = Host::leader();
    host.serve(&fetch_of(2, (13, 6), 6));
    let snapshot = OffsetAndEpoch::new(13, 6);
    assert!(host.replica.snapshot_made(snapshot));
    (host, snapshot)
}

fn request(snapshot: OffsetAndEpoch, position: i64, max_bytes: i32) -> FetchSnapshotRequest {
    FetchSnapshotRequest { replica: key(2), leader_epoch: 6, snapshot, position, max_bytes }
}

fn serve(
    host: &mut Host,
    request: &FetchSnapshotRequest,
) -> PartitionAnswer<FetchedSnapshot<Option<ReadSnapshot>>> {
    host.effects.clear();
    let (id, now) = (host.request_id(), host.now);
    host.replica.handle_fetch_snapshot(id, &header(), request, Some(100), &mut Least, now);
    host.carry_out();
    match host.reply() {
        Reply::FetchSnapshot(answer) => answer.partition.clone().expect("it is looked at"),
        reply => panic!("{reply:?}"),
    }
}

/// testFetchSnapshotRequestMissingSnapshot, testFetchSnapshotRequestBootstrapSnapshot,
/// testFetchSnapshotRequestWithInvalidPosition, testFetchSnapshotRequestWithOlderEpoch and newer.
#[test]
fn a_part_that_cannot_be_handed_out_is_refused() {
    let (_, snapshot) = leader();
    let at = |position| request(snapshot, position, 10);
    for (request, error) in [
        (request(OffsetAndEpoch::new(12, 6), 0, 10), ErrorCode::SnapshotNotFound),
        (request(OffsetAndEpoch::new(13, 5), 0, 10), ErrorCode::SnapshotNotFound),
        (request(OffsetAndEpoch::BOOTSTRAP, 0, 10), ErrorCode::SnapshotNotFound),
        (at(-1), ErrorCode::PositionOutOfRange),
        (at(100), ErrorCode::PositionOutOfRange),
        (at(i64::MAX), ErrorCode::PositionOutOfRange),
        (FetchSnapshotRequest { leader_epoch: 5, ..at(0) }, ErrorCode::FencedLeaderEpoch),
        (FetchSnapshotRequest { leader_epoch: 7, ..at(0) }, ErrorCode::UnknownLeaderEpoch),
    ] {
        let (mut host, _) = leader();
        let answer = serve(&mut host, &request);
        assert_eq!(answer.error, error, "{request:?}");
        assert_eq!((answer.leader_id, answer.epoch), (Some(1), 6));
        assert_eq!(answer.body.bytes, None);
    }
    // testFetchSnapshotRequestAsFollower.
    let mut host = with(led_by(2), &[1, 2, 3]);
    let request = FetchSnapshotRequest { leader_epoch: 5, ..at(0) };
    let answer = serve(&mut host, &request);
    assert_eq!((answer.error, answer.leader_id), (ErrorCode::NotLeaderOrFollower, Some(2)));
}

/// testFetchSnapshotRequestAsLeader, testPartialFetchSnapshotRequestAsLeader.
#[test]
fn parts_of_any_size_make_up_the_snapshot() {
    for max_bytes in [1, 7, 50, 99, 100, 101, i32::MAX] {
        let (mut host, snapshot) = leader();
        let mut position = 0;
        while position < 100 {
            let answer = serve(&mut host, &request(snapshot, position, max_bytes));
            assert_eq!((answer.error, answer.body.size), (ErrorCode::None, 100));
            let read = answer.body.bytes.expect("a part");
            assert_eq!((read.position, answer.body.position), (position, position));
            assert!(read.length > 0 && read.length <= usize::try_from(max_bytes).expect("a size"));
            position += i64::try_from(read.length).expect("a size");
        }
        assert_eq!(position, 100);
    }
}

/// testCreateSnapshotAsLeaderWithInvalidSnapshotId, testCreateSnapshotAsFollowerWithInvalidSnapshotId.
#[test]
fn a_snapshot_is_made_of_what_is_committed_with_its_epoch() {
    let check = |mut host: Host, allowed: &[(i64, i32)], refused: &[(i64, i32)]| {
        for (offset, epoch) in refused {
            let snapshot = OffsetAndEpoch::new(*offset, *epoch);
            assert!(!host.replica.snapshot_made(snapshot), "{snapshot}");
        }
        for (offset, epoch) in allowed {
            let snapshot = OffsetAndEpoch::new(*offset, *epoch);
            assert!(host.replica.snapshot_made(snapshot), "{snapshot}");
            assert!(!host.replica.snapshot_made(snapshot), "{snapshot} is there");
        }
    };
    // Nothing is known to be committed.
    check(Host::leader(), &[], &[(1, 4), (10, 4), (13, 6), (14, 6), (0, 0)]);
    let mut host = Host::leader();
    host.serve(&fetch_of(2, (13, 6), 6));
    check(host, &[(4, 4), (10, 4), (13, 6)], &[(14, 6), (13, 7), (13, 4), (12, 4), (9, 3)]);
    let mut host = Host::follower();
    host.fetch(2, nothing_fetched(Some(8)));
    check(host, &[(5, 4), (8, 4)], &[(9, 4), (8, 5), (8, 3)]);
    // Nor of what the log has no more.
    let (mut host, snapshot) = leader();
    assert!(host.replica.delete_before(snapshot));
    check(host, &[], &[(10, 4), (12, 6), (13, 6)]);
}

/// A follower that is sent to the snapshot and has asked for its first part.
fn downloading() -> (Host, Correlation) {
    let mut host = Host::follower();
    host.now = host.now.saturating_add(1_000);
    host.fetch(2, FetchedRecords { snapshot: Some(SNAPSHOT), ..nothing_fetched(None) });
    assert!(host.effects.contains(&Effect::OpenSnapshot(SNAPSHOT)));
    let (correlation, _, request) = next(&mut host);
    assert!(matches!(request, Request::FetchSnapshot(fetch) if fetch.position == 0));
    (host, correlation)
}

fn next(host: &mut Host) -> (Correlation, i32, Request) {
    host.effects.clear();
    host.tick();
    let (correlation, to, request) = host.only_sent();
    (correlation, to.id, request)
}

fn part(
    error: ErrorCode,
    leader_id: Option<i32>,
    epoch: i32,
    snapshot: OffsetAndEpoch,
) -> Response {
    let bytes = Bytes::from(vec![7; 60]);
    let body = FetchedSnapshot { snapshot, size: 100, position: 0, bytes };
    Response::FetchSnapshot(answer(error, leader_id, epoch, body))
}

fn remaining(host: &Host) -> i64 {
    match host.replica.quorum().state() {
        EpochState::Follower(follower) => follower.remaining_fetch_ms(host.now),
        state => panic!("{state:?}"),
    }
}

/// testFetchResponseWithSnapshotId, testFetchSnapshotResponsePartialData: each part keeps the leader.
#[test]
fn a_leader_that_hands_out_a_snapshot_is_not_given_up() {
    let (mut host, correlation) = downloading();
    assert_eq!(remaining(&host), 2_000);
    host.now = host.now.saturating_add(1_500);
    host.respond(correlation, part(ErrorCode::None, Some(2), 5, SNAPSHOT));
    assert_eq!(remaining(&host), 2_000);
    let (_, to, request) = next(&mut host);
    assert_eq!(to, 2);
    let Request::FetchSnapshot(fetch) = request else { panic!("{request:?}") };
    assert_eq!((fetch.position, fetch.snapshot, fetch.max_bytes), (60, SNAPSHOT, 1 << 20));
    assert_eq!(fetch.replica, key(1));
}

/// testFetchSnapshotResponseMissingSnapshot, testFetchSnapshotResponseWithInvalidId.
#[test]
fn a_snapshot_that_is_no_more_is_given_up_and_the_leader_is_not() {
    for (error, snapshot) in [
        (ErrorCode::SnapshotNotFound, SNAPSHOT),
        (ErrorCode::None, OffsetAndEpoch::new(-1, 5)),
        (ErrorCode::None, OffsetAndEpoch::new(50, -1)),
    ] {
        let (mut host, correlation) = downloading();
        host.now = host.now.saturating_add(1_500);
        host.respond(correlation, part(error, Some(2), 5, snapshot));
        assert!(host.effects.contains(&Effect::DropSnapshot));
        assert_eq!(remaining(&host), 2_000);
        let (_, to, request) = next(&mut host);
        assert!(matches!(request, Request::Fetch(_)) && to == 2, "{request:?}");
    }
}

/// testFetchSnapshotResponseFromNewerEpochNotLeader, testFetchSnapshotResponseFromNewerEpochLeader.
#[test]
fn a_snapshot_of_a_leader_that_leads_no_more_is_given_up() {
    for error in [ErrorCode::NotLeaderOrFollower, ErrorCode::FencedLeaderEpoch] {
        for (leader_id, kind) in [(None, Unattached), (Some(3), Follower)] {
            let (mut host, correlation) = downloading();
            host.respond(correlation, part(error, leader_id, 6, SNAPSHOT));
            assert_eq!((host.kind(), host.leader_id()), ((kind, 6), leader_id));
            assert!(host.effects.contains(&Effect::DropSnapshot));
            let (_, _, request) = next(&mut host);
            assert!(matches!(request, Request::Fetch(_)), "{request:?}");
        }
    }
}

/// testFetchSnapshotResponseFromOlderEpoch; Kafka asks again without a rest.
#[test]
fn a_part_is_asked_for_again_if_the_leader_does_not_know_the_epoch_yet() {
    for error in [ErrorCode::UnknownLeaderEpoch, ErrorCode::PositionOutOfRange] {
        let epoch = if error == ErrorCode::UnknownLeaderEpoch { 4 } else { 5 };
        let (mut host, correlation) = downloading();
        host.now = host.now.saturating_add(500);
        host.respond(correlation, part(error, Some(2), epoch, SNAPSHOT));
        assert_eq!(remaining(&host), 1_500);
        host.now = host.now.saturating_add(20);
        let (_, to, request) = next(&mut host);
        assert!(matches!(request, Request::FetchSnapshot(_)) && to == 2, "{request:?}");
    }
}

/// testFetchSnapshotResponseToNotFollower.
#[test]
fn a_part_that_comes_when_the_leader_is_given_up_is_not_taken() {
    let (mut host, correlation) = downloading();
    host.after(2_000);
    assert_eq!(host.kind(), (Prospective, 5));
    host.effects.clear();
    host.respond(correlation, part(ErrorCode::None, Some(2), 5, SNAPSHOT));
    assert_eq!(
        (host.effects.len(), host.replica.log().latest_snapshot()),
        (0, Some(OffsetAndEpoch::BOOTSTRAP))
    );
}

/// testFollowerDoesNotRequestLeaderBootstrapSnapshot.
#[test]
fn a_snapshot_that_is_there_is_not_fetched() {
    let mut host = Host::follower();
    let bootstrap = Some(OffsetAndEpoch::BOOTSTRAP);
    host.fetch(2, FetchedRecords { snapshot: bootstrap, ..nothing_fetched(None) });
    let (_, to, request) = next(&mut host);
    assert!(matches!(request, Request::Fetch(_)) && to == 2, "{request:?}");
}

/// What a log starts with is as good as its records, and is committed.
#[test]
fn a_snapshot_older_than_that_at_the_start_of_an_empty_log_is_not_fetched() {
    for older in
        [OffsetAndEpoch::new(50, 3), OffsetAndEpoch::new(50, 4), OffsetAndEpoch::new(50, 5)]
    {
        let mut disk = storage(&[1, 2, 3], &[], led_by(2));
        disk.log = LogIndex::after_snapshot(OffsetAndEpoch::new(60, 4));
        disk.control.on_data(0, 59).expect("it is the next one");
        let mut host = Host::start(config(), disk);
        host.fetch(2, FetchedRecords { snapshot: Some(older), ..nothing_fetched(None) });
        assert!(!host.effects.contains(&Effect::OpenSnapshot(older)), "{older}");
    }
}

#[test]
fn a_snapshot_is_fetched_with_as_much_as_is_configured_at_a_time() {
    let mut config = config();
    config.fetch_snapshot_max_bytes = 777;
    let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let mut host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], election));
    host.fetch(2, FetchedRecords { snapshot: Some(SNAPSHOT), ..nothing_fetched(None) });
    host.effects.clear();
    host.tick();
    let (_, to, request) = host.only_sent();
    assert_eq!(to, node(2));
    assert!(matches!(request, Request::FetchSnapshot(fetch) if fetch.max_bytes == 777));
}
