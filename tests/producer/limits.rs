//! The bound on producers, offsets that no log has, and appends that come too late.

use crate::log::{Fate, Log, data, marker, saved, timed, transactional};
use kafka_coordination::producer::{
    AppendError, Batch, EpochBump, MarkerKind, Origin, ProducerConfig, ProducerStates,
    SnapshotEntry, TransactionVersion, Verdict, VerificationError, Verify,
};
use kafka_coordination::{ErrorCode, Timestamp};

const ACCEPTED: Fate = Fate::Accepted;

fn bounded(producers: u32) -> Log {
    let config = ProducerConfig::default().with_verification(Verify::Off);
    Log::new(config.with_producers_max(producers).unwrap())
}

fn ids(log: &Log) -> Vec<i64> {
    log.states.producers().map(|(id, _)| id).collect()
}

#[test]
fn at_the_bound_those_that_expire_first_make_room() {
    let mut log = bounded(32);
    for producer in 0..32 {
        let timestamp = 1_000 - producer;
        assert_eq!(log.client(&timed(data(producer, 0, 0, 0, producer), timestamp)), ACCEPTED);
    }
    assert_eq!(log.client(&timed(data(100, 0, 0, 0, 40), 0)), ACCEPTED);
    let expected: Vec<_> = (0..30).chain([100]).collect();
    assert_eq!(ids(&log), expected, "one in sixteen of 32: the two with the oldest timestamps");
}

#[test]
fn among_equals_the_lower_ids_make_room() {
    let mut log = bounded(4);
    for producer in [3, 1, 2, 4, 5, 6] {
        assert_eq!(log.client(&data(producer, 0, 0, 0, producer * 10)), ACCEPTED, "{producer}");
        log.states.set_map_end_offset(0);
    }
    assert_eq!(ids(&log), [3, 4, 5, 6]);
}

#[test]
fn an_open_transaction_is_never_forgotten() {
    let mut log = bounded(2);
    assert_eq!(log.client(&transactional(data(1, 0, 0, 0, 0))), ACCEPTED);
    assert_eq!(log.client(&data(2, 0, 0, 0, 1)), ACCEPTED);
    assert_eq!(log.client(&transactional(data(3, 0, 0, 0, 2))), ACCEPTED);
    assert_eq!(ids(&log), [1, 3]);
    let refused = Fate::Refused(ErrorCode::NotEnoughReplicas);
    assert_eq!(log.client(&data(4, 0, 0, 0, 3)), refused);
    assert_eq!(log.replicated(&data(4, 0, 0, 0, 3)), ACCEPTED, "a follower takes what is written");
    assert_eq!(ids(&log), [1, 3, 4]);
    let end = marker(1, 0, MarkerKind::Commit, 0, 4);
    assert_eq!(log.marker(TransactionVersion::V0, &end), ACCEPTED);
    log.confirm();
    assert_eq!(log.client(&data(5, 0, 0, 0, 5)), ACCEPTED);
    assert_eq!(ids(&log), [3, 5], "now 1 and 4 make room");
}

#[test]
fn an_append_of_several_batches_keeps_to_the_bound() {
    let mut log = bounded(2);
    assert_eq!(log.client(&data(1, 0, 0, 0, 0)), ACCEPTED);
    assert_eq!(log.client(&data(2, 0, 0, 0, 1)), ACCEPTED);
    let append = log.states.begin(Origin::Coordinator);
    let mut append = append.with_transaction_version(TransactionVersion::V0);
    let start = |producer, offset| transactional(data(producer, 0, 1, 1, offset));
    assert_eq!(log.states.push(&mut append, &start(1, 2)), Ok(Verdict::New));
    assert_eq!(log.states.push(&mut append, &start(2, 3)), Ok(Verdict::New));
    let full = Err(AppendError::TooManyProducers { producers: 2, max: 2 });
    assert_eq!(log.states.push(&mut append, &data(3, 0, 0, 0, 4)), full);
    let end = marker(2, 0, MarkerKind::Commit, 0, 4);
    assert_eq!(log.states.push(&mut append, &end), Ok(Verdict::New));
    assert_eq!(log.states.push(&mut append, &data(3, 0, 0, 0, 5)), Ok(Verdict::New));
    log.states.commit(append, Timestamp::from_millis(0)).unwrap();
    assert_eq!(ids(&log), [1, 3], "of two known ones only 1 has a transaction open");
}

#[test]
fn pending_verifications_are_bounded_too() {
    let mut log = bounded(2);
    let now = Timestamp::from_millis(0);
    let bump = EpochBump::Unsupported;
    for producer in [1, 2] {
        assert!(log.states.start_verification(producer, 0, 0, bump, now).is_ok());
    }
    let refused = log.states.start_verification(3, 0, 0, bump, now).unwrap_err();
    assert_eq!(refused, VerificationError::TooMany { max: 2 });
    assert_eq!(refused.code(), ErrorCode::NotEnoughReplicas);
    assert!(log.states.start_verification(2, 0, 0, bump, now).is_ok());
    log.states.clear_verifications();
    assert!(log.states.start_verification(3, 0, 0, bump, now).is_ok());
}

#[test]
fn a_bound_of_none_is_refused() {
    assert!(ProducerConfig::default().with_producers_max(0).is_err());
    assert!(ProducerConfig::default().with_expiration_ms(-1).is_err());
    assert!(ProducerConfig::default().with_transaction_timeout_max_ms(-1).is_err());
}

#[test]
fn offsets_that_no_batch_has_are_refused() {
    let mut log = bounded(2);
    for (base_offset, last_offset) in [
        (-1, 0),
        (5, 4),
        (0, 1 << 31),
        (i64::MIN, i64::MAX),
        (0, i64::MAX),
        (i64::MAX, i64::MAX),
        (i64::MAX, i64::MIN),
    ] {
        for producer in [-1, 1] {
            let batch = Batch { base_offset, last_offset, ..data(producer, 0, 0, 0, 0) };
            for origin in [Origin::Client, Origin::Replication] {
                let fate = log.append(origin, None, &batch);
                assert_eq!(fate, Fate::Refused(ErrorCode::InvalidRecord), "{batch:?}");
            }
        }
    }
    let longest = Batch { last_offset: i64::from(i32::MAX), ..data(1, 0, 0, 0, 0) };
    assert_eq!(log.client(&longest), ACCEPTED);
}

/// Found by fuzzing: what a log holds, a snapshot must be able to hold.
#[test]
fn a_marker_with_any_coordinator_epoch_can_be_saved_and_loaded() {
    let mut log = bounded(2);
    assert_eq!(log.replicated(&marker(1, 0, MarkerKind::Abort, i32::MIN, 0)), ACCEPTED);
    let now = Timestamp::from_millis(0);
    let entries = saved(&log.states);
    let mut loaded = bounded(2);
    assert_eq!(loaded.states.load_snapshot(1, entries, now), Ok(0));
    assert_eq!(loaded.states.producer(1), log.states.producer(1));
    let config = ProducerConfig::default();
    assert!(ProducerStates::import(config, &log.states.export()).is_ok());
}

#[test]
fn what_a_snapshot_may_hold_an_exact_state_may_too() {
    let mut log = bounded(2);
    let saved = SnapshotEntry {
        producer_id: 1,
        producer_epoch: -1,
        last_sequence: -1,
        last_offset: i64::MAX,
        offset_delta: i32::MAX,
        timestamp: i64::MIN,
        coordinator_epoch: i32::MIN,
        current_txn_first_offset: i64::MAX - 1,
    };
    let now = Timestamp::from_millis(0);
    assert_eq!(log.states.load_snapshot(i64::MAX, [saved], now), Ok(0));
    let exported = log.states.export();
    let entered = ProducerStates::import(ProducerConfig::default(), &exported).unwrap();
    assert_eq!(entered.export(), exported);
}

#[test]
fn a_transaction_does_not_start_where_another_does() {
    let mut log = bounded(4);
    assert_eq!(log.replicated(&transactional(data(1, 0, 0, 0, 7))), ACCEPTED);
    let same = transactional(data(2, 0, 0, 0, 7));
    assert_eq!(log.replicated(&same), Fate::Refused(ErrorCode::UnknownServerError));
}

#[test]
fn an_append_that_was_overtaken_is_told() {
    let mut log = bounded(8);
    let now = Timestamp::from_millis(0);
    let mut first = log.states.begin(Origin::Client);
    let mut second = log.states.begin(Origin::Client);
    assert_eq!(log.states.push(&mut first, &data(1, 0, 0, 0, 0)), Ok(Verdict::New));
    assert_eq!(log.states.push(&mut second, &data(1, 0, 0, 0, 0)), Ok(Verdict::New));
    assert!(log.states.is_current(&first));
    log.states.commit(first, now).unwrap();
    assert!(!log.states.is_current(&second));
    let before = log.states.export();
    let pushed = log.states.push(&mut second, &data(1, 0, 1, 1, 1));
    assert_eq!(pushed, Err(AppendError::Superseded));
    assert!(log.states.commit(second, now).is_err());
    assert_eq!(log.states.export(), before);
}

#[test]
fn an_append_of_another_partition_is_told() {
    let (mut one, mut other) = (bounded(8), bounded(8));
    let now = Timestamp::from_millis(0);
    assert_eq!(one.client(&data(1, 0, 0, 0, 0)), ACCEPTED);
    assert_eq!(other.client(&data(2, 0, 0, 0, 0)), ACCEPTED);
    let mut append = one.states.begin(Origin::Client);
    assert_eq!(one.states.push(&mut append, &data(1, 0, 1, 1, 1)), Ok(Verdict::New));
    assert!(other.states.commit(append, now).is_err());
    assert_eq!(ids(&other), [2]);
}
