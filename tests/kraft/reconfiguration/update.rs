//! A voter that tells of itself.

use crate::quorum::{
    LEADER, Quorum, REQUEST_TIMEOUT_MS, SUPPORTED, key, listener, on_disk, update_voter, voter,
};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    ChangeError, Connection, Endpoint, Endpoints, ListenerName, ProbeOutcome, SupportedVersions,
    UpdateVoter,
};

fn moved() -> Endpoints {
    Endpoints::new([
        Endpoint::new(listener(), "new-host", 9_999),
        Endpoint::new("ANOTHER", "new-host", 9_998),
    ])
}

#[test]
fn an_updated_voter_is_asked_at_its_new_endpoint_and_answered_before_the_commit() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let update = UpdateVoter { endpoints: moved(), ..update_voter(key(2)) };
    let request = quorum.update(&update);
    assert_eq!(quorum.probes[0].voter_id, 2);
    assert_eq!(quorum.probes[0].endpoint, *moved().get(&listener()).unwrap());
    assert_eq!(quorum.code(request), None);

    assert_eq!(quorum.probed(SUPPORTED), Connection::Free);
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
    assert_eq!(quorum.log.voters().endpoints(2), moved());
    assert!(quorum.log.voters_offset() >= quorum.leader.high_watermark());
    assert!(quorum.is_pending());
    let leader = quorum.answer(request).leader.clone().unwrap();
    assert_eq!(leader.endpoint, voter(LEADER).endpoints.get(&listener()).cloned());

    quorum.catch_up(key(2));
    assert!(!quorum.is_pending());
    // Another update appends another record.
    let next = quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(next), Some(ErrorCode::None));
    assert_eq!(quorum.log.voters().endpoints(2), voter(2).endpoints);
}

#[test]
fn an_update_that_changes_nothing_is_written_as_well() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let before = quorum.end;
    quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.end, before + 1);
}

#[test]
fn an_update_counts_for_check_quorum() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    // The last fetches are 1500 ms ago, half of what is allowed.
    quorum.advance(1_500);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 1_500);
    quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 3_000);
    quorum.advance(3_000);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 0);
}

#[test]
fn an_update_that_is_refused_does_not_count_for_check_quorum() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    quorum.advance(1_500);
    quorum.update(&update_voter(on_disk(2, 7)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 1_500);
}

#[test]
fn a_voter_that_is_not_what_it_says_is_not_updated() {
    let range = |min, max| Some(SupportedVersions::new(min, max).unwrap());
    let cases = [
        (ProbeOutcome::NotSent, ErrorCode::RequestTimedOut, Connection::Free),
        (
            ProbeOutcome::Failed(ErrorCode::BrokerNotAvailable),
            ErrorCode::RequestTimedOut,
            Connection::BackOff,
        ),
        (ProbeOutcome::Supports(None), ErrorCode::InvalidRequest, Connection::Free),
        (ProbeOutcome::Supports(range(0, 2)), ErrorCode::InvalidRequest, Connection::Free),
        (ProbeOutcome::Supports(range(1, 1)), ErrorCode::InvalidRequest, Connection::Free),
    ];
    for (outcome, code, connection) in cases {
        let mut quorum = Quorum::fenced([1, 2, 3]);
        let before = quorum.log.clone();
        let request = quorum.update(&update_voter(key(2)));
        assert_eq!(quorum.probed(outcome), connection, "{outcome:?}");
        assert_eq!(quorum.code(request), Some(code), "{outcome:?}");
        assert!(quorum.answer(request).leader.is_some());
        assert_eq!(quorum.log, before);
        assert!(!quorum.is_pending());
    }
}

#[test]
fn a_voter_that_does_not_support_the_level_is_not_updated() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.update(&UpdateVoter { max_version: 0, ..update_voter(key(2)) });
    let _ = quorum.probed(ProbeOutcome::Supports(Some(SupportedVersions::ONLY_V0)));
    assert!(matches!(quorum.answer(request).result, Err(ChangeError::LevelUnsupported { .. })));
    assert_eq!(quorum.code(request), Some(ErrorCode::InvalidRequest));
}

#[test]
fn an_endpoint_that_does_not_answer_is_not_written() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let before = quorum.log.clone();
    let request = quorum.update(&UpdateVoter { endpoints: moved(), ..update_voter(key(2)) });
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.probed(SUPPORTED), Connection::Free);
    assert_eq!(quorum.log, before);
}

#[test]
fn who_is_not_a_voter_is_asked_first_and_refused_then() {
    for replica in [on_disk(2, 7), key(4)] {
        let mut quorum = Quorum::fenced([1, 2, 3]);
        let request = quorum.update(&update_voter(replica));
        assert_eq!(quorum.code(request), None);
        let _ = quorum.probed(SUPPORTED);
        assert_eq!(quorum.code(request), Some(ErrorCode::VoterNotFound));
    }
}

/// Kafka writes the record, and its process ends.
#[test]
fn the_leader_is_not_updated_by_a_request() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    for replica in [key(1), on_disk(1, 9)] {
        let request = quorum.update(&update_voter(replica));
        assert_eq!(quorum.code(request), Some(ErrorCode::InvalidRequest));
    }
    assert!(quorum.probes.is_empty());
}

#[test]
fn an_update_waits_for_the_last_change_to_be_committed() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    quorum.remove_key(key(3));
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    let request = quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    assert!(matches!(quorum.answer(request).result, Err(ChangeError::UncommittedVoters { .. })));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
}

#[test]
fn an_update_that_is_answered_and_not_committed_in_time_is_over() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    assert!(!quorum.is_pending());
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
}

#[test]
fn a_leader_that_steps_down_tells_who_it_was() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.update(&update_voter(key(2)));
    quorum.step_down();
    assert_eq!(quorum.code(request), Some(ErrorCode::NotLeaderOrFollower));
    let leader = quorum.answer(request).leader.clone().unwrap();
    assert_eq!((leader.id, leader.epoch), (LEADER, crate::quorum::EPOCH));
    assert!(leader.endpoint.is_some());
}

#[test]
fn where_the_leader_is_is_told_for_the_listener_of_the_request() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let elsewhere = ListenerName::new("ELSEWHERE");
    let request = quorum.update(&UpdateVoter {
        listener: elsewhere,
        leader_epoch: -1,
        ..update_voter(key(2))
    });
    assert_eq!(quorum.answer(request).leader.clone().unwrap().endpoint, None);
}
