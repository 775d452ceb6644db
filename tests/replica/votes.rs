//! Who votes for whom, and who stands for election: cases that quorums have met.

use crate::host::{
    Host, Least, config, endpoints, header, key, node, nothing_fetched, storage, voter,
};
use kafka_coordination::kraft::{
    Answer, AppendError, BeginQuorumEpochRequest, ControlRecord, Effect, ElectionState,
    EndQuorumEpochRequest, EpochStateKind, OffsetAndEpoch, PartitionAnswer, Reply, Request,
    Response, VoteRequest, VoterSet,
};
use kafka_coordination::{ErrorCode, Monotonic};

/// What a request for a vote is answered.
fn vote(host: &mut Host, id: i32, epoch: i32, log_end: (i64, i32), is_pre_vote: bool) -> bool {
    host.effects.clear();
    let request = VoteRequest {
        voter: Some(key(1)),
        candidate: key(id),
        epoch,
        log_end: OffsetAndEpoch::new(log_end.0, log_end.1),
        is_pre_vote,
    };
    let request_id = host.request_id();
    host.replica.handle_vote(request_id, &header(), &request, &mut Least, host.now);
    host.carry_out();
    match &host.replies()[..] {
        [Reply::Vote(answer)] => answer.partition.as_ref().is_some_and(|answer| answer.body),
        replies => panic!("{replies:?}"),
    }
}

fn kind(host: &Host) -> (EpochStateKind, i32) {
    (host.replica.quorum().state().kind(), host.replica.quorum().epoch())
}

fn ended(host: &mut Host, leader_id: i32, epoch: i32) {
    let request = EndQuorumEpochRequest {
        leader_id,
        epoch,
        preferred_candidates: [3, 1, 4, 5].map(key).to_vec(),
        leader_endpoints: endpoints(leader_id),
    };
    let id = host.request_id();
    host.replica.handle_end_quorum_epoch(id, &header(), &request, &mut Least, host.now);
    host.carry_out();
}

/// Has the follower fetch from its leader, with success.
fn fetch(host: &mut Host, leader: i32, epoch: i32) {
    host.effects.clear();
    host.tick();
    let (correlation, to, _) = host.only_sent();
    assert_eq!(to.id, leader);
    let body = nothing_fetched(None);
    let leader_id = Some(leader);
    let partition = PartitionAnswer { error: ErrorCode::None, leader_id, epoch, body };
    let nodes = vec![node(leader)];
    let answer = Answer { error: ErrorCode::None, partition: Some(partition), nodes };
    host.respond(correlation, Response::Fetch(answer));
}

fn led_before(voters: &[i32]) -> Host {
    let election = ElectionState::with_elected_leader(5, 1, None, []).expect("an id");
    Host::start(config(), storage(voters, &[(9, 4)], election))
}

/// KAFKA-10527: it may have lost records of the epoch that it had not flushed.
#[test]
fn a_leader_that_restarts_neither_leads_nor_votes_in_its_epoch() {
    let mut host = led_before(&[1, 2, 3]);
    host.tick();
    assert_eq!(kind(&host), (EpochStateKind::Resigned, 5));
    assert!(!host.effects.iter().any(|effect| matches!(effect, Effect::LeaderChanged { .. })));
    let refused = host.replica.prepare_append(5, Vec::new(), host.now);
    assert_eq!(refused, Err(AppendError::NotLeader { epoch: 5 }));

    assert!(!vote(&mut host, 2, 5, (10, 4), false));
    assert!(vote(&mut host, 2, 5, (10, 4), true));
    assert!(!vote(&mut host, 2, 5, (9, 4), true));
    host.after(999);
    assert_eq!(kind(&host), (EpochStateKind::Resigned, 5));
    host.after(1);
    assert_eq!(kind(&host), (EpochStateKind::Unattached, 6));
    let election = host.replica.quorum().election();
    assert_eq!((election.leader_id(), election.voted_key()), (None, None));
}

#[test]
fn a_leader_that_restarts_votes_in_the_next_epoch() {
    let mut host = led_before(&[1, 2, 3]);
    assert!(vote(&mut host, 2, 6, (10, 4), false));
    assert_eq!(kind(&host), (EpochStateKind::Unattached, 6));
    // An only voter does not wait.
    let host = led_before(&[1]);
    assert_eq!(kind(&host), (EpochStateKind::Leader, 6));
}

/// hashicorp/raft 609: who kept asking kept everybody else from standing for election.
#[test]
fn pre_votes_put_no_election_off() {
    let mut host = Host::unattached();
    for ms in [0, 600, 399] {
        host.after(ms);
        assert!(vote(&mut host, 2, 5, (10, 4), true));
    }
    assert_eq!(kind(&host), (EpochStateKind::Unattached, 5));
    host.after(1);
    assert_eq!(kind(&host), (EpochStateKind::Prospective, 5));

    let mut host = Host::follower();
    host.after(1_999);
    assert!(vote(&mut host, 3, 5, (10, 4), true));
    host.after(1);
    assert_eq!(kind(&host), (EpochStateKind::Prospective, 5));

    // A vote does.
    let mut host = Host::unattached();
    host.after(600);
    assert!(vote(&mut host, 2, 5, (10, 4), false));
    host.after(999);
    assert_eq!(kind(&host), (EpochStateKind::Unattached, 5));
    host.after(1);
    assert_eq!(kind(&host), (EpochStateKind::Prospective, 5));
}

/// KAFKA-20895: who has fetched defended a leader that had resigned.
#[test]
fn a_leader_that_has_resigned_is_not_defended_against_pre_votes() {
    let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let mut host = Host::start(config(), storage(&[1, 2, 3, 4, 5], &[(9, 4)], election));
    fetch(&mut host, 2, 5);
    assert!(!vote(&mut host, 3, 5, (10, 4), true), "it has fetched");
    // Not from who does not lead, and not of an epoch that is over.
    ended(&mut host, 4, 5);
    ended(&mut host, 2, 4);
    assert!(!vote(&mut host, 3, 5, (10, 4), true));

    ended(&mut host, 2, 5);
    assert!(vote(&mut host, 3, 5, (10, 4), true));
    assert!(!vote(&mut host, 3, 5, (9, 4), true));
    // It is the second of four: an eighth of the most.
    host.after(124);
    assert_eq!(kind(&host), (EpochStateKind::Follower, 5));

    let request = BeginQuorumEpochRequest {
        voter: Some(key(1)),
        leader_id: 3,
        epoch: 6,
        leader_endpoints: endpoints(3),
    };
    let id = host.request_id();
    host.replica.handle_begin_quorum_epoch(id, &header(), &request, &mut Least, host.now);
    host.carry_out();
    fetch(&mut host, 3, 6);
    assert!(!vote(&mut host, 4, 6, (10, 4), true), "the new leader is defended");
}

/// KAFKA-17642: Kafka's process does not start then.
#[test]
fn who_has_voted_for_itself_and_was_removed_follows_the_leader() {
    for (voters, endpoints_known) in [(&[2, 3][..], true), (&[3, 4], false), (&[1, 2, 3], true)] {
        let election = ElectionState::with_elected_leader(7, 2, Some(key(1)), []).expect("ids");
        let mut host = Host::start(config(), storage(voters, &[(9, 4)], election));
        let expected =
            if endpoints_known { EpochStateKind::Follower } else { EpochStateKind::Unattached };
        assert_eq!(kind(&host), (expected, 7));
        assert_eq!(host.replica.quorum().state().leader_id(), Some(2));
        assert!(!vote(&mut host, 3, 7, (10, 4), false));
    }
}

/// openraft 2091: it does not stand for election, and who needs its vote does not get it.
#[test]
fn a_leader_that_crashed_after_writing_its_removal_is_no_voter() {
    let election = ElectionState::with_elected_leader(5, 1, None, []).expect("an id");
    let mut disk = storage(&[1, 2], &[(49, 5)], election);
    let only = ControlRecord::Voters(VoterSet::new([voter(2)]));
    disk.control.on_control_batch(50, &[only]).expect("it is the next one");
    disk.log.append(50, 5);
    let mut host = Host::start(config(), disk);
    host.after(1_000);
    assert_eq!(kind(&host), (EpochStateKind::Unattached, 6));
    host.after(100_000);
    assert_eq!(kind(&host), (EpochStateKind::Unattached, 6));
    assert!(host.replica.is_observer());
    // The other one lacks the record, which is therefore not committed.
    assert!(!vote(&mut host, 2, 7, (50, 5), false));
    assert_eq!(host.replica.log().high_watermark(), 0);
    assert!(vote(&mut host, 2, 8, (51, 5), false));
}

#[test]
fn a_lost_election_is_waited_out() {
    let mut host = Host::unattached();
    host.effects.clear();
    host.after(1_000);
    let answered = |granted, epoch| {
        let partition =
            PartitionAnswer { error: ErrorCode::None, leader_id: None, epoch, body: granted };
        let (error, nodes) = (ErrorCode::None, Vec::new());
        Response::Vote(Answer { error, partition: Some(partition), nodes })
    };
    host.tick();
    let asked = host.sent();
    assert_eq!(asked.len(), 2);
    host.respond(asked[0].0, answered(true, 5));
    assert_eq!(kind(&host), (EpochStateKind::Candidate, 6));
    host.tick();
    let asked = host.sent();
    assert!(matches!(asked[..], [(_, _, Request::Vote(_)), (_, _, Request::Vote(_))]));
    for (correlation, ..) in asked {
        host.respond(correlation, answered(false, 6));
    }
    host.tick();
    assert_eq!(host.sent(), []);
    host.after(999);
    assert_eq!(kind(&host), (EpochStateKind::Candidate, 6));
    host.after(1);
    assert_eq!(kind(&host), (EpochStateKind::Prospective, 6));
}

#[test]
fn a_nominee_that_shuts_down_goes_on_and_does_not_spin() {
    let mut host = Host::unattached();
    host.after(1_000);
    assert_eq!(kind(&host), (EpochStateKind::Prospective, 5));
    host.replica.shut_down(60_000, host.now);
    host.after(1_000);
    host.effects.clear();
    let mut wakes = 0;
    while host.now < Monotonic::from_millis(63_000) {
        host.now = host.replica.next_deadline().expect("the shutdown ends").max(host.now);
        host.tick();
        wakes += 1;
        if host.effects.iter().any(|effect| matches!(effect, Effect::ShutdownCompleted { .. })) {
            break;
        }
    }
    assert!(host.effects.contains(&Effect::ShutdownCompleted { is_graceful: false }));
    assert!(host.sent().iter().any(|(_, _, request)| matches!(request, Request::Vote(_))));
    // Two voters are asked again after each time-out of two seconds.
    assert!(wakes < 100, "{wakes}");
}
