//! Epochs, producer ids and states of one transactional id.

use super::record;
use super::transaction::{NONE, Producer, State, Transaction};
use kafka_coordination::producer::MarkerKind;
use kafka_coordination::{ErrorCode, Timestamp, TopicId};

const PARTITION: (TopicId, i32) = (TopicId::from_u128(7), 0);

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// A transactional id whose producer has this epoch.
fn with_epoch(epoch: i16) -> Transaction {
    Transaction { producer: Producer { id: 1, epoch }, ..Transaction::new(1) }
}

/// The producer after a client has asked for its next epoch; another id would be 2.
fn raised(
    transaction: &mut Transaction,
    expected: Option<Producer>,
) -> Result<Producer, ErrorCode> {
    transaction.check_expected(expected)?;
    transaction.raise_epoch(expected, || Ok(2))?;
    Ok(transaction.producer)
}

#[test]
fn a_client_that_says_nothing_of_itself_fences_those_before_it() {
    let mut transaction = Transaction::new(1);
    for epoch in 0..3 {
        assert_eq!(raised(&mut transaction, None), Ok(Producer { id: 1, epoch }));
    }
    let old = Producer { id: 1, epoch: 1 };
    assert_eq!(transaction.check(old), Err(ErrorCode::ProducerFenced));
    assert_eq!(raised(&mut transaction, Some(old)), Err(ErrorCode::ProducerFenced));
}

#[test]
fn a_client_that_asks_again_for_its_next_epoch_gets_the_same() {
    let mut transaction = with_epoch(4);
    let asks = Some(Producer { id: 1, epoch: 4 });
    for _ in 0..2 {
        assert_eq!(raised(&mut transaction, asks), Ok(Producer { id: 1, epoch: 5 }));
    }
    let other = Some(Producer { id: 9, epoch: 5 });
    assert_eq!(raised(&mut transaction, other), Err(ErrorCode::ProducerFenced));
}

#[test]
fn an_id_without_epochs_left_is_replaced() {
    let mut transaction = with_epoch(i16::MAX - 1);
    let asks = Some(transaction.producer);
    for _ in 0..2 {
        assert_eq!(raised(&mut transaction, asks), Ok(Producer { id: 2, epoch: 0 }));
    }
    let mut transaction = with_epoch(i16::MAX - 1);
    transaction.fence();
    assert_eq!(transaction.producer.epoch, i16::MAX, "the last one is for fencing");
    assert_eq!(raised(&mut transaction, None), Ok(Producer { id: 2, epoch: 0 }));
    let late = Some(Producer { id: 1, epoch: i16::MAX - 1 });
    assert_eq!(raised(&mut transaction, late), Err(ErrorCode::ProducerFenced));
}

#[test]
fn a_transaction_ends_once_and_one_way() {
    let (commit, abort) = (MarkerKind::Commit, MarkerKind::Abort);
    let mut transaction = with_epoch(0);
    assert_eq!(transaction.decide(commit), Err(ErrorCode::InvalidTxnState));
    assert_eq!(transaction.verify(PARTITION), Err(ErrorCode::TransactionAbortable));
    assert_eq!(transaction.add(&[PARTITION], at(5)), Ok(true));
    assert_eq!(transaction.add(&[PARTITION], at(6)), Ok(false), "it is there already");
    assert_eq!(transaction.verify(PARTITION), Ok(()));
    assert_eq!(transaction.started, at(5));
    assert_eq!(transaction.decide(commit), Ok(true));
    assert_eq!(transaction.decide(commit), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(transaction.decide(abort), Err(ErrorCode::InvalidTxnState));
    assert_eq!(transaction.add(&[PARTITION], at(7)), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(transaction.verify(PARTITION), Err(ErrorCode::ConcurrentTransactions));
    transaction.partitions.clear();
    transaction.state = State::Ended(commit);
    assert_eq!(transaction.decide(commit), Ok(false), "the answer was lost");
    assert_eq!(transaction.decide(abort), Err(ErrorCode::InvalidTxnState));
    assert_eq!(transaction.add(&[PARTITION], at(8)), Ok(true), "the next one begins");
}

#[test]
fn a_transaction_is_overdue_after_its_time_out() {
    let mut transaction = Transaction { timeout_ms: 10, ..with_epoch(0) };
    assert!(!transaction.is_overdue(at(1_000)), "there is none");
    transaction.add(&[PARTITION], at(5)).unwrap();
    assert!(!transaction.is_overdue(at(15)));
    assert!(transaction.is_overdue(at(16)));
    assert!(!transaction.is_overdue(at(0)), "a clock that goes back makes nothing overdue");
}

#[test]
fn what_is_written_to_the_journal_is_read_from_it() {
    for state in [
        State::Empty,
        State::Ongoing,
        State::Ending(MarkerKind::Commit),
        State::Ending(MarkerKind::Abort),
        State::Ended(MarkerKind::Commit),
        State::Ended(MarkerKind::Abort),
    ] {
        let transaction = Transaction {
            previous: Producer { id: 1, epoch: NONE },
            timeout_ms: 60_000,
            state,
            partitions: [PARTITION, (TopicId::from_u128(9), 3)].into(),
            started: at(77),
            ..with_epoch(3)
        };
        let record = record::write("an \"id\"\n", &transaction);
        let read = record::read(&record).unwrap();
        assert_eq!(read, ("an \"id\"\n".to_owned(), transaction));
    }
    assert!(record::read(&serde_json::json!({ "transactional_id": "t" })).is_err());
}
