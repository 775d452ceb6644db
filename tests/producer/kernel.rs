//! The decision on one entry, for hosts that keep producers elsewhere.

use crate::log::{data, marker, transactional};
use kafka_coordination::producer::{
    AppendError, Circumstances, CompletedTransaction, FirstSequence, MarkerKind, Origin,
    ProducerEntry, TransactionChange, TransactionVersion, Verdict, Verify, judge,
};

const CLIENT: Circumstances<'_> = Circumstances {
    origin: Origin::Client,
    guard: None,
    transaction_version: None,
    verification: None,
    verify: Verify::Off,
    first_sequence: FirstSequence::Any,
};

#[test]
fn a_row_is_read_judged_and_written_back() {
    let mut row = ProducerEntry::UNKNOWN;
    let first = data(1, 0, 0, 4, 100);
    assert_eq!(judge(&row, &first, &CLIENT), Ok(Verdict::New));
    assert_eq!(row.apply(&first), TransactionChange::Unchanged);

    // As it comes out of five columns of a table.
    let mut row = ProducerEntry::new(
        row.epoch(),
        row.coordinator_epoch(),
        row.last_timestamp(),
        row.current_transaction(),
        row.window().iter().collect(),
    );
    let again = judge(&row, &data(1, 0, 0, 4, 105), &CLIENT);
    assert!(matches!(again, Ok(Verdict::Duplicate(known)) if known.first_offset() == 100));
    let gap = judge(&row, &data(1, 0, 6, 6, 105), &CLIENT);
    let error = AppendError::OutOfOrder { producer_id: 1, base_sequence: 6, last_sequence: 4 };
    assert_eq!(gap, Err(error));

    let next = transactional(data(1, 0, 5, 5, 105));
    assert_eq!(judge(&row, &next, &CLIENT), Ok(Verdict::New));
    assert_eq!(row.apply(&next), TransactionChange::Started);
    let end = marker(1, 1, MarkerKind::Abort, 3, 106);
    let version = Some(TransactionVersion::V2);
    let coordinator =
        Circumstances { origin: Origin::Coordinator, transaction_version: version, ..CLIENT };
    assert_eq!(judge(&row, &end, &coordinator), Ok(Verdict::New));
    let completed = CompletedTransaction {
        producer_id: 1,
        first_offset: 105,
        last_offset: 106,
        is_aborted: true,
    };
    assert_eq!(row.apply(&end), TransactionChange::Completed(completed));
    assert_eq!((row.epoch(), row.window().len()), (1, 0));
}
