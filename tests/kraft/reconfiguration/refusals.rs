//! What is refused before anything is done, in which order.

use crate::quorum::{
    CLUSTER, EPOCH, LEADER, Quorum, SUPPORTED, add_voter, key, listener, on_disk, update_voter,
    voters,
};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    AddVoter, ChangeError, Endpoint, Endpoints, KRaftVersion, LogVoters, PendingChange, Receiver,
    ReceiverRole, RemoveVoter, ReplicaKey, Situation, UpdateVoter, admit_add, admit_remove,
    admit_update, check_add, check_update, decide_remove,
};

const REQUEST_TIMED_OUT: Option<ErrorCode> = Some(ErrorCode::RequestTimedOut);
const INVALID_REQUEST: Option<ErrorCode> = Some(ErrorCode::InvalidRequest);

fn elsewhere() -> Endpoints {
    Endpoints::new([Endpoint::new("OTHER", "localhost", 9_093)])
}

fn remove(cluster_id: Option<&str>) -> RemoveVoter<'_> {
    RemoveVoter { cluster_id, voter: key(2) }
}

#[test]
fn a_request_names_this_cluster_or_none() {
    let inconsistent = Some(ErrorCode::InconsistentClusterId);
    for (cluster_id, refused) in
        [(None, false), (Some(CLUSTER), false), (Some(""), true), (Some("other"), true)]
    {
        let mut quorum = Quorum::fenced([1, 2, 3]);
        let request = quorum.add(&AddVoter { cluster_id, ..add_voter(key(4)) });
        assert_eq!(quorum.code(request), inconsistent.filter(|_| refused), "{cluster_id:?}");

        let mut quorum = Quorum::fenced([1, 2, 3]);
        let request = quorum.remove(&remove(cluster_id));
        assert_eq!(quorum.code(request), inconsistent.filter(|_| refused), "{cluster_id:?}");
        assert_eq!(quorum.voter_ids().len(), if refused { 3 } else { 2 });

        let mut quorum = Quorum::fenced([1, 2, 3]);
        let request = quorum.update(&UpdateVoter { cluster_id, ..update_voter(key(2)) });
        assert_eq!(quorum.code(request), inconsistent.filter(|_| refused), "{cluster_id:?}");
        if refused {
            let leader = quorum.answer(request).leader.clone().unwrap();
            assert_eq!((leader.id, leader.epoch), (LEADER, EPOCH));
            assert_eq!(leader.endpoint.unwrap().port, 9_001);
        }
    }
}

#[test]
fn who_does_not_lead_changes_nothing() {
    let default_listener = listener();
    let receiver = |role| Receiver {
        cluster_id: CLUSTER,
        default_listener: &default_listener,
        epoch: EPOCH,
        role,
    };
    for (role, code) in [
        (ReceiverRole::Other, ErrorCode::NotLeaderOrFollower),
        (ReceiverRole::LeaderShuttingDown, ErrorCode::BrokerNotAvailable),
    ] {
        let receiver = receiver(role);
        let add = admit_add(&add_voter(key(3)), &receiver).map(|_| ());
        let remove = admit_remove(&remove(None), &receiver);
        let update = admit_update(&update_voter(key(2)), &receiver).map(|_| ());
        for refused in [add, remove, update] {
            assert_eq!(refused.map_err(|error| error.code()), Err(code));
        }
    }
    // An update is fenced by its epoch first, and the cluster counts before both.
    let receiver = receiver(ReceiverRole::Other);
    let code = |update| admit_update(&update, &receiver).unwrap_err().code();
    let update =
        UpdateVoter { leader_epoch: EPOCH - 1, ..update_voter(ReplicaKey::without_directory(-1)) };
    assert_eq!(code(update.clone()), ErrorCode::FencedLeaderEpoch);
    assert_eq!(
        code(UpdateVoter { cluster_id: Some(""), ..update }),
        ErrorCode::InconsistentClusterId
    );
}

#[test]
fn a_leader_that_shuts_down_takes_no_request() {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.changes.shut_down();
    for request in
        [quorum.add_key(key(3)), quorum.remove_key(key(2)), quorum.update(&update_voter(key(2)))]
    {
        assert_eq!(quorum.code(request), Some(ErrorCode::BrokerNotAvailable));
    }
}

#[test]
fn an_update_names_the_epoch() {
    let mut quorum = Quorum::fenced([1, 2]);
    for (leader_epoch, code) in [
        (-1, ErrorCode::FencedLeaderEpoch),
        (EPOCH - 1, ErrorCode::FencedLeaderEpoch),
        (EPOCH + 1, ErrorCode::UnknownLeaderEpoch),
    ] {
        let request = quorum.update(&UpdateVoter { leader_epoch, ..update_voter(key(2)) });
        assert_eq!(quorum.code(request), Some(code));
    }
}

#[test]
fn a_voter_has_an_id_and_a_directory() {
    for voter in [ReplicaKey::without_directory(3), on_disk(3, 1), ReplicaKey::from_wire(-1, 7)] {
        let is_valid = voter == key(3);
        let mut quorum = Quorum::fenced([1, 2, 3]);
        let endpoints = crate::quorum::endpoints(3);
        let add = AddVoter { voter, endpoints: endpoints.clone(), ..add_voter(key(3)) };
        let update = UpdateVoter { voter, endpoints, ..update_voter(key(3)) };
        let requests = [
            quorum.add(&add),
            quorum.remove(&RemoveVoter { cluster_id: None, voter }),
            quorum.update(&update),
        ];
        for request in requests {
            assert_eq!(quorum.code(request) == INVALID_REQUEST, !is_valid, "{voter}");
        }
    }
}

#[test]
fn a_voter_has_the_listener_of_the_quorum() {
    let mut quorum = Quorum::fenced([1, 2]);
    let request = quorum.add(&AddVoter { endpoints: elsewhere(), ..add_voter(key(3)) });
    assert_eq!(quorum.code(request), INVALID_REQUEST);
    for endpoints in [elsewhere(), Endpoints::empty()] {
        let request = quorum.update(&UpdateVoter { endpoints, ..update_voter(key(2)) });
        assert_eq!(quorum.code(request), INVALID_REQUEST);
    }
}

#[test]
fn an_update_has_a_range_of_levels() {
    let mut quorum = Quorum::fenced([1, 2]);
    for (min_version, max_version) in [(-1, 1), (0, -1), (1, 0)] {
        let update = UpdateVoter { min_version, max_version, ..update_voter(key(2)) };
        let request = quorum.update(&update);
        assert_eq!(quorum.code(request), INVALID_REQUEST);
        assert!(quorum.probes.is_empty());
    }
}

#[test]
fn a_leader_commits_a_record_of_its_own_first() {
    let mut quorum = Quorum::new([1, 2]);
    quorum.catch_up(key(3));
    for request in
        [quorum.add_key(key(3)), quorum.remove_key(key(2)), quorum.update(&update_voter(key(2)))]
    {
        assert_eq!(quorum.code(request), REQUEST_TIMED_OUT);
        assert_eq!(quorum.answer(request).result, Err(ChangeError::HighWatermarkUnknown));
    }
}

#[test]
fn at_level_0_voters_are_neither_added_nor_removed() {
    let mut quorum = Quorum::static_fenced([1, 2]);
    quorum.catch_up(key(3));
    for request in [quorum.add_key(key(3)), quorum.remove_key(key(2))] {
        assert_eq!(quorum.code(request), Some(ErrorCode::UnsupportedVersion));
    }
}

#[test]
fn two_changes_are_not_under_way() {
    let mut begin_add = Quorum::fenced([1, 2, 3]);
    begin_add.add_key(key(4));
    let mut begin_remove = Quorum::fenced([1, 2, 3]);
    begin_remove.remove_key(key(2));
    let mut begin_update = Quorum::fenced([1, 2, 3]);
    begin_update.update(&update_voter(key(2)));
    for mut quorum in [begin_add, begin_remove, begin_update] {
        for request in [
            quorum.add_key(key(5)),
            quorum.remove_key(key(2)),
            quorum.update(&update_voter(key(2))),
        ] {
            assert_eq!(quorum.answer(request).result, Err(ChangeError::ChangePending));
            assert_eq!(quorum.code(request), REQUEST_TIMED_OUT);
        }
        assert!(quorum.is_pending());
    }
}

#[test]
fn a_voter_is_not_added_twice() {
    let mut quorum = Quorum::fenced([1, 2]);
    for voter in [key(2), on_disk(2, 9)] {
        quorum.catch_up(voter);
        let request = quorum.add_key(voter);
        assert_eq!(quorum.code(request), Some(ErrorCode::DuplicateVoter));
    }
    assert!(quorum.probes.is_empty());
}

/// Refusals of KAFKA-16537.
#[test]
fn only_a_voter_is_removed_and_not_the_last() {
    let not_found = Some(ErrorCode::VoterNotFound);
    let mut quorum = Quorum::fenced([1, 2]);
    for voter in [on_disk(2, 9), key(3)] {
        let request = quorum.remove_key(voter);
        assert_eq!(quorum.code(request), not_found);
    }
    assert_eq!(quorum.voter_ids(), [1, 2]);
    let mut quorum = Quorum::fenced([1]);
    let request = quorum.remove_key(key(1));
    assert_eq!((quorum.code(request), quorum.voter_ids()), (not_found, vec![1]));
}

#[test]
fn what_is_wrong_first_is_answered() {
    let set = voters([1]);
    let log = LogVoters { voters: &set, offset: None, kraft_version: KRaftVersion::V0 };
    let mut situation = Situation { pending: PendingChange::Yes, high_watermark: None, log };
    let codes = |situation: &Situation<'_>| {
        let add = check_add(situation, key(1)).unwrap_err();
        assert_eq!(decide_remove(situation, &key(2)).unwrap_err().code(), {
            let code = add.code();
            if code == ErrorCode::DuplicateVoter { ErrorCode::VoterNotFound } else { code }
        });
        add
    };
    assert_eq!(codes(&situation), ChangeError::ChangePending);
    situation.pending = PendingChange::No;
    assert_eq!(codes(&situation), ChangeError::HighWatermarkUnknown);
    situation.high_watermark = Some(10);
    assert_eq!(codes(&situation), ChangeError::UnsupportedVersion { level: KRaftVersion::V0 });
    situation.log.kraft_version = KRaftVersion::V1;
    assert_eq!(codes(&situation), ChangeError::VotersNotInLog);
    situation.log.offset = Some(10);
    let uncommitted = ChangeError::UncommittedVoters { offset: 10, high_watermark: 10 };
    assert_eq!(codes(&situation), uncommitted);
    situation.log.offset = Some(9);
    assert_eq!(codes(&situation).code(), ErrorCode::DuplicateVoter);

    // An update looks at neither level nor voters before the voter is asked.
    situation.log = log;
    let none = Endpoints::empty();
    let code =
        |situation: &Situation<'_>| check_update(situation, &none, &listener()).unwrap_err().code();
    assert_eq!(code(&situation), ErrorCode::InvalidRequest);
    situation.high_watermark = None;
    assert_eq!(code(&situation), ErrorCode::RequestTimedOut);
}

#[test]
fn a_refusal_does_not_disturb_the_change_under_way() {
    let mut quorum = Quorum::fenced([1, 2]);
    quorum.catch_up(key(3));
    let add = quorum.add_key(key(3));
    quorum.remove_key(key(2));
    let _ = quorum.probed(SUPPORTED);
    quorum.catch_up(key(2));
    assert_eq!(quorum.code(add), Some(ErrorCode::None));
    assert_eq!(quorum.voter_ids(), [1, 2, 3]);
}
