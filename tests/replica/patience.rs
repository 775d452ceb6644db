//! Time-outs of nothing, which Kafka's configuration allows: the replica does not turn round and round in one moment.

use crate::host::{Host, config, storage};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, ElectionState, EpochStateKind, PartitionAnswer, ReplicaConfig, Request, Response,
};

/// Calls in one moment that are enough for everything that is due.
const CALLS: usize = 20;

/// Every choice of the time-outs that a replica has, from nothing up.
fn impatient() -> impl Iterator<Item = ReplicaConfig> {
    let few = [0, 1, 2, 1_000];
    let choices = few.into_iter().flat_map(move |election| {
        let of_fetch = few.into_iter().map(move |fetch| (election, fetch));
        of_fetch.flat_map(move |(election, fetch)| {
            few.into_iter().map(move |request| (election, fetch, request))
        })
    });
    choices.map(|(election, fetch, request)| {
        let mut config = config();
        config.quorum.election_timeout_ms = election;
        config.quorum.fetch_timeout_ms = fetch;
        config.request_timeout_ms = request;
        config.retry_backoff_ms = 0;
        config.fetch_max_wait_ms = 0;
        config.election_backoff_max_ms = 0;
        config.auto_join = true;
        config
    })
}

/// Every vote is granted.
fn grant(host: &mut Host) {
    for (correlation, _, request) in host.sent() {
        let Request::Vote(vote) = request else { continue };
        let (error, leader_id) = (ErrorCode::None, None);
        let partition = PartitionAnswer { error, leader_id, epoch: vote.epoch, body: true };
        let answer = Answer { error, partition: Some(partition), nodes: Vec::new() };
        host.respond(correlation, Response::Vote(answer));
    }
}

/// Lets everything happen that is due, over some time. Gives the roles that the replica had.
fn live(mut host: Host, is_elected: bool) -> Vec<EpochStateKind> {
    let mut kinds = Vec::new();
    for _ in 0..50 {
        let mut calls = 0;
        while host.replica.next_deadline().is_some_and(|deadline| deadline <= host.now) {
            host.tick();
            if is_elected {
                grant(&mut host);
            }
            kinds.push(host.replica.quorum().state().kind());
            calls += 1;
            assert!(calls < CALLS, "{:?}: {:?}", host.replica.config(), host.replica.quorum());
        }
        host.now = host.now.saturating_add(1);
    }
    assert_eq!(host.replica.fatal(), None);
    kinds
}

#[test]
fn replicas_without_time_outs_come_to_rest_in_every_role() {
    let voters: [&[i32]; 3] = [&[1], &[1, 2, 3], &[2, 3]];
    for config in impatient() {
        for voters in voters {
            for election in [
                ElectionState::with_unknown_leader(5, []),
                ElectionState::with_elected_leader(5, 1, None, []).expect("an id"),
                ElectionState::with_elected_leader(5, 2, None, []).expect("an id"),
            ] {
                for is_elected in [false, true] {
                    let storage = storage(voters, &[(9, 4)], election.clone());
                    live(Host::start(config.clone(), storage), is_elected);
                }
            }
        }
    }
}

#[test]
fn a_leader_without_fetch_time_out_tells_of_itself_and_rests() {
    for fetch_timeout_ms in [0, 1, 2, 3] {
        let mut config = config();
        config.quorum.election_timeout_ms = 1;
        config.quorum.fetch_timeout_ms = fetch_timeout_ms;
        let election = ElectionState::with_unknown_leader(5, []);
        let host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], election));
        let kinds = live(host, true);
        assert!(kinds.contains(&EpochStateKind::Leader), "{fetch_timeout_ms}: {kinds:?}");
    }
}
