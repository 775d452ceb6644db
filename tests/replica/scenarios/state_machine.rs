//! What the state machine is told and given, which may take its time with it.

use super::{led_by, with};
use crate::host::{Host, config, nothing_fetched, static_storage, storage};
use crate::peers::{fetch_of, voted};
use bytes::Bytes;
use kafka_coordination::kraft::EpochStateKind::{
    Candidate, Follower, Leader, Resigned, Unattached,
};
use kafka_coordination::kraft::{Effect, ElectionState, LogIndex, OffsetAndEpoch};

fn loaded(host: &Host) -> Vec<OffsetAndEpoch> {
    let loaded = host.effects.iter().filter_map(|effect| match effect {
        Effect::LoadSnapshot(snapshot) => Some(*snapshot),
        _ => None,
    });
    loaded.collect()
}

/// A follower of 2 that lets its state machine take its time.
fn slow_follower() -> Host {
    let mut host = Host::follower();
    host.is_slow = true;
    host.catch_up(0);
    host
}

/// KAFKA-15345, testHandleLeaderChangeFiresAfterListenerReachesEpochStartOffset and the same on an empty log.
#[test]
fn a_replica_hears_that_it_leads_when_it_has_all_that_came_before() {
    let unknown = || ElectionState::with_unknown_leader(5, []);
    for (disk, start) in [
        (storage(&[1, 2], &[(9, 4)], unknown()), 10),
        (static_storage(&[1, 2], &[(9, 4)], unknown()), 10),
        (static_storage(&[1, 2], &[], unknown()), 0),
    ] {
        let mut host = Host::start(config(), disk);
        host.is_slow = true;
        host.elect(&[2]);
        assert_eq!(host.kind(), (Leader, 6));
        let end = host.replica.log().end_offset();
        host.serve(&fetch_of(2, (end, 6), 6));
        assert_eq!(host.replica.log().high_watermark(), end);
        host.tick();
        let loads = loaded(&host);
        if !loads.is_empty() {
            assert_eq!(loads, [OffsetAndEpoch::BOOTSTRAP]);
            host.catch_up(0);
        }
        assert_eq!(host.delivered(), [(0, end)]);
        assert_eq!(host.leaders_told(), []);
        // Up to the start of the epoch is not enough.
        host.catch_up(start);
        assert_eq!(host.leaders_told(), []);
        host.catch_up(end);
        assert_eq!(host.leaders_told(), [(Some(1), 6)]);
        host.tick();
        assert_eq!(host.leaders_told(), [(Some(1), 6)], "it hears it once");
    }
}

/// KAFKA-16286, KAFKA-17333, testHandleLeaderChangeFiresAfterUnattachedRegistration,
/// testHandleLeaderChangeFiresAfterFollowerRegistration, testHandleLeaderChangeFiresAfterResignRegistration.
#[test]
fn a_state_machine_hears_first_who_leads_now_but_not_of_one_that_has_resigned() {
    let unknown = ElectionState::with_unknown_leader(5, []);
    for (election, told) in
        [(unknown, vec![(None, 5)]), (led_by(2), vec![(Some(2), 5)]), (led_by(1), vec![])]
    {
        let mut host = with(election, &[1, 2, 3]);
        host.tick();
        assert_eq!(host.leaders_told(), told);
        host.tick();
        assert_eq!(host.leaders_told(), told);
    }
    let mut host = with(led_by(1), &[1, 2, 3]);
    host.tick();
    assert_eq!(host.kind(), (Resigned, 5));
    host.after(1_000);
    assert_eq!((host.kind(), host.leaders_told()), ((Unattached, 6), vec![(None, 6)]));
    host.begun(2, 6);
    assert_eq!(host.leaders_told(), [(Some(2), 6)]);
}

/// testLateRegisteredListenerCatchesUp, testHandleCommitCallbackFiresAfterFollowerHighWatermarkAdvances.
#[test]
fn what_is_committed_is_given_from_the_start_on_as_it_becomes_known() {
    let mut host = Host::follower();
    host.fetch(2, nothing_fetched(Some(4)));
    assert_eq!(host.delivered(), [(0, 4)]);
    host.fetch(2, nothing_fetched(Some(7)));
    assert_eq!(host.delivered(), [(4, 7)]);
    host.fetch(2, nothing_fetched(Some(7)));
    assert_eq!(host.delivered(), []);
}

/// A slow state machine does not hold up replication, and is given all at once what came meanwhile.
#[test]
fn a_state_machine_has_one_thing_to_do_at_a_time() {
    let mut host = slow_follower();
    host.fetch(2, nothing_fetched(Some(4)));
    assert_eq!(host.delivered(), [(0, 4)]);
    for known in 5..=9 {
        host.fetch(2, nothing_fetched(Some(known)));
        assert_eq!(host.delivered(), []);
    }
    host.effects.clear();
    host.catch_up(4);
    assert_eq!(host.delivered(), [(4, 9)]);
    // What it has had it is not given again.
    host.effects.clear();
    host.catch_up(9);
    assert_eq!(host.delivered(), []);
}

/// testHandleCommitCallbackFiresInVotedState, testHandleCommitCallbackFiresInCandidateState.
#[test]
fn what_was_known_to_be_committed_is_given_without_a_leader_too() {
    let busy = || {
        let mut host = slow_follower();
        host.fetch(2, nothing_fetched(Some(4)));
        host.fetch(2, nothing_fetched(Some(9)));
        host
    };
    let mut host = busy();
    assert!(host.grants(3, 6, (10, 4), false));
    assert_eq!(host.kind(), (Unattached, 6));
    host.effects.clear();
    host.catch_up(4);
    assert_eq!(host.delivered(), [(4, 9)]);

    let mut host = busy();
    host.after(2_000);
    host.effects.clear();
    host.tick();
    let two = host.sent()[0].0;
    host.respond(two, voted(true, 5));
    assert_eq!(host.kind(), (Candidate, 6));
    host.effects.clear();
    host.catch_up(4);
    assert_eq!(host.delivered(), [(4, 9)]);
}

/// KAFKA-15076, testLeaderListenerNotified, testFollowerListenerNotified.
#[test]
fn a_state_machine_starts_with_the_snapshot_and_goes_on_with_records() {
    let snapshot = OffsetAndEpoch::new(5, 4);
    let disk = |election: ElectionState| {
        let mut disk = storage(&[1, 2, 3], &[(9, 4)], election);
        let mut log = LogIndex::after_snapshot(snapshot);
        log.append(9, 4);
        disk.log = log;
        disk
    };
    let mut host = Host::start(config(), disk(led_by(2)));
    host.fetch(2, nothing_fetched(None));
    assert_eq!((loaded(&host), host.delivered()), (vec![], vec![]), "nothing is known yet");
    host.fetch(2, nothing_fetched(Some(8)));
    assert_eq!((loaded(&host), host.delivered()), (vec![snapshot], vec![(5, 8)]));

    let mut host = Host::start(config(), disk(ElectionState::with_unknown_leader(5, [])));
    host.elect(&[2]);
    let end = host.replica.log().end_offset();
    host.serve(&fetch_of(2, (end, 6), 6));
    assert_eq!((loaded(&host), host.delivered()), (vec![snapshot], vec![(5, end)]));
}

/// testFollowerReadsKRaftBootstrapRecords, KAFKA-20164: the bootstrap checkpoint comes first, and its id says that it is
/// that one.
#[test]
fn the_bootstrap_checkpoint_is_loaded_before_any_record() {
    let mut host = Host::follower();
    host.fetch(2, nothing_fetched(Some(4)));
    assert_eq!(loaded(&host), [OffsetAndEpoch::BOOTSTRAP]);
    let first = host.effects.iter().position(|it| matches!(it, Effect::LoadSnapshot(_)));
    let second = host.effects.iter().position(|it| matches!(it, Effect::Deliver { .. }));
    assert!(first < second);
    assert_eq!(host.kind(), (Follower, 5));
}

/// testListenerRenotified.
#[test]
fn a_state_machine_that_is_behind_the_start_of_the_log_loads_the_snapshot() {
    let mut host = slow_follower();
    host.fetch(2, nothing_fetched(Some(2)));
    assert_eq!(host.delivered(), [(0, 2)]);
    host.fetch(2, nothing_fetched(Some(9)));
    let snapshot = OffsetAndEpoch::new(8, 4);
    assert!(host.replica.snapshot_made(snapshot));
    assert!(host.replica.delete_before(snapshot));
    host.effects.clear();
    host.catch_up(2);
    assert_eq!((loaded(&host), host.delivered()), (vec![snapshot], vec![]));
    host.effects.clear();
    host.catch_up(8);
    assert_eq!((loaded(&host), host.delivered()), (vec![], vec![(8, 9)]));
}

#[test]
fn a_state_machine_that_says_what_it_has_is_given_the_rest() {
    let mut host = Host::follower();
    host.is_slow = true;
    host.catch_up(7);
    host.fetch(2, nothing_fetched(Some(9)));
    assert_eq!((loaded(&host), host.delivered()), (vec![], vec![(7, 9)]));
}

/// What a leader has written and nobody else has is not given to its state machine.
#[test]
fn what_is_not_committed_is_not_given() {
    let mut host = Host::leader();
    let records = vec![Bytes::from_static(b"record")];
    host.replica.prepare_append(6, records, host.now).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    host.tick();
    assert_eq!(host.replica.log().end_offset(), 14);
    host.serve(&fetch_of(2, (13, 6), 6));
    assert_eq!(host.delivered(), [(0, 13)]);
}

/// Kafka's goes on by one record then, and loses the others of the batch.
#[test]
fn a_state_machine_that_took_nothing_is_given_it_again() {
    let mut host = slow_follower();
    host.fetch(2, nothing_fetched(Some(4)));
    assert_eq!(host.delivered(), [(0, 4)]);
    host.effects.clear();
    host.catch_up(0);
    assert_eq!(host.delivered(), [(0, 4)]);
    host.effects.clear();
    host.catch_up(3);
    assert_eq!(host.delivered(), [(3, 4)]);
}

/// A leader that was just elected, or has resigned, does not say what is committed; what was known before is given on.
#[test]
fn what_was_known_to_be_committed_is_given_by_leaders_too() {
    let mut host = slow_follower();
    host.fetch(2, nothing_fetched(Some(4)));
    host.fetch(2, nothing_fetched(Some(9)));
    host.after(1_000);
    host.elect(&[2]);
    assert_eq!((host.kind(), host.replica.quorum().state().high_watermark()), ((Leader, 6), None));
    host.effects.clear();
    host.catch_up(4);
    assert_eq!(host.delivered(), [(4, 9)]);

    host.serve(&fetch_of(2, (13, 6), 6));
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    assert_eq!(
        (host.kind(), host.replica.quorum().state().high_watermark()),
        ((Resigned, 6), None)
    );
    host.effects.clear();
    host.catch_up(9);
    assert_eq!((host.delivered(), host.leaders_told()), (vec![(9, 13)], vec![]));
}
