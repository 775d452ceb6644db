//! How a replica finds its leader, and finds it again.

use super::following::{batch, next_fetch, records};
use super::{led_by, with};
use crate::host::{Host, config, node, nothing_fetched, static_storage, storage};
use crate::peers::{fetch_failed, fetched, not_leader};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::Follower;
use kafka_coordination::kraft::{ElectionState, OffsetAndEpoch, Request, Response};

fn unknown(epoch: i32) -> ElectionState {
    ElectionState::with_unknown_leader(epoch, [])
}

/// testObserverLeaderRediscoveryAfterBrokerNotAvailableError, testObserverLeaderRediscoveryAfterRequestTimeout,
/// and the same of voters (KAFKA-17030).
#[test]
fn who_does_not_reach_its_leader_asks_a_bootstrap_server() {
    for voters in [&[1, 2, 3][..], &[2, 3]] {
        // The connection is broken: at once. The leader is tried again when its connection has rested.
        let mut host = with(led_by(2), voters);
        let (correlation, to, ..) = next_fetch(&mut host);
        assert_eq!(to, node(2));
        host.respond(correlation, Response::Failed(ErrorCode::BrokerNotAvailable));
        let (correlation, to, ..) = next_fetch(&mut host);
        assert_eq!(to.id, -2);
        host.respond(correlation, not_leader(Some(3), 6));
        assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
        assert_eq!(next_fetch(&mut host).1, node(3));
    }
    // No answer comes: when the time of the request is over.
    let mut config = config();
    config.request_timeout_ms = 500;
    let election = led_by(2);
    for voters in [&[1, 2, 3][..], &[2, 3]] {
        let disk = storage(voters, &[(9, 4)], election.clone());
        let mut host = Host::start(config.clone(), disk);
        let (late, ..) = next_fetch(&mut host);
        host.after(499);
        assert_eq!(host.sent(), []);
        host.after(1);
        let (correlation, to, _) = host.only_sent();
        assert_eq!(to.id, -2);
        host.respond(late, fetched(2, 5, records(vec![batch(10, 12, 5)], 10)));
        assert_eq!(host.replica.log().end_offset(), 10, "it comes too late");
        host.respond(correlation, not_leader(Some(3), 6));
        assert_eq!((host.kind(), host.leader_id()), ((Follower, 6), Some(3)));
    }
}

/// testObserverHandleRetryFetchtToBootstrapServer, testObserverHandleRetryFetchToLeader.
#[test]
fn an_observer_asks_its_leader_and_a_bootstrap_server_in_turn_and_one_at_a_time() {
    let mut config = config();
    config.request_timeout_ms = 500;
    let disk = storage(&[2, 3], &[(9, 4)], led_by(2));
    let mut host = Host::start(config, disk);
    let mut asked = Vec::new();
    let mut correlations = Vec::new();
    host.effects.clear();
    for _ in 0..4 {
        host.tick();
        let (correlation, to, _) = host.only_sent();
        asked.push(to.id);
        correlations.push(correlation);
        host.after(499);
        assert_eq!(host.sent(), [], "one is on its way");
        host.now = host.now.saturating_add(1);
    }
    assert_eq!(asked, [2, -2, 2, -2]);
    // What the bootstrap server says late is not listened to.
    host.respond(correlations[1], not_leader(Some(3), 7));
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(2)));
}

/// KAFKA-19354: Kafka's stayed with the bootstrap servers.
#[test]
fn an_observer_that_finds_its_leader_again_fetches_from_it_whatever_its_timer_says() {
    let mut host = with(led_by(2), &[2, 3]);
    let (correlation, ..) = next_fetch(&mut host);
    host.respond(correlation, Response::Failed(ErrorCode::BrokerNotAvailable));
    host.after(10_000);
    let (correlation, to, _) = host.only_sent();
    assert_eq!(to, node(2), "its connection has rested");
    host.respond(correlation, Response::Failed(ErrorCode::BrokerNotAvailable));
    let (correlation, to, ..) = next_fetch(&mut host);
    assert_eq!(to.id, -2);
    host.respond(correlation, not_leader(Some(2), 5));
    host.after(20);
    assert_eq!(host.only_sent().1, node(2));
}

/// Timers on which an observer does not act do not wake it: Kafka's spins.
#[test]
fn an_observer_that_waits_for_an_answer_sleeps() {
    let unknown = ElectionState::with_unknown_leader(5, []);
    for mut host in [with(unknown, &[2, 3]), with(led_by(2), &[2, 3])] {
        for _ in 0..20 {
            host.tick();
            let due = host.replica.next_deadline().expect("the request has an end");
            assert!(due > host.now);
            // The election and fetch time-outs of 1000 and 2000 ms are no reason to wake.
            assert_eq!(due.millis_since(host.now) % 2_000, 0);
            host.now = due;
        }
    }
}

/// KAFKA-17030.
#[test]
fn a_voter_without_leader_asks_bootstrap_servers_and_follows_whom_they_name() {
    for leads in [true, false] {
        let mut host = Host::unattached();
        host.effects.clear();
        host.tick();
        let (correlation, to, _) = host.only_sent();
        assert!(to.id < 0);
        let response =
            if leads { fetched(3, 5, nothing_fetched(Some(4))) } else { not_leader(Some(3), 5) };
        host.respond(correlation, response);
        assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(3)));
    }
}

/// KAFKA-16842, testObserverDiscoversLeaderWithUnknownVoters.
#[test]
fn an_observer_that_knows_of_no_voters_follows_whom_a_bootstrap_server_names() {
    let mut host = Host::start(config(), static_storage(&[], &[], unknown(0)));
    host.tick();
    let (correlation, to, request) = host.only_sent();
    assert_eq!(to.id, -2);
    let Request::Fetch(fetch) = request else { panic!("{request:?}") };
    assert_eq!((fetch.leader_epoch, fetch.log_end), (0, OffsetAndEpoch::new(0, 0)));
    host.respond(correlation, not_leader(Some(3), 4));
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 4), Some(3)));
    host.tick();
    let (_, to, _) = host.only_sent();
    assert_eq!(to, node(3), "the voters do not say where it is, but the answer did");
}

/// testObserverQuorumDiscoveryFailure.
#[test]
fn a_bootstrap_server_that_does_not_answer_makes_room_for_another() {
    let mut host = Host::start(config(), storage(&[2, 3], &[], unknown(0)));
    host.tick();
    let (correlation, to, _) = host.only_sent();
    assert_eq!(to.id, -2);
    let error = ErrorCode::BrokerNotAvailable;
    host.respond(correlation, Response::Failed(error));
    host.tick();
    let (correlation, to, _) = host.only_sent();
    assert_eq!(to.id, -3, "the first one rests");
    host.respond(correlation, fetch_failed(ErrorCode::None, Some(3), 4));
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 4), Some(3)));
}

#[test]
fn who_loses_its_leader_does_not_wait_for_its_answer() {
    let mut host = Host::follower();
    let (_, to, ..) = next_fetch(&mut host);
    assert_eq!(to, node(2));
    assert!(host.grants(3, 6, (10, 4), false));
    let (_, to, ..) = next_fetch(&mut host);
    assert_eq!(to.id, -2);
}
