//! Removing a voter.

use crate::quorum::{Quorum, REQUEST_TIMEOUT_MS, key};
use kafka_coordination::ErrorCode;

#[test]
fn a_removed_voter_does_not_count_from_the_append_on() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.remove_key(key(3));
    assert_eq!(quorum.voter_ids(), [1, 2]);
    assert_eq!(quorum.leader.voter_states().len(), 2);
    assert_eq!(quorum.leader.observer_states().len(), 1);
    assert!(quorum.is_pending());
    assert_eq!(quorum.code(request), None);
    quorum.catch_up(key(3));
    assert_eq!(quorum.code(request), None);
    quorum.catch_up(key(2));
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
    assert!(!quorum.is_pending());
    assert!(!quorum.leader.is_resignation_requested());
}

#[test]
fn a_leader_that_removes_itself_goes_on_until_it_is_committed() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.remove_key(key(1));
    assert_eq!(quorum.voter_ids(), [2, 3]);
    // It does not count itself, and keeps tracking its own log.
    assert_eq!(quorum.leader.end_offset(), Some(quorum.end));
    quorum.catch_up(key(2));
    assert_eq!(quorum.code(request), None);
    assert!(!quorum.leader.is_resignation_requested());
    quorum.append_data();
    assert_eq!(quorum.leader.end_offset(), Some(quorum.end));

    quorum.fetch(key(3), quorum.end - 1);
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
    assert!(quorum.leader.is_resignation_requested());
    assert_eq!(quorum.leader.preferred_successors(), [key(2), key(3)]);
    // Being asked to resign as well is harmless.
    quorum.leader.request_resignation();
    quorum.step_down();
}

/// Kafka's leader goes on for ever then.
#[test]
fn a_leader_resigns_when_its_removal_is_committed_late() {
    let mut quorum = Quorum::fenced([1, 2]);
    let request = quorum.remove_key(key(1));
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    assert!(!quorum.is_pending());
    assert!(!quorum.leader.is_resignation_requested());
    quorum.catch_up(key(2));
    assert!(quorum.leader.is_resignation_requested());
}

#[test]
fn a_removal_that_is_not_committed_in_time_stays_in_the_log() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.remove_key(key(3));
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.voter_ids(), [1, 2]);
    let next = quorum.remove_key(key(2));
    assert_eq!(quorum.code(next), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.voter_ids(), [1, 2]);
    quorum.catch_up(key(2));
    // It is answered already, and not again.
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
}

#[test]
fn a_leader_that_steps_down_answers_and_the_voter_is_gone() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let request = quorum.remove_key(key(3));
    quorum.step_down();
    assert_eq!(quorum.code(request), Some(ErrorCode::NotLeaderOrFollower));
    assert_eq!(quorum.voter_ids(), [1, 2]);
}

/// The log's voters do not tell of a record that is queued behind data which is held back. Kafka
/// takes up another change then, and writes voters that differ in two.
#[test]
fn a_record_that_is_queued_and_timed_out_holds_up_the_next_change() {
    let mut quorum = Quorum::fenced([1, 2, 3, 4]);
    quorum.holds_back = true;
    let request = quorum.remove_key(key(4));
    quorum.advance(i64::from(REQUEST_TIMEOUT_MS));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.voter_ids(), [1, 2, 3, 4]);
    let next = quorum.remove_key(key(3));
    assert_eq!(quorum.code(next), Some(ErrorCode::RequestTimedOut));
    assert_eq!(quorum.queued.len(), 1);

    quorum.append();
    quorum.holds_back = false;
    assert_eq!(quorum.voter_ids(), [1, 2, 3]);
    quorum.catch_up(key(2));
    let next = quorum.remove_key(key(3));
    assert_eq!((quorum.code(next), quorum.voter_ids()), (None, vec![1, 2]));
}
