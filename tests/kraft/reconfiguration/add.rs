//! Adding a voter.

use crate::quorum::{
    Quorum, REQUEST_TIMEOUT_MS, SUPPORTED, add_voter, endpoints, key, listener, on_disk,
};
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ChangeConfig, ChangeError, Connection, KRaftVersion, ProbeOutcome,
    SupportedVersions, VoterChanges,
};
use kafka_coordination::{ErrorCode, Monotonic};

/// A leader of {1, 2} that is fenced, and observer 3 caught up.
fn with_observer() -> Quorum {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.catch_up(key(3));
    quorum
}

#[test]
fn a_new_voter_is_asked_counts_from_its_append_on_and_is_answered_when_committed() {
    let mut quorum = with_observer();
    let request = quorum.add_key(key(3));
    assert_eq!(quorum.probes.len(), 1);
    assert_eq!(quorum.probes[0].voter_id, 3);
    assert_eq!(quorum.probes[0].endpoint, *endpoints(3).get(&listener()).unwrap());
    assert_eq!(quorum.voter_ids(), [1, 2]);

    assert_eq!(quorum.probed(SUPPORTED), Connection::Free);
    assert_eq!(quorum.voter_ids(), [1, 2, 3]);
    assert_eq!(quorum.leader.voter_states().len(), 3);
    assert_eq!(quorum.leader.observer_states().len(), 0);
    assert!(quorum.is_pending());
    assert_eq!(quorum.code(request), None);

    quorum.catch_up(key(2));
    assert_eq!(quorum.leader.high_watermark(), Some(quorum.end));
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
    assert!(!quorum.is_pending());
}

#[test]
fn an_answer_may_be_asked_for_at_the_append() {
    let mut quorum = with_observer();
    let add = AddVoter { acknowledge: Acknowledge::Appended, ..add_voter(key(3)) };
    let request = quorum.add(&add);
    assert_eq!(quorum.code(request), None);
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
    // The change is under way all the same.
    assert!(quorum.is_pending());
    let next = quorum.remove_key(key(2));
    assert_eq!(quorum.code(next), Some(ErrorCode::RequestTimedOut));
    quorum.catch_up(key(2));
    assert!(!quorum.is_pending());
}

#[test]
fn the_new_set_commits_its_own_addition() {
    let mut quorum = Quorum::fenced([1]);
    quorum.catch_up(key(2));
    let request = quorum.add_key(key(2));
    let _ = quorum.probed(SUPPORTED);
    // One of one was enough; one of two is not.
    assert_eq!(quorum.code(request), None);
    quorum.catch_up(key(2));
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
}

#[test]
fn an_addition_that_is_not_committed_in_time_stays_in_the_log() {
    let mut quorum = with_observer();
    let request = quorum.add_key(key(3));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.changes.next_deadline(), Some(Monotonic::from_millis(1_005_000)));
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS) - 1);
    assert_eq!(quorum.code(request), None);
    quorum.advance(1);
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.changes.next_deadline(), None);
    assert_eq!(quorum.voter_ids(), [1, 2, 3]);
    assert!(!quorum.is_pending());

    // Until it is committed there is no other change.
    let next = quorum.remove_key(key(2));
    assert_eq!(quorum.code(next), Some(ErrorCode::RequestTimedOut));
    quorum.catch_up(key(2));
    let next = quorum.remove_key(key(2));
    assert_eq!((quorum.code(next), quorum.voter_ids()), (None, vec![1, 3]));
}

#[test]
fn a_voter_that_cannot_be_asked_is_not_added() {
    let cases = [
        (ProbeOutcome::NotSent, ErrorCode::RequestTimedOut, Connection::Free),
        (
            ProbeOutcome::Failed(ErrorCode::InvalidRequest),
            ErrorCode::RequestTimedOut,
            Connection::BackOff,
        ),
        (
            ProbeOutcome::Failed(ErrorCode::BrokerNotAvailable),
            ErrorCode::RequestTimedOut,
            Connection::BackOff,
        ),
        (ProbeOutcome::Supports(None), ErrorCode::InvalidRequest, Connection::Free),
        (
            ProbeOutcome::Supports(Some(SupportedVersions::ONLY_V0)),
            ErrorCode::InvalidRequest,
            Connection::Free,
        ),
    ];
    for (outcome, code, connection) in cases {
        let mut quorum = with_observer();
        let request = quorum.add_key(key(3));
        assert_eq!(quorum.probed(outcome), connection, "{outcome:?}");
        assert_eq!(quorum.code(request), Some(code), "{outcome:?}");
        assert_eq!(quorum.voter_ids(), [1, 2]);
        assert!(!quorum.is_pending());
    }
}

#[test]
fn a_probe_without_answer_ends_with_the_time() {
    let mut quorum = with_observer();
    let request = quorum.add_key(key(3));
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    // The answer that comes too late, and one that belongs to another addition, change nothing.
    let late = quorum.probes.pop().unwrap();
    let next = quorum.add_key(key(3));
    assert_eq!(quorum.probed_late(late.id, SUPPORTED), Connection::Free);
    assert_eq!(quorum.code(next), None);
    assert_eq!(quorum.voter_ids(), [1, 2]);
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.voter_ids(), [1, 2, 3]);
    assert_eq!(quorum.probed_late(late.id, SUPPORTED), Connection::Free);
    assert_eq!(quorum.voter_ids(), [1, 2, 3]);
}

#[test]
fn a_replica_that_never_fetched_is_not_added() {
    let mut quorum = Quorum::fenced([1, 2]);
    let request = quorum.add_key(key(3));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.answer(request).result, Err(ChangeError::NotCaughtUp { voter: key(3) }));
}

/// Cases of KAFKA-16535 and KAFKA-19933.
#[test]
fn a_replica_must_have_fetched_within_an_hour_to_be_added() {
    let hour = 3_600_000;
    let tries = |ago: i64| {
        let mut quorum = with_observer();
        // Caught up now, and behind a second later.
        quorum.now = quorum.now.saturating_add(1_000);
        quorum.append_data();
        quorum.fetch(key(3), quorum.end - 1);
        quorum.now = quorum.now.saturating_add(ago);
        let request = quorum.add_key(key(3));
        let _ = quorum.probed(SUPPORTED);
        quorum.code(request)
    };
    assert_eq!(tries(hour - 1), None);
    assert_eq!(tries(hour), Some(ErrorCode::RequestTimedOut));
}

#[test]
fn another_disk_of_the_replica_does_not_count_as_caught_up() {
    let mut quorum = with_observer();
    let request = quorum.add_key(on_disk(3, 2));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
}

#[test]
fn how_far_behind_a_new_voter_may_be_can_be_set() {
    let added = |lag_max: Option<u64>| {
        let mut quorum = with_observer();
        let config = ChangeConfig::new("cluster", listener());
        if let Some(records) = lag_max {
            quorum.changes = VoterChanges::new(config.with_lag_max(records));
        }
        for _ in 0..10 {
            quorum.append_data();
        }
        let request = quorum.add_key(key(3));
        let _ = quorum.probed(SUPPORTED);
        quorum.code(request)
    };
    assert_eq!(added(None), None);
    assert_eq!(added(Some(10)), None);
    assert_eq!(added(Some(9)), Some(ErrorCode::RequestTimedOut));
}

#[test]
fn a_removed_voter_may_come_back_and_the_leaders_own_id_does_not_catch_up() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    quorum.remove_key(key(3));
    quorum.catch_up(key(2));
    quorum.catch_up(key(3));
    let request = quorum.add_key(key(3));
    let _ = quorum.probed(SUPPORTED);
    quorum.catch_up(key(2));
    assert_eq!(quorum.code(request), Some(ErrorCode::None));

    quorum.remove_key(key(1));
    quorum.catch_up(key(2));
    quorum.catch_up(key(3));
    assert!(quorum.leader.is_resignation_requested());
    let request = quorum.add_key(key(1));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
}

#[test]
fn a_leader_that_steps_down_answers_and_the_set_is_as_the_log_has_it() {
    let mut quorum = with_observer();
    let request = quorum.add_key(key(3));
    quorum.step_down();
    assert_eq!(quorum.code(request), Some(ErrorCode::NotLeaderOrFollower));
    assert_eq!(quorum.voter_ids(), [1, 2]);
    assert_eq!(quorum.log.kraft_version(), KRaftVersion::V1);
    // Stepping down twice answers nothing twice.
    quorum.step_down();

    let mut quorum = with_observer();
    let request = quorum.add(&AddVoter { acknowledge: Acknowledge::Appended, ..add_voter(key(3)) });
    let _ = quorum.probed(SUPPORTED);
    quorum.step_down();
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
}
