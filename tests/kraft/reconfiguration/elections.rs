//! What a new leader finds in its log, and writes.

use crate::quorum::{Quorum, SUPPORTED, endpoints, key, listener, voter, voters};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Endpoint, Endpoints, KRaftVersion, LogHistory, SupportedVersions, VoterHistory, VoterNode,
    VoterSet,
};

fn in_log(offset: i64, set: VoterSet) -> VoterHistory {
    let mut history = VoterHistory::new(VoterSet::empty());
    history.add_at(offset, set).unwrap();
    history
}

#[test]
fn the_first_leader_writes_the_voters_of_the_bootstrap_checkpoint() {
    let history = in_log(LogHistory::<VoterSet>::BOOTSTRAP_OFFSET, voters([1, 2]));
    let quorum = Quorum::elected(voter(1), history, KRaftVersion::V1, 0);
    let start = quorum.leader.epoch_start().unwrap();
    assert_eq!(start.leader_id, 1);
    assert_eq!((start.voter_ids, start.granting_voter_ids), (vec![1, 2], vec![1, 2]));
    assert_eq!(start.voters, Some((KRaftVersion::V1, voters([1, 2]))));
    // Leader change, level and voters.
    assert_eq!(quorum.end, 3);
    assert_eq!(quorum.history.last_offset(), Some(2));
}

#[test]
fn at_level_0_a_leader_writes_the_change_of_leader_alone() {
    let quorum = Quorum::of_static([1, 2]);
    assert_eq!(quorum.leader.epoch_start().unwrap().voters, None);
    assert_eq!(quorum.end, 4);
    let quorum = Quorum::new([1, 2]);
    assert_eq!(quorum.leader.epoch_start().unwrap().voters, None);
}

#[test]
fn a_leader_with_other_listeners_writes_its_own_entry() {
    let both = Endpoints::new([
        endpoints(1).get(&listener()).unwrap().clone(),
        Endpoint::new("ANOTHER", "host-1", 9_100),
    ]);
    let local = VoterNode { endpoints: both.clone(), ..voter(1) };
    let mut quorum = Quorum::elected(local, in_log(2, voters([1, 2])), KRaftVersion::V1, 3);
    quorum.catch_up(key(2));
    assert!(quorum.history.last_offset() < quorum.leader.high_watermark());
    assert_eq!(quorum.history.last_value().endpoints(1), both);
    assert_eq!(quorum.leader.local().endpoints, both);

    let newer = SupportedVersions::new(0, 2).unwrap();
    let local = VoterNode { supported_versions: newer, ..voter(1) };
    let quorum = Quorum::elected(local, in_log(2, voters([1, 2])), KRaftVersion::V1, 3);
    assert_eq!(quorum.history.last_value().get(1).unwrap().supported_versions, newer);
}

/// A change of an earlier leader, never committed: NuRaft PR 67, raft-rs issue 221.
#[test]
fn a_new_leader_inherits_an_uncommitted_change() {
    let mut history = in_log(2, voters([1, 2, 3]));
    history.add_at(21, voters([1, 2, 3, 4])).unwrap();
    let mut quorum = Quorum::elected(voter(3), history, KRaftVersion::V1, 22);
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
    assert_eq!(quorum.history.last_offset(), Some(23));
}

#[test]
fn an_inherited_change_can_be_taken_back() {
    let mut history = in_log(2, voters([1, 2, 3]));
    history.add_at(21, voters([1, 2, 3, 4])).unwrap();
    let mut quorum = Quorum::elected(voter(3), history, KRaftVersion::V1, 22);
    for id in [1, 4] {
        quorum.fetch(key(id), 23);
    }
    quorum.remove_key(key(4));
    assert_eq!((quorum.history.last_offset(), quorum.voter_ids()), (Some(23), vec![1, 2, 3]));
}

#[test]
fn a_new_epoch_starts_with_no_change_under_way() {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.catch_up(key(3));
    let request = quorum.add_key(key(3));
    quorum.step_down();
    assert_eq!(quorum.code(request), Some(ErrorCode::NotLeaderOrFollower));
    let next = Quorum::elected(voter(1), quorum.history.clone(), KRaftVersion::V1, quorum.end);
    assert_eq!(next.leader.voter_states().len(), 2);
    assert_eq!(next.leader.observer_states().len(), 0);
    assert!(!next.is_pending());
}
