//! Who is asked when, and what is listened to. A request takes up to 30 s, and a connection rests for 100 ms.

use crate::host::{Host, config, node, nothing_fetched, storage};
use crate::peers::{fetched, not_leader};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{Correlation, ElectionState, Node, Response};

fn observer(bootstrap: i32, election: ElectionState) -> Host {
    let mut config = config();
    config.request_timeout_ms = 30_000;
    config.retry_backoff_ms = 100;
    config.bootstrap = (2..2 + bootstrap).map(|id| Node { id: -id, ..node(id) }).collect();
    let mut host = Host::start(config, storage(&[2, 3], &[(9, 4)], election));
    host.effects.clear();
    host
}

fn unattached(bootstrap: i32) -> Host {
    observer(bootstrap, ElectionState::with_unknown_leader(5, []))
}

fn broken() -> Response {
    Response::Failed(ErrorCode::BrokerNotAvailable)
}

/// The only request that goes out now, and to whom.
fn asks(host: &mut Host) -> (Correlation, i32) {
    host.tick();
    let (correlation, to, _) = host.only_sent();
    (correlation, to.id)
}

/// Nothing goes out now, and something may in `ms` milliseconds.
fn waits(host: &mut Host, ms: i64) {
    host.tick();
    assert_eq!(host.sent(), []);
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(ms)));
}

#[test]
fn bootstrap_servers_are_asked_one_after_another_each_after_its_rest() {
    let mut host = unattached(2);
    let (first, to) = asks(&mut host);
    assert_eq!(to, -2);
    waits(&mut host, 30_000);
    host.respond(first, broken());
    let (second, to) = asks(&mut host);
    assert_eq!(to, -3);
    host.after(99);
    host.respond(second, broken());
    waits(&mut host, 1);
    host.now = host.now.saturating_add(1);
    assert_eq!(asks(&mut host).1, -2);
}

#[test]
fn a_request_is_given_up_after_30_s_and_its_answer_is_none_then() {
    let mut host = unattached(1);
    let (first, _) = asks(&mut host);
    host.now = host.now.saturating_add(29_999);
    waits(&mut host, 1);
    host.now = host.now.saturating_add(1);
    let (second, to) = asks(&mut host);
    assert_eq!(to, -2);
    host.respond(first, not_leader(Some(3), 6));
    assert_eq!(host.leader_id(), None);
    waits(&mut host, 30_000);
    host.respond(second, not_leader(Some(3), 6));
    assert_eq!(host.leader_id(), Some(3));
}

#[test]
fn an_answer_counts_once() {
    let mut host = unattached(1);
    let (first, _) = asks(&mut host);
    host.respond(first, broken());
    host.respond(first, not_leader(Some(3), 6));
    assert_eq!(host.leader_id(), None);
    waits(&mut host, 100);
    host.respond(first, broken());
    host.now = host.now.saturating_add(100);
    assert_eq!(asks(&mut host).1, -2, "the rest was not made longer");
}

#[test]
fn while_the_leader_is_asked_no_bootstrap_server_is() {
    let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let mut host = observer(1, election);
    let (first, to) = asks(&mut host);
    assert_eq!(to, 2);
    waits(&mut host, 30_000);
    host.now = host.now.saturating_add(30_000);
    // Its time is over: somebody else is asked, and then it again.
    let (second, to) = asks(&mut host);
    assert_eq!(to, -2);
    host.respond(first, fetched(2, 5, nothing_fetched(Some(9))));
    assert_eq!(host.replica.log().high_watermark(), 0, "it comes too late");
    host.respond(second, broken());
    let (third, to) = asks(&mut host);
    assert_eq!(to, 2, "nothing rests it");
    host.respond(third, fetched(2, 5, nothing_fetched(Some(9))));
    assert_eq!(host.replica.log().high_watermark(), 9);
}

#[test]
fn an_answer_that_is_good_lets_the_next_request_go_at_once() {
    let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let mut host = observer(1, election);
    for known in 1..=9 {
        let (correlation, to) = asks(&mut host);
        assert_eq!(to, 2);
        host.respond(correlation, fetched(2, 5, nothing_fetched(Some(known))));
        assert_eq!(host.replica.next_deadline(), Some(host.now));
    }
}

/// An answer that brings nothing new is not asked for again at the speed of the network, as Kafka does.
#[test]
fn an_answer_that_brings_nothing_rests_the_connection() {
    for response in [not_leader(None, 5), not_leader(None, 4), not_leader(Some(3), 4)] {
        let mut host = unattached(1);
        let (first, _) = asks(&mut host);
        host.respond(first, response);
        waits(&mut host, 100);
    }
}
