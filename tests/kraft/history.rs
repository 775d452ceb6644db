//! Voter sets along a log, and the log's control records.

use crate::quorum::{voter, voters};
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    ControlLog, ControlLogError, ControlRecord, HistoryError, KRaftVersion, LeaderChange,
    LogHistory, NextRead, NotReadError, OffsetAndEpoch, SnapshotHeader, VoterHistory, VoterSet,
};

fn leader_change() -> ControlRecord {
    ControlRecord::LeaderChange(LeaderChange::default())
}

fn version() -> ControlRecord {
    ControlRecord::KRaftVersion(KRaftVersion::V1)
}

fn voters_record(ids: impl IntoIterator<Item = i32>) -> ControlRecord {
    ControlRecord::Voters(voters(ids))
}

fn header() -> ControlRecord {
    ControlRecord::SnapshotHeader { last_contained_log_timestamp: Timestamp::from_millis(0) }
}

fn history(offsets: impl IntoIterator<Item = i64>) -> LogHistory<i64> {
    let mut history = LogHistory::new();
    offsets.into_iter().for_each(|offset| history.add_at(offset, offset).unwrap());
    history
}

#[test]
fn a_value_holds_from_its_offset_to_the_next() {
    let history = history([-1, 100, 200]);
    let held = [-2, -1, 0, 99, 100, 101, 199, 200, 201];
    assert_eq!(
        held.map(|offset| history.value_at_or_before(offset).copied()),
        [None, Some(-1), Some(-1), Some(-1), Some(100), Some(100), Some(100), Some(200), Some(200)]
    );
    assert_eq!(history.last_entry(), Some((200, &200)));
    let empty = LogHistory::<i64>::new();
    assert_eq!((empty.last_entry(), empty.value_at_or_before(i64::MAX)), (None, None));
}

#[test]
fn offsets_of_a_history_rise() {
    let mut history = history([100]);
    for offset in [99, 100] {
        let error = HistoryError::NotAbove { offset, last: 100 };
        assert_eq!(history.add_at(offset, 0), Err(error));
    }
    assert_eq!(history.add_at(-2, 0), Err(HistoryError::Offset { offset: -2 }));
    assert_eq!(history.len(), 1);
}

#[test]
fn the_log_is_truncated_at_its_end() {
    for (end, last) in [(201, Some(200)), (200, Some(100)), (101, Some(100)), (100, None)] {
        let mut history = history([100, 200]);
        history.truncate_new_entries(end);
        assert_eq!(history.last_entry().map(|(offset, _)| offset), last, "{end}");
    }
}

#[test]
fn the_log_is_trimmed_at_its_start() {
    for (start, at_199) in [(99, Some(100)), (100, Some(100)), (101, Some(100)), (200, None)] {
        let mut history = history([100, 200]);
        history.truncate_old_entries(start);
        assert_eq!(history.value_at_or_before(199).copied(), at_199, "{start}");
        assert_eq!(history.value_at_or_before(200), Some(&200));
    }
}

#[test]
fn static_voters_hold_while_the_log_has_none() {
    let mut history = VoterHistory::new(voters([1, 2, 3]));
    assert_eq!((history.last_value(), history.last_offset()), (&voters([1, 2, 3]), None));
    assert_eq!(history.value_at_or_before(i64::MAX), None);
    history.add_at(100, voters([4, 5])).unwrap();
    assert_eq!((history.last_value(), history.last_offset()), (&voters([4, 5]), Some(100)));
    history.truncate_new_entries(100);
    assert_eq!(history.last_value(), &voters([1, 2, 3]));
    history.add_at(100, voters([6])).unwrap();
    history.clear();
    assert_eq!(history.last_value(), &voters([1, 2, 3]));
}

// KAFKA-17973: disaster recovery writes voters of which most are other ones.
#[test]
fn voters_whose_majorities_do_not_overlap_are_read_all_the_same() {
    let mut history = VoterHistory::default();
    history.add_at(10, voters([1, 2, 3])).unwrap();
    history.add_at(20, voters([1, 4, 5])).unwrap();
    assert_eq!(history.last_value(), &voters([1, 4, 5]));
}

#[test]
fn an_empty_log_without_snapshot_leaves_the_static_voters() {
    let mut log = ControlLog::new(voters([1, 2, 3]));
    assert_eq!(log.next_offset(), -1);
    assert_eq!(log.voters_at(-1), Err(NotReadError { offset: -1, next_offset: -1 }));
    assert_eq!(log.next_read(None, 0, 0), NextRead::Nothing);
    assert_eq!((log.next_offset(), log.voters()), (0, &voters([1, 2, 3])));
    assert!(!log.ignores_static_voters());
    assert_eq!(log.kraft_version(), KRaftVersion::V0);
}

#[test]
fn records_of_the_log_hold_as_soon_as_they_are_read() {
    let mut log = ControlLog::new(voters([1, 2, 3]));
    log.on_control_batch(0, &[version(), voters_record([4, 5, 6])]).unwrap();
    assert_eq!((log.voters(), log.voters_offset()), (&voters([4, 5, 6]), Some(1)));
    assert_eq!(log.voters_at(0), Ok(None));
    assert_eq!(log.voters_at(1), Ok(Some(&voters([4, 5, 6]))));
    assert_eq!(log.kraft_version_at(0), Ok(KRaftVersion::V1));
    assert!(log.ignores_static_voters());
    assert!(log.voters_at(2).is_err());
}

#[test]
fn every_control_record_has_an_offset() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.on_control_batch(0, &[leader_change(), version(), voters_record([1])]).unwrap();
    assert_eq!((log.voters_offset(), log.next_offset()), (Some(2), 3));
}

#[test]
fn the_bootstrap_checkpoint_is_read_once_and_stands_below_the_log() {
    let mut log = ControlLog::new(VoterSet::empty());
    let bootstrap = Some(OffsetAndEpoch::BOOTSTRAP);
    assert_eq!(log.next_read(bootstrap, 0, 0), NextRead::Snapshot(OffsetAndEpoch::BOOTSTRAP));
    let records = [header(), version(), voters_record([1, 2]), ControlRecord::SnapshotFooter];
    log.load_snapshot(0, records).unwrap();
    assert_eq!((log.next_offset(), log.voters_offset()), (0, Some(-1)));
    // With no record in the log it is not asked for again.
    assert_eq!(log.next_read(bootstrap, 0, 0), NextRead::Nothing);
    assert_eq!(log.next_read(bootstrap, 0, 3), NextRead::Log { from: 0 });
    assert_eq!(log.voters_at(-1), Ok(Some(&voters([1, 2]))));
    // A truncation to the start of the log leaves it.
    log.on_data(0, 2).unwrap();
    log.truncate_to(0);
    assert_eq!((log.next_offset(), log.voters_offset()), (0, Some(-1)));
}

#[test]
fn a_bootstrap_checkpoint_without_voters_leaves_none() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.load_snapshot(0, [header(), version(), ControlRecord::SnapshotFooter]).unwrap();
    assert_eq!((log.kraft_version(), log.voters_offset()), (KRaftVersion::V1, None));
    assert!(log.voters().is_empty());
}

#[test]
fn what_a_snapshot_says_holds_at_its_last_record() {
    let mut log = ControlLog::new(VoterSet::empty());
    let id = OffsetAndEpoch::new(10, 2);
    assert_eq!(log.next_read(Some(id), 10, 10), NextRead::Snapshot(id));
    log.load_snapshot(10, [header(), version(), voters_record([1, 2])]).unwrap();
    assert_eq!(log.next_read(Some(id), 10, 12), NextRead::Log { from: 10 });
    assert_eq!((log.next_offset(), log.voters_offset()), (10, Some(9)));
    log.on_data(10, 10).unwrap();
    log.on_control_batch(11, &[voters_record([1, 2, 7])]).unwrap();
    assert_eq!(log.voters_at(9), Ok(Some(&voters([1, 2]))));
    assert_eq!(log.voters_at(11), Ok(Some(&voters([1, 2, 7]))));
    assert_eq!(log.next_read(Some(id), 10, 12), NextRead::Nothing);
}

#[test]
fn a_snapshot_beyond_what_is_read_takes_its_place() {
    let mut log = ControlLog::new(voters([1]));
    log.on_control_batch(0, &[version(), voters_record([2, 3])]).unwrap();
    let id = OffsetAndEpoch::new(50, 4);
    assert_eq!(log.next_read(Some(id), 50, 50), NextRead::Snapshot(id));
    // Of a quorum with static voters, say.
    log.load_snapshot(50, [header()]).unwrap();
    assert_eq!((log.voters(), log.kraft_version()), (&voters([1]), KRaftVersion::V0));
    assert_eq!(log.next_offset(), 50);
}

#[test]
fn a_snapshot_with_two_records_of_voters_is_refused() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.load_snapshot(0, [header(), voters_record([1])]).unwrap();
    let before = log.clone();
    let twice = log.load_snapshot(9, [header(), voters_record([1]), voters_record([2])]);
    let error = ControlLogError::History(HistoryError::NotAbove { offset: 8, last: 8 });
    assert_eq!((twice, &log), (Err(error), &before));
}

#[test]
fn a_batch_that_is_not_the_next_is_refused() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.on_data(0, 4).unwrap();
    let before = log.clone();
    for base_offset in [-1, 0, 4, 6, i64::MAX] {
        let error = ControlLogError::Position { expected: 5, base_offset };
        assert_eq!(log.on_control_batch(base_offset, &[voters_record([1])]), Err(error));
        assert_eq!(log.on_data(base_offset, base_offset), Err(error));
    }
    assert!(log.on_data(5, 4).is_err() && log.on_control_batch(5, &[]).is_err());
    assert_eq!(log, before);
}

// A deposed leader drops its uncommitted records, and those of the new leader take their place.
#[test]
fn records_that_take_the_place_of_truncated_ones_are_read() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.on_control_batch(0, &[leader_change(), version(), voters_record([1, 2, 3])]).unwrap();
    log.on_control_batch(3, &[voters_record([1, 2])]).unwrap();
    log.on_data(4, 60).unwrap();
    log.truncate_to(3);
    assert_eq!((log.next_offset(), log.voters()), (3, &voters([1, 2, 3])));
    assert_eq!(log.next_read(None, 0, 5), NextRead::Log { from: 3 });
    log.on_control_batch(3, &[leader_change(), voters_record([1, 2, 3, 4])]).unwrap();
    assert_eq!((log.voters(), log.voters_offset()), (&voters([1, 2, 3, 4]), Some(4)));
}

#[test]
fn truncating_to_nothing_leaves_the_static_voters() {
    let mut log = ControlLog::new(voters([9]));
    log.on_control_batch(0, &[version(), voters_record([1]), voters_record([1, 2])]).unwrap();
    log.truncate_to(2);
    assert_eq!(log.voters(), &voters([1]));
    log.truncate_to(0);
    assert_eq!((log.voters(), log.kraft_version()), (&voters([9]), KRaftVersion::V0));
    assert!(!log.ignores_static_voters());
}

// KRaftControlRecordStateMachine trims at the snapshot's end, and loses the voters just before it.
#[test]
fn a_snapshot_keeps_the_voters_that_it_must_hold() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.on_control_batch(0, &[version(), voters_record([1])]).unwrap();
    log.on_control_batch(2, &[voters_record([1, 2])]).unwrap();
    log.on_snapshot(2);
    let at = Timestamp::from_millis(5);
    let expected = SnapshotHeader {
        last_contained_log_timestamp: at,
        kraft_version: KRaftVersion::V1,
        voters: Some(voters([1])),
    };
    assert_eq!(log.snapshot_header(2, at), Ok(expected));
    log.on_snapshot(3);
    assert_eq!(log.voter_sets().collect::<Vec<_>>(), [(2, &voters([1, 2]))]);
    assert_eq!(log.kraft_version(), KRaftVersion::V1);
    assert!(log.snapshot_header(4, at).is_err());
}

#[test]
fn a_history_shares_its_sets_with_whom_it_gives_them_to() {
    let mut log = ControlLog::new(VoterSet::empty());
    let one = VoterSet::new([voter(1)]);
    log.on_control_batch(0, &[ControlRecord::Voters(one.clone())]).unwrap();
    assert_eq!(log.voters().iter().as_slice().as_ptr(), one.iter().as_slice().as_ptr());
}

#[test]
fn a_log_is_read_up_to_the_largest_offset() {
    let mut log = ControlLog::new(VoterSet::empty());
    log.on_data(0, i64::MAX - 3).expect("it is the next one");
    let records = [ControlRecord::KRaftVersion(KRaftVersion::V1), ControlRecord::SnapshotFooter];
    assert!(log.on_control_batch(i64::MAX - 2, &records).is_ok());
    assert_eq!(log.next_offset(), i64::MAX);
    assert!(log.on_control_batch(i64::MAX, &records).is_err());
}

#[test]
fn a_snapshot_before_the_start_of_the_log_is_read_once() {
    let mut log = ControlLog::new(VoterSet::empty());
    let snapshot = OffsetAndEpoch::new(5, 1);
    assert_eq!(log.next_read(Some(snapshot), 10, 20), NextRead::Snapshot(snapshot));
    log.load_snapshot(5, []).expect("it is sound");
    // The records in between are nowhere: what the host reads at 10 is refused.
    assert_eq!(log.next_read(Some(snapshot), 10, 20), NextRead::Log { from: 5 });
    assert!(log.on_data(10, 19).is_err());
}

#[test]
fn no_truncation_takes_the_bootstrap_checkpoint_away() {
    for end_offset in [0, -1, i64::MIN] {
        let mut log = ControlLog::new(VoterSet::empty());
        log.load_snapshot(0, [version(), voters_record(1..=3)]).unwrap();
        log.on_control_batch(0, &[voters_record(1..=4)]).unwrap();
        log.truncate_to(end_offset);
        assert_eq!((log.next_offset(), log.voters_offset()), (0, Some(-1)));
    }
}
