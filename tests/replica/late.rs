//! What comes late: outcomes of I/O and answers that meet another role, or another question, than they were meant for.

use crate::host::{Host, Least, config, endpoints, key, storage, voter};
use crate::peers::{answer, voted};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ControlRecord, Correlation, Effect, ElectionState, EpochStateKind,
    FetchedRecords, FetchedSnapshot, LogBatch, OffsetAndEpoch, Reply, Request, Response,
    SupportedVersions, VoteRequest, VoterSet,
};

fn fetched(
    diverging: Option<OffsetAndEpoch>,
    snapshot: Option<OffsetAndEpoch>,
) -> FetchedRecords<Vec<LogBatch>> {
    FetchedRecords {
        high_watermark: Some(5),
        log_start_offset: 0,
        diverging,
        snapshot,
        records: Vec::new(),
    }
}

/// What the follower is told by its next fetch.
fn tell(host: &mut Host, body: FetchedRecords<Vec<LogBatch>>) {
    host.fetch(2, body);
}

fn add(host: &mut Host, id: i32) -> Correlation {
    host.effects.clear();
    let request = AddVoter {
        cluster_id: None,
        voter: key(id),
        endpoints: endpoints(id),
        acknowledge: Acknowledge::Committed,
    };
    let request_id = host.request_id();
    host.replica.handle_add_voter(request_id, &request, &mut Least, host.now);
    host.carry_out();
    let (correlation, _, request) = host.only_sent();
    assert_eq!(request, Request::ApiVersions);
    correlation
}

#[test]
fn a_voters_late_answer_is_not_taken_for_that_of_the_next_one() {
    let mut host = Host::only_leader();
    let first = add(&mut host, 4);
    host.after(2_000);
    assert!(matches!(&host.replies()[..], [Reply::VoterChange { result: Err(_), .. }]));
    let second = add(&mut host, 5);

    let supported_versions = Some(SupportedVersions::ALL);
    let response = Response::ApiVersions { error: ErrorCode::None, supported_versions };
    host.respond(first, response.clone());
    assert_eq!(host.replies(), [], "replica 5 was asked and has not answered");
    host.respond(second, response);
    assert!(matches!(&host.replies()[..], [Reply::VoterChange { result: Err(_), .. }]));
}

#[test]
fn no_election_starts_while_the_log_is_being_cut() {
    let mut host = Host::follower();
    tell(&mut host, fetched(Some(OffsetAndEpoch::new(7, 4)), None));
    assert!(host.effects.contains(&Effect::Truncate { end_offset: 7 }), "{:?}", host.effects);
    host.effects.clear();

    host.after(2_000);
    assert_eq!(host.sent(), []);
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Follower);
    host.replica.truncated(7, &mut Least, host.now);
    host.tick();
    host.tick();
    let votes = host.sent();
    assert!(!votes.is_empty());
    for (_, _, request) in votes {
        assert!(
            matches!(request, Request::Vote(vote) if vote.log_end == OffsetAndEpoch::new(7, 4))
        );
    }
}

#[test]
fn a_snapshot_is_installed_although_its_leader_is_followed_no_more() {
    const SNAPSHOT: OffsetAndEpoch = OffsetAndEpoch::new(50, 5);
    let mut host = Host::follower();
    tell(&mut host, fetched(None, None));
    tell(&mut host, fetched(None, Some(SNAPSHOT)));
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.only_sent();
    let bytes = Bytes::from_static(b"snapshot");
    let body = FetchedSnapshot { snapshot: SNAPSHOT, size: 8, position: 0, bytes };
    host.respond(correlation, Response::FetchSnapshot(answer(ErrorCode::None, Some(2), 5, body)));
    assert!(host.effects.contains(&Effect::InstallSnapshot(SNAPSHOT)), "{:?}", host.effects);

    let request = VoteRequest {
        voter: Some(key(1)),
        candidate: key(3),
        epoch: 6,
        log_end: SNAPSHOT,
        is_pre_vote: false,
    };
    host.ask_for_vote(&request);
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Unattached);
    host.effects.clear();
    host.replica.snapshot_installed(SNAPSHOT, Vec::new(), &mut Least, host.now);
    host.tick();
    assert_eq!(host.replica.fatal(), None);
    assert!(host.effects.contains(&Effect::LoadSnapshot(SNAPSHOT)), "{:?}", host.effects);
}

#[test]
fn an_observer_that_is_a_voter_once_the_log_is_cut_stands_for_election() {
    let election = ElectionState::with_elected_leader(5, 2, None, []).expect("an id");
    let mut disk = storage(&[1, 2, 3], &[(9, 4)], election);
    let others = ControlRecord::Voters(VoterSet::new([2, 3].map(voter)));
    disk.control.on_control_batch(10, &[others]).expect("it is the next one");
    disk.log.append(10, 4);
    let mut host = Host::start(config(), disk);
    assert!(host.replica.is_observer());
    tell(&mut host, fetched(Some(OffsetAndEpoch::new(10, 4)), None));
    assert!(host.effects.contains(&Effect::Truncate { end_offset: 10 }), "{:?}", host.effects);

    // The epoch goes on before the log is cut.
    let request = VoteRequest {
        voter: Some(key(1)),
        candidate: key(3),
        epoch: 6,
        log_end: OffsetAndEpoch::new(9, 4),
        is_pre_vote: false,
    };
    host.ask_for_vote(&request);
    host.replica.truncated(10, &mut Least, host.now);
    host.tick();
    assert!(!host.replica.is_observer());
    host.after(999);
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Unattached);
    host.after(1);
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Prospective);
}

#[test]
fn what_is_committed_does_not_become_less_with_a_new_leader() {
    let mut host = Host::follower();
    tell(&mut host, FetchedRecords { high_watermark: Some(9), ..fetched(None, None) });
    assert!(host.effects.contains(&Effect::HighWatermark(9)));
    // It leads, resigns, and follows another leader, which has not heard of all that is committed.
    host.after(2_000);
    host.tick();
    let (correlation, ..) = host.sent().pop().expect("it asks for votes");
    host.respond(correlation, voted(true, 5));
    host.effects.clear();
    host.tick();
    let (correlation, ..) = host.sent().pop().expect("it asks for votes");
    host.respond(correlation, voted(true, 6));
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Leader);
    host.tick();
    host.replica.resign(6, host.now).expect("it leads");
    host.tick();
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Resigned);
    host.begun(2, 7);
    host.fetch(2, fetched(None, None));
    assert_eq!(host.replica.quorum().state().high_watermark(), Some(5));
    assert_eq!(host.replica.log().high_watermark(), 9);
    assert!(!host.effects.iter().any(|effect| matches!(effect, Effect::HighWatermark(_))));
}
