//! In which state a replica starts, and what it does first.

use crate::host::{Host, Least, config, key, node, static_storage, storage, voter};
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::EpochStateKind::{
    Candidate, Follower, Leader, Prospective, Resigned, Unattached,
};
use kafka_coordination::kraft::{
    AppendError, ControlLog, ControlRecord, ElectionState, KRaftVersion, LogIndex, OffsetAndEpoch,
    Replica, Request, StartReplicaError, Storage, VoterSet,
};

fn ids(replica: &Replica) -> Vec<i32> {
    replica.latest_voters().voters.ids().collect()
}

fn unknown(epoch: i32) -> ElectionState {
    ElectionState::with_unknown_leader(epoch, [])
}

fn led_by(leader_id: i32, epoch: i32) -> ElectionState {
    ElectionState::with_elected_leader(epoch, leader_id, None, []).expect("an id")
}

/// testInitializeSingleMemberQuorum.
#[test]
fn the_only_voter_leads_epoch_1_before_anything_is_written() {
    for (mut disk, written) in
        [(storage(&[1], &[], unknown(0)), 3), (static_storage(&[1], &[], unknown(0)), 1)]
    {
        disk.election = None;
        let mut host = Host::start(config(), disk);
        assert_eq!(host.kind(), (Leader, 1));
        assert_eq!(host.replica.log().end_offset(), 0);
        host.tick();
        assert_eq!(host.replica.log().end_offset(), written);
        assert_eq!(host.replica.quorum().state().high_watermark(), Some(written));
    }
}

/// testInitializeAsLeaderFromStateStoreSingleMemberQuorum.
#[test]
fn the_only_voter_leads_a_new_epoch_unless_it_had_voted_for_itself_in_the_last() {
    let own = ElectionState::with_voted_candidate(2, key(1), []).expect("an id");
    for (election, epoch) in [(led_by(1, 2), 3), (led_by(2, 2), 3), (unknown(2), 3), (own, 2)] {
        for disk in
            [storage(&[1], &[], election.clone()), static_storage(&[1], &[], election.clone())]
        {
            let host = Host::start(config(), disk);
            assert_eq!(host.kind(), (Leader, epoch), "{election:?}");
            let leader = host.persisted().last().and_then(|election| election.leader_id());
            assert_eq!(leader, Some(1));
        }
    }
}

/// testStaticVotersIgnoredWithBootstrapSnapshot.
#[test]
fn configured_voters_count_until_there_are_others_in_the_log() {
    let host = Host::start(config(), static_storage(&[1, 2, 3], &[], unknown(0)));
    assert_eq!(ids(&host.replica), [1, 2, 3]);

    let mut control = ControlLog::new(VoterSet::new([1, 2, 3].map(voter)));
    let fewer = ControlRecord::Voters(VoterSet::new([1, 4].map(voter)));
    let level = ControlRecord::KRaftVersion(KRaftVersion::V1);
    control.load_snapshot(0, [level, fewer]).expect("it is sound");
    let mut log = LogIndex::new();
    log.add_snapshot(OffsetAndEpoch::BOOTSTRAP);
    let host = Host::start(config(), Storage { election: None, log, control });
    assert_eq!(ids(&host.replica), [1, 4]);
}

/// testInitializeAsResignedLeaderFromStateStore.
#[test]
fn a_leader_that_restarts_says_goodbye_and_asks_to_lead_the_next_epoch() {
    let mut host = Host::start(config(), storage(&[1, 2, 3], &[(9, 5)], led_by(1, 5)));
    assert_eq!(host.kind(), (Resigned, 5));
    let refused = host.replica.prepare_append(5, vec![bytes::Bytes::new()], host.now);
    assert_eq!(refused, Err(AppendError::NotLeader { epoch: 5 }));
    host.tick();
    let ended = host.requests();
    let to: Vec<_> = ended.iter().map(|(to, _)| *to).collect();
    assert_eq!(to, [2, 3]);
    for (_, request) in ended {
        assert!(
            matches!(request, Request::EndQuorumEpoch(end) if (end.leader_id, end.epoch) == (1, 5)),
            "{request:?}"
        );
    }

    host.after(1_000);
    assert_eq!(host.kind(), (Unattached, 6));
    assert_eq!(host.replica.next_deadline(), Some(host.now), "it has waited already");
    host.tick();
    assert_eq!(host.kind(), (Prospective, 6));
    // Nobody answers: it is as before, in the same epoch, and waits anew.
    host.after(1_000);
    assert_eq!((host.kind(), host.leader_id()), ((Unattached, 6), None));
}

/// testInitializeAsCandidateFromStateStore.
#[test]
fn who_had_voted_for_itself_goes_on_asking_for_votes_in_that_epoch() {
    let own = ElectionState::with_voted_candidate(5, key(1), []).expect("an id");
    let mut host = Host::start(config(), storage(&[1, 2, 3], &[(9, 4)], own));
    assert_eq!(host.kind(), (Candidate, 5));
    host.tick();
    let asked = host.requests();
    assert_eq!(asked.len(), 2);
    for (_, request) in asked {
        assert!(
            matches!(request, Request::Vote(vote) if vote.epoch == 5 && !vote.is_pre_vote),
            "{request:?}"
        );
    }
    assert!(!host.grants(2, 5, (10, 4), false));
    assert!(host.grants(2, 6, (10, 4), false));
    assert_eq!(host.kind(), (Unattached, 6));
    assert_eq!(host.replica.quorum().state().voted_key(), Some(key(2)));
}

/// KAFKA-17067, testUnattachedAsObserverDoesNotBecomeCandidateAfterElectionTimeout.
#[test]
fn an_observer_never_asks_for_votes() {
    let mut host = Host::start(config(), storage(&[2, 3], &[(9, 4)], unknown(5)));
    for _ in 0..10 {
        host.after(1_000);
        assert_eq!(host.kind(), (Unattached, 5));
    }
    let mut host = Host::start(config(), storage(&[2, 3], &[(9, 4)], led_by(2, 5)));
    for _ in 0..10 {
        host.after(2_000);
        assert_eq!(host.kind(), (Follower, 5));
        let asked = host.requests();
        assert!(matches!(asked[..], [(_, Request::Fetch(_))]), "{asked:?}");
        host.effects.clear();
    }
}

/// testObserverFetchWithNoLocalId.
#[test]
fn a_replica_without_id_fetches_as_nobody() {
    let mut config = config();
    config.quorum.local_id = None;
    let mut host = Host::start(config, storage(&[2, 3], &[], led_by(2, 5)));
    assert!(host.replica.is_observer());
    host.tick();
    let (_, _, request) = host.only_sent();
    assert!(matches!(request, Request::Fetch(fetch) if fetch.replica.id == -1));
}

#[test]
fn a_replica_that_can_ask_nobody_does_not_start() {
    let mut config = config();
    config.bootstrap.clear();
    let now = Monotonic::from_millis(0);
    let disk = static_storage(&[], &[], unknown(0));
    let started = Replica::start(config.clone(), disk, &mut Least, now);
    assert_eq!(started.err(), Some(StartReplicaError::NobodyToAsk));
    // Configured voters are somebody: they are asked under their own ids.
    let disk = static_storage(&[2, 3], &[], unknown(0));
    let mut host = Host::start(config, disk);
    host.tick();
    assert_eq!(host.only_sent().1, node(2));
}
