//! Fetches, as a leader of three answers them: it leads epoch 6 from offset 10 on, and its log ends at 13.

use crate::host::{Host, Least, config, header, key, storage};
use crate::peers::fetch_of;
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    ElectionState, Endpoint, EpochState, FetchRecordsRequest, FetchedRecords, ListenerName,
    LogIndex, OffsetAndEpoch, PartitionAnswer, ReadRecords, ReplicaKey, ReplicaState, Reply,
    RequestHeader, Storage,
};

pub(super) type Served = PartitionAnswer<FetchedRecords<Option<ReadRecords>>>;

pub(super) fn served(reply: &Reply) -> Served {
    match reply {
        Reply::Fetch(answer) => answer.partition.clone().expect("it is about the partition"),
        reply => panic!("{reply:?}"),
    }
}

/// What a fetch is answered at once, if it is.
pub(super) fn answer(host: &mut Host, request: &FetchRecordsRequest) -> Option<Served> {
    let replies = host.serve(request);
    assert!(replies.len() <= 1, "{replies:?}");
    replies.first().map(served)
}

pub(super) fn append(host: &mut Host, count: usize) {
    let (epoch, records) = (host.kind().1, vec![Bytes::from_static(b"record"); count]);
    host.replica.prepare_append(epoch, records, host.now).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    host.tick();
}

fn state(host: &Host, id: i32) -> Option<&ReplicaState> {
    match host.replica.quorum().state() {
        EpochState::Leader(leader) => leader.replica(&key(id)),
        state => panic!("{state:?}"),
    }
}

/// KAFKA-12619: what is committed is not known before a record of the leader's own epoch is.
#[test]
fn a_leader_does_not_know_what_is_committed_before_its_own_epoch_is() {
    let mut host = Host::leader();
    for (log_end, known) in [((0, 0), None), ((10, 4), None), ((13, 6), Some(13))] {
        let answer = answer(&mut host, &fetch_of(2, log_end, 6)).expect("there is something new");
        assert_eq!(answer.body.high_watermark, known, "{log_end:?}");
        assert_eq!(host.replica.quorum().state().high_watermark(), known);
    }
}

/// testLeaderStateUpdateWithDifferentFetchRequestVersions.
#[test]
fn fetches_of_every_version_count_and_later_ones_are_told_where_the_leader_is() {
    for version in 13..=18 {
        let mut host = Host::leader();
        host.effects.clear();
        let id = host.request_id();
        let header = RequestHeader { version, ..header() };
        let mut request = fetch_of(2, (13, 6), 6);
        request.max_wait_ms = 0;
        host.replica.handle_fetch(id, &header, &request, 13, &mut Least, host.now);
        host.carry_out();
        let Reply::Fetch(answer) = host.reply() else { panic!("{:?}", host.effects) };
        let ids: Vec<_> = answer.nodes.iter().map(|node| node.id).collect();
        assert_eq!(ids, if version >= 17 { vec![1] } else { vec![] });
        assert_eq!(served(host.reply()).body.high_watermark, Some(13));
    }
}

/// testLeaderImmediatelySendsDivergingEpoch.
#[test]
fn who_has_an_epoch_that_the_log_has_not_is_told_where_the_one_before_ends() {
    let unknown = ElectionState::with_unknown_leader(5, []);
    let disk = storage(&[1, 2, 3], &[(2, 1), (5, 3), (8, 5)], unknown);
    let mut host = Host::start(config(), disk);
    host.elect(&[2]);
    let answer = answer(&mut host, &fetch_of(2, (6, 2), 6)).expect("it is answered at once");
    assert_eq!(
        (answer.error, answer.body.diverging),
        (ErrorCode::None, Some(OffsetAndEpoch::new(3, 1)))
    );
    assert_eq!(answer.body.records, None);
    assert_eq!(state(&host, 2).and_then(ReplicaState::end_offset), None, "that is no fetch");
}

/// testInvalidFetchRequest, and what is answered at once for other reasons.
#[test]
fn fetches_that_are_wrong_or_have_news_to_hear_are_answered_at_once() {
    let fetch = |log_end, leader_epoch| fetch_of(2, log_end, leader_epoch);
    let invalid = ErrorCode::InvalidRequest;
    for (request, error) in [
        (fetch((-5, 6), 6), invalid),
        (fetch((13, -1), 6), invalid),
        (fetch((13, 7), 6), invalid),
        (FetchRecordsRequest { max_wait_ms: -1, ..fetch((13, 6), 6) }, invalid),
        (fetch((13, 6), 7), ErrorCode::UnknownLeaderEpoch),
        (fetch((10, 5), 5), ErrorCode::FencedLeaderEpoch),
        (fetch((13, 6), 5), invalid),
    ] {
        let mut host = Host::leader();
        let answer = answer(&mut host, &request).expect("it is answered at once");
        assert_eq!(answer.error, error, "{request:?}");
        let body = &answer.body;
        assert_eq!((body.high_watermark, body.records, body.diverging), (None, None, None));
        assert_eq!((answer.leader_id, answer.epoch), (Some(1), 6));
        assert_eq!(state(&host, 2).and_then(ReplicaState::end_offset), None);
    }
}

/// KAFKA-16535: within a batch a replica has what is before it. testDescribeQuorumNonMonotonicFollowerFetch.
#[test]
fn a_replica_that_asks_from_within_a_batch_has_what_is_before_it() {
    let mut host = Host::leader();
    append(&mut host, 2);
    host.serve(&fetch_of(2, (15, 6), 6));
    assert_eq!(host.replica.log().high_watermark(), 15);
    let caught_up = state(&host, 2).and_then(ReplicaState::last_caught_up);
    assert_eq!(caught_up, Some(host.now));
    host.now = host.now.saturating_add(10);
    let replies = host.serve_within(&fetch_of(2, (14, 6), 6), 13);
    let answer = served(&replies[0]);
    let read = answer.body.records.expect("records are read from the batch on that holds it");
    assert_eq!(read.from, 14);
    let two = state(&host, 2).expect("a voter");
    assert_eq!((two.end_offset(), two.last_fetch()), (Some(13), Some(host.now)));
    assert_eq!(two.last_caught_up(), caught_up);
    assert_eq!(host.replica.log().high_watermark(), 15);
}

/// KAFKA-12181: a disk was lost.
#[test]
fn a_replica_that_asks_for_what_it_had_is_given_it_again() {
    let mut host = Host::leader();
    host.serve(&fetch_of(2, (13, 6), 6));
    let answer = answer(&mut host, &fetch_of(2, (0, 0), 6)).expect("it is answered at once");
    assert_eq!(answer.error, ErrorCode::None);
    assert_eq!(answer.body.records.map(|read| read.from), Some(0));
    assert_eq!(state(&host, 2).and_then(ReplicaState::end_offset), Some(0));
    assert_eq!(answer.body.high_watermark, Some(13));
}

#[test]
fn a_tool_that_fetches_leaves_no_trace() {
    let mut host = Host::leader();
    let tool = ReplicaKey { id: -1, ..key(7) };
    let request = FetchRecordsRequest { replica: tool, ..fetch_of(7, (10, 4), 6) };
    let answer = answer(&mut host, &request).expect("there are records");
    assert_eq!(answer.error, ErrorCode::None);
    let EpochState::Leader(leader) = host.replica.quorum().state() else { panic!() };
    assert_eq!(leader.observer_states().len(), 0);
}

/// KAFKA-15078, testLeaderImmediatelySendsSnapshotId, testFetchRequestOffsetLessThanLogStart and others.
#[test]
fn who_needs_what_only_the_snapshot_has_is_sent_to_it() {
    let snapshot = Some(OffsetAndEpoch::new(5, 2));
    // Ten records of epoch 3 from 5 on: what is before them is in the snapshot alone, or in the log as well.
    let leader = |starts_at_0: bool| {
        let unknown = ElectionState::with_unknown_leader(5, []);
        let mut disk: Storage = storage(&[1, 2, 3], &[(4, 2), (14, 3)], unknown);
        if starts_at_0 {
            disk.log.add_snapshot(OffsetAndEpoch::new(5, 2));
        } else {
            let mut log = LogIndex::after_snapshot(OffsetAndEpoch::new(5, 2));
            log.append(14, 3);
            disk.log = log;
        }
        let mut host = Host::start(config(), disk);
        host.elect(&[2]);
        host
    };
    for (starts_at_0, log_end, expected) in [
        (true, (0, 0), (None, snapshot, false)),
        (true, (4, 2), (None, None, true)),
        (true, (5, 2), (None, None, true)),
        (false, (0, 0), (None, snapshot, false)),
        (false, (4, 2), (None, snapshot, false)),
        (false, (5, 1), (None, snapshot, false)),
        (false, (9, 1), (None, snapshot, false)),
        (false, (5, 2), (None, None, true)),
        (false, (5, 3), (None, snapshot, false)),
        (false, (9, 2), (Some(OffsetAndEpoch::new(5, 2)), None, false)),
        (false, (20, 4), (Some(OffsetAndEpoch::new(15, 3)), None, false)),
        (false, (15, 3), (None, None, true)),
    ] {
        let mut host = leader(starts_at_0);
        let answer = answer(&mut host, &fetch_of(2, log_end, 6)).expect("there is an answer");
        assert_eq!(answer.error, ErrorCode::None);
        let body = answer.body;
        let told = (body.diverging, body.snapshot, body.records.is_some());
        assert_eq!(told, expected, "{log_end:?}, {starts_at_0}");
        assert_eq!(body.log_start_offset, if starts_at_0 { 0 } else { 5 });
    }
    // testFetchRequestWithLargerLastFetchedEpoch.
    let answer = answer(&mut leader(false), &fetch_of(2, (15, 7), 6));
    assert_eq!(answer.map(|answer| answer.error), Some(ErrorCode::InvalidRequest));
}

/// testBootstrapCheckpointIsNotReturnedOnFetch.
#[test]
fn the_bootstrap_checkpoint_is_never_handed_out() {
    let mut host = Host::leader();
    assert_eq!(host.replica.log().latest_snapshot(), Some(OffsetAndEpoch::BOOTSTRAP));
    let answer = answer(&mut host, &fetch_of(2, (0, 0), 6)).expect("there are records");
    assert_eq!((answer.body.snapshot, answer.body.records.is_some()), (None, true));
}

/// Where the leader is, is told for the listener by which the request came.
#[test]
fn the_leader_is_named_where_the_sender_reaches_it() {
    let mut config = config();
    let other = Endpoint::new("OTHER", "outside", 9_001);
    config.quorum.local_endpoints =
        config.quorum.local_endpoints.iter().cloned().chain([other]).collect();
    let unknown = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], unknown));
    host.elect(&[2]);
    for (listener, expected) in
        [("CONTROLLER", Some("h1")), ("OTHER", Some("outside")), ("ELSEWHERE", None)]
    {
        let header = RequestHeader { listener: ListenerName::new(listener), ..header() };
        host.effects.clear();
        let (id, request) = (host.request_id(), fetch_of(2, (10, 4), 6));
        host.replica.handle_fetch(id, &header, &request, 10, &mut Least, host.now);
        host.carry_out();
        let Reply::Fetch(answer) = host.reply() else { panic!("{:?}", host.effects) };
        let hosts: Vec<_> = answer.nodes.iter().map(|node| node.host.as_str()).collect();
        assert_eq!(hosts, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(served(host.reply()).leader_id, Some(1));
    }
}
