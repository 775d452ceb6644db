//! Whom requests are for, and from whom: what is answered before anything is looked at.

use crate::host::{Host, Least, config, endpoints, header, key, nothing_fetched, storage};
use crate::peers::{fetch_of, voted};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Candidate, Follower, Leader, Prospective};
use kafka_coordination::kraft::{
    BeginQuorumEpochRequest, ElectionState, EndQuorumEpochRequest, Endpoint, Endpoints, EpochState,
    FetchSnapshotRequest, OffsetAndEpoch, ReplicaKey, Reply, Request, RequestHeader, VoteRequest,
};

/// Hands in one request of each kind. Gives the errors for the whole of each.
fn errors(header: &RequestHeader<'_>) -> Vec<ErrorCode> {
    let vote = |is_pre_vote| VoteRequest {
        voter: Some(key(1)),
        candidate: key(3),
        epoch: 5,
        log_end: OffsetAndEpoch::new(10, 4),
        is_pre_vote,
    };
    let begin = BeginQuorumEpochRequest {
        voter: Some(key(1)),
        leader_id: 3,
        epoch: 5,
        leader_endpoints: endpoints(3),
    };
    let end = EndQuorumEpochRequest {
        leader_id: 3,
        epoch: 5,
        preferred_candidates: vec![key(1)],
        leader_endpoints: endpoints(3),
    };
    let fetch = fetch_of(3, (10, 4), 5);
    let snapshot = FetchSnapshotRequest {
        replica: key(3),
        leader_epoch: 5,
        snapshot: OffsetAndEpoch::new(5, 4),
        position: 0,
        max_bytes: 100,
    };
    let mut errors = Vec::new();
    for request in 0..6 {
        let mut host = Host::unattached();
        host.effects.clear();
        let id = host.request_id();
        let (replica, random, now) = (&mut host.replica, &mut Least, host.now);
        match request {
            0 => replica.handle_vote(id, header, &vote(false), random, now),
            1 => replica.handle_vote(id, header, &vote(true), random, now),
            2 => replica.handle_begin_quorum_epoch(id, header, &begin, random, now),
            3 => replica.handle_end_quorum_epoch(id, header, &end, random, now),
            4 => replica.handle_fetch(id, header, &fetch, 10, random, now),
            _ => replica.handle_fetch_snapshot(id, header, &snapshot, Some(9), random, now),
        }
        host.carry_out();
        let (error, is_looked_at) = match host.reply() {
            Reply::Vote(answer) => (answer.error, answer.partition.is_some()),
            Reply::BeginQuorumEpoch(answer) | Reply::EndQuorumEpoch(answer) => {
                (answer.error, answer.partition.is_some())
            }
            Reply::Fetch(answer) => (answer.error, answer.partition.is_some()),
            Reply::FetchSnapshot(answer) => (answer.error, answer.partition.is_some()),
            reply => panic!("{reply:?}"),
        };
        assert_eq!(is_looked_at, error.is_none(), "{request}");
        if !error.is_none() {
            assert!(host.persisted().is_empty());
        }
        errors.push(error);
    }
    errors
}

/// testVoteRequestClusterIdValidation and the same of the others.
#[test]
fn a_request_is_for_this_cluster_or_for_any() {
    let of = |cluster_id| errors(&RequestHeader { cluster_id, ..header() });
    assert_eq!(of(None), [ErrorCode::None; 6]);
    assert_eq!(of(Some("cluster")), [ErrorCode::None; 6]);
    assert_eq!(of(Some("")), [ErrorCode::InconsistentClusterId; 6]);
    assert_eq!(of(Some("another")), [ErrorCode::InconsistentClusterId; 6]);
}

#[test]
fn a_request_is_about_the_metadata_partition() {
    let elsewhere = RequestHeader { is_metadata_partition: false, ..header() };
    assert_eq!(errors(&elsewhere), [ErrorCode::InvalidRequest; 6]);
}

/// testInvalidVoterReplicaBeginQuorumEpochRequest.
#[test]
fn a_leader_that_means_another_replica_is_followed_all_the_same() {
    for voter in [key(10), ReplicaKey::new(1, key(9).directory_id.expect("it has one"))] {
        let mut host = Host::unattached();
        let request = BeginQuorumEpochRequest {
            voter: Some(voter),
            leader_id: 3,
            epoch: 6,
            leader_endpoints: endpoints(3),
        };
        let answer = host.begun_by(&request);
        assert_eq!(answer.error, ErrorCode::InvalidVoterKey);
        assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
    }
}

/// testHandleBeginQuorumRequest.
#[test]
fn a_vote_for_somebody_else_is_kept_when_a_leader_is_followed() {
    let mut host = Host::unattached();
    assert!(host.grants(2, 5, (10, 4), false));
    let answer = host.begun(3, 5);
    assert_eq!((answer.error, answer.leader_id, answer.epoch), (ErrorCode::None, Some(3), 5));
    let persisted = host.persisted();
    let persisted: Vec<_> = persisted.iter().map(|it| (it.leader_id(), it.voted_key())).collect();
    assert_eq!(persisted, [(Some(3), Some(key(2)))]);
}

/// KAFKA-16927, testHandleBeginQuorumRequestMoreEndpoints.
#[test]
fn a_leader_that_tells_more_endpoints_is_followed_there() {
    let begin = |endpoints: Endpoints| BeginQuorumEpochRequest {
        voter: Some(key(1)),
        leader_id: 2,
        epoch: 5,
        leader_endpoints: endpoints,
    };
    let more: Endpoints =
        endpoints(2).iter().cloned().chain([Endpoint::new("OTHER", "h2", 9_001)]).collect();
    let moved = Endpoints::new([Endpoint::new("CONTROLLER", "elsewhere", 1)]);
    let mut host = Host::follower();
    let known = |host: &Host| host.replica.quorum().state().leader_endpoints().cloned();
    for same in [endpoints(2), moved.clone()] {
        assert_eq!(host.begun_by(&begin(same)).error, ErrorCode::None);
        assert!(host.persisted().is_empty(), "as many as are known are no news");
        assert_eq!(known(&host), Some(endpoints(2)));
    }
    assert_eq!(host.begun_by(&begin(more.clone())).error, ErrorCode::None);
    assert_eq!(host.persisted().len(), 1);
    assert_eq!(known(&host), Some(more.clone()));
    assert_eq!(host.kind(), (Follower, 5));
    host.begun_by(&begin(moved));
    assert_eq!(known(&host), Some(more), "fewer are none either");
}

/// A leader that can say that it leads, and does not answer fetches, is given up.
#[test]
fn a_leader_that_says_that_it_leads_is_not_waited_for_any_longer() {
    let mut host = Host::follower();
    host.after(1_999);
    host.begun(2, 5);
    host.after(1);
    assert_eq!(host.kind(), (Prospective, 5));
}

/// testEndQuorumIgnoredAsCandidateIfOlderEpoch, testEndQuorumIgnoredAsLeaderIfOlderEpoch.
#[test]
fn the_end_of_an_epoch_that_is_over_changes_nothing() {
    let mut host = super::with(super::voted_for(1), &[1, 2, 3]);
    assert_eq!(host.ended(2, 4, &[1]).error, ErrorCode::FencedLeaderEpoch);
    assert_eq!(host.kind(), (Candidate, 5));
    let mut host = Host::leader();
    assert_eq!(host.ended(2, 5, &[1]).error, ErrorCode::FencedLeaderEpoch);
    assert_eq!(host.kind(), (Leader, 6));
}

/// testHandleEndQuorumRequest, testEndQuorumStartsNewElectionImmediatelyIfFollowerUnattached,
/// testHandleEndQuorumRequestWithLowerPriorityToBecomeLeader.
#[test]
fn a_successor_stands_for_election_in_its_turn() {
    for start in [Host::follower, Host::unattached] {
        for (successors, wait) in
            [(&[1, 3][..], 0), (&[3, 1], 500), (&[3, 4, 1], 500), (&[3, 1, 4], 250), (&[3], 1_000)]
        {
            let mut host = start();
            let answer = host.ended(2, 5, successors);
            assert_eq!((answer.error, answer.leader_id), (ErrorCode::None, Some(2)));
            let EpochState::Follower(follower) = host.replica.quorum().state() else { panic!() };
            assert_eq!(follower.remaining_fetch_ms(host.now), wait);
            if wait > 0 {
                host.after(wait - 1);
                assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(2)));
                host.now = host.now.saturating_add(1);
            }
            host.tick();
            assert_eq!((host.kind(), host.leader_id()), ((Prospective, 5), Some(2)));
        }
    }
}

/// KAFKA-20895: among five the first in line needs two others, and Kafka's refuse it.
#[test]
fn the_first_in_line_gets_the_pre_votes_of_the_others() {
    let disk = || {
        let election = ElectionState::with_elected_leader(5, 2, None, []);
        storage(&[1, 2, 3, 4, 5], &[(9, 4)], election.expect("an id"))
    };
    let followers = [1, 3].map(|id| {
        let mut config = config();
        config.quorum.local_id = Some(id);
        config.quorum.local_directory_id = key(id).directory_id.expect("it has one");
        let mut host = Host::start(config, disk());
        host.fetch(2, nothing_fetched(None));
        host
    });
    let [mut first, mut other] = followers;
    first.ended(2, 5, &[1, 3, 4, 5]);
    other.ended(2, 5, &[1, 3, 4, 5]);
    first.tick();
    first.tick();
    for (correlation, to, request) in first.sent() {
        let Request::Vote(vote) = request else { continue };
        // Replicas 3, 4 and 5 are the same but for their ids; the leader has resigned and grants.
        let vote = VoteRequest { voter: Some(key(3)), ..vote };
        let granted = other.vote(&vote).body;
        assert!(granted, "by {}", to.id);
        first.respond(correlation, voted(granted, 5));
    }
    assert_eq!(first.kind(), (Candidate, 6));
}

/// Kafka's process ends on the end of an epoch, if it has no id.
#[test]
fn a_replica_without_id_follows_leaders_like_others() {
    let mut config = config();
    config.quorum.local_id = None;
    let unknown = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config, storage(&[2, 3], &[(9, 4)], unknown));
    host.begun_by(&BeginQuorumEpochRequest {
        voter: None,
        leader_id: 2,
        epoch: 6,
        leader_endpoints: endpoints(2),
    });
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(2)));
    assert_eq!(host.ended(2, 6, &[3, 4]).error, ErrorCode::None);
    host.after(10_000);
    assert_eq!((host.kind(), host.replica.fatal()), ((Follower, 6), None));
}

/// Earlier versions do not say where the leader listens; the voters do.
#[test]
fn a_leader_that_does_not_say_where_it_is_is_followed_where_the_voters_say() {
    let mut host = Host::unattached();
    host.begun_by(&BeginQuorumEpochRequest {
        voter: None,
        leader_id: 3,
        epoch: 6,
        leader_endpoints: Endpoints::empty(),
    });
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
    assert_eq!(host.replica.quorum().state().leader_endpoints(), Some(&endpoints(3)));
}
