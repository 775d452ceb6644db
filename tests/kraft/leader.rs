//! What a leader keeps of its replicas.

use crate::quorum::{LEADER, Quorum, key, on_disk, voters};
use kafka_coordination::kraft::{
    DescribeVersion, Election, KRaftVersion, Leader, LeaderError, OBSERVER_SESSION_MS, ReplicaKey,
};
use kafka_coordination::{ErrorCode, Monotonic, Timestamp};

/// Cases of KAFKA-15489, KAFKA-16144 and KAFKA-16531; a fetch time-out of 2000 ms gives 3000 ms.
#[test]
fn a_majority_must_fetch_within_one_and_a_half_fetch_timeouts() {
    let mut quorum = Quorum::new([1, 2, 3]);
    quorum.advance(2_000);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 1_000);
    quorum.fetch(key(2), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 3_000);

    // The leader is not counted any more when it is not a voter: both of two are needed.
    quorum.everyone_fetches();
    quorum.remove_key(key(1));
    assert_eq!(quorum.voter_ids(), [2, 3]);
    quorum.advance(2_000);
    quorum.fetch(key(2), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 1_000);
    quorum.advance(100);
    quorum.fetch(key(9), 3);
    quorum.fetch(on_disk(3, 9), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 900);
    quorum.advance(100);
    quorum.fetch(key(3), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 3_000);
}

#[test]
fn of_five_voters_two_others_must_fetch_and_one_twice_is_one() {
    let mut quorum = Quorum::new([1, 2, 3, 4, 5]);
    quorum.advance(500);
    quorum.fetch(key(2), 3);
    quorum.fetch(key(2), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 2_500);
    assert_eq!(quorum.leader.fetched_voters().collect::<Vec<_>>(), [2]);
    // As does the fetch of a snapshot.
    quorum.leader.heard_from(key(3), quorum.now).unwrap();
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 3_000);
}

#[test]
fn an_only_voter_needs_nobody_and_another_only_voter_is_needed() {
    let mut quorum = Quorum::new([1]);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), i64::MAX);
    assert_eq!(quorum.leader.next_deadline(), None);

    let mut quorum = Quorum::fenced([1, 2]);
    quorum.advance(1_000);
    quorum.remove_key(key(1));
    assert_eq!(quorum.voter_ids(), [2]);
    // Kafka looks at the number of voters, and this leader would go on without any.
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 2_000);
    quorum.fetch(key(2), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 3_000);
    quorum.advance(3_000);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 0);
}

/// The same rule as etcd PR 10864, for fetches.
#[test]
fn the_fetch_of_a_voter_that_is_removed_does_not_count_later() {
    let mut quorum = Quorum::fenced([1, 2, 3, 4, 5]);
    quorum.advance(200);
    quorum.fetch(key(2), 3);
    quorum.advance(100);
    quorum.remove_key(key(2));
    quorum.advance(100);
    quorum.fetch(key(3), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 2_600);
    quorum.advance(100);
    quorum.fetch(key(4), 3);
    assert_eq!(quorum.leader.check_quorum_remaining_ms(quorum.now), 3_000);
}

#[test]
fn what_is_not_flushed_does_not_count() {
    let mut quorum = Quorum::new([1]);
    let leader = &mut quorum.leader;
    assert_eq!(leader.high_watermark(), Some(4));
    assert_eq!(leader.appended(9, &voters([1])), Ok(None));
    assert_eq!(leader.high_watermark(), Some(4));
    assert_eq!(leader.end_offset(), Some(9));
    assert_eq!(leader.flushed(7), Ok(Some(7)));
    assert_eq!(leader.flushed(10), Err(LeaderError::BeyondEnd { offset: 10, end: 9 }));
    assert_eq!(leader.flushed(6), Err(LeaderError::EndOffsetWentBack { from: 7, to: 6 }));
    assert_eq!(leader.flushed(9), Ok(Some(9)));

    // Followers commit without the leader's disk.
    let mut quorum = Quorum::new([1, 2, 3]);
    let leader = &mut quorum.leader;
    leader.appended(9, &voters([1, 2, 3])).unwrap();
    assert_eq!(leader.fetched(key(2), 9, quorum.now), Ok(Some(4)));
    assert_eq!(leader.fetched(key(3), 9, quorum.now), Ok(Some(9)));
}

#[test]
fn a_refused_call_changes_nothing() {
    let mut quorum = Quorum::fenced([1, 2, 3]);
    let before = quorum.leader.clone();
    let (leader, now) = (&mut quorum.leader, quorum.now);
    let itself = leader.fetched(key(LEADER), 3, now).unwrap_err();
    assert_eq!(itself.code(), ErrorCode::UnknownServerError);
    assert!(leader.heard_from(on_disk(LEADER, 4), now).is_err());
    let negative = leader.fetched(key(2), -1, now).unwrap_err();
    assert_eq!(negative.code(), ErrorCode::InvalidRequest);
    assert!(leader.appended(1, &voters([1])).is_err());
    assert!(leader.flushed(1_000).is_err());
    leader.acknowledged(77);
    assert_eq!(leader.fetched(ReplicaKey::without_directory(-1), 3, now), Ok(None));
    assert_eq!(*leader, before);
}

#[test]
fn begin_quorum_is_sent_at_once_and_then_each_half_fetch_timeout_to_who_is_silent() {
    let mut quorum = Quorum::new([1, 2, 3]);
    let start = quorum.now;
    assert_eq!(quorum.leader.next_deadline(), Some(start));
    assert_eq!(quorum.leader.begin_quorum_remaining_ms(start), 0);
    let targets = |quorum: &Quorum| -> Vec<i32> {
        quorum.leader.begin_quorum_targets(quorum.now).map(|state| state.key().id).collect()
    };
    assert_eq!(targets(&quorum), [2, 3]);
    quorum.leader.restart_begin_quorum(start);
    assert_eq!(quorum.leader.begin_quorum_remaining_ms(start), 1_000);
    assert_eq!(quorum.leader.next_deadline(), Some(start.saturating_add(1_000)));
    quorum.advance(500);
    quorum.fetch(key(2), 3);
    quorum.advance(500);
    assert_eq!(quorum.leader.begin_quorum_remaining_ms(quorum.now), 0);
    assert_eq!(targets(&quorum), [3]);
    quorum.leader.restart_begin_quorum(quorum.now);
    quorum.advance(999);
    assert_eq!(targets(&quorum), [2, 3]);
}

/// KAFKA-17604, KAFKA-16953.
#[test]
fn a_quorum_is_described_as_the_version_has_it() {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.catch_up(key(3));
    quorum.advance(250);
    let timestamp = Timestamp::from_millis(1_800_000_000_000);
    let fetched = timestamp.as_millis() - 250;
    let now = quorum.now;

    let v0 = quorum.leader.describe_quorum(DescribeVersion::V0, now, timestamp);
    assert_eq!((v0.leader_id, v0.leader_epoch, v0.high_watermark), (1, 5, 4));
    assert!(v0.nodes.is_empty());
    assert_eq!((v0.voters[1].replica_id, v0.voters[1].log_end_offset), (2, 4));
    assert_eq!((v0.voters[1].directory_id, v0.voters[1].last_fetch_timestamp), (None, -1));

    let v1 = quorum.leader.describe_quorum(DescribeVersion::V1, now, timestamp);
    assert!(v1.nodes.is_empty());
    assert_eq!((v1.voters[1].directory_id, v1.voters[1].last_fetch_timestamp), (None, fetched));
    assert_eq!(v1.voters[0].last_caught_up_timestamp, timestamp.as_millis());

    let request = quorum.add_key(key(3));
    let _ = quorum.probed(crate::quorum::SUPPORTED);
    assert_eq!(quorum.code(request), None);
    let v2 = quorum.leader.describe_quorum(DescribeVersion::V2, now, timestamp);
    assert_eq!(v2.voters[2].directory_id, key(3).directory_id);
    assert_eq!(v2.voters[2].last_caught_up_timestamp, fetched);
    assert_eq!(v2.nodes.len(), 3);
    assert_eq!(v2.nodes[2].endpoints, crate::quorum::endpoints(3));
    assert!(v2.observers.is_empty());

    // A voter that is removed has no endpoints any more, and is an observer.
    quorum.everyone_fetches();
    quorum.remove_key(key(2));
    let v2 = quorum.leader.describe_quorum(DescribeVersion::V2, now, timestamp);
    assert_eq!(v2.nodes.iter().map(|node| node.node_id).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(v2.observers[0].replica_id, 2);
    assert!(quorum.leader.replica(&key(2)).unwrap().endpoints().is_empty());
}

#[test]
fn observers_are_described_until_their_session_ends() {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.catch_up(key(3));
    quorum.fetch(ReplicaKey::without_directory(-1), 4);
    let mut observers = |ms| {
        quorum.advance(ms);
        let (now, timestamp) = (quorum.now, Timestamp::from_millis(0));
        quorum.leader.describe_quorum(DescribeVersion::V2, now, timestamp).observers.len()
    };
    assert_eq!(observers(OBSERVER_SESSION_MS - 1), 1);
    assert_eq!(observers(1), 0);
}

#[test]
fn times_before_a_clock_that_starts_now_are_told_as_never() {
    let mut quorum = Quorum::new([1, 2]);
    let (now, timestamp) = (quorum.now, Timestamp::from_millis(7));
    let told = quorum.leader.describe_quorum(DescribeVersion::V2, now, timestamp);
    assert_eq!((told.high_watermark, told.voters[1].log_end_offset), (-1, -1));
    assert_eq!(told.voters[1].last_fetch_timestamp, -1);
    assert_eq!(told.voters[0].last_fetch_timestamp, 7);
}

/// Kafka takes 0 and before for never.
#[test]
fn a_clock_that_starts_at_0_is_as_good_as_any() {
    let mut quorum = Quorum::new([1, 2, 3]);
    let now = Monotonic::from_millis(0);
    let election = Election {
        local: quorum.leader.local().clone(),
        epoch: 5,
        epoch_start_offset: 3,
        voters: voters([1, 2, 3]),
        kraft_version: KRaftVersion::V1,
        granting_voters: Vec::new(),
        fetch_timeout_ms: 2_000,
    };
    quorum.leader = Leader::new(election, now).unwrap();
    let leader = &mut quorum.leader;
    let silent: Vec<_> = leader.begin_quorum_targets(now).map(|it| it.key().id).collect();
    assert_eq!(silent, [2, 3], "they have never fetched");
    leader.appended(4, &voters([1, 2, 3])).unwrap();
    leader.fetched(key(9), 4, now).unwrap();
    assert!(leader.is_caught_up(&key(9), now));
    leader.fetched(key(2), 4, now).unwrap();
    let silent: Vec<_> = leader.begin_quorum_targets(now).map(|it| it.key().id).collect();
    assert_eq!(silent, [3]);
}
