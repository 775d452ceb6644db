//! What a follower asks of its leader beside records, and when. The period is two fetch time-outs, 4000 ms.

use super::led_by;
use crate::host::{Host, config, endpoints, key, nothing_fetched, static_storage, storage, voter};
use crate::joining::{PERIOD_MS, asked_within};
use crate::peers::fetched;
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::Follower;
use kafka_coordination::kraft::{
    BatchContent, ControlLog, ControlRecord, DirectoryId, Endpoint, EpochState, FetchedRecords,
    KRaftVersion, LogBatch, ReplicaConfig, ReplicaKey, Request, Response, Storage, VoterSet,
};

fn updated(error: ErrorCode, leader_id: i32, epoch: i32) -> Response {
    let leader_endpoints = endpoints(leader_id);
    Response::UpdateVoter { error, leader_id: Some(leader_id), epoch, leader_endpoints }
}

fn start(config: ReplicaConfig, disk: Storage) -> Host {
    let mut host = Host::start(config, disk);
    host.effects.clear();
    host
}

fn disk(voters: &[i32]) -> Storage {
    storage(voters, &[(9, 4)], led_by(2))
}

fn static_disk() -> Storage {
    static_storage(&[1, 2, 3], &[(9, 4)], led_by(2))
}

/// KIP-1186, KAFKA-19078: the directory that it had first goes, and then it comes itself.
#[test]
fn a_controller_with_a_new_disk_takes_the_place_of_what_it_was() {
    let old = ReplicaKey { directory_id: DirectoryId::from_u128(0xdead), ..key(1) };
    let mut own = voter(1);
    own.key = old;
    let mut control = ControlLog::new(VoterSet::empty());
    let set = ControlRecord::Voters(VoterSet::new([own, voter(2), voter(3)]));
    let level = ControlRecord::KRaftVersion(KRaftVersion::V1);
    control.load_snapshot(0, [level, set]).expect("it is sound");
    control.on_data(0, 9).expect("it is the next one");
    let mut config = config();
    config.auto_join = true;
    let mut host = start(config, Storage { control, ..disk(&[]) });
    let removed = Response::RemoveVoter(ErrorCode::None);
    assert_eq!(
        asked_within(&mut host, PERIOD_MS, &removed),
        [(PERIOD_MS, Request::RemoveVoter(old))]
    );
    // The records come of what it asked for.
    let (correlation, ..) = host.only_sent();
    let rest = ControlRecord::Voters(VoterSet::new([2, 3].map(voter)));
    let content =
        BatchContent::Encoded { bytes: Bytes::from_static(b"batch"), control: Some(vec![rest]) };
    let records = vec![LogBatch { base_offset: 10, last_offset: 10, epoch: 5, content }];
    let body = FetchedRecords { records, ..nothing_fetched(Some(11)) };
    host.respond(correlation, fetched(2, 5, body));
    let added = Response::AddVoter(ErrorCode::None);
    let asked = asked_within(&mut host, 2 * PERIOD_MS, &added);
    let [(first, Request::AddVoter(add)), (second, Request::AddVoter(_))] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!((add.voter, &add.endpoints), (key(1), &endpoints(1)));
    assert_eq!(second - first, PERIOD_MS, "as long as it is no voter");
    assert!(*first <= PERIOD_MS);
}

/// At level 0 nobody joins.
#[test]
fn voters_of_the_configuration_are_not_joined() {
    let mut config = config();
    config.auto_join = true;
    let disk = static_storage(&[2, 3], &[(9, 4)], led_by(2));
    let mut host = start(config, disk);
    let added = Response::AddVoter(ErrorCode::None);
    assert_eq!(asked_within(&mut host, 3 * PERIOD_MS, &added), []);
}

/// KAFKA-16534, KAFKA-17751, KAFKA-19605: nor does it wake for it.
#[test]
fn a_voter_that_the_leader_knows_as_it_is_says_nothing_of_itself() {
    let mut host = start(config(), disk(&[1, 2, 3]));
    let answer = updated(ErrorCode::None, 2, 5);
    assert_eq!(asked_within(&mut host, 3 * PERIOD_MS, &answer), []);
}

fn moved() -> ReplicaConfig {
    let mut config = config();
    let more = Endpoint::new("CONTROLLER_SSL", "h1", 9_001);
    config.quorum.local_endpoints = endpoints(1).iter().cloned().chain([more]).collect();
    config
}

/// testFollowerSendsUpdateVoterWhenDifferent.
#[test]
fn an_update_waits_for_the_fetch_that_is_on_its_way_and_is_as_good_as_one() {
    let mut config = moved();
    config.request_timeout_ms = 10_000;
    let mut host = start(config.clone(), disk(&[1, 2, 3]));
    for ms in [1_500, 1_500] {
        host.tick();
        let (fetch, ..) = host.only_sent();
        host.after(ms);
        host.respond(fetch, fetched(2, 5, nothing_fetched(None)));
    }
    host.tick();
    let (fetch, ..) = host.only_sent();
    host.after(1_000);
    host.after(200);
    assert_eq!(host.sent(), [], "the period is over, and a fetch is on its way");
    host.respond(fetch, fetched(2, 5, nothing_fetched(None)));
    host.tick();
    let (update, to, request) = host.only_sent();
    let Request::UpdateVoter(asked) = request else { panic!("{request:?}") };
    assert_eq!((to.id, asked.leader_epoch, asked.voter), (2, 5, key(1)));
    assert_eq!(asked.endpoints, config.quorum.local_endpoints);
    host.after(700);
    assert_eq!(host.sent(), []);
    host.respond(update, updated(ErrorCode::None, 2, 5));
    let EpochState::Follower(follower) = host.replica.quorum().state() else { panic!() };
    assert_eq!(follower.remaining_fetch_ms(host.now), 2_000);
    host.tick();
    assert!(matches!(host.only_sent().2, Request::Fetch(_)));
}

/// testFollowerSendsUpdateVoter, KAFKA-16538: once, for each leader.
#[test]
fn a_voter_of_the_configuration_says_what_it_is_to_each_leader_once() {
    for error in [ErrorCode::None, ErrorCode::UnsupportedVersion] {
        let mut host = start(config(), static_disk());
        let asked = asked_within(&mut host, 3 * PERIOD_MS, &updated(error, 2, 5));
        assert!(matches!(asked[..], [(PERIOD_MS, Request::UpdateVoter(_))]), "{asked:?}");
        host.begun(3, 6);
        host.effects.clear();
        let asked = asked_within(&mut host, 3 * PERIOD_MS, &updated(error, 3, 6));
        assert!(matches!(asked[..], [(PERIOD_MS, Request::UpdateVoter(_))]), "{asked:?}");
    }
}

/// testUpdateVoterResponseCausesEpochChange.
#[test]
fn an_update_that_another_leader_answers_makes_its_follower() {
    let mut host = start(moved(), disk(&[1, 2, 3]));
    let asked = asked_within(&mut host, PERIOD_MS, &updated(ErrorCode::NotLeaderOrFollower, 3, 6));
    assert!(matches!(asked[..], [(PERIOD_MS, Request::UpdateVoter(_))]), "{asked:?}");
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
    host.tick();
    let (_, to, request) = host.only_sent();
    assert!(to.id == 3 && matches!(request, Request::Fetch(_)), "{to:?}, {request:?}");
}

/// Whether there is something to say is looked at once in a period.
#[test]
fn what_changes_after_the_period_is_said_after_the_next() {
    let mut host = start(config(), disk(&[1, 2, 3]));
    let answer = updated(ErrorCode::None, 2, 5);
    assert_eq!(asked_within(&mut host, PERIOD_MS, &answer), []);
    let mut moved = voter(1);
    moved.endpoints = endpoints(9);
    let voters = ControlRecord::Voters(VoterSet::new([moved, voter(2), voter(3)]));
    let content =
        BatchContent::Encoded { bytes: Bytes::from_static(b"batch"), control: Some(vec![voters]) };
    let records = vec![LogBatch { base_offset: 10, last_offset: 10, epoch: 5, content }];
    let (fetch, ..) = host.only_sent();
    host.respond(fetch, fetched(2, 5, FetchedRecords { records, ..nothing_fetched(None) }));
    let asked = asked_within(&mut host, PERIOD_MS, &answer);
    assert!(matches!(asked[..], [(PERIOD_MS, Request::UpdateVoter(_))]), "{asked:?}");
}

/// A request to join that is answered as it can be hoped for is made again a period after the answer.
#[test]
fn a_replica_waits_for_what_comes_of_its_request_to_join() {
    for (error, wait_ms) in [
        (ErrorCode::None, 4_000),
        (ErrorCode::RequestTimedOut, 4_000),
        (ErrorCode::DuplicateVoter, 4_000),
        (ErrorCode::VoterNotFound, 3_000),
        (ErrorCode::UnknownServerError, 3_000),
    ] {
        let mut config = config();
        config.auto_join = true;
        config.request_timeout_ms = 10_000;
        let mut host = start(config, disk(&[2, 3]));
        let answer = Response::AddVoter(error);
        assert_eq!(asked_within(&mut host, PERIOD_MS - 500, &answer), []);
        let (fetch, ..) = host.only_sent();
        host.now = host.now.saturating_add(500);
        host.respond(fetch, fetched(2, 5, nothing_fetched(None)));
        host.tick();
        let (join, _, request) = host.only_sent();
        assert!(matches!(request, Request::AddVoter(_)), "{request:?}");
        host.now = host.now.saturating_add(1_000);
        host.respond(join, answer.clone());
        // A connection rests for 20 ms.
        host.now = host.now.saturating_add(20);
        let asked = asked_within(&mut host, wait_ms, &answer);
        assert!(
            matches!(asked[..], [(at, Request::AddVoter(_))] if at == wait_ms),
            "{error}: {asked:?}"
        );
    }
}
