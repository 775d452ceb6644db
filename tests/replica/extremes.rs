//! What no sound peer says and no sound host does, but which must not stop a replica for ever.

use crate::host::{Host, Least, config, endpoints, header, key, nothing_fetched, storage};
use crate::peers::{fetch_of, fetched};
use bytes::Bytes;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, BatchContent, BeginQuorumEpochRequest, Effect, ElectionState, Endpoint,
    Endpoints, EpochStateKind, FetchRecordsRequest, KnownHighWatermark, LogBatch, Reply, Request,
};

/// A leader that says to listen where replicas do not talk.
#[test]
fn who_cannot_reach_its_leader_asks_others_for_ever() {
    for voters in [&[2, 3][..], &[1, 2, 3][..]] {
        let mut config = config();
        config.auto_join = true;
        let election = ElectionState::with_unknown_leader(5, []);
        let mut host = Host::start(config, storage(voters, &[(9, 4)], election));
        let request = BeginQuorumEpochRequest {
            voter: None,
            leader_id: 2,
            epoch: 6,
            leader_endpoints: Endpoints::new([Endpoint::new("OTHER", "h2", 9_000)]),
        };
        let id = host.request_id();
        host.replica.handle_begin_quorum_epoch(id, &header(), &request, &mut Least, host.now);
        host.carry_out();
        assert_eq!(host.kind(), (EpochStateKind::Follower, 6));
        host.effects.clear();
        host.tick();
        for _ in 0..20 {
            let (correlation, to, request) = host.only_sent();
            assert!(to.id < 0 && matches!(request, Request::Fetch(_)), "{to:?}: {request:?}");
            host.respond(correlation, fetched(2, 6, nothing_fetched(None)));
            host.after(500);
        }
    }
}

#[test]
fn the_only_voter_answers_whom_it_leaves() {
    let mut host = Host::only_leader();
    let end = host.replica.log().end();
    let request = FetchRecordsRequest {
        max_wait_ms: 500,
        high_watermark: KnownHighWatermark::At(end.offset),
        ..fetch_of(2, (end.offset, end.epoch), 6)
    };
    assert_eq!(host.serve(&request), []);
    let request = AddVoter {
        cluster_id: None,
        voter: key(2),
        endpoints: endpoints(2),
        acknowledge: Acknowledge::Committed,
    };
    let id = host.request_id();
    host.replica.handle_add_voter(id, &request, &mut Least, host.now);
    host.carry_out();
    assert!(matches!(host.only_sent().2, Request::ApiVersions));
    host.replica.shut_down(5_000, host.now);
    host.tick();
    let done = Effect::ShutdownCompleted { is_graceful: true };
    assert_eq!(host.effects.last(), Some(&done));
    let replies = host.replies();
    assert!(
        matches!(&replies[..], [Reply::Fetch(_), Reply::VoterChange { result: Err(_), .. }]),
        "{replies:?}"
    );
}

/// There is no offset for the record that starts an epoch.
#[test]
fn nobody_leads_at_the_last_of_all_offsets() {
    for last_offset in [i64::MAX - 1, i64::MAX - 2] {
        let election = ElectionState::with_unknown_leader(5, []);
        let mut host = Host::start(config(), storage(&[1], &[(last_offset, 4)], election));
        host.tick();
        let (kind, _) = host.kind();
        let is_written = host.replica.log().end_offset() == i64::MAX
            && host.effects.iter().any(|effect| matches!(effect, Effect::Append(_)));
        assert!(
            kind == EpochStateKind::Resigned || is_written,
            "{kind:?} {:?}",
            host.replica.log()
        );
        assert_eq!(host.replica.fatal(), None);
    }
}

/// They are asked for again, but not at once.
#[test]
fn batches_that_cannot_be_taken_make_the_connection_rest() {
    let bytes = Bytes::new();
    let content = BatchContent::Encoded { bytes, control: None };
    let mut host = Host::follower();
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    let gap = LogBatch { base_offset: 11, last_offset: 12, epoch: 5, content };
    let mut body = nothing_fetched(None);
    body.records.push(gap);
    host.respond(correlation, fetched(2, 5, body));
    host.tick();
    let sent = host.sent();
    assert!(sent.iter().all(|(_, to, _)| to.id < 0), "{sent:?}");
}
