//! Where two logs stand beside each other.

use kafka_coordination::kraft::LogPosition::{self, Diverging, Snapshot, Valid};
use kafka_coordination::kraft::{LogIndex, OffsetAndEpoch};

const fn end(offset: i64, epoch: i32) -> OffsetAndEpoch {
    OffsetAndEpoch::new(offset, epoch)
}

/// A log of batches, each by its last offset and its epoch.
fn log(mut log: LogIndex, batches: &[(i64, i32)]) -> LogIndex {
    for (last_offset, epoch) in batches {
        log.append(*last_offset, *epoch);
    }
    log
}

fn with_snapshot(mut log: LogIndex, snapshot: OffsetAndEpoch) -> LogIndex {
    log.add_snapshot(snapshot);
    log
}

/// The same, with nothing before the snapshot.
fn from_snapshot(log: LogIndex, snapshot: OffsetAndEpoch) -> LogIndex {
    let mut log = with_snapshot(log, snapshot);
    log.set_high_watermark(snapshot.offset);
    assert!(log.delete_before(snapshot));
    log
}

#[test]
fn a_fetcher_is_told_where_the_logs_part() {
    let new = LogIndex::new;
    let three_epochs = &[(2, 1), (5, 3), (8, 5)];
    let mut idle_leader = log(new(), three_epochs);
    idle_leader.start_epoch(6);
    let rows: [(LogIndex, (i64, i32), LogPosition); 12] = [
        (log(new(), &[(0, 1)]), (1, 2), Diverging(end(1, 1))),
        (with_snapshot(log(new(), &[(9, 1)]), end(10, 1)), (10, 0), Snapshot(end(10, 1))),
        (from_snapshot(log(new(), &[(1, 1)]), end(2, 1)), (1, 1), Snapshot(end(2, 1))),
        (from_snapshot(log(new(), &[(1, 1)]), end(2, 1)), (2, 1), Valid),
        (
            log(LogIndex::after_snapshot(end(10, 1)), &[(14, 1), (19, 2), (24, 4)]),
            (100, 3),
            Diverging(end(20, 2)),
        ),
        (log(LogIndex::after_snapshot(end(10, 1)), &[(14, 3)]), (100, 2), Diverging(end(10, 1))),
        (log(new(), &[(0, 1)]), (2, 1), Diverging(end(1, 1))),
        (log(new(), &[(9, 1), (19, 2)]), (11, 1), Diverging(end(10, 1))),
        (log(new(), &[(4, 1)]), (4, 1), Valid),
        (idle_leader, (6, 2), Diverging(end(3, 1))),
        (with_snapshot(log(new(), &[(2, 2), (5, 4)]), end(3, 2)), (4, 3), Diverging(end(3, 2))),
        (LogIndex::after_snapshot(end(3, 2)), (3, 3), Snapshot(end(3, 2))),
    ];
    for (log, (offset, epoch), expected) in rows {
        assert_eq!(log.position(offset, epoch), expected, "({offset}, {epoch}) in {log:?}");
    }
}

#[test]
fn a_leader_that_has_not_written_yet_has_its_epoch_at_the_end() {
    let mut log = log(LogIndex::new(), &[(4, 1)]);
    log.start_epoch(3);
    assert_eq!(log.end(), end(5, 3));
    // What it would have written is cut off with its epoch.
    log.truncate_to(5).expect("nothing is committed");
    assert_eq!(log.end(), end(5, 1));
}

#[test]
fn a_log_is_cut_where_the_leaders_parts_from_it() {
    let log = log(LogIndex::new(), &[(4, 1), (9, 3)]);
    for (diverging, expected) in [
        (end(3, 1), 3),
        (end(7, 1), 5),
        (end(7, 3), 7),
        (end(99, 3), 10),
        (end(8, 2), 5),
        (end(0, 0), 0),
        (end(99, 0), 10),
    ] {
        assert_eq!(log.truncation_offset(diverging), expected, "{diverging}");
    }
}

#[test]
fn the_log_before_a_snapshot_is_deleted_if_it_is_committed() {
    let mut log = with_snapshot(log(LogIndex::new(), &[(4, 1), (9, 3)]), end(7, 3));
    assert!(!log.delete_before(end(7, 3)), "nothing is committed");
    log.set_high_watermark(8);
    assert!(!log.delete_before(end(6, 3)), "there is no such snapshot");
    assert!(log.delete_before(end(7, 3)));
    assert_eq!((log.start_offset(), log.end()), (7, end(10, 3)));
    assert!(!log.delete_before(end(7, 3)), "it is done");
    assert!(log.truncate_to(7).is_err(), "8 is committed");
    assert_eq!(log.end_offset(), 10);
}

/// KAFKA-12460.
#[test]
fn what_is_committed_stays_so() {
    let mut log = log(LogIndex::new(), &[(4, 1), (9, 3)]);
    log.set_high_watermark(8);
    log.set_high_watermark(3);
    assert_eq!(log.high_watermark(), 8);
    log.set_high_watermark(99);
    assert_eq!(log.high_watermark(), 10, "the log ends there");
    let before = log.clone();
    assert!(log.truncate_to(9).is_err());
    assert_eq!(log, before);
}

#[test]
fn a_snapshot_that_is_ahead_of_the_log_takes_its_place() {
    for (snapshot, is_ahead) in [
        (end(10, 3), false),
        (end(7, 3), false),
        (end(99, 2), false),
        (end(11, 3), true),
        (end(5, 4), true),
        (end(50, 4), true),
    ] {
        let mut log = with_snapshot(log(LogIndex::new(), &[(4, 1), (9, 3)]), end(5, 1));
        log.set_high_watermark(5);
        log.add_snapshot(snapshot);
        let before = log.clone();
        assert_eq!(log.truncate_to_latest_snapshot(), is_ahead, "{snapshot}");
        if is_ahead {
            assert_eq!(log, LogIndex::after_snapshot(snapshot));
            assert_eq!(log.end(), snapshot);
        } else {
            assert_eq!(log, before);
        }
    }
}

#[test]
fn the_latest_snapshot_is_known() {
    let mut log = log(LogIndex::new(), &[(9, 1)]);
    assert_eq!(log.latest_snapshot(), None);
    for snapshot in [end(6, 1), end(3, 1), end(6, 1)] {
        log.add_snapshot(snapshot);
    }
    assert_eq!(
        (log.latest_snapshot(), log.snapshots()),
        (Some(end(6, 1)), &[end(3, 1), end(6, 1)][..])
    );
}
