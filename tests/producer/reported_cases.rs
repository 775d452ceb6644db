//! Public bug reports of brokers, as transcripts.

use crate::log::{
    At as _, FENCED, Fate, INVALID_STATE, Log, OUT_OF_ORDER, data, marker, saved, timed,
    transactional,
};
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    EpochBump, ExpiryTime, FirstSequence, MarkerKind, Origin, ProducerConfig, ProducerStates,
    ReloadFrom, TransactionVersion, Verify,
};

const ACCEPTED: Fate = Fate::Accepted;

fn aged(expiration_ms: i32) -> ProducerConfig {
    ProducerConfig::default().with_expiration_ms(expiration_ms).unwrap()
}

/// KAFKA-5494, KAFKA-6683: without a window, or with one that forgives too much, a retry is written twice or lost.
#[test]
fn the_window_is_five_batches() {
    let mut log = Log::new(ProducerConfig::default());
    let batch = |number: i32| {
        let offset = 10 * i64::from(number);
        timed(data(1, 0, 3 * number, 3 * number + 2, offset), 100 + i64::from(number))
    };
    for number in 0..6 {
        assert_eq!(log.client(&batch(number)), ACCEPTED);
    }
    for number in 1..6 {
        let offset = 10 * i64::from(number);
        assert_eq!(log.client(&batch(number).at(60)), Fate::Duplicate(offset, offset + 2));
    }
    assert_eq!(log.client(&batch(0).at(60)), OUT_OF_ORDER, "older than the window");
    assert_eq!(log.client(&data(1, 0, 3, 8, 60)), OUT_OF_ORDER, "two batches merged");
    assert_eq!(log.client(&data(1, 0, 3, 4, 60)), OUT_OF_ORDER, "part of a batch");
    assert_eq!(log.client(&data(1, 0, 20, 20, 60)), OUT_OF_ORDER, "a gap");
    let last = log.states.producer(1).unwrap().last_timestamp();
    assert_eq!(last.as_millis(), 105, "a duplicate is no sign of life");
    assert_eq!(log.client(&data(1, 0, 18, 20, 60)), ACCEPTED);
}

/// KAFKA-15591: of two requests in flight to a new partition the first is refused, as metadata is late.
#[test]
fn the_first_write_to_a_log_that_never_held_a_record() {
    let strict = ProducerConfig::default().with_first_sequence(FirstSequence::ZeroInNewLog);
    let mut log = Log::new(strict.clone());
    assert_eq!(log.client(&data(1, 0, 17, 21, 0)), OUT_OF_ORDER);
    assert_eq!(log.replicated(&data(2, 0, 17, 21, 0)), ACCEPTED, "of a leader anything is taken");

    let mut log = Log::new(strict.clone());
    assert_eq!(log.client(&data(1, 0, 0, 16, 0)), ACCEPTED);
    assert_eq!(log.client(&data(1, 0, 17, 21, 17)), ACCEPTED);

    let mut log = Log::new(strict.clone());
    assert!(log.states.truncate_fully(40).is_empty());
    assert_eq!(log.client(&data(1, 0, 17, 21, 40)), ACCEPTED, "emptied by deletion of records");

    let mut log = Log::new(strict);
    assert_eq!(log.client(&data(2, 0, 0, 4, 0)), ACCEPTED);
    assert_eq!(log.client(&data(1, 0, 17, 21, 5)), ACCEPTED, "another producer wrote");

    let mut log = Log::new(ProducerConfig::default());
    assert_eq!(log.client(&data(1, 0, 17, 21, 0)), ACCEPTED, "as Kafka, unless asked for");

    let mut log = Log::new(ProducerConfig::default().with_first_sequence(FirstSequence::Zero));
    assert!(log.states.truncate_fully(40).is_empty());
    assert_eq!(log.client(&data(1, 0, 17, 21, 40)), OUT_OF_ORDER);
}

/// KAFKA-12152, KIP-360, KAFKA-10687.
#[test]
fn epochs_fence_until_the_producer_is_forgotten() {
    let mut log = Log::new(aged(600_000));
    assert_eq!(log.client(&data(1, 0, 0, 4, 0)), ACCEPTED);
    assert_eq!(log.client(&data(1, 1, 5, 5, 5)), OUT_OF_ORDER, "a new epoch starts at 0");
    assert_eq!(log.client(&data(1, 1, 0, 2, 5)), ACCEPTED);
    assert_eq!(log.client(&data(1, 0, 5, 5, 8)), FENCED);
    assert_eq!(log.client(&data(1, 0, 0, 4, 8)), FENCED, "no duplicate: the old batches are gone");
    assert_eq!(log.client(&data(1, 1, 0, 2, 8)), Fate::Duplicate(5, 7));
    assert_eq!(log.expire(599_999), 0);
    assert_eq!(log.expire(600_000), 1);

    let forgotten = log.states.export();
    assert_eq!(log.client(&data(1, 1, 3, 5, 8)), ACCEPTED);
    assert_eq!(log.client(&data(1, 1, 7, 7, 11)), OUT_OF_ORDER);
    assert_eq!(log.client(&data(1, 1, 6, 6, 11)), ACCEPTED);

    log.states = ProducerStates::import(aged(600_000), &forgotten).unwrap();
    assert_eq!(
        log.client(&data(1, 0, 50, 50, 8)),
        ACCEPTED,
        "an older epoch is not fenced any more"
    );
}

/// KAFKA-18202.
#[test]
fn transaction_version_2_without_batches_starts_at_0() {
    let bump = EpochBump::Supported;
    let mut log = Log::new(ProducerConfig::default());
    let guard = log.verify(1, 4, 7, bump);
    let fourth = transactional(data(1, 7, 4, 4, 10));
    assert_eq!(log.append(Origin::Client, Some(guard), &fourth), OUT_OF_ORDER);
    assert_eq!(log.verify(1, 0, 7, bump), guard);
    assert_eq!(log.append(Origin::Client, Some(guard), &fourth), OUT_OF_ORDER);
    let first = transactional(data(1, 7, 0, 3, 10));
    assert_eq!(log.append(Origin::Client, Some(guard), &first), ACCEPTED);

    let mut log = Log::new(ProducerConfig::default());
    let guard = log.verify(1, 4, 7, EpochBump::Unsupported);
    assert_eq!(log.append(Origin::Client, Some(guard), &fourth), ACCEPTED);

    let mut log = Log::new(ProducerConfig::default());
    let end = marker(1, 7, MarkerKind::Abort, 0, 9);
    assert_eq!(log.marker(TransactionVersion::V2, &end), ACCEPTED);
    let guard = log.verify(1, 4, 7, bump);
    assert_eq!(
        log.append(Origin::Client, Some(guard), &fourth),
        OUT_OF_ORDER,
        "only a marker is known"
    );
}

/// KAFKA-6003: a truncated follower refused its leader's data for ever.
#[test]
fn followers_take_what_the_leader_wrote() {
    let mut log = Log::new(ProducerConfig::default());
    assert_eq!(log.replicated(&data(7, 3, 100, 109, 500)), ACCEPTED);
    assert_eq!(log.replicated(&data(7, 3, 300, 309, 510)), ACCEPTED);
    assert_eq!(log.client(&data(7, 3, 310, 310, 520)), ACCEPTED);
    assert_eq!(log.client(&data(7, 3, 110, 110, 521)), OUT_OF_ORDER);
    assert_eq!(log.client(&data(7, 3, 300, 309, 521)), Fate::Duplicate(510, 519));
    for coordinator in [5, 4] {
        let offset = 526 - i64::from(coordinator);
        let end = marker(7, 3, MarkerKind::Commit, coordinator, offset);
        assert_eq!(log.replicated(&end), ACCEPTED);
        assert_eq!(log.states.producer(7).unwrap().coordinator_epoch(), coordinator);
    }
}

/// A snapshot keeps one batch of a producer, an export all.
#[test]
fn what_survives_a_restart() {
    let config = ProducerConfig::default().with_verification(Verify::Off);
    let mut log = Log::new(config.clone());
    for (first, offset) in [(0, 0), (3, 10), (6, 20)] {
        assert_eq!(log.client(&data(1, 0, first, first + 2, offset)), ACCEPTED);
    }
    assert_eq!(log.client(&transactional(data(2, 0, 0, 0, 40))), ACCEPTED);
    let saved = saved(&log.states);
    let exported = log.states.export();

    let mut restarted = Log::new(config.clone());
    let now = Timestamp::from_millis(0);
    restarted.states.load_snapshot(41, saved, now).unwrap();
    assert_eq!(restarted.client(&data(1, 0, 6, 8, 50)), Fate::Duplicate(20, 22));
    assert_eq!(restarted.client(&data(1, 0, 3, 5, 50)), OUT_OF_ORDER);
    assert_eq!(restarted.client(&data(1, 0, 9, 9, 50)), ACCEPTED);

    let mut entered = Log::new(config.clone());
    entered.states = ProducerStates::import(config, &exported).unwrap();
    for (first, offset) in [(0, 0), (3, 10), (6, 20)] {
        let retry = data(1, 0, first, first + 2, 50);
        assert_eq!(entered.client(&retry), Fate::Duplicate(offset, offset + 2));
    }
    for log in [&mut restarted, &mut entered] {
        assert_eq!(log.states.first_unstable_offset().unwrap().offset, 40);
        let end = marker(2, 0, MarkerKind::Commit, 0, 60);
        assert_eq!(log.marker(TransactionVersion::V0, &end), ACCEPTED);
        assert_eq!(log.confirm()[0].0.first_offset, 40);
    }
}

/// KAFKA-8335: the group coordinator writes every batch with sequence 0.
#[test]
fn coordinators_repeat_sequences_and_nobody_writes_past_an_open_transaction() {
    let mut log = Log::new(ProducerConfig::default());
    let guard = log.verify(3, -1, 0, EpochBump::Unsupported);
    let offsets = |at| transactional(data(3, 0, 0, 0, at));
    assert_eq!(log.append(Origin::Coordinator, Some(guard), &offsets(0)), ACCEPTED);
    assert_eq!(log.append(Origin::Coordinator, None, &offsets(1)), ACCEPTED);
    let entry = *log.states.producer(3).unwrap();
    for origin in [Origin::Coordinator, Origin::RaftLeader] {
        assert_eq!(log.append(origin, None, &data(3, 0, 0, 0, 2)), INVALID_STATE);
    }
    assert_eq!(log.client(&data(3, 0, 1, 1, 2)), INVALID_STATE);
    assert_eq!(*log.states.producer(3).unwrap(), entry);

    assert_eq!(
        log.marker(TransactionVersion::V2, &marker(3, 2, MarkerKind::Commit, 0, 2)),
        ACCEPTED
    );
    assert_eq!(log.append(Origin::Coordinator, None, &data(3, 1, 0, 0, 3)), FENCED);
}

/// Clients leave timestamps out, or write old ones, or those of the future.
#[test]
fn age_by_record_or_by_append() {
    for (timestamp, is_kept) in
        [(-1, false), (10, false), (9_000_000_000_000, true), (i64::MAX, true), (0, false)]
    {
        let mut log = Log::new(aged(1000));
        log.now = 50_000;
        assert_eq!(log.client(&timed(data(1, 0, 0, 0, 0), timestamp)), ACCEPTED);
        assert_eq!(log.expire(50_000) == 0, is_kept, "timestamp {timestamp}");

        let mut log = Log::new(aged(1000).with_expiry_time(ExpiryTime::Append));
        log.now = 50_000;
        assert_eq!(log.client(&timed(data(1, 0, 0, 0, 0), timestamp)), ACCEPTED);
        assert_eq!(log.expire(50_999), 0, "timestamp {timestamp}");
        assert_eq!(log.expire(51_000), 1, "timestamp {timestamp}");
    }
}

/// A leader that restarts knows one batch of a producer, unless it reads the log from further back: the client's retry of
/// an older batch is then known too.
#[test]
fn a_longer_replay_knows_more_retries() {
    let mut log = Log::new(ProducerConfig::default());
    let mut snapshots = Vec::new();
    for number in 0..4 {
        assert_eq!(log.client(&data(1, 0, number, number, i64::from(number))), ACCEPTED);
        snapshots.push(saved(&log.states));
        log.states.snapshot_written(i64::from(number) + 1);
    }
    for (from, offset, known) in [
        (ReloadFrom::Newest, 4, vec![(3, 3)]),
        (ReloadFrom::OneBefore, 3, vec![(2, 2), (3, 3)]),
        (ReloadFrom::AtMost(2), 2, vec![(1, 1), (2, 2), (3, 3)]),
    ] {
        let mut states = ProducerStates::new(ProducerConfig::default());
        states.list_snapshots(1..=4);
        assert!(states.truncate(0, 4).must_load);
        assert_eq!(states.snapshot_to_load(ReloadFrom::LogStart), None);
        assert_eq!(states.snapshot_to_load(from), Some(offset));
        let saved = &snapshots[usize::try_from(offset).unwrap() - 1];
        let now = Timestamp::from_millis(0);
        states.load_snapshot(offset, saved.iter().copied(), now).unwrap();
        let mut log = Log { states, now: 0 };
        for number in offset..4 {
            let sequence = i32::try_from(number).unwrap();
            assert_eq!(log.replicated(&data(1, 0, sequence, sequence, number)), ACCEPTED);
        }
        assert_eq!(log.offsets(1), known);
    }
}
