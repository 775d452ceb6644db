//! A log that is opened from what a crash has left, after every append and with the last segment cut anywhere, is the log
//! that was.

use crate::batch::Batch;
use crate::log::{Aborted, Log, LogConfig, Recovered};
use crate::self_test::client::{Writer, batch_of};
use crate::self_test::crash::Directory;
use kafka_coordination::producer::{
    CachedBatch, EndMarker, MarkerKind, OngoingTransaction, Origin, ProducerConfig, Verify,
};
use kafka_coordination::{Random, Timestamp};
use rand_pcg::Pcg32;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::num::NonZeroU32;

const PRODUCERS: u32 = 3;
const STEPS: usize = 80;
const NOW: Timestamp = Timestamp::from_millis(1_000);

/// Segments of a few batches, all of which stay.
fn config(retention_bytes: usize) -> LogConfig {
    let producers = ProducerConfig::default().with_verification(Verify::Off);
    LogConfig { retention_bytes, segment_bytes: 600, producers }
}

/// Producers that write to a log by chance.
struct Writers {
    random: Pcg32,
    sequences: BTreeMap<i64, i32>,
}

impl Writers {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(NonZeroU32::new(bound).unwrap())
    }

    /// Appends a batch or ends a transaction.
    fn step(&mut self, log: &mut Log) {
        let id = i64::from(self.below(PRODUCERS));
        let is_open = log.producers.has_ongoing_transaction(id, 0);
        // The last of them writes outside of transactions.
        let transactional = id + 1 < i64::from(PRODUCERS);
        let (batch, origin) = if is_open && self.below(3) == 0 {
            let kind = if self.below(2) == 0 { MarkerKind::Abort } else { MarkerKind::Commit };
            let marker = EndMarker { kind, coordinator_epoch: 0, timestamp: NOW };
            (Batch::marker(id, 0, marker).unwrap(), Origin::Coordinator)
        } else {
            let count = usize::try_from(self.below(3)).unwrap() + 1;
            let sequence = self.sequences.entry(id).or_default();
            let writer = Writer { id, epoch: 0, sequence: *sequence, transactional };
            let records = batch_of(writer, &vec![NOW.as_millis(); count], 10).unwrap();
            *sequence += i32::try_from(count).unwrap();
            (Batch::parse(&records, 12).unwrap(), Origin::Client)
        };
        log.append(batch, origin, None, NOW).unwrap();
    }
}

/// What readers and writers of a log notice.
#[derive(Debug, PartialEq)]
struct Noticed {
    start: i64,
    end: i64,
    last_stable_offset: i64,
    aborted: Vec<Aborted>,
    ongoing: Vec<OngoingTransaction>,
    /// Id, coordinator epoch, open transaction and newest batch.
    producers: Vec<(i64, i32, Option<i64>, Option<CachedBatch>)>,
}

fn noticed(log: &Log) -> Noticed {
    let producers = log.producers.producers().map(|(id, entry)| {
        let newest = entry.window().newest();
        (id, entry.coordinator_epoch(), entry.current_transaction(), newest)
    });
    Noticed {
        start: log.start,
        end: log.end,
        last_stable_offset: log.last_stable_offset(),
        aborted: log.aborted.within(log.start, log.end),
        ongoing: log.producers.ongoing_transactions().copied().collect(),
        producers: producers.collect(),
    }
}

/// Of a producer's last batches those are known that no snapshot has swallowed.
fn assert_windows(opened: &Log, kept: &Log) {
    for (id, entry) in kept.producers.producers() {
        let all: Vec<_> = entry.window().iter().collect();
        let known = opened.producers.producer(id).unwrap();
        let known: Vec<_> = known.window().iter().collect();
        assert!(all.ends_with(&known) && known.is_empty() == all.is_empty(), "producer {id}");
    }
}

fn open(directory: &Directory, config: &LogConfig) -> (Log, Recovered) {
    Log::open(config, directory.path().to_owned(), NOW).unwrap()
}

fn writers(seed: u64) -> Writers {
    Writers { random: Pcg32::new(seed, 0), sequences: BTreeMap::new() }
}

#[test]
fn after_every_append_the_log_is_opened_as_it_was() {
    for seed in 0..4 {
        let directory = Directory::new(&format!("appends-{seed}")).unwrap();
        let config = config(1 << 20);
        let (mut log, _) = open(&directory, &config);
        let mut writers = writers(seed);
        let (mut loaded, mut replayed) = (0, 0);
        for step in 0..STEPS {
            writers.step(&mut log);
            let image = directory.crash(&format!("image-{seed}")).unwrap();
            let (opened, recovered) = open(&image, &config);
            assert_eq!(noticed(&opened), noticed(&log), "seed {seed}, step {step}");
            assert_windows(&opened, &log);
            loaded += recovered.snapshots_loaded;
            replayed += recovered.batches_replayed;
            assert_eq!(recovered.bytes_cut, 0);
        }
        assert!(loaded > STEPS / 2 && replayed < STEPS * STEPS / 3, "{loaded} {replayed}");
    }
}

/// However small the segments are, a client that has five batches in flight may send all of them again.
#[test]
fn of_those_that_wrote_last_five_batches_are_known() {
    let config = LogConfig { segment_bytes: 1, ..config(1 << 20) };
    let directory = Directory::new("windows").unwrap();
    let (mut log, _) = open(&directory, &config);
    let mut append = |id: i64, sequence: i32| {
        let writer = Writer { id, epoch: 0, sequence, transactional: false };
        let batch = Batch::parse(&batch_of(writer, &[NOW.as_millis()], 10).unwrap(), 12).unwrap();
        log.append(batch, Origin::Client, None, NOW).unwrap();
    };
    // One is silent, one slow, one new.
    (0..9).for_each(|sequence| append(0, sequence));
    for round in 0..9 {
        append(1, round);
        (0..4).for_each(|number| append(2, 4 * round + number));
    }
    append(1, 9);
    append(3, 0);
    let (opened, recovered) = open(&directory, &config);
    let batches = |log: &Log, id| log.producers.producer(id).unwrap().window().len();
    assert_eq!([0, 1, 2, 3].map(|id| batches(&opened, id)), [1, 5, 5, 1]);
    assert_eq!((recovered.snapshots_loaded, recovered.batches_replayed), (1, 4 * 5 + 2));
}

#[test]
fn wherever_the_last_segment_is_cut_the_whole_batches_before_stay() {
    let config = config(1 << 20);
    let directory = Directory::new("cut").unwrap();
    let (mut log, _) = open(&directory, &config);
    let mut writers = writers(1);
    // What the log was like when it had so many bytes in its last segment.
    let mut before = BTreeMap::new();
    while before.len() < 3 || directory.files("log").unwrap().len() < 4 {
        writers.step(&mut log);
        if directory.files("log").unwrap().len() == 4 {
            let last = directory.files("log").unwrap().pop().unwrap();
            before.insert(fs::metadata(last).unwrap().len(), noticed(&log));
        }
    }
    let (whole, shortest) =
        (*before.last_key_value().unwrap().0, *before.first_key_value().unwrap().0);
    for len in shortest..=whole {
        let image = directory.crash("cut-image").unwrap();
        let last = image.files("log").unwrap().pop().unwrap();
        OpenOptions::new().write(true).open(last).unwrap().set_len(len).unwrap();
        let (opened, recovered) = open(&image, &config);
        let (bytes, expected) = before.range(..=len).next_back().unwrap();
        assert_eq!(noticed(&opened), *expected, "{len} bytes");
        assert_eq!(recovered.bytes_cut as u64, len - bytes);
    }
}

#[test]
fn retention_deletes_files_and_a_log_is_opened_at_its_start() {
    let config = config(1_500);
    let directory = Directory::new("retention").unwrap();
    let (mut log, _) = open(&directory, &config);
    let mut writers = writers(2);
    for step in 0..STEPS {
        writers.step(&mut log);
        let image = directory.crash("retention-image").unwrap();
        let (opened, _) = open(&image, &config);
        let (opened, kept) = (noticed(&opened), noticed(&log));
        assert_eq!((opened.start, opened.end), (kept.start, kept.end), "step {step}");
        assert_eq!(opened.last_stable_offset, kept.last_stable_offset, "step {step}");
        assert_eq!(opened.aborted, kept.aborted, "step {step}");
    }
    assert!(log.start > 0);
    let (logs, snapshots) = (directory.files("log").unwrap(), directory.files("snapshot").unwrap());
    assert!(logs.len() < 6 && snapshots.len() < 6, "{logs:?} {snapshots:?}");
}
