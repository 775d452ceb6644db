//! Requests for votes, by the state that they meet: the replica is in epoch 5, and its log ends at 10 in epoch 4.

use super::states;
use crate::host::{Host, key};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Leader, Unattached};
use kafka_coordination::kraft::{OffsetAndEpoch, PartitionAnswer, ReplicaKey, VoteRequest};

fn request(epoch: i32, log_end: (i64, i32), is_pre_vote: bool) -> VoteRequest {
    VoteRequest {
        voter: Some(key(1)),
        candidate: key(3),
        epoch,
        log_end: OffsetAndEpoch::new(log_end.0, log_end.1),
        is_pre_vote,
    }
}

/// testInvalidVoteRequest, testHandleInvalidVoteRequestWithOlderEpoch.
#[test]
fn a_request_that_cannot_be_or_is_of_an_epoch_that_is_over_changes_nothing() {
    let nobody =
        VoteRequest { candidate: ReplicaKey::without_directory(-1), ..request(5, (10, 4), false) };
    let nobody_later = VoteRequest { epoch: 6, ..nobody };
    let invalid = ErrorCode::InvalidRequest;
    for (request, error) in [
        (request(5, (10, 5), false), invalid),
        (request(5, (10, 6), false), invalid),
        (request(5, (10, 6), true), invalid),
        (request(6, (-5, 0), false), invalid),
        (request(6, (0, -1), false), invalid),
        (request(6, (-5, 0), true), invalid),
        (request(6, (0, -1), true), invalid),
        (nobody, invalid),
        (nobody_later, invalid),
        (request(4, (10, 3), false), ErrorCode::FencedLeaderEpoch),
        (request(4, (99, 4), true), ErrorCode::FencedLeaderEpoch),
    ] {
        for (state, start) in states() {
            let mut host = start();
            let (kind, leader_id) = (host.kind(), host.leader_id());
            let answer = host.vote(&request);
            let expected = PartitionAnswer { error, leader_id, epoch: 5, body: false };
            assert_eq!(answer, expected, "{state}, {request:?}");
            assert!(host.persisted().is_empty(), "{state}, {request:?}");
            assert_eq!(host.kind(), kind);
        }
    }
}

/// testHandleValidVoteRequestAsFollower, testHandleVoteRequestAsFollowerWithVotedCandidate,
/// testHandleVoteRequestAsFollowerWithElectedLeader, testHandleVoteRequestAsObserver and others.
#[test]
fn an_epoch_has_one_vote_which_is_for_who_asks_first_if_there_is_no_leader() {
    for (state, start) in states() {
        let gives = |id, log_end| {
            let mut host = start();
            let before = host.kind();
            let granted = host.grants(id, 5, log_end, false);
            assert_eq!(host.kind(), before, "{state}");
            let is_new = !host.persisted().is_empty();
            (granted, is_new)
        };
        let (to_two, to_three, behind) = match state {
            // The vote is new, and is persisted; who is behind does not get it.
            "unattached" | "prospective" | "observer" => ((true, true), (true, true), false),
            // The vote for 2 is repeated whatever its log.
            state if state.ends_with("voted for 2") => ((true, false), (false, false), true),
            _ => ((false, false), (false, false), false),
        };
        assert_eq!(gives(2, (10, 4)), to_two, "{state}");
        assert_eq!(gives(3, (10, 4)), to_three, "{state}");
        assert_eq!(gives(2, (9, 4)).0, behind, "{state}");
        assert_eq!(gives(2, (99, 3)).0, behind, "{state}");
    }
}

#[test]
fn a_later_epoch_is_taken_over_and_has_a_vote_for_who_is_not_behind() {
    for (state, start) in states() {
        let mut host = start();
        let answer = host.vote(&request(6, (9, 4), false));
        let expected =
            PartitionAnswer { error: ErrorCode::None, leader_id: None, epoch: 6, body: false };
        assert_eq!(answer, expected, "{state}");
        assert_eq!(host.kind(), (Unattached, 6), "{state}");
        assert_eq!(host.replica.quorum().state().voted_key(), None);

        let mut host = start();
        assert!(host.grants(3, 6, (10, 4), false), "{state}");
        assert_eq!(host.kind(), (Unattached, 6), "{state}");
        let persisted = host.persisted().last().and_then(|election| election.voted_key());
        assert_eq!(persisted, Some(key(3)), "{state}");
    }
}

/// testInvalidVoterReplicaVoteRequest.
#[test]
fn a_request_for_another_replica_is_refused_but_its_epoch_is_taken_over() {
    for (state, start) in states() {
        for voter in [key(10), ReplicaKey::new(1, key(9).directory_id.expect("it has one"))] {
            for is_pre_vote in [false, true] {
                let mut host = start();
                let request =
                    VoteRequest { voter: Some(voter), ..request(6, (10, 4), is_pre_vote) };
                let answer = host.vote(&request);
                assert_eq!((answer.error, answer.body), (ErrorCode::InvalidVoterKey, false));
                assert_eq!(host.kind(), (Unattached, 6), "{state}");
                assert_eq!(host.replica.quorum().state().voted_key(), None);
            }
        }
        for voter in [None, Some(ReplicaKey::without_directory(1))] {
            let mut host = start();
            let answer = host.vote(&VoteRequest { voter, ..request(6, (10, 4), false) });
            assert!(answer.body, "{state}: earlier versions do not say whom they mean");
        }
    }
}

/// testLeaderIgnoreVoteRequestOnSameEpoch, testLeaderAcceptVoteFromObserver.
#[test]
fn a_leader_gives_no_vote_in_its_epoch_and_the_first_one_in_the_next() {
    for candidate in [key(3), key(7)] {
        for is_pre_vote in [false, true] {
            let ask =
                |epoch, log_end| VoteRequest { candidate, ..request(epoch, log_end, is_pre_vote) };
            let mut host = Host::leader();
            let answer = host.vote(&ask(6, (13, 5)));
            let (error, leader_id) = (ErrorCode::None, Some(1));
            assert_eq!(answer, PartitionAnswer { error, leader_id, epoch: 6, body: false });
            assert_eq!(host.kind(), (Leader, 6));

            let answer = host.vote(&ask(5, (13, 4)));
            assert_eq!((answer.error, answer.body), (ErrorCode::FencedLeaderEpoch, false));

            let answer = host.vote(&ask(7, (13, 6)));
            assert_eq!(answer, PartitionAnswer { error, leader_id: None, epoch: 7, body: true });
            assert_eq!(host.kind(), (Unattached, 7));
            let voted = (!is_pre_vote).then_some(candidate);
            assert_eq!(host.replica.quorum().state().voted_key(), voted);
        }
    }
}

/// A message of a later epoch puts no election off; a vote does.
#[test]
fn the_wait_for_an_election_goes_on_through_later_epochs() {
    let mut host = Host::unattached();
    host.after(600);
    assert!(!host.grants(3, 6, (9, 4), false));
    host.after(399);
    assert_eq!(host.kind(), (Unattached, 6));
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(1)));
    assert!(host.grants(3, 7, (10, 4), false));
    host.after(999);
    assert_eq!(host.kind(), (Unattached, 7));
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(1)));
}

/// testGrantVotesWhenShuttingDown.
#[test]
fn who_shuts_down_still_votes() {
    let mut host = Host::unattached();
    host.replica.shut_down(5_000, host.now);
    host.tick();
    assert!(host.grants(3, 6, (10, 4), true));
    assert!(host.grants(3, 6, (10, 4), false));
    let mut host = Host::leader();
    host.replica.shut_down(5_000, host.now);
    host.tick();
    assert!(host.grants(3, 7, (13, 6), false));
}
