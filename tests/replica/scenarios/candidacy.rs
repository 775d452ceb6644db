//! From the first question to the others to the leadership, or back.

use crate::host::{Host, config, key, static_storage, storage, voter};
use crate::peers::{answer, voted};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{
    Candidate, Follower, Leader, Prospective, Resigned, Unattached,
};
use kafka_coordination::kraft::{
    Answer, BatchContent, ControlLog, ControlRecord, Correlation, Effect, ElectionState, Endpoint,
    Endpoints, Fatal, KRaftVersion, LeaderChange, Request, Response, Storage, VoterSet,
};

/// A voter of three that asks for pre-votes in epoch 5, and has sent its questions to 2 and 3.
fn prospective() -> (Host, [Correlation; 2]) {
    let mut host = Host::unattached();
    host.after(1_000);
    assert_eq!(host.kind(), (Prospective, 5));
    let asked = questions(&mut host, true);
    (host, asked)
}

/// The same, which has voted for itself in epoch 6.
fn candidate() -> (Host, [Correlation; 2]) {
    let (mut host, [two, _]) = prospective();
    host.respond(two, voted(true, 5));
    assert_eq!(host.kind(), (Candidate, 6));
    let asked = questions(&mut host, false);
    (host, asked)
}

/// What it asks 2 and 3.
fn questions(host: &mut Host, is_pre_vote: bool) -> [Correlation; 2] {
    host.effects.clear();
    host.tick();
    let asked = host.sent();
    let epoch = host.kind().1;
    let [(two, to_two, Request::Vote(one)), (three, to_three, Request::Vote(other))] = &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert_eq!((to_two.id, to_three.id), (2, 3));
    for vote in [one, other] {
        assert_eq!((vote.epoch, vote.is_pre_vote, vote.candidate), (epoch, is_pre_vote, key(1)));
    }
    [*two, *three]
}

fn written(host: &Host) -> Vec<&BatchContent> {
    let written = host.effects.iter().filter_map(|effect| match effect {
        Effect::Append(batch) => Some(&batch.content),
        _ => None,
    });
    written.collect()
}

/// testInitializeAsCandidateAndBecomeLeader, testInitializeAsCandidateAndBecomeLeaderQuorumOfThree.
#[test]
fn a_leader_first_writes_who_votes_and_who_voted_for_it() {
    let unknown = || ElectionState::with_unknown_leader(5, []);
    for (voters, disk) in [
        (vec![1, 2], storage(&[1, 2], &[(9, 4)], unknown())),
        (vec![1, 2, 3], storage(&[1, 2, 3], &[(9, 4)], unknown())),
        (vec![1, 2, 3], static_storage(&[1, 2, 3], &[(9, 4)], unknown())),
    ] {
        let mut host = Host::start(config(), disk);
        host.elect(&[2]);
        assert_eq!((host.kind(), host.leader_id()), ((Leader, 6), Some(1)));
        let [BatchContent::Control(records)] = &written(&host)[..] else {
            panic!("{:?}", host.effects)
        };
        let change = LeaderChange { leader_id: 1, voters, granting_voters: vec![1, 2] };
        assert_eq!(records.first(), Some(&ControlRecord::LeaderChange(change)));
        assert_eq!(host.replica.quorum().election().leader_id(), Some(1));
    }
}

/// testVoteRequestTimeout.
#[test]
fn a_vote_that_does_not_come_is_asked_for_again_and_the_late_one_is_none() {
    let mut config = config();
    config.request_timeout_ms = 300;
    let unknown = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], unknown));
    host.after(1_000);
    for (is_pre_vote, nominee, next) in
        [(true, (Prospective, 5), (Candidate, 6)), (false, (Candidate, 6), (Leader, 6))]
    {
        let [late, _] = questions(&mut host, is_pre_vote);
        host.after(299);
        assert_eq!(host.sent(), []);
        host.after(1);
        let again = host.sent();
        assert_eq!(again.len(), 2);
        assert_ne!(again[0].0, late);
        host.respond(late, voted(true, nominee.1));
        assert_eq!(host.kind(), nominee);
        host.respond(again[0].0, voted(true, nominee.1));
        assert_eq!(host.kind(), next);
    }
}

#[test]
fn a_candidacy_that_ends_in_nothing_is_tried_again_in_the_next_epoch() {
    let (mut host, _) = candidate();
    host.after(1_000);
    assert_eq!(host.kind(), (Prospective, 6));
    assert_eq!(host.persisted(), Vec::<&ElectionState>::new(), "nothing is new");
    assert_eq!(host.replica.quorum().election().voted_key(), Some(key(1)));
    let [two, _] = questions(&mut host, true);
    host.respond(two, voted(true, 6));
    assert_eq!(host.kind(), (Candidate, 7));
}

/// testVoteResponseIgnoredAfterBecomingFollower.
#[test]
fn a_vote_is_none_once_there_is_a_leader() {
    let (mut host, [two, three]) = candidate();
    host.begun(3, 6);
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
    for late in [two, three] {
        host.respond(late, voted(true, 6));
    }
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
    let election = host.replica.quorum().election();
    assert_eq!((election.leader_id(), election.voted_key()), (Some(3), Some(key(1))));
}

#[test]
fn a_pre_vote_is_none_once_there_is_a_leader() {
    let (mut host, [two, three]) = prospective();
    host.begun(3, 5);
    for late in [two, three] {
        host.respond(late, voted(true, 5));
    }
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(3)));
}

/// KIP-996.
#[test]
fn a_peer_without_pre_votes_makes_a_candidate_at_once() {
    let unsupported = || Response::Failed(ErrorCode::UnsupportedVersion);
    let (mut host, [two, three]) = prospective();
    host.respond(two, unsupported());
    assert_eq!(host.kind(), (Candidate, 6));
    // What comes of the other question is no vote.
    host.respond(three, voted(true, 6));
    assert_eq!(host.kind(), (Candidate, 6));
    for asked in questions(&mut host, false) {
        host.respond(asked, voted(false, 6));
    }
    host.after(1_000);
    assert_eq!(host.kind(), (Prospective, 6));
    let [two, _] = questions(&mut host, true);
    host.respond(two, voted(true, 6));
    assert_eq!(host.kind(), (Candidate, 7));
}

/// testClusterAuthorizationFailedInVote and its three relatives.
#[test]
fn a_replica_that_is_not_authorised_stops() {
    let refused = ErrorCode::ClusterAuthorizationFailed;
    let check = |mut host: Host, correlation, response| {
        host.respond(correlation, response);
        assert_eq!(host.replica.fatal(), Some(&Fatal::Unauthorised));
        assert_eq!(host.replica.next_deadline(), None);
    };
    let (host, [two, _]) = candidate();
    check(host, two, Response::Vote(Answer::failed(refused)));

    let mut host = Host::unattached();
    host.elect(&[2]);
    let two = host.sent()[0].0;
    check(host, two, Response::BeginQuorumEpoch(Answer::failed(refused)));

    let mut host = Host::leader();
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    assert_eq!(host.kind(), (Resigned, 6));
    host.tick();
    let two = host.sent()[0].0;
    check(host, two, Response::EndQuorumEpoch(Answer::failed(refused)));

    let mut host = Host::follower();
    host.tick();
    let two = host.sent()[0].0;
    check(host, two, Response::Fetch(Answer::failed(refused)));
}

#[test]
fn a_majority_of_the_voters_is_needed_with_the_own_vote() {
    for (voters, needed) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)] {
        let voters: Vec<i32> = (1..=voters).collect();
        let unknown = ElectionState::with_unknown_leader(5, []);
        let mut host = Host::start(config(), storage(&voters, &[(9, 4)], unknown));
        host.after(1_000);
        host.tick();
        let asked = host.sent();
        let mut granted = 0;
        for (correlation, ..) in asked {
            if host.kind().0 == Prospective {
                host.respond(correlation, voted(true, 5));
                granted += 1;
            }
        }
        assert_eq!(granted, needed, "{voters:?}");
        assert_ne!(host.kind().0, Prospective);
    }
}

/// Votes are counted over the last voters in the log, committed or not.
#[test]
fn a_change_of_voters_that_is_not_committed_counts_in_an_election() {
    let mut disk = storage(&[1, 2, 3], &[(9, 4)], ElectionState::with_unknown_leader(5, []));
    let four = ControlRecord::Voters(VoterSet::new([1, 2, 3, 4].map(voter)));
    disk.control.on_control_batch(10, &[four]).expect("it is the next one");
    disk.log.append(10, 4);
    let mut host = Host::start(config(), disk);
    host.after(1_000);
    host.tick();
    let asked: Vec<_> = host.sent().into_iter().map(|(it, to, _)| (it, to.id)).collect();
    assert_eq!(asked.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [2, 3, 4]);
    host.respond(asked[0].0, voted(true, 5));
    assert_eq!(host.kind(), (Prospective, 5), "two of four");
    host.respond(asked[2].0, voted(true, 5));
    assert_eq!(host.kind(), (Candidate, 6));
}

#[test]
fn a_voter_of_which_nobody_knows_where_it_listens_is_not_asked() {
    let mut elsewhere = voter(3);
    elsewhere.endpoints = Endpoints::new([Endpoint::new("OTHER", "h3", 9_001)]);
    let mut control = ControlLog::new(VoterSet::empty());
    let voters = ControlRecord::Voters(VoterSet::new([voter(1), voter(2), elsewhere]));
    let level = ControlRecord::KRaftVersion(KRaftVersion::V1);
    control.load_snapshot(0, [level, voters]).expect("it is sound");
    control.on_data(0, 9).expect("it is the next one");
    let disk = storage(&[1, 2, 3], &[(9, 4)], ElectionState::with_unknown_leader(5, []));
    let mut host = Host::start(config(), Storage { control, ..disk });
    host.elect(&[2]);
    assert_eq!(host.kind(), (Leader, 6));
    // Kafka's process ends on each of the three times at which it is to be asked or told.
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    host.effects.clear();
    host.tick();
    let (_, to, _) = host.only_sent();
    assert_eq!((to.id, host.replica.fatal()), (2, None));
}

#[test]
fn a_vote_of_another_epoch_is_none() {
    let (mut host, [two, _]) = candidate();
    host.respond(two, voted(true, 5));
    assert_eq!(host.kind(), (Candidate, 6));
    let (mut host, [two, _]) = candidate();
    host.respond(two, voted(true, 7));
    assert_eq!(host.kind(), (Unattached, 7));
}

/// Kafka asks it again at once, and again, until the election is over.
#[test]
fn a_voter_that_is_taken_for_another_is_asked_again_after_a_rest() {
    let (mut host, [two, _]) = candidate();
    host.respond(two, Response::Vote(answer(ErrorCode::InvalidVoterKey, None, 6, false)));
    host.tick();
    host.after(19);
    assert_eq!((host.sent(), host.kind()), (Vec::new(), (Candidate, 6)));
    host.after(1);
    let (_, to, request) = host.only_sent();
    assert!(to.id == 2 && matches!(request, Request::Vote(_)), "{request:?}");
}
