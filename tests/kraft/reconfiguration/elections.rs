//! What a new leader finds in its log, and writes.

use crate::quorum::{Quorum, SUPPORTED, endpoints, key, listener, log, voter, voters};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{Endpoint, Endpoints, SupportedVersions, VoterNode};

#[test]
fn the_first_leader_writes_the_voters_of_the_bootstrap_checkpoint() {
    let quorum = Quorum::elected(voter(1), log(&[(-1, voters([1, 2]))]));
    // Leader change, level and voters.
    assert_eq!(quorum.end, 3);
    assert_eq!(quorum.log.voters_offset(), Some(2));
    assert_eq!(*quorum.log.voters(), voters([1, 2]));
}

#[test]
fn a_leader_whose_entry_is_right_writes_the_change_of_leader_alone() {
    let quorum = Quorum::of_static([1, 2]);
    assert_eq!((quorum.end, quorum.log.voters_offset()), (1, None));
    let quorum = Quorum::new([1, 2]);
    assert_eq!((quorum.end, quorum.log.voters_offset()), (4, Some(2)));
}

#[test]
fn a_leader_with_other_listeners_writes_its_own_entry() {
    let both = Endpoints::new([
        endpoints(1).get(&listener()).unwrap().clone(),
        Endpoint::new("ANOTHER", "host-1", 9_100),
    ]);
    let local = VoterNode { endpoints: both.clone(), ..voter(1) };
    let mut quorum = Quorum::elected(local, log(&[(2, voters([1, 2]))]));
    quorum.catch_up(key(2));
    assert!(quorum.log.voters_offset() < quorum.leader.high_watermark());
    assert_eq!(quorum.log.voters().endpoints(1), both);
    assert_eq!(quorum.leader.local().endpoints, both);

    let newer = SupportedVersions::new(0, 2).unwrap();
    let local = VoterNode { supported_versions: newer, ..voter(1) };
    let quorum = Quorum::elected(local, log(&[(2, voters([1, 2]))]));
    assert_eq!(quorum.log.voters().get(1).unwrap().supported_versions, newer);
}

// A change of an earlier leader, never committed: NuRaft PR 67, raft-rs issue 221.
#[test]
fn a_new_leader_inherits_an_uncommitted_change() {
    let log = log(&[(2, voters([1, 2, 3])), (21, voters([1, 2, 3, 4]))]);
    let mut quorum = Quorum::elected(voter(3), log);
    assert_eq!(quorum.end, 23);
    for request in [quorum.add_key(key(5)), quorum.remove_key(key(4))] {
        assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    }
    // Two of four, counting over the old three would do.
    quorum.fetch(key(1), 23);
    assert_eq!(quorum.leader.high_watermark(), None);
    // Three of four have 22, which is not above the start of the epoch.
    quorum.fetch(key(2), 22);
    assert_eq!(quorum.leader.high_watermark(), None);
    quorum.fetch(key(4), 23);
    assert_eq!(quorum.leader.high_watermark(), Some(23));
    assert!(!quorum.is_pending());

    quorum.catch_up(key(5));
    let request = quorum.add_key(key(5));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), None);
    assert_eq!(quorum.voter_ids(), [1, 2, 3, 4, 5]);
    assert_eq!(quorum.log.voters_offset(), Some(23));
}

#[test]
fn an_inherited_change_can_be_taken_back() {
    let log = log(&[(2, voters([1, 2, 3])), (21, voters([1, 2, 3, 4]))]);
    let mut quorum = Quorum::elected(voter(3), log);
    for id in [1, 4] {
        quorum.fetch(key(id), 23);
    }
    quorum.remove_key(key(4));
    assert_eq!((quorum.log.voters_offset(), quorum.voter_ids()), (Some(23), vec![1, 2, 3]));
}

#[test]
fn a_new_epoch_starts_with_no_change_under_way() {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.catch_up(key(3));
    let request = quorum.add_key(key(3));
    quorum.step_down();
    assert_eq!(quorum.code(request), Some(ErrorCode::NotLeaderOrFollower));
    let next = Quorum::elected(voter(1), quorum.log.clone());
    assert_eq!(next.leader.voter_states().len(), 2);
    assert_eq!(next.leader.observer_states().len(), 0);
    assert!(!next.is_pending());
}
