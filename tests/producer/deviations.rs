//! What is done otherwise than in Kafka, on purpose.

use crate::log::{
    FENCED, Fate, INVALID_STATE, Log, OUT_OF_ORDER, data, emptied, marker, transactional,
};
use kafka_coordination::producer::{
    EpochBump, LoadError, MAX_SEQUENCE, MarkerKind, Origin, ProducerConfig, SnapshotEntry,
    TransactionVersion, Verdict, Verify, snapshot_offset,
};
use kafka_coordination::{ErrorCode, Timestamp};

const ACCEPTED: Fate = Fate::Accepted;

fn unverified() -> Log {
    Log::new(ProducerConfig::default().with_verification(Verify::Off))
}

#[test]
fn a_client_without_epoch_is_refused() {
    let mut log = unverified();
    assert_eq!(log.client(&data(1, -1, 0, 0, 0)), Fate::Refused(ErrorCode::InvalidRecord));
    assert_eq!(
        log.replicated(&data(1, -1, 0, 0, 0)),
        ACCEPTED,
        "but a log that has it can be read"
    );
}

#[test]
fn the_index_of_a_follower_does_not_hide_the_next_transaction() {
    let mut log = unverified();
    assert_eq!(log.replicated(&transactional(data(1, 0, 0, 9, 0))), ACCEPTED);
    let mut append = log.states.begin(Origin::Replication);
    for batch in [
        marker(1, 0, MarkerKind::Abort, 0, 10),
        transactional(data(1, 0, 10, 10, 11)),
        transactional(data(2, 0, 0, 0, 12)),
    ] {
        assert_eq!(log.states.push(&mut append, &batch), Ok(Verdict::New));
    }
    log.states.commit(append, Timestamp::from_millis(0)).unwrap();
    let ended = log.confirm();
    assert_eq!((ended[0].0.first_offset, ended[0].1), (0, 11), "Kafka: 12");
}

#[test]
fn an_emptied_marker_raises_the_epoch_and_never_lowers_it() {
    let mut log = unverified();
    assert_eq!(log.replicated(&data(1, 0, 0, 0, 0)), ACCEPTED);
    assert_eq!(log.replicated(&emptied(1, 1, 1)), ACCEPTED);
    assert_eq!(log.client(&data(1, 0, 1, 1, 2)), FENCED);
    assert_eq!(log.replicated(&emptied(1, 0, 2)), ACCEPTED);
    assert_eq!(log.states.producer(1).unwrap().epoch(), 1);

    assert_eq!(log.replicated(&emptied(2, 4, 3)), ACCEPTED);
    assert_eq!(log.states.producer(2).unwrap().epoch(), 4);
    assert_eq!(log.client(&data(2, 3, 0, 0, 4)), FENCED);
}

#[test]
fn a_later_epoch_does_not_join_an_open_transaction() {
    let mut log = unverified();
    assert_eq!(log.client(&transactional(data(1, 0, 0, 0, 0))), ACCEPTED);
    let later = transactional(data(1, 1, 0, 0, 1));
    for origin in [Origin::Client, Origin::Coordinator, Origin::RaftLeader] {
        assert_eq!(log.append(origin, None, &later), INVALID_STATE);
    }
    let end = marker(1, 1, MarkerKind::Commit, 0, 1);
    assert_eq!(
        log.marker(TransactionVersion::V2, &end),
        ACCEPTED,
        "which Kafka would have to refuse"
    );
    assert_eq!(log.replicated(&transactional(data(1, 1, 0, 0, 2))), ACCEPTED);
    assert_eq!(
        log.replicated(&transactional(data(1, 2, 0, 0, 3))),
        ACCEPTED,
        "what is written is written"
    );
}

#[test]
fn a_log_with_plain_data_within_a_transaction_can_be_read() {
    let mut log = unverified();
    assert_eq!(log.replicated(&transactional(data(1, 0, 0, 0, 0))), ACCEPTED);
    assert_eq!(log.replicated(&data(1, 0, 1, 1, 1)), ACCEPTED);
    assert_eq!(log.states.first_undecided_offset(), Some(0));
}

#[test]
fn tentative_sequences_go_around() {
    let mut log = Log::new(ProducerConfig::default());
    let guard = log.verify(1, MAX_SEQUENCE, 0, EpochBump::Unsupported);
    assert_eq!(log.verify(1, 0, 0, EpochBump::Unsupported), guard);
    let second = transactional(data(1, 0, 0, 0, 0));
    assert_eq!(log.append(Origin::Client, Some(guard), &second), OUT_OF_ORDER);
    let first = transactional(data(1, 0, MAX_SEQUENCE, MAX_SEQUENCE, 0));
    assert_eq!(log.append(Origin::Client, Some(guard), &first), ACCEPTED);
}

#[test]
fn another_client_version_makes_a_new_verification() {
    let mut log = Log::new(ProducerConfig::default());
    let old = log.verify(1, 5, 0, EpochBump::Unsupported);
    let new = log.verify(1, 0, 0, EpochBump::Supported);
    assert_ne!(old, new);
    let batch = transactional(data(1, 0, 0, 0, 0));
    assert_eq!(log.append(Origin::Client, Some(old), &batch), INVALID_STATE);
    assert!(log.states.verification(1).unwrap().supports_epoch_bump());
    assert_eq!(log.append(Origin::Client, Some(new), &batch), ACCEPTED);
}

#[test]
fn a_verification_that_is_given_up_does_not_block_the_next_transaction() {
    let mut log = Log::new(ProducerConfig::default());
    let late = log.verify(1, 3, 0, EpochBump::Unsupported);
    assert!(log.states.abandon_verification(1, late));
    assert!(!log.states.abandon_verification(1, late));
    let guard = log.verify(1, 50, 0, EpochBump::Unsupported);
    let batch = transactional(data(1, 0, 50, 50, 0));
    assert_eq!(log.append(Origin::Client, Some(guard), &batch), ACCEPTED);
}

#[test]
fn a_dropped_append_keeps_its_verification() {
    let mut log = Log::new(ProducerConfig::default());
    let guard = log.verify(1, 0, 0, EpochBump::Supported);
    let before = log.states.export();
    let mut append = log.states.begin(Origin::Client).with_guard(Some(guard));
    let batches = [transactional(data(1, 0, 0, 0, 0)), transactional(data(1, 0, 1, 1, 1))];
    for batch in &batches {
        assert_eq!(log.states.push(&mut append, batch), Ok(Verdict::New));
    }
    let gap = log.states.push(&mut append, &transactional(data(1, 0, 5, 5, 2)));
    assert_eq!(gap.map_err(|error| error.code()), Err(ErrorCode::OutOfOrderSequenceNumber));
    assert!(log.states.push(&mut append, &batches[0]).is_err(), "offsets go back");
    drop(append);
    assert_eq!(log.states.export(), before);
}

#[test]
fn snapshots_that_no_log_has_are_not_loaded() {
    let plain = SnapshotEntry {
        producer_id: 1,
        producer_epoch: 0,
        last_sequence: 0,
        last_offset: 5,
        offset_delta: 0,
        timestamp: 0,
        coordinator_epoch: -1,
        current_txn_first_offset: -1,
    };
    let mut log = unverified();
    assert_eq!(log.client(&data(9, 0, 0, 0, 0)), ACCEPTED);
    let before = log.states.export();
    let mut load = |entries: &[SnapshotEntry]| {
        let now = Timestamp::from_millis(0);
        let refused = log.states.load_snapshot(10, entries.iter().copied(), now);
        assert_eq!(log.states.export(), before);
        refused.unwrap_err()
    };
    assert_eq!(load(&[plain, plain]), LoadError::DuplicateProducer { producer_id: 1 });
    let open = SnapshotEntry { current_txn_first_offset: 5, ..plain };
    let other = SnapshotEntry { producer_id: 2, ..open };
    assert_eq!(load(&[open, other]), LoadError::DuplicateTransaction { first_offset: 5 });
    let beyond = SnapshotEntry { current_txn_first_offset: 10, ..plain };
    let error = LoadError::TransactionBeyondEnd { producer_id: 1, first_offset: 10, offset: 10 };
    assert_eq!(load(&[beyond]), error);
    let before_start = SnapshotEntry { offset_delta: 6, ..plain };
    let error = LoadError::BeforeStart { producer_id: 1, last_offset: 5, offset_delta: 6 };
    assert_eq!(load(&[before_start]), error);
}

#[test]
fn names_that_kafka_does_not_write_are_of_no_snapshot() {
    for name in ["x.snapshot", ".snapshot", "5.snapshot", "-0000000000000000005.snapshot"] {
        assert_eq!(snapshot_offset(name), None, "{name}");
    }
}
