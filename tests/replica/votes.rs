//! Who votes for whom, and who stands for election: cases that quorums have met.

use crate::host::{Host, config, key, nothing_fetched, storage, voter};
use crate::peers::voted;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    AppendError, ControlRecord, Effect, ElectionState, EpochStateKind, Request, VoterSet,
};

/// The leader says that it led; replica 1 is the second of those that should lead next.
fn ended(host: &mut Host, leader_id: i32, epoch: i32) {
    host.ended(leader_id, epoch, &[3, 1, 4, 5]);
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
    assert_eq!(host.kind(), (EpochStateKind::Resigned, 5));
    assert!(!host.effects.iter().any(|effect| matches!(effect, Effect::LeaderChanged { .. })));
    let refused = host.replica.prepare_append(5, Vec::new(), host.now);
    assert_eq!(refused, Err(AppendError::NotLeader { epoch: 5 }));

    assert!(!host.grants(2, 5, (10, 4), false));
    assert!(host.grants(2, 5, (10, 4), true));
    assert!(!host.grants(2, 5, (9, 4), true));
    host.after(999);
    assert_eq!(host.kind(), (EpochStateKind::Resigned, 5));
    host.after(1);
    assert_eq!(host.kind(), (EpochStateKind::Unattached, 6));
    let election = host.replica.quorum().election();
    assert_eq!((election.leader_id(), election.voted_key()), (None, None));
}

#[test]
fn a_leader_that_restarts_votes_in_the_next_epoch() {
    let mut host = led_before(&[1, 2, 3]);
    assert!(host.grants(2, 6, (10, 4), false));
    assert_eq!(host.kind(), (EpochStateKind::Unattached, 6));
    // An only voter does not wait.
    let host = led_before(&[1]);
    assert_eq!(host.kind(), (EpochStateKind::Leader, 6));
}

/// hashicorp/raft 609: who kept asking kept everybody else from standing for election.
#[test]
fn pre_votes_put_no_election_off() {
    let mut host = Host::unattached();
    for ms in [0, 600, 399] {
        host.after(ms);
        assert!(host.grants(2, 5, (10, 4), true));
    }
    assert_eq!(host.kind(), (EpochStateKind::Unattached, 5));
    host.after(1);
    assert_eq!(host.kind(), (EpochStateKind::Prospective, 5));

    let mut host = Host::follower();
    host.after(1_999);
    assert!(host.grants(3, 5, (10, 4), true));
    host.after(1);
    assert_eq!(host.kind(), (EpochStateKind::Prospective, 5));

    // A vote does.
    let mut host = Host::unattached();
    host.after(600);
    assert!(host.grants(2, 5, (10, 4), false));
    host.after(999);
    assert_eq!(host.kind(), (EpochStateKind::Unattached, 5));
    host.after(1);
    assert_eq!(host.kind(), (EpochStateKind::Prospective, 5));
}

/// KAFKA-20895: who has fetched defended a leader that had resigned.
#[test]
fn a_leader_that_has_resigned_is_not_defended_against_pre_votes() {
    let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let mut host = Host::start(config(), storage(&[1, 2, 3, 4, 5], &[(9, 4)], election));
    host.fetch(2, nothing_fetched(None));
    assert!(!host.grants(3, 5, (10, 4), true), "it has fetched");
    // Not from who does not lead, and not of an epoch that is over.
    ended(&mut host, 4, 5);
    ended(&mut host, 2, 4);
    assert!(!host.grants(3, 5, (10, 4), true));

    ended(&mut host, 2, 5);
    assert!(host.grants(3, 5, (10, 4), true));
    assert!(!host.grants(3, 5, (9, 4), true));
    // It is the second of four: an eighth of the most.
    host.after(124);
    assert_eq!(host.kind(), (EpochStateKind::Follower, 5));

    host.begun(3, 6);
    host.fetch(3, nothing_fetched(None));
    assert!(!host.grants(4, 6, (10, 4), true), "the new leader is defended");
}

/// KAFKA-17642: Kafka's process does not start then.
#[test]
fn who_has_voted_for_itself_and_was_removed_follows_the_leader() {
    for (voters, endpoints_known) in [(&[2, 3][..], true), (&[3, 4], false), (&[1, 2, 3], true)] {
        let election = ElectionState::with_elected_leader(7, 2, Some(key(1)), []).expect("ids");
        let mut host = Host::start(config(), storage(voters, &[(9, 4)], election));
        let expected =
            if endpoints_known { EpochStateKind::Follower } else { EpochStateKind::Unattached };
        assert_eq!(host.kind(), (expected, 7));
        assert_eq!(host.replica.quorum().state().leader_id(), Some(2));
        assert!(!host.grants(3, 7, (10, 4), false));
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
    assert_eq!(host.kind(), (EpochStateKind::Unattached, 6));
    host.after(100_000);
    assert_eq!(host.kind(), (EpochStateKind::Unattached, 6));
    assert!(host.replica.is_observer());
    // The other one lacks the record, which is therefore not committed.
    assert!(!host.grants(2, 7, (50, 5), false));
    assert_eq!(host.replica.log().high_watermark(), 0);
    assert!(host.grants(2, 8, (51, 5), false));
}

#[test]
fn a_lost_election_is_waited_out() {
    let mut host = Host::unattached();
    host.effects.clear();
    host.after(1_000);
    host.tick();
    let asked = host.sent();
    assert_eq!(asked.len(), 2);
    host.respond(asked[0].0, voted(true, 5));
    assert_eq!(host.kind(), (EpochStateKind::Candidate, 6));
    host.tick();
    let asked = host.sent();
    assert!(matches!(asked[..], [(_, _, Request::Vote(_)), (_, _, Request::Vote(_))]));
    for (correlation, ..) in asked {
        host.respond(correlation, voted(false, 6));
    }
    host.tick();
    assert_eq!(host.sent(), []);
    host.after(999);
    assert_eq!(host.kind(), (EpochStateKind::Candidate, 6));
    host.after(1);
    assert_eq!(host.kind(), (EpochStateKind::Prospective, 6));
}

#[test]
fn a_nominee_that_shuts_down_goes_on_and_does_not_spin() {
    let mut host = Host::unattached();
    host.after(1_000);
    assert_eq!(host.kind(), (EpochStateKind::Prospective, 5));
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
