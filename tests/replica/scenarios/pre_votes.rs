//! Pre-votes (KIP-996), asked for and counted.

use super::states;
use crate::host::{Host, config, endpoints, key, nothing_fetched, storage};
use crate::peers::{answer, voted};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Candidate, Follower, Prospective, Unattached};
use kafka_coordination::kraft::{
    Correlation, ElectionState, EpochState, OffsetAndEpoch, Request, Response, VoteRequest,
};

/// Asks for pre-votes, the only ones that were sent.
fn asked(host: &mut Host) -> Vec<Correlation> {
    host.effects.clear();
    host.tick();
    let sent = host.sent();
    assert!(
        sent.iter()
            .all(|(_, _, request)| matches!(request, Request::Vote(vote) if vote.is_pre_vote))
    );
    sent.into_iter().map(|(correlation, ..)| correlation).collect()
}

/// KAFKA-17641: what is granted in the replica's own epoch, to voters and others, however often.
#[test]
fn who_has_a_log_as_long_gets_a_pre_vote_of_everybody_but_who_defends_a_leader() {
    for (state, start) in states() {
        let grants = state != "follower of 2, has fetched";
        let mut host = start();
        let (kind, leader_id) = (host.kind(), host.leader_id());
        for id in [3, 7, 3, 9] {
            assert_eq!(host.grants(id, 5, (10, 4), true), grants, "{state}");
            assert_eq!(host.grants(id, 5, (10, 5), true), grants, "{state}");
            assert!(!host.grants(id, 5, (9, 4), true), "{state}");
            assert!(!host.grants(id, 5, (99, 3), true), "{state}");
            assert!(host.persisted().is_empty(), "{state}");
        }
        assert_eq!((host.kind(), host.leader_id()), (kind, leader_id), "{state}");
    }
}

#[test]
fn a_pre_vote_of_a_later_epoch_ends_this_one() {
    for (state, start) in states() {
        for (log_end, granted) in [((10, 4), true), ((9, 4), false), ((10, 6), true)] {
            let mut host = start();
            assert_eq!(host.grants(3, 6, log_end, true), granted, "{state}");
            assert_eq!((host.kind(), host.leader_id()), ((Unattached, 6), None), "{state}");
            assert_eq!(host.replica.quorum().state().voted_key(), None, "{state}");
        }
    }
}

/// KAFKA-17642.
#[test]
fn a_follower_that_has_voted_grants_pre_votes_until_it_has_fetched() {
    let election = ElectionState::with_elected_leader(5, 2, Some(key(3)), []).expect("ids");
    let mut host = Host::start(config(), storage(&[1, 2, 3], &[(9, 4)], election));
    assert!(host.grants(3, 5, (10, 4), true));
    assert!(!host.grants(3, 5, (10, 4), false), "the epoch has a leader");
    host.fetch(2, nothing_fetched(None));
    assert!(!host.grants(3, 5, (10, 4), true));
    assert_eq!(host.replica.quorum().state().voted_key(), Some(key(3)));
}

/// It is not told that the vote of another directory would be granted.
#[test]
fn a_pre_vote_meant_for_another_replica_is_refused() {
    let mut host = Host::unattached();
    let request = VoteRequest {
        voter: Some(key(2)),
        candidate: key(3),
        epoch: 5,
        log_end: OffsetAndEpoch::new(10, 4),
        is_pre_vote: true,
    };
    let answer = host.vote(&request);
    assert_eq!((answer.error, answer.body), (ErrorCode::InvalidVoterKey, false));
}

/// Who loses the pre-vote and knows of no leader waits: as long as it would have, or anew if a majority has refused.
#[test]
fn a_lost_pre_vote_without_leader_is_waited_out() {
    let mut host = Host::unattached();
    host.after(1_000);
    host.after(400);
    let two = host.sent()[0].0;
    host.respond(two, voted(false, 5));
    assert_eq!(host.kind(), (Prospective, 5));
    host.after(600);
    assert_eq!(host.kind(), (Unattached, 5));
    let EpochState::Unattached(state) = host.replica.quorum().state() else { panic!() };
    assert_eq!(state.remaining_election_ms(host.now), 0, "the time is over");

    let mut host = Host::unattached();
    host.after(1_000);
    host.after(400);
    for (correlation, ..) in host.sent() {
        host.respond(correlation, voted(false, 5));
    }
    assert_eq!(host.kind(), (Unattached, 5));
    let EpochState::Unattached(state) = host.replica.quorum().state() else { panic!() };
    assert_eq!(state.remaining_election_ms(host.now), 1_000, "it is drawn anew");
}

#[test]
fn a_lost_pre_vote_leads_back_to_the_leader_that_is_known() {
    let prospective = || {
        let mut host = Host::follower();
        host.after(2_000);
        assert_eq!((host.kind(), host.leader_id()), ((Prospective, 5), Some(2)));
        assert_eq!(host.replica.quorum().state().leader_endpoints(), Some(&endpoints(2)));
        let asked = asked(&mut host);
        (host, asked)
    };
    let (mut host, _) = prospective();
    host.after(1_000);
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(2)));

    let (mut host, asked) = prospective();
    for correlation in asked {
        host.respond(correlation, voted(false, 5));
    }
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(2)));

    // A newer one is followed instead.
    let (mut host, asked) = prospective();
    let newer = answer(ErrorCode::FencedLeaderEpoch, Some(3), 6, false);
    host.respond(asked[0], Response::Vote(newer));
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
}

#[test]
fn a_leader_that_cannot_be_reached_is_not_forgotten_by_a_lost_pre_vote() {
    let election = ElectionState::with_elected_leader(5, 4, None, []).expect("an id");
    let start = || {
        let disk = storage(&[1, 2, 3], &[(9, 4)], election.clone());
        let mut host = Host::start(config(), disk);
        host.after(1_000);
        assert_eq!((host.kind(), host.leader_id()), ((Prospective, 5), Some(4)));
        host
    };
    let mut host = start();
    host.after(1_000);
    assert_eq!((host.kind(), host.leader_id()), ((Unattached, 5), Some(4)));
    let mut host = start();
    for correlation in asked(&mut host) {
        host.respond(correlation, voted(false, 5));
    }
    assert_eq!((host.kind(), host.leader_id()), ((Unattached, 5), Some(4)));
}

/// The answer may grant the vote and name a leader: the leader counts.
#[test]
fn a_pre_vote_that_names_a_leader_makes_a_follower() {
    for granted in [true, false] {
        let mut host = Host::unattached();
        host.after(1_000);
        let two = asked(&mut host)[0];
        host.respond(two, Response::Vote(answer(ErrorCode::None, Some(3), 5, granted)));
        assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(3)));
    }
}

#[test]
fn a_voter_may_change_its_mind_about_a_pre_vote() {
    let election = ElectionState::with_unknown_leader(5, []);
    let mut config = config();
    config.request_timeout_ms = 300;
    let mut host = Host::start(config, storage(&[1, 2, 3, 4, 5], &[(9, 4)], election));
    host.after(1_000);
    let asked = asked(&mut host);
    host.respond(asked[0], voted(false, 5));
    host.respond(asked[1], voted(true, 5));
    assert_eq!(host.kind(), (Prospective, 5), "two of five");
    host.respond(asked[2], voted(true, 5));
    assert_eq!(host.kind(), (Candidate, 6));
}
