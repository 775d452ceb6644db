//! What does not show from outside: numbers that wrap, and memory that must not grow.

use super::*;
use crate::ErrorCode;
use crate::fetch::PartitionRequest;
use alloc::format;

const PARTITIONS: i32 = 3;

/// One round in which the broker names every partition; gives how many were sent.
fn round(session: &mut FetcherSession, id: TopicId, name: &str) -> usize {
    let request = |partition| PartitionRequest {
        partition,
        params: FetchParams {
            fetch_offset: 0,
            log_start_offset: -1,
            max_bytes: 100,
            leader_epoch: None,
            last_fetched_epoch: None,
        },
    };
    let mut wish = session.wish();
    wish.add_topic(id, name, (0..PARTITIONS).map(request));
    let sent = wish.build().to_send().len();
    let head =
        ResponseHead { version: 13, error: ErrorCode::None, session_id: 5, throttle_time_ms: 0 };
    let verdict =
        session.handle_response(head, [AnsweredTopic { id, name: "", partitions: 0..PARTITIONS }]);
    assert!(verdict.is_processable(), "{verdict:?}");
    sent
}

#[test]
fn the_number_of_a_round_may_wrap() {
    let id = TopicId::from_u128(7);
    // Each round takes two numbers, so the wrap is tried at a wish list and at a response.
    for before in 1..=4 {
        let mut session = FetcherSession::new(1);
        assert_eq!(round(&mut session, id, "foo"), 3);
        session.generation = u32::MAX - before;
        for _ in 0..6 {
            assert_eq!(round(&mut session, id, "foo"), 0, "{before} before the wrap");
            assert_eq!(session.topic_names().count(), 1);
        }
        assert!(session.generation < 20, "it did wrap");
    }
}

#[test]
fn topics_and_ids_of_the_past_are_not_kept() {
    let mut session = FetcherSession::new(1);
    for number in 1..1_000 {
        let sent = round(&mut session, TopicId::from_u128(number), &format!("topic-{number}"));
        assert_eq!(sent, 3);
    }
    assert!(session.topics.len() <= 2, "{} topics", session.topics.len());
    assert!(session.known_ids.len() <= 20, "{} ids", session.known_ids.len());
    assert!(session.entries.len() <= 6, "{} entries", session.entries.len());

    for number in 1..1_000 {
        round(&mut session, TopicId::from_u128(number), "recreated");
    }
    assert!(session.known_ids.len() <= 20, "{} ids", session.known_ids.len());
}

#[test]
fn what_was_seen_before_the_wrap_is_not_taken_for_seen() {
    let mut session = FetcherSession::new(1);
    round(&mut session, TopicId::from_u128(7), "foo");
    // The entries bear 2, the number that follows the wrap.
    session.generation = u32::MAX;
    assert_eq!(session.wish().build().to_forget().len(), 3);
    assert_eq!(session.generation, 2);
}
