//! Messages that contradict what is known: Kafka's process ends on each of them.

use crate::host::{Host, Least, config, endpoints, header, key, node, nothing_fetched, storage};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, BeginQuorumEpochRequest, ElectionState, EndQuorumEpochRequest, EpochStateKind,
    FetchSnapshotRequest, OffsetAndEpoch, PartitionAnswer, Reply, Response, VoteRequest,
};

fn error_of<T>(answer: &Answer<T>) -> ErrorCode {
    answer.partition.as_ref().map_or(answer.error, |partition| partition.error)
}

#[test]
fn another_leader_of_the_same_epoch_is_sent_away() {
    let mut host = Host::follower();
    host.effects.clear();
    let id = host.request_id();
    let request = BeginQuorumEpochRequest {
        voter: Some(key(1)),
        leader_id: 3,
        epoch: 5,
        leader_endpoints: endpoints(3),
    };
    host.replica.handle_begin_quorum_epoch(id, &header(), &request, &mut Least, host.now);
    host.carry_out();
    let replies = host.replies();
    assert!(
        matches!(&replies[..], [Reply::BeginQuorumEpoch(answer)] if error_of(answer) == ErrorCode::InvalidRequest),
        "{replies:?}"
    );
    assert_eq!(host.replica.quorum().state().leader_id(), Some(2));
    assert_eq!(host.replica.fatal(), None);
}

#[test]
fn a_message_that_names_the_receiver_as_leader_is_sent_away() {
    let mut host = Host::unattached();
    host.effects.clear();
    let id = host.request_id();
    let request = EndQuorumEpochRequest {
        leader_id: 1,
        epoch: 9,
        preferred_candidates: vec![key(1)],
        leader_endpoints: endpoints(1),
    };
    host.replica.handle_end_quorum_epoch(id, &header(), &request, &mut Least, host.now);
    host.carry_out();
    let replies = host.replies();
    assert!(
        matches!(&replies[..], [Reply::EndQuorumEpoch(answer)] if error_of(answer) == ErrorCode::InvalidRequest),
        "{replies:?}"
    );
    assert_eq!((host.replica.quorum().epoch(), host.replica.fatal()), (5, None));
}

#[test]
fn a_vote_request_of_the_receivers_own_id_is_sent_away() {
    let mut host = Host::unattached();
    host.effects.clear();
    let request = VoteRequest {
        voter: Some(key(1)),
        candidate: key(1),
        epoch: 6,
        log_end: OffsetAndEpoch::new(10, 4),
        is_pre_vote: false,
    };
    host.ask_for_vote(&request);
    let replies = host.replies();
    assert!(
        matches!(&replies[..], [Reply::Vote(answer)] if error_of(answer) == ErrorCode::InvalidRequest),
        "{replies:?}"
    );
    assert_eq!(host.replica.quorum().epoch(), 5);
}

#[test]
fn a_replica_without_id_has_no_vote_to_give() {
    let mut config = config();
    config.quorum.local_id = None;
    let election = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], election));
    host.effects.clear();
    let request = VoteRequest {
        voter: None,
        candidate: key(2),
        epoch: 6,
        log_end: OffsetAndEpoch::new(10, 4),
        is_pre_vote: false,
    };
    host.ask_for_vote(&request);
    assert_eq!(host.replica.fatal(), None);
    let replies = host.replies();
    assert!(
        matches!(&replies[..], [Reply::Vote(answer)] if answer.partition.as_ref().is_some_and(|vote| !vote.body)),
        "{replies:?}"
    );
}

/// It led with the disk that it has lost.
#[test]
fn a_replica_that_is_said_to_lead_and_does_not_knows_no_leader() {
    for epoch in [5, 7] {
        let mut host = Host::unattached();
        host.effects.clear();
        host.tick();
        let (correlation, ..) = host.only_sent();
        let body = nothing_fetched(None);
        let (error, leader_id) = (ErrorCode::NotLeaderOrFollower, Some(1));
        let partition = PartitionAnswer { error, leader_id, epoch, body };
        let nodes = vec![node(1)];
        let answer = Answer { error: ErrorCode::None, partition: Some(partition), nodes };
        host.respond(correlation, Response::Fetch(answer));
        assert_eq!(host.replica.fatal(), None);
        let state = host.replica.quorum().state();
        assert_eq!((state.kind(), state.epoch()), (EpochStateKind::Unattached, epoch));
        assert_eq!(state.leader_id(), None);
    }
}

#[test]
fn a_snapshot_asked_for_by_the_leader_itself_or_beyond_its_end_is_refused() {
    let mut host = Host::only_leader();
    let end = host.replica.log().high_watermark();
    let snapshot = OffsetAndEpoch::new(end, 6);
    assert!(host.replica.snapshot_made(snapshot));
    host.effects.clear();
    for (replica, position, expected) in [
        (key(1), 0, ErrorCode::InvalidRequest),
        (key(4), i64::MAX, ErrorCode::PositionOutOfRange),
        (key(4), -1, ErrorCode::PositionOutOfRange),
        (key(4), 100, ErrorCode::PositionOutOfRange),
        (key(4), 99, ErrorCode::None),
    ] {
        let id = host.request_id();
        let request = FetchSnapshotRequest {
            replica,
            leader_epoch: 6,
            snapshot,
            position,
            max_bytes: i32::MAX,
        };
        let (random, now) = (&mut Least, host.now);
        host.replica.handle_fetch_snapshot(id, &header(), &request, Some(100), random, now);
        host.carry_out();
        let replies = host.replies();
        assert!(
            matches!(&replies[..], [Reply::FetchSnapshot(answer)] if error_of(answer) == expected),
            "{replies:?}"
        );
    }
}

#[test]
fn an_answer_that_names_another_leader_of_the_same_epoch_is_not_believed() {
    for error in [ErrorCode::NotLeaderOrFollower, ErrorCode::FencedLeaderEpoch] {
        let mut host = Host::follower();
        host.effects.clear();
        host.tick();
        let (correlation, to, _) = host.only_sent();
        assert_eq!(to, node(2));
        let partition =
            PartitionAnswer { error, leader_id: Some(3), epoch: 5, body: nothing_fetched(None) };
        let answer =
            Answer { error: ErrorCode::None, partition: Some(partition), nodes: vec![node(3)] };
        host.respond(correlation, Response::Fetch(answer));
        assert_eq!(host.replica.fatal(), None);
        let state = host.replica.quorum().state();
        assert_eq!((state.kind(), state.leader_id()), (EpochStateKind::Follower, Some(2)));
        // Somebody else is asked meanwhile, and the leader again once its connection has rested.
        host.tick();
        let (correlation, to, _) = host.only_sent();
        assert!(to.id < 0, "{to:?}");
        host.respond(correlation, Response::Failed(ErrorCode::BrokerNotAvailable));
        host.after(20);
        let (_, to, _) = host.only_sent();
        assert_eq!(to, node(2));
    }
}

#[test]
fn an_answer_of_invalid_request_makes_the_connection_rest() {
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    let body = nothing_fetched(None);
    let error = ErrorCode::InvalidRequest;
    let partition = PartitionAnswer { error, leader_id: Some(2), epoch: 5, body };
    let answer =
        Answer { error: ErrorCode::None, partition: Some(partition), nodes: vec![node(2)] };
    host.respond(correlation, Response::Fetch(answer));
    assert_eq!(host.replica.fatal(), None);
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Follower);
    // A bootstrap server is asked meanwhile, and the leader again once its connection has rested.
    host.tick();
    let (_, to, _) = host.only_sent();
    assert!(to.id < 0, "{to:?}");
}
