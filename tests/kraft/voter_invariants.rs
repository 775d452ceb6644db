//! What holds of voter sets, their bytes and their history, whatever is done to them: one test an invariant.

use crate::quorum::{on_disk, voters};
use crate::settings::cases;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    ControlLog, ControlRecord, DirectoryId, DynamicVoter, DynamicVoters, Endpoint, Endpoints,
    KRaftVersion, LogHistory, NextRead, OffsetAndEpoch, ReplicaKey, SupportedVersions, VoterNode,
    VoterSet, VotersRecord,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CASES: u32 = 300;

fn replica() -> impl Strategy<Value = ReplicaKey> {
    (0..6, 0..3_u32).prop_map(|(id, disk)| {
        if disk == 0 { ReplicaKey::without_directory(id) } else { on_disk(id, disk) }
    })
}

fn endpoints() -> impl Strategy<Value = Endpoints> {
    let endpoint = ("[A-Z]{1,2}", "[a-z:.]{0,12}", any::<u16>());
    let endpoints = prop::collection::vec(endpoint, 0..4);
    endpoints.prop_map(|all| {
        all.into_iter().map(|(name, host, port)| Endpoint::new(name.as_str(), host, port)).collect()
    })
}

fn node() -> impl Strategy<Value = VoterNode> {
    (replica(), endpoints(), 0..3_i16, 0..3_i16).prop_map(|(key, endpoints, min, more)| {
        let supported_versions = SupportedVersions::new(min, min + more).unwrap();
        VoterNode { key, endpoints, supported_versions }
    })
}

fn voter_set() -> impl Strategy<Value = VoterSet> {
    prop::collection::vec(node(), 0..6).prop_map(VoterSet::new)
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn kv_1_voters_are_read_back_from_their_record(set in voter_set()) {
        let mut value = Vec::new();
        set.encode(&mut value).unwrap();
        let mut rest = value.as_slice();
        let read = VotersRecord::decode(&mut rest).unwrap().to_voter_set();
        prop_assert_eq!(read, Ok(set));
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn kv_2_an_addition_and_a_removal_undo_each_other(set in voter_set(), voter in node()) {
        if let Ok(more) = set.add_voter(voter.clone())
            && !set.is_empty()
        {
            prop_assert_eq!(more.remove_voter(&voter.key), Ok(set.clone()));
        }
        for voter in &set {
            if let Ok(less) = set.remove_voter(&voter.key) {
                prop_assert_eq!(less.add_voter(voter.clone()), Ok(set.clone()));
            }
        }
    }

    #[test]
    fn kv_3_an_addition_adds_one_a_removal_leaves_one_and_an_update_keeps_the_ids(
        set in voter_set(),
        voter in node(),
    ) {
        if let Ok(more) = set.add_voter(voter.clone()) {
            prop_assert_eq!(more.len(), set.len() + 1);
        }
        if let Ok(less) = set.remove_voter(&voter.key) {
            prop_assert_eq!(less.len() + 1, set.len());
            prop_assert!(!less.is_empty());
        }
        let updates = [
            set.update_voter(voter.clone()),
            set.update_voter_ignoring_directory_id(voter.clone()),
        ];
        for updated in updates.into_iter().flatten() {
            prop_assert!(updated.ids().eq(set.ids()));
            prop_assert_eq!(updated.get(voter.key.id), Some(&voter));
        }
    }

    #[test]
    fn kv_4_majorities_before_and_after_each_addition_or_removal_overlap(
        set in voter_set(),
        changes in prop::collection::vec((node(), any::<bool>()), 0..12),
    ) {
        let mut current = set;
        for (voter, adds) in changes {
            let changed =
                if adds { current.add_voter(voter) } else { current.remove_voter(&voter.key) };
            if let Ok(next) = changed {
                prop_assert!(current.has_overlapping_majority(&next));
                prop_assert!(next.has_overlapping_majority(&current));
                current = next;
            }
        }
    }

    #[test]
    fn kv_5_a_voter_has_the_id_of_one_and_an_only_voter_is_alone(
        set in voter_set(),
        key in replica(),
    ) {
        prop_assert!(!set.is_voter(&key) || set.ids().any(|id| id == key.id));
        prop_assert_eq!(set.is_only_voter(&key), set.len() == 1 && set.is_voter(&key));
    }

    #[test]
    fn kv_6_first_voters_are_read_back_from_their_text(
        written in prop::collection::btree_map(
            any::<u16>(), ("[a-z0-9:.-]{0,12}", 1..=u16::MAX, 1..u128::MAX), 1..5,
        ),
    ) {
        let voter = |(id, (host, port, directory)): (u16, (String, u16, u128))| {
            let directory_id = DirectoryId::from_u128(directory).unwrap();
            DynamicVoter::new(id.into(), host, port, directory_id).unwrap()
        };
        let voters = DynamicVoters::new(written.into_iter().map(voter)).unwrap();
        prop_assert_eq!(voters.to_string().parse(), Ok(voters));
    }
}

/// What is done to a history.
#[derive(Clone, Debug)]
enum Step {
    Add { offset: i64 },
    TruncateNew { end: i64 },
    TruncateOld { start: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let offset = -2..40_i64;
    prop_oneof![
        4 => offset.clone().prop_map(|offset| Step::Add { offset }),
        1 => offset.clone().prop_map(|end| Step::TruncateNew { end }),
        1 => offset.prop_map(|start| Step::TruncateOld { start }),
    ]
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn kv_7_a_history_is_a_list_that_is_searched_from_its_end(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut history = LogHistory::new();
        let mut list: Vec<(i64, usize)> = Vec::new();
        for (value, step) in steps.into_iter().enumerate() {
            match step {
                Step::Add { offset } => {
                    let fits = offset >= -1 && list.iter().all(|&(at, _)| at < offset);
                    prop_assert_eq!(history.add_at(offset, value).is_ok(), fits);
                    if fits {
                        list.push((offset, value));
                    }
                }
                Step::TruncateNew { end } => {
                    history.truncate_new_entries(end);
                    list.retain(|&(at, _)| at < end);
                }
                Step::TruncateOld { start } => {
                    history.truncate_old_entries(start);
                    let kept = list.iter().map(|&(at, _)| at).filter(|&at| at <= start).max();
                    list.retain(|&(at, _)| at > start || Some(at) == kept);
                }
            }
            prop_assert!(history.iter().map(|(at, value)| (at, *value)).eq(list.iter().copied()));
            for offset in -3..42 {
                let naive = list.iter().rev().find(|&&(at, _)| at <= offset).map(|(_, value)| value);
                prop_assert_eq!(history.value_at_or_before(offset), naive);
            }
        }
    }

    #[test]
    fn kv_8_trimming_changes_nothing_from_there_on(
        offsets in prop::collection::btree_set(-1..40_i64, 0..10),
        start in -2..42_i64,
    ) {
        let mut history = LogHistory::new();
        for offset in offsets {
            history.add_at(offset, offset).unwrap();
        }
        let before = history.clone();
        history.truncate_old_entries(start);
        for offset in start..45 {
            let held = before.value_at_or_before(offset);
            prop_assert_eq!(history.value_at_or_before(offset), held);
        }
    }
}

/// A batch of the log.
#[derive(Clone, Debug)]
enum Batch {
    Data { records: i64 },
    Control(Vec<ControlRecord>),
}

impl Batch {
    fn records(&self) -> i64 {
        match self {
            Self::Data { records } => *records,
            Self::Control(records) => i64::try_from(records.len()).unwrap(),
        }
    }
}

fn batch() -> impl Strategy<Value = Batch> {
    let record = prop_oneof![
        Just(ControlRecord::LeaderChange(kafka_coordination::kraft::LeaderChange::default())),
        Just(ControlRecord::KRaftVersion(KRaftVersion::V1)),
        prop::collection::vec(1..6_i32, 1..4).prop_map(|ids| ControlRecord::Voters(voters(ids))),
    ];
    prop_oneof![
        (1..5_i64).prop_map(|records| Batch::Data { records }),
        prop::collection::vec(record, 1..4).prop_map(Batch::Control),
    ]
}

/// What a snapshot holds.
fn snapshot() -> impl Strategy<Value = Vec<ControlRecord>> {
    let version = prop::option::of(Just(ControlRecord::KRaftVersion(KRaftVersion::V1)));
    let ids = prop::option::of(prop::collection::vec(1..6_i32, 1..4));
    (version, ids).prop_map(|(version, ids)| {
        let header = ControlRecord::SnapshotHeader {
            last_contained_log_timestamp: Timestamp::from_millis(0),
        };
        let voters = ids.map(|ids| ControlRecord::Voters(voters(ids)));
        [Some(header), version, voters].into_iter().flatten().collect()
    })
}

/// A log, and snapshots by their end.
#[derive(Clone, Debug, Default)]
struct Log {
    start: i64,
    batches: Vec<Batch>,
    snapshots: BTreeMap<i64, Vec<ControlRecord>>,
}

impl Log {
    fn end(&self) -> i64 {
        self.start + self.batches.iter().map(Batch::records).sum::<i64>()
    }

    /// Drops whole batches so that none has the offset; returns the end.
    fn truncate(&mut self, offset: i64) -> i64 {
        while self.end() > offset && self.batches.pop().is_some() {}
        self.end()
    }

    /// Has the machine read up to an end.
    fn read(&self, machine: &mut ControlLog, end: i64) {
        let latest = self.snapshots.last_key_value();
        let latest = latest.map(|(&end, _)| OffsetAndEpoch::new(end, i32::from(end > 0)));
        loop {
            match machine.next_read(latest, self.start, end) {
                NextRead::Nothing => return,
                NextRead::Snapshot(id) => {
                    machine.load_snapshot(id.offset, self.snapshots[&id.offset].clone()).unwrap();
                }
                NextRead::Log { from } => {
                    let mut base_offset = self.start;
                    for batch in &self.batches {
                        if base_offset == from {
                            match batch {
                                Batch::Data { records } => {
                                    machine.on_data(from, from + records - 1).unwrap();
                                }
                                Batch::Control(records) => {
                                    machine.on_control_batch(from, records).unwrap();
                                }
                            }
                            break;
                        }
                        base_offset += batch.records();
                    }
                }
            }
        }
    }

    /// A machine that reads all of it at once.
    fn fresh(&self) -> ControlLog {
        let mut machine = ControlLog::new(voters([9]));
        self.read(&mut machine, self.end());
        machine
    }
}

/// What happens to a log.
#[derive(Clone, Debug)]
enum Event {
    Append(Vec<Batch>),
    Truncate {
        below_end: i64,
    },
    /// A snapshot of a leader takes the log's place.
    Install {
        beyond_end: i64,
        records: Vec<ControlRecord>,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => prop::collection::vec(batch(), 0..4).prop_map(Event::Append),
        2 => (0..8_i64).prop_map(|below_end| Event::Truncate { below_end }),
        1 => (1..9_i64, snapshot())
            .prop_map(|(beyond_end, records)| Event::Install { beyond_end, records }),
    ]
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn kv_9_whatever_happens_to_a_log_it_is_known_as_to_one_who_reads_it_now(
        bootstrap in prop::option::of(snapshot()),
        events in prop::collection::vec(event(), 0..12),
    ) {
        let mut log = Log::default();
        log.snapshots.extend(bootstrap.map(|records| (0, records)));
        let mut machine = log.fresh();
        for event in events {
            match event {
                Event::Append(batches) => log.batches.extend(batches),
                Event::Truncate { below_end } => {
                    let end = log.truncate((log.end() - below_end).max(log.start));
                    machine.truncate_to(end);
                    prop_assert!(machine.next_offset() <= end);
                }
                Event::Install { beyond_end, records } => {
                    let end = log.end() + beyond_end;
                    let snapshots = BTreeMap::from([(end, records)]);
                    log = Log { start: end, batches: Vec::new(), snapshots };
                }
            }
            log.read(&mut machine, log.end());
            prop_assert_eq!(machine.next_offset(), log.end());
            prop_assert_eq!(&machine, &log.fresh());
        }
    }

    #[test]
    fn kv_10_a_log_that_is_read_in_pieces_is_known_as_one_read_at_once(
        bootstrap in prop::option::of(snapshot()),
        batches in prop::collection::vec(batch(), 0..12),
    ) {
        let mut log = Log { batches, ..Log::default() };
        log.snapshots.extend(bootstrap.map(|records| (0, records)));
        let mut machine = ControlLog::new(voters([9]));
        let mut end = 0;
        for batch in &log.batches {
            log.read(&mut machine, end);
            end += batch.records();
        }
        log.read(&mut machine, end);
        prop_assert_eq!(machine, log.fresh());
    }

    #[test]
    fn kv_11_the_voters_before_an_offset_are_those_of_the_records_before_it(
        batches in prop::collection::vec(batch(), 0..12),
    ) {
        let log = Log { batches, ..Log::default() };
        let machine = log.fresh();
        let (mut offset, mut known, mut level) = (0, None, KRaftVersion::V0);
        for batch in &log.batches {
            let records = match batch {
                Batch::Data { records } => vec![ControlRecord::SnapshotFooter; usize::try_from(*records).unwrap()],
                Batch::Control(records) => records.clone(),
            };
            for record in records {
                match record {
                    ControlRecord::Voters(voters) => known = Some(voters),
                    ControlRecord::KRaftVersion(version) => level = version,
                    _ => {}
                }
                prop_assert_eq!(machine.voters_at(offset), Ok(known.as_ref()));
                prop_assert_eq!(machine.kraft_version_at(offset), Ok(level));
                offset += 1;
            }
        }
        prop_assert!(machine.voters_at(offset).is_err());
    }
}
