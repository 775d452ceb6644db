//! How many voters it takes: to commit, and to go on leading.

use crate::quorum::{EPOCH, FETCH_TIMEOUT_MS, LEADER, key, voter, voters};
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{Election, KRaftVersion, Leader};

const NOW: Monotonic = Monotonic::from_millis(1_000);

/// The leader of voters from 1 on, whose epoch starts at 10.
fn leader(count: i32) -> Leader {
    let election = Election {
        local: voter(LEADER),
        epoch: EPOCH,
        epoch_start_offset: 10,
        voters: voters(1..=count),
        kraft_version: KRaftVersion::V1,
        granting_voters: Vec::new(),
        fetch_timeout_ms: FETCH_TIMEOUT_MS,
    };
    Leader::new(election, NOW).unwrap()
}

/// The leader's log ends there and is on disk, and so far the others have fetched, from voter 2 on.
fn with_ends(count: i32, own: i64, others: &[i64]) -> Leader {
    let mut leader = leader(count);
    leader.appended(own, &voters(1..=count)).unwrap();
    leader.flushed(own).unwrap();
    for (id, offset) in (2..).zip(others) {
        leader.fetched(key(id), *offset, NOW).unwrap();
    }
    leader
}

#[test]
fn what_a_majority_has_is_committed_from_the_leaders_own_epoch_on() {
    for (count, own, others, high_watermark) in [
        (1, 15, &[][..], Some(15)),
        (2, 15, &[], None),
        (2, 15, &[10], None),
        (2, 15, &[11], Some(11)),
        (3, 16, &[15, 10], Some(15)),
        (3, 16, &[10, 15], Some(15)),
        (3, 16, &[15], Some(15)),
        (3, 16, &[10, 10], None),
        (4, 16, &[16, 16, 10], Some(16)),
        (4, 16, &[16, 10, 10], None),
        (5, 16, &[15, 14, 10, 10], Some(14)),
    ] {
        let leader = with_ends(count, own, others);
        assert_eq!(leader.high_watermark(), high_watermark, "{own} and {others:?} of {count}");
    }
}

/// KAFKA-16530.
#[test]
fn a_leader_that_is_no_voter_does_not_count() {
    let mut leader = with_ends(3, 16, &[]);
    leader.appended(16, &voters([2, 3])).unwrap();
    assert_eq!(leader.fetched(key(2), 16, NOW), Ok(None));
    assert_eq!(leader.fetched(key(3), 12, NOW), Ok(Some(12)));
}

#[test]
fn a_voter_that_comes_new_takes_nothing_back() {
    let mut leader = with_ends(3, 16, &[15, 12]);
    assert_eq!(leader.high_watermark(), Some(15));
    assert_eq!(leader.appended(16, &voters([1, 2, 3, 4])), Ok(None));
    assert_eq!(leader.high_watermark(), Some(15), "three of four are at 12 or above");
    assert_eq!(leader.fetched(key(4), 11, NOW), Ok(None));
    assert_eq!(leader.high_watermark(), Some(15));
}

/// KAFKA-15489, KAFKA-16531.
#[test]
fn so_many_others_must_fetch_that_they_are_a_majority_with_the_leader_if_it_votes() {
    for (set, needed) in [
        (vec![1, 2], 1),
        (vec![1, 2, 3], 1),
        (vec![1, 2, 3, 4], 2),
        (vec![1, 2, 3, 4, 5], 2),
        (vec![2], 1),
        (vec![2, 3], 2),
        (vec![2, 3, 4], 2),
        (vec![2, 3, 4, 5], 3),
    ] {
        let mut leader = leader(5);
        leader.appended(11, &voters(set.iter().copied())).unwrap();
        let later = NOW.saturating_add(1_000);
        let mut fetched = 0;
        for id in set.iter().filter(|id| **id != LEADER) {
            assert_eq!(leader.check_quorum_remaining_ms(later), 2_000, "{set:?}");
            leader.fetched(key(*id), 10, later).unwrap();
            fetched += 1;
            if leader.check_quorum_remaining_ms(later) == 3_000 {
                break;
            }
        }
        assert_eq!(fetched, needed, "{set:?}");
        assert_eq!(leader.check_quorum_remaining_ms(later), 3_000, "{set:?}");
    }
    let mut only = leader(1);
    let ever = NOW.saturating_add(1_000_000);
    assert_eq!(only.check_quorum_remaining_ms(ever), i64::MAX);
}
