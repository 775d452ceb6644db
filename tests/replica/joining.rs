//! What a follower asks of its leader beside records: to be a voter, and to be known as it is.

use crate::host::{Host, config, key, nothing_fetched, storage, voter};
use crate::peers::fetched;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    ControlLog, ElectionState, Endpoint, Endpoints, LogIndex, NextRead, ReplicaConfig, Request,
    Response, Storage, VoterSet,
};

/// Two fetch time-outs.
pub(crate) const PERIOD_MS: i64 = 4_000;

fn following(config: ReplicaConfig, mut storage: Storage) -> Host {
    storage.election = Some(ElectionState::with_elected_leader(5, 2, None, []).expect("an id"));
    let mut host = Host::start(config, storage);
    host.effects.clear();
    host
}

fn updated(error: ErrorCode) -> Response {
    let leader_endpoints = Endpoints::empty();
    Response::UpdateVoter { error, leader_id: Some(2), epoch: 5, leader_endpoints }
}

/// The leader answers fetches for so long. Gives what else is asked, and after how many milliseconds.
pub(crate) fn asked_within(host: &mut Host, ms: i64, answer: &Response) -> Vec<(i64, Request)> {
    const STEP_MS: i64 = 500;
    let mut asked = Vec::new();
    for step in 1..=ms / STEP_MS {
        host.after(STEP_MS);
        for _ in 0..2 {
            let (leader_id, epoch) = (host.leader_id().expect("it is known"), host.kind().1);
            for (correlation, to, request) in host.sent() {
                assert_eq!(to.id, leader_id);
                if matches!(request, Request::Fetch(_)) {
                    host.respond(correlation, fetched(leader_id, epoch, nothing_fetched(None)));
                } else {
                    asked.push((step * STEP_MS, request));
                    host.respond(correlation, answer.clone());
                }
            }
            host.tick();
            let due = host.replica.next_deadline().expect("a fetch is on its way");
            assert!(due > host.now, "it does not spin");
        }
    }
    asked
}

fn joining(voters: &[i32]) -> (ReplicaConfig, Storage) {
    let mut config = config();
    config.auto_join = true;
    (config, storage(voters, &[(9, 4)], ElectionState::with_unknown_leader(5, [])))
}

/// KIP-853, KIP-1186.
#[test]
fn a_controller_adds_itself_to_the_voters_again_and_again() {
    let (config, storage) = joining(&[2, 3]);
    let mut host = following(config, storage);
    let asked =
        asked_within(&mut host, 2 * PERIOD_MS, &Response::AddVoter(ErrorCode::RequestTimedOut));
    let keys: Vec<_> = asked
        .iter()
        .map(|(at, request)| match request {
            Request::AddVoter(add) => (*at, add.voter, add.endpoints.clone()),
            request => panic!("{request:?}"),
        })
        .collect();
    let own = |at| (at, key(1), voter(1).endpoints);
    assert_eq!(keys, [own(PERIOD_MS), own(2 * PERIOD_MS)]);
}

#[test]
fn who_may_not_join_only_fetches() {
    for (auto_join, can_become_voter) in [(false, true), (true, false)] {
        let (mut config, storage) = joining(&[2, 3]);
        config.auto_join = auto_join;
        config.can_become_voter = can_become_voter;
        let mut host = following(config, storage);
        assert_eq!(
            asked_within(&mut host, 3 * PERIOD_MS, &Response::AddVoter(ErrorCode::None)),
            []
        );
    }
    // A voter has joined already.
    let (config, storage) = joining(&[1, 2, 3]);
    let mut host = following(config, storage);
    assert_eq!(asked_within(&mut host, 3 * PERIOD_MS, &Response::AddVoter(ErrorCode::None)), []);
    assert!(host.replica.next_deadline().is_some_and(|due| due > host.now), "it does not spin");
}

#[test]
fn a_voter_with_other_listeners_tells_its_leader() {
    let mut config = config();
    let more = Endpoint::new("CONTROLLER_SSL", "h1", 9_001);
    let own = config.quorum.local_endpoints.iter().cloned().chain([more]);
    config.quorum.local_endpoints = Endpoints::new(own);
    let expected = config.quorum.local_endpoints.clone();
    let storage = storage(&[1, 2, 3], &[(9, 4)], ElectionState::with_unknown_leader(5, []));
    let mut host = following(config, storage);
    let asked = asked_within(&mut host, PERIOD_MS, &updated(ErrorCode::None));
    let [(PERIOD_MS, Request::UpdateVoter(update))] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((update.voter, &update.endpoints, update.leader_epoch), (key(1), &expected, 5));
}

#[test]
fn a_voter_whose_update_is_refused_asks_again() {
    let mut control = ControlLog::new(VoterSet::new([1, 2, 3].map(voter)));
    assert_eq!(control.next_read(None, 0, 0), NextRead::Nothing);
    let storage = Storage { election: None, log: LogIndex::new(), control };
    let mut host = following(config(), storage);
    // Kafka's process ends on an invalid request.
    let asked = asked_within(&mut host, PERIOD_MS, &updated(ErrorCode::InvalidRequest));
    assert_eq!(asked.len(), 1);
    assert_eq!(host.replica.fatal(), None);
}
