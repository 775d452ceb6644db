//! Which snapshot a rebuild loads, what it reads, and what it writes.

use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    MissingSnapshots, ProducerConfig, ProducerStates, RebuildStep, ReloadFrom,
};

/// The steps of a rebuild in which the snapshots of `good` can be loaded and others are damaged.
fn steps(
    states: &mut ProducerStates,
    segments: &[i64],
    log: (i64, i64),
    missing: MissingSnapshots,
    good: &[i64],
) -> Vec<RebuildStep> {
    let bases = segments.iter().copied();
    let mut rebuild = states.rebuild(bases, log.0, log.1, missing, ReloadFrom::Newest);
    let mut steps = Vec::new();
    while let Some(step) = rebuild.next_step(states) {
        match step {
            RebuildStep::Load(offset) if good.contains(&offset) => {
                states.load_snapshot(offset, [], Timestamp::from_millis(0)).unwrap();
            }
            RebuildStep::Load(offset) => assert!(states.forget_snapshot(offset)),
            RebuildStep::Write(offset) => states.snapshot_written(offset),
            _ => {}
        }
        steps.push(step);
        assert!(steps.len() < 100, "{steps:?}");
    }
    assert_eq!(states.map_end_offset(), log.1);
    steps
}

fn listed(offsets: &[i64]) -> ProducerStates {
    let mut states = ProducerStates::new(ProducerConfig::default());
    states.list_snapshots(offsets.iter().copied());
    states
}

const fn replay(segment: i64, from: i64, until: i64) -> RebuildStep {
    RebuildStep::Replay { segment, from, until }
}

#[test]
fn a_log_without_snapshots_is_read_and_the_last_ones_are_written() {
    let mut states = listed(&[]);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Scan, &[]);
    let expected = [
        replay(0, 0, 10),
        RebuildStep::Write(10),
        replay(10, 10, 20),
        RebuildStep::Write(20),
        replay(20, 20, 25),
        RebuildStep::Write(25),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_log_without_snapshots_is_trusted_only_if_asked() {
    let mut states = listed(&[]);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Trust, &[]);
    assert_eq!(steps, [10, 20, 25].map(RebuildStep::Write));
}

#[test]
fn trust_needs_a_log_without_any_snapshot() {
    let mut states = listed(&[10]);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Trust, &[10]);
    assert_eq!(steps[..2], [RebuildStep::Load(10), replay(10, 10, 20)]);
}

#[test]
fn damaged_snapshots_are_passed_over() {
    let mut states = listed(&[10, 20, 25]);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Scan, &[10]);
    let expected = [
        RebuildStep::Load(25),
        RebuildStep::Load(20),
        RebuildStep::Load(10),
        replay(10, 10, 20),
        RebuildStep::Write(20),
        replay(20, 20, 25),
        RebuildStep::Write(25),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_clean_shutdown_leaves_nothing_to_read() {
    let mut states = listed(&[10, 20, 25]);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Scan, &[25]);
    assert_eq!(steps, [RebuildStep::Load(25)]);
}

#[test]
fn snapshots_outside_of_the_log_go_and_reading_starts_at_its_start() {
    let mut states = listed(&[10, 12, 20, 30]);
    let steps = steps(&mut states, &[10, 20], (12, 25), MissingSnapshots::Scan, &[]);
    let expected = [
        RebuildStep::Delete(vec![10, 12, 30]),
        RebuildStep::Load(20),
        replay(10, 12, 20),
        RebuildStep::Write(20),
        replay(20, 20, 25),
        RebuildStep::Write(25),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_log_that_never_saw_a_producer_is_not_read_again() {
    let mut states = listed(&[]);
    states.set_map_end_offset(30);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Scan, &[]);
    assert_eq!(steps, [RebuildStep::Write(25)]);
}

/// What was written when the log was closed is good for the same log, whatever is known of it.
#[test]
fn a_log_that_never_saw_a_producer_keeps_the_snapshot_of_its_end() {
    let mut states = listed(&[10, 25, 30]);
    states.set_map_end_offset(30);
    let steps = steps(&mut states, &[0, 10, 20], (0, 25), MissingSnapshots::Scan, &[25]);
    assert_eq!(steps, [RebuildStep::Delete(vec![30]), RebuildStep::Load(25)]);
}

#[test]
fn without_a_snapshot_as_old_as_asked_for_the_oldest_is_loaded() {
    let states = listed(&[10, 20, 30]);
    for (at_most, loaded) in [(9, 10), (10, 10), (25, 20), (40, 30)] {
        assert_eq!(states.snapshot_to_load(ReloadFrom::AtMost(at_most)), Some(loaded), "{at_most}");
    }
}

#[test]
fn a_snapshot_that_is_neither_loaded_nor_dropped_is_passed_over() {
    let mut states = listed(&[10]);
    let mut rebuild = states.rebuild([0, 10], 0, 15, MissingSnapshots::Scan, ReloadFrom::Newest);
    assert_eq!(rebuild.next_step(&mut states), Some(RebuildStep::Load(10)));
    assert_eq!(rebuild.next_step(&mut states), Some(replay(0, 0, 10)));
}
