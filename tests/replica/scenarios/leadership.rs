//! How a leader keeps its leadership.

use crate::host::{Host, Least, header, key};
use crate::peers::{answer, fetch_of};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Follower, Leader, Resigned, Unattached};
use kafka_coordination::kraft::{
    EpochState, FetchSnapshotRequest, KnownHighWatermark, OffsetAndEpoch, RemoveVoter,
    ReplicaState, Reply, Request, Response,
};

/// The leader of three that all have heard of it.
fn known() -> Host {
    let mut host = Host::unattached();
    host.elect(&[2]);
    acknowledge(&mut host);
    host
}

/// The voters to which it has said that it leads; all answer.
fn acknowledge(host: &mut Host) -> Vec<i32> {
    let begun = host.sent().into_iter().map(|(correlation, to, request)| {
        assert!(matches!(request, Request::BeginQuorumEpoch(_)), "{request:?}");
        (correlation, to.id)
    });
    let begun: Vec<_> = begun.collect();
    for (correlation, _) in &begun {
        let response = answer(ErrorCode::None, Some(1), 6, ());
        host.respond(*correlation, Response::BeginQuorumEpoch(response));
    }
    host.tick();
    begun.into_iter().map(|(_, id)| id).collect()
}

/// KAFKA-16926, testBeginQuorumEpochHeartbeat.
#[test]
fn who_does_not_fetch_is_told_who_leads_each_half_of_a_fetch_timeout() {
    let mut host = known();
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(1_000)));
    host.after(500);
    assert!(acknowledge(&mut host).is_empty());
    host.after(500);
    assert_eq!(acknowledge(&mut host), [2, 3]);
    host.after(500);
    host.serve(&fetch_of(2, (13, 6), 6));
    host.effects.clear();
    host.after(500);
    assert_eq!(acknowledge(&mut host), [3]);
    host.after(1_000);
    assert_eq!(acknowledge(&mut host), [2, 3]);
}

/// Kafka leaves the time at which it says so again out of its wait, as long as nobody has answered.
#[test]
fn a_leader_wakes_for_what_it_has_to_say_again() {
    let mut host = Host::unattached();
    host.elect(&[2]);
    assert_eq!(host.sent().len(), 2, "they have just been told");
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(1_000)));
}

/// Replicas whose fetches wait at the leader and who are silent then are told who leads.
#[test]
fn a_fetch_that_waits_is_no_sign_of_life_when_its_time_is_over() {
    let mut host = known();
    host.serve(&fetch_of(2, (13, 6), 6));
    let mut waiting = fetch_of(2, (13, 6), 6);
    waiting.high_watermark = KnownHighWatermark::At(13);
    assert_eq!(host.serve(&waiting), []);
    host.after(500);
    assert!(matches!(host.reply(), Reply::Fetch(_)));
    host.effects.clear();
    host.after(500);
    assert_eq!(acknowledge(&mut host), [2, 3]);
}

/// KAFKA-15489, testLeaderShouldResignLeadershipIfNotGetFetchRequestFromMajorityVoters.
#[test]
fn a_leader_that_no_majority_fetches_from_resigns() {
    let fetches = |by: &[i32]| {
        let mut host = known();
        for _ in 0..5 {
            host.after(500);
            for id in by {
                host.serve(&fetch_of(*id, (13, 6), 6));
            }
        }
        host.after(499);
        assert_eq!(host.kind(), (Leader, 6));
        host.after(1);
        host.kind().0
    };
    assert_eq!(fetches(&[]), Resigned);
    assert_eq!(fetches(&[7, 8]), Resigned, "observers do not count");
    assert_eq!(fetches(&[3]), Leader);

    let mut host = known();
    host.after(2_999);
    host.serve(&fetch_of(2, (13, 6), 6));
    host.after(2_999);
    assert_eq!(host.kind(), (Leader, 6));
    host.after(1);
    assert_eq!(host.kind(), (Resigned, 6));
}

/// A fetch of a log that is not the leader's says nothing of what the replica has.
#[test]
fn who_is_sent_elsewhere_has_not_fetched() {
    let mut host = known();
    for _ in 0..6 {
        host.after(500);
        let replies = host.serve(&fetch_of(2, (99, 6), 6));
        let [Reply::Fetch(answer)] = &replies[..] else { panic!("{replies:?}") };
        let diverging = answer.partition.as_ref().and_then(|it| it.body.diverging);
        assert_eq!(diverging, (host.kind().0 == Leader).then_some(OffsetAndEpoch::new(13, 6)));
    }
    assert_eq!(host.kind(), (Resigned, 6));
}

/// testLeaderShouldResignLeadershipIfNotGetFetchSnapshotRequestFromMajorityVoters.
#[test]
fn a_fetch_of_a_snapshot_is_a_sign_of_life() {
    let run = |by: Option<i32>| {
        let mut host = known();
        host.serve(&fetch_of(2, (13, 6), 6));
        let snapshot = OffsetAndEpoch::new(13, 6);
        assert!(host.replica.snapshot_made(snapshot));
        for _ in 0..6 {
            host.after(500);
            let Some(id) = by else { continue };
            let request = FetchSnapshotRequest {
                replica: key(id),
                leader_epoch: 6,
                snapshot,
                position: 0,
                max_bytes: 10,
            };
            let (request_id, now) = (host.request_id(), host.now);
            let random = &mut Least;
            let replica = &mut host.replica;
            replica.handle_fetch_snapshot(request_id, &header(), &request, Some(99), random, now);
            host.carry_out();
        }
        host.tick();
        host.kind().0
    };
    assert_eq!(run(None), Resigned);
    assert_eq!(run(Some(7)), Resigned, "an observer does not count");
    assert_eq!(run(Some(2)), Leader);
}

/// KAFKA-16144, testLeaderShouldNotResignLeadershipIfOnlyOneVoters.
#[test]
fn the_only_voter_leads_for_ever() {
    let mut host = Host::only_leader();
    for _ in 0..10 {
        host.after(3_000);
        assert_eq!(host.kind(), (Leader, 6));
        assert_eq!(host.replica.next_deadline(), None);
    }
}

/// Kafka's process ends on the answer of a voter that was removed meanwhile.
#[test]
fn a_voter_that_is_removed_may_still_answer() {
    let mut host = Host::unattached();
    host.elect(&[2]);
    let begun = host.sent();
    host.serve(&fetch_of(2, (13, 6), 6));
    let id = host.request_id();
    let request = RemoveVoter { cluster_id: None, voter: key(3) };
    host.replica.handle_remove_voter(id, &request, &mut Least, host.now);
    host.carry_out();
    host.tick();
    assert_eq!(host.replica.latest_voters().voters.ids().collect::<Vec<_>>(), [1, 2]);
    let (three, to, _) = begun.last().expect("both were told");
    assert_eq!(to.id, 3);
    let response = answer(ErrorCode::None, Some(1), 6, ());
    host.respond(*three, Response::BeginQuorumEpoch(response));
    assert_eq!((host.kind(), host.replica.fatal()), ((Leader, 6), None));
}

/// testHandleBeginQuorumResponse.
#[test]
fn a_leader_learns_from_its_voters_that_they_know_it_or_another_one() {
    let begins = || {
        let mut host = Host::unattached();
        host.elect(&[2]);
        let asked = host.sent();
        assert!(matches!(
            asked[..],
            [(_, _, Request::BeginQuorumEpoch(_)), (_, _, Request::BeginQuorumEpoch(_))]
        ));
        (host, asked[0].0)
    };
    let known = |host: &Host| match host.replica.quorum().state() {
        EpochState::Leader(leader) => leader.replica(&key(2)).map(ReplicaState::has_acknowledged),
        _ => None,
    };
    let (mut host, two) = begins();
    assert_eq!(known(&host), Some(false));
    host.respond(two, Response::BeginQuorumEpoch(answer(ErrorCode::None, Some(1), 6, ())));
    assert_eq!(known(&host), Some(true));

    for (leader_id, state) in [(None, Unattached), (Some(3), Follower)] {
        let (mut host, two) = begins();
        let error = ErrorCode::FencedLeaderEpoch;
        host.respond(two, Response::BeginQuorumEpoch(answer(error, leader_id, 7, ())));
        assert_eq!((host.kind(), host.leader_id()), ((state, 7), leader_id));
    }
}

/// testFetchShouldBeTreatedAsLeaderAcknowledgement.
#[test]
fn a_fetch_says_that_the_leader_is_known() {
    let mut host = Host::leader();
    host.serve(&fetch_of(3, (10, 4), 6));
    let EpochState::Leader(leader) = host.replica.quorum().state() else { panic!() };
    assert!(leader.replica(&key(3)).is_some_and(ReplicaState::has_acknowledged));
    assert!(leader.replica(&key(2)).is_some_and(|two| !two.has_acknowledged()));
}
