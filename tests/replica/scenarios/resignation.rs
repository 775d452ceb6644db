//! Leaders that resign, and replicas that leave.

use crate::host::{Host, Least, config, endpoints, key, storage};
use crate::peers::{answer, fetch_of};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{
    Candidate, Follower, Leader, Prospective, Resigned, Unattached,
};
use kafka_coordination::kraft::{
    Effect, ElectionState, FetchRecordsRequest, KnownHighWatermark, RemoveVoter, Reply, Request,
    ResignError, Response,
};

/// The leader of three, which resigns; who has its fetch waiting there is told.
fn resigned() -> Host {
    let mut host = Host::unattached();
    host.elect(&[2]);
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    assert_eq!((host.kind(), host.leader_id()), ((Resigned, 6), Some(1)));
    host
}

/// Whether the shutdown is over, and how.
fn completed(host: &Host) -> Option<bool> {
    host.effects.iter().find_map(|effect| match effect {
        Effect::ShutdownCompleted { is_graceful } => Some(*is_graceful),
        _ => None,
    })
}

/// To whom it has said that it leads no more, and whom it prefers.
fn ends(host: &Host) -> Vec<(i32, Vec<i32>)> {
    let ends = host.requests().into_iter().filter_map(|(to, request)| match request {
        Request::EndQuorumEpoch(end) => {
            // Kafka leaves this out, and who has no other way to know cannot follow.
            assert_eq!(end.leader_endpoints, endpoints(1));
            Some((to, end.preferred_candidates.iter().map(|key| key.id).collect()))
        }
        _ => None,
    });
    ends.collect()
}

/// KAFKA-10677, testResignWillCompleteFetchPurgatory.
#[test]
fn a_fetch_that_waits_is_sent_away_while_the_leader_is_still_named() {
    let mut host = Host::leader();
    host.serve(&fetch_of(2, (13, 6), 6));
    let waiting = FetchRecordsRequest {
        high_watermark: KnownHighWatermark::At(13),
        ..fetch_of(2, (13, 6), 6)
    };
    assert_eq!(host.serve(&waiting), []);
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    assert_eq!(host.kind(), (Resigned, 6));
    let Reply::Fetch(answer) = host.reply() else { panic!("{:?}", host.effects) };
    let partition = answer.partition.as_ref().expect("it is about the partition");
    assert_eq!(partition.error, ErrorCode::NotLeaderOrFollower);
    assert_eq!((partition.leader_id, partition.epoch), (Some(1), 6));
    assert_eq!(partition.body.high_watermark, None);
}

/// testEndQuorumEpochRetriesWhileResigned.
#[test]
fn every_voter_is_told_of_the_end_until_it_has_heard() {
    let mut config = config();
    config.request_timeout_ms = 300;
    let unknown = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], unknown));
    host.elect(&[2]);
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    host.effects.clear();
    host.tick();
    let told = host.sent();
    assert_eq!(told.iter().map(|(_, to, _)| to.id).collect::<Vec<_>>(), [2, 3]);
    let heard = || Response::EndQuorumEpoch(answer(ErrorCode::None, Some(1), 6, ()));
    host.respond(told[0].0, heard());
    host.after(299);
    assert_eq!(host.sent(), []);
    host.after(1);
    let (again, to, _) = host.only_sent();
    assert_eq!(to.id, 3);
    host.respond(again, heard());
    host.after(300);
    assert_eq!(host.sent(), []);
}

/// testEndQuorumEpochSentBasedOnFetchOffset.
#[test]
fn who_has_fetched_farther_is_to_lead_first() {
    for (two, three, successors) in [(11, 13, [3, 2]), (13, 11, [2, 3]), (13, 13, [2, 3])] {
        let mut host = Host::leader();
        for (id, offset) in [(2, two), (3, three)] {
            host.serve(&fetch_of(id, (offset, 6), 6));
        }
        host.replica.resign(6, host.now).expect("it leads");
        // Its requests of before are no more in the way.
        host.tick();
        host.effects.clear();
        host.tick();
        assert_eq!(ends(&host), [(2, successors.to_vec()), (3, successors.to_vec())]);
    }
}

/// testHandleBeginQuorumEpochAfterUserInitiatedResign, testElectionTimeoutAfterUserInitiatedResign.
#[test]
fn who_has_resigned_follows_the_next_leader_or_stands_again_in_the_next_epoch() {
    let mut host = resigned();
    let replies = host.serve(&fetch_of(2, (13, 6), 6));
    let [Reply::Fetch(answer)] = &replies[..] else { panic!("{replies:?}") };
    let partition = answer.partition.as_ref().expect("it is about the partition");
    assert_eq!((partition.error, partition.leader_id), (ErrorCode::NotLeaderOrFollower, Some(1)));
    host.begun(2, 7);
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 7), Some(2)));

    let mut host = resigned();
    host.effects.clear();
    host.after(1_000);
    assert_eq!(host.kind(), (Unattached, 7));
    assert_eq!(host.leaders_told(), [(None, 7)]);
    host.tick();
    assert_eq!(host.kind(), (Prospective, 7));
}

/// testResignInOlderEpochIgnored, testCannotResignWithLargerEpochThanCurrentEpoch, testCannotResignIfNotLeader,
/// testCannotResignIfObserver.
#[test]
fn only_the_leader_of_an_epoch_resigns_from_it() {
    let mut host = Host::leader();
    assert_eq!(host.replica.resign(5, host.now), Ok(()));
    let future = ResignError::FutureEpoch { epoch: 7, current: 6 };
    assert_eq!(host.replica.resign(7, host.now), Err(future));
    host.tick();
    assert_eq!(host.kind(), (Leader, 6));

    let mut nobody = config();
    nobody.quorum.local_id = None;
    let led = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let nobody = Host::start(nobody, storage(&[2, 3], &[(9, 4)], led));
    for mut host in [Host::follower(), Host::unattached(), nobody] {
        let refused = Err(ResignError::NotLeader { epoch: 5 });
        assert_eq!(host.replica.resign(5, host.now), refused);
    }
    let mut host = resigned();
    assert_eq!(host.replica.resign(6, host.now), Ok(()), "it has already");
}

/// testLeaderGracefulShutdown, testLeaderGracefulShutdownTimeout.
#[test]
fn a_leader_that_leaves_waits_until_another_one_leads() {
    let leaving = || {
        let mut host = Host::leader();
        host.replica.shut_down(5_000, host.now);
        host.tick();
        assert_eq!((host.kind(), completed(&host)), ((Resigned, 6), None));
        host.effects.clear();
        host.tick();
        assert_eq!(ends(&host).len(), 2);
        host
    };
    let mut host = leaving();
    assert!(host.grants(2, 7, (13, 6), false));
    host.tick();
    assert_eq!(completed(&host), None);
    host.begun(2, 7);
    host.tick();
    assert_eq!(completed(&host), Some(true));

    let mut host = leaving();
    host.after(4_999);
    // It stays in its epoch, and says that it leads no more.
    assert_eq!((host.kind(), completed(&host)), ((Resigned, 6), None));
    host.after(1);
    assert_eq!(completed(&host), Some(false));
}

/// testFollowerGracefulShutdown, testObserverGracefulShutdown, testGracefulShutdownSingleMemberQuorum.
#[test]
fn who_is_not_missed_leaves_at_once() {
    let observer = ElectionState::with_unknown_leader(5, []);
    let observer = Host::start(config(), storage(&[2, 3], &[(9, 4)], observer));
    for mut host in [Host::follower(), observer, Host::only_leader()] {
        host.effects.clear();
        let before = host.kind();
        host.replica.shut_down(5_000, host.now);
        host.tick();
        assert_eq!(completed(&host), Some(true));
        assert_eq!((host.kind(), host.requests()), (before, Vec::new()));
    }
}

#[test]
fn a_voter_that_knows_of_no_leader_leaves_when_one_is_found_or_its_time_is_over() {
    for state in [Unattached, Prospective, Candidate] {
        let leaving = || {
            let mut host = match state {
                Candidate => super::with(super::voted_for(1), &[1, 2, 3]),
                _ => Host::unattached(),
            };
            if state == Prospective {
                host.after(1_000);
            }
            host.replica.shut_down(5_000, host.now);
            host.effects.clear();
            host.after(4_999);
            assert_eq!((host.kind(), completed(&host)), ((state, 5), None));
            host
        };
        let mut host = leaving();
        host.after(1);
        assert_eq!(completed(&host), Some(false));
        assert_eq!(host.replica.next_deadline(), None);

        let mut host = leaving();
        host.begun(3, 5);
        host.tick();
        assert_eq!(completed(&host), Some(true));
    }
}

/// KAFKA-17332, KAFKA-17608, testRemoveVoterIsLeader.
#[test]
fn a_leader_that_is_removed_hands_on_and_is_an_observer_then() {
    let mut host = Host::leader();
    host.serve(&fetch_of(2, (13, 6), 6));
    let id = host.request_id();
    let request = RemoveVoter { cluster_id: None, voter: key(1) };
    host.replica.handle_remove_voter(id, &request, &mut Least, host.now);
    host.carry_out();
    host.tick();
    assert_eq!((host.kind(), host.replica.log().end_offset()), ((Leader, 6), 14));
    assert!(host.replica.is_observer());
    host.serve(&fetch_of(2, (14, 6), 6));
    assert_eq!(host.kind(), (Leader, 6), "both are needed: it does not count itself");
    host.serve(&fetch_of(3, (14, 6), 6));
    assert_eq!(host.replica.next_deadline(), Some(host.now), "there is something to do at once");
    host.tick();
    assert_eq!(host.kind(), (Resigned, 6));
    assert_eq!(host.replica.resign(6, host.now), Ok(()));
    host.effects.clear();
    host.tick();
    assert_eq!(ends(&host), [(2, vec![2, 3]), (3, vec![2, 3])]);
    host.after(1_000);
    for _ in 0..5 {
        assert_eq!(host.kind(), (Unattached, 7));
        host.after(1_000);
    }
}

#[test]
fn a_leader_that_is_about_to_leave_serves_nobody() {
    let mut host = Host::leader();
    host.replica.shut_down(5_000, host.now);
    let replies = host.serve(&fetch_of(2, (10, 4), 6));
    let [Reply::Fetch(answer)] = &replies[..] else { panic!("{replies:?}") };
    let partition = answer.partition.as_ref().expect("it is about the partition");
    assert_eq!((partition.error, partition.leader_id), (ErrorCode::BrokerNotAvailable, Some(1)));
}
