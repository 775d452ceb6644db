//! What a follower makes of what its leader, or somebody else, answers.

use super::{Leave, led_by};
use crate::host::{Host, Least, config, key, nothing_fetched, storage, voter};
use crate::peers::{answer, fetch_failed, fetched, not_leader};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Follower, Prospective, Unattached};
use kafka_coordination::kraft::{
    BatchContent, ControlRecord, Correlation, Effect, EpochState, FetchedRecords,
    KnownHighWatermark, LeaderChange, LogBatch, LogIndex, LogPosition, Node, OffsetAndEpoch,
    Request, Response, VoterSet,
};

pub(super) fn batch(base_offset: i64, last_offset: i64, epoch: i32) -> LogBatch {
    let content = BatchContent::Encoded { bytes: Bytes::from_static(b"batch"), control: None };
    LogBatch { base_offset, last_offset, epoch, content }
}

fn control(base_offset: i64, epoch: i32, records: Vec<ControlRecord>) -> LogBatch {
    let last_offset = base_offset + i64::try_from(records.len()).expect("a few") - 1;
    let content =
        BatchContent::Encoded { bytes: Bytes::from_static(b"batch"), control: Some(records) };
    LogBatch { base_offset, last_offset, epoch, content }
}

pub(super) fn records(
    batches: Vec<LogBatch>,
    high_watermark: i64,
) -> FetchedRecords<Vec<LogBatch>> {
    FetchedRecords { records: batches, ..nothing_fetched(Some(high_watermark)) }
}

fn diverging(offset: i64, epoch: i32) -> FetchedRecords<Vec<LogBatch>> {
    let diverging = Some(OffsetAndEpoch::new(offset, epoch));
    FetchedRecords { diverging, ..nothing_fetched(None) }
}

/// The fetch that is sent now, and to whom.
pub(super) fn next_fetch(host: &mut Host) -> (Correlation, Node, (i64, i32), KnownHighWatermark) {
    host.effects.clear();
    host.tick();
    let (correlation, to, request) = host.only_sent();
    let Request::Fetch(fetch) = request else { panic!("{request:?}") };
    let log_end = (fetch.log_end.offset, fetch.log_end.epoch);
    (correlation, to, log_end, fetch.high_watermark)
}

/// Carries out the cut that is asked for.
fn cut(host: &mut Host) -> i64 {
    let end = host.effects.iter().find_map(|effect| match effect {
        Effect::Truncate { end_offset } => Some(*end_offset),
        _ => None,
    });
    let end = end.expect("the log is to be cut");
    host.replica.truncated(end, &mut Least, host.now);
    end
}

fn flushes(host: &Host) -> bool {
    host.effects.iter().any(|effect| matches!(effect, Effect::Flush { .. }))
}

/// testFollowerReplication, testObserverReplication; KAFKA-17332: a controller may be made a voter at any time.
#[test]
fn who_votes_or_may_come_to_vote_flushes_what_it_takes() {
    for (voters, can_become_voter, is_flushed) in [
        (&[1, 2, 3][..], true, true),
        (&[1, 2, 3], false, true),
        (&[2, 3], true, true),
        (&[2, 3], false, false),
    ] {
        let mut config = config();
        config.can_become_voter = can_become_voter;
        let election = led_by(2);
        let mut host = Host::start(config, storage(voters, &[(9, 4)], election));
        host.fetch(2, records(vec![batch(10, 11, 5), batch(12, 12, 5)], 10));
        assert_eq!(host.replica.log().end(), OffsetAndEpoch::new(13, 5));
        assert_eq!(flushes(&host), is_flushed);
        assert_eq!(next_fetch(&mut host).2, (13, 5));
    }
}

/// testEmptyRecordSetInFetchResponse; KIP-1166.
#[test]
fn what_is_committed_is_learned_without_records_and_told_with_the_next_fetch() {
    let mut host = Host::follower();
    let (correlation, _, _, known) = next_fetch(&mut host);
    assert_eq!(known, KnownHighWatermark::Unknown);
    host.respond(correlation, fetched(2, 5, nothing_fetched(Some(4))));
    assert_eq!(host.delivered(), [(0, 4)]);
    let (correlation, _, _, known) = next_fetch(&mut host);
    assert_eq!(known, KnownHighWatermark::At(4));
    // What is committed and not here yet is committed here up to the end.
    host.respond(correlation, fetched(2, 5, nothing_fetched(Some(99))));
    assert_eq!(host.delivered(), [(4, 10)]);
    assert!(!flushes(&host), "nothing came");
    assert_eq!(next_fetch(&mut host).3, KnownHighWatermark::At(10));
}

/// KAFKA-18723.
#[test]
fn records_are_taken_up_to_the_first_of_a_later_epoch() {
    let mut host = Host::follower();
    host.fetch(2, records(vec![batch(10, 11, 5), batch(12, 12, 6), batch(13, 13, 5)], 10));
    assert_eq!(host.replica.log().end(), OffsetAndEpoch::new(12, 5));
    assert_eq!(next_fetch(&mut host).2, (12, 5));
}

#[test]
fn a_control_batch_that_is_not_what_it_says_is_not_taken() {
    let mut host = Host::follower();
    let change = LeaderChange { leader_id: 2, voters: vec![1, 2, 3], granting_voters: vec![2] };
    let mut wrong = control(10, 5, vec![ControlRecord::LeaderChange(change)]);
    wrong.last_offset = 11;
    host.fetch(2, records(vec![wrong], 10));
    assert_eq!(host.replica.log().end_offset(), 10);
    assert!(!host.effects.iter().any(|effect| matches!(effect, Effect::Append(_))));
    assert_eq!(host.replica.fatal(), None);
}

/// testFollowerLogReconciliation: a log with the ends of two leaderships that nobody else has, beside a leader's.
#[test]
fn a_log_becomes_that_of_the_leader() {
    let own = [(2, 1), (5, 2), (8, 4), (9, 4)];
    let mut leader = LogIndex::new();
    for (last_offset, epoch) in [(2, 1), (3, 2), (6, 3), (9, 5)] {
        leader.append(last_offset, epoch);
    }
    let election = led_by(2);
    let mut host = Host::start(config(), storage(&[1, 2, 3], &own, election));
    let mut asked = Vec::new();
    for _ in 0..4 {
        let (correlation, _, (offset, epoch), _) = next_fetch(&mut host);
        asked.push((offset, epoch));
        let LogPosition::Diverging(end) = leader.position(offset, epoch) else {
            let rest = [(4, 6, 3), (7, 9, 5)].map(|(base, last, epoch)| batch(base, last, epoch));
            host.respond(correlation, fetched(2, 5, records(rest.to_vec(), 0)));
            break;
        };
        host.respond(correlation, fetched(2, 5, diverging(end.offset, end.epoch)));
        cut(&mut host);
    }
    assert_eq!(asked, [(10, 4), (6, 2), (4, 2)]);
    assert_eq!(host.replica.log(), &{
        let mut same = leader.clone();
        same.add_snapshot(OffsetAndEpoch::BOOTSTRAP);
        same
    });
}

/// KAFKA-10706: a replica that led and wrote nothing has an epoch at the end of its log that has to go.
#[test]
fn an_epoch_without_records_is_cut_off_too() {
    let mut disk = storage(&[1, 2, 3], &[(9, 4)], led_by(2));
    disk.log.start_epoch(5);
    let mut host = Host::start(config(), disk);
    let (correlation, _, log_end, _) = next_fetch(&mut host);
    assert_eq!(log_end, (10, 5));
    host.respond(correlation, fetched(2, 5, diverging(12, 4)));
    assert_eq!(cut(&mut host), 10);
    assert_eq!(next_fetch(&mut host).2, (10, 4), "it does not ask the same again");
}

/// Kafka does not read again what takes the place of what was cut off, until it restarts.
#[test]
fn voters_in_records_that_take_the_place_of_others_count() {
    let with_four = ControlRecord::Voters(VoterSet::new([1, 2, 3, 4].map(voter)));
    let without_us = ControlRecord::Voters(VoterSet::new([2, 3].map(voter)));
    let mut disk = storage(&[1, 2, 3], &[(9, 4)], led_by(2));
    disk.control.on_control_batch(10, &[with_four]).expect("it is the next one");
    disk.log.append(10, 4);
    let mut host = Host::start(config(), disk);
    let ids = |host: &Host| host.replica.latest_voters().voters.ids().collect::<Vec<_>>();
    assert_eq!(ids(&host), [1, 2, 3, 4]);
    host.fetch(2, diverging(10, 4));
    cut(&mut host);
    assert_eq!(ids(&host), [1, 2, 3]);
    host.fetch(2, records(vec![control(10, 5, vec![without_us])], 0));
    assert_eq!(ids(&host), [2, 3]);
    assert!(host.replica.is_observer());
    assert_eq!(host.replica.control_log().next_offset(), 11);
}

/// testFetchResponseIgnoredAfterBecomingCandidate, testFetchResponseIgnoredAfterBecomingFollowerOfDifferentLeader.
#[test]
fn records_of_a_leader_that_is_followed_no_more_are_not_taken() {
    let leave: [Leave; 3] = [
        |host| host.after(2_000),
        |host| _ = host.begun(3, 6),
        |host| assert!(host.grants(3, 6, (10, 4), false)),
    ];
    for (leave, state) in leave.into_iter().zip([Prospective, Follower, Unattached]) {
        let mut host = Host::follower();
        let (correlation, ..) = next_fetch(&mut host);
        leave(&mut host);
        let kind = host.kind();
        assert_eq!(kind.0, state);
        host.effects.clear();
        host.respond(correlation, fetched(2, 5, records(vec![batch(10, 12, 5)], 13)));
        assert_eq!((host.replica.log().end_offset(), host.kind()), (10, kind));
        assert_eq!(host.effects, []);
    }
}

/// What is asked next, and how much of the fetch time-out is left, by what came.
#[test]
fn each_answer_is_good_for_something_or_the_connection_rests() {
    const LEFT: i64 = 1_000;
    let snapshot = |offset, epoch| FetchedRecords {
        snapshot: Some(OffsetAndEpoch::new(offset, epoch)),
        ..nothing_fetched(None)
    };
    let ok = |body| fetched(2, 5, body);
    let failed = |error| fetch_failed(error, Some(2), 5);
    let leader = |offset| Some((2, offset));
    let bootstrap = Some((-2, 10));
    for (case, response, left, next) in [
        ("records", ok(records(vec![batch(10, 12, 5)], 10)), 2_000, leader(13)),
        ("committed", ok(nothing_fetched(Some(10))), 2_000, leader(10)),
        ("cut", ok(diverging(7, 4)), 2_000, leader(7)),
        ("snapshot that is there", ok(snapshot(0, 0)), 2_000, leader(10)),
        ("snapshot without epoch", ok(snapshot(50, -1)), LEFT, bootstrap),
        ("snapshot without offset", ok(snapshot(-1, 5)), LEFT, bootstrap),
        ("unknown epoch", failed(ErrorCode::UnknownLeaderEpoch), LEFT, bootstrap),
        ("not available", failed(ErrorCode::BrokerNotAvailable), LEFT, bootstrap),
        ("invalid", failed(ErrorCode::InvalidRequest), LEFT, bootstrap),
        ("server error", failed(ErrorCode::UnknownServerError), LEFT, bootstrap),
        ("broken", Response::Failed(ErrorCode::BrokerNotAvailable), LEFT, bootstrap),
        ("another", not_leader(Some(3), 6), 2_000, Some((3, 10))),
        ("fenced", fetch_failed(ErrorCode::FencedLeaderEpoch, Some(3), 6), 2_000, Some((3, 10))),
    ] {
        let mut host = Host::follower();
        let (correlation, ..) = next_fetch(&mut host);
        host.now = host.now.saturating_add(LEFT);
        host.respond(correlation, response);
        let state = host.replica.quorum().state();
        let EpochState::Follower(follower) = state else { panic!("{case}: {state:?}") };
        assert_eq!(follower.remaining_fetch_ms(host.now), left, "{case}");
        if case == "cut" {
            cut(&mut host);
        }
        let (_, to, (offset, _), _) = next_fetch(&mut host);
        assert_eq!(Some((to.id, offset)), next, "{case}");
    }
}

#[test]
fn an_answer_of_who_knows_no_leader_of_a_later_epoch_leaves_none() {
    let mut host = Host::follower();
    let (correlation, ..) = next_fetch(&mut host);
    host.respond(correlation, fetch_failed(ErrorCode::FencedLeaderEpoch, None, 6));
    assert_eq!((host.kind(), host.leader_id()), ((Unattached, 6), None));
}

/// KIP-1219.
#[test]
fn fetches_ask_for_as_much_as_is_configured() {
    let mut config = config();
    config.fetch_max_bytes = 12_345;
    config.fetch_max_wait_ms = 77;
    let mut host = Host::start(config, storage(&[1, 2, 3], &[(9, 4)], led_by(2)));
    host.effects.clear();
    host.tick();
    let (_, _, request) = host.only_sent();
    let Request::Fetch(fetch) = request else { panic!("{request:?}") };
    assert_eq!((fetch.max_bytes, fetch.max_wait_ms, fetch.replica), (12_345, 77, key(1)));
    assert_eq!(fetch.leader_epoch, 5);
}

/// A leader that is named with an epoch that is over is not followed.
#[test]
fn answers_of_an_earlier_epoch_bring_nothing() {
    let mut host = Host::follower();
    let (correlation, ..) = next_fetch(&mut host);
    let body = records(vec![batch(10, 12, 4)], 13);
    host.respond(correlation, Response::Fetch(answer(ErrorCode::None, Some(3), 4, body)));
    assert_eq!((host.kind(), host.leader_id()), ((Follower, 5), Some(2)));
    assert_eq!(host.replica.log().end_offset(), 10);
}

/// Kafka lets a time-out that is due take effect before an answer that waits.
#[test]
fn an_answer_that_is_handed_in_before_the_time_out_prevents_it() {
    for answered in [true, false] {
        let mut host = Host::follower();
        let (correlation, ..) = next_fetch(&mut host);
        host.now = host.now.saturating_add(2_000);
        if answered {
            host.respond(correlation, fetched(2, 5, nothing_fetched(None)));
        }
        host.tick();
        assert_eq!(host.kind(), (if answered { Follower } else { Prospective }, 5));
    }
}
