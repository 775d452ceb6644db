//! Followers, snapshots and replays end in the state that was never lost (PS-8, PS-12).

use crate::driver::{Driver, config, run};
use crate::operation::{Operation, operations, verify};
use crate::settings::cases;
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    Batch, CompletedTransaction, MissingSnapshots, Origin, PartitionState, ProducerState,
    ProducerStates, RebuildStep, ReloadFrom, Snapshot, Verdict, Verify, Window,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Appends batches to a follower as one append; answers what ended.
fn replicate(states: &mut ProducerStates, batches: &[Batch]) -> Vec<(CompletedTransaction, i64)> {
    let mut append = states.begin(Origin::Replication);
    for batch in batches {
        assert_eq!(states.push(&mut append, batch), Ok(Verdict::New));
    }
    states.commit(append, Timestamp::from_millis(0)).unwrap();
    let mut ended = Vec::new();
    while let Some(completed) = states.next_completed() {
        ended.push(completed);
        states.confirm_completed();
    }
    ended
}

/// Runs operations without expiry, which followers do not hear of, and confirms all.
fn leader(verify: Verify, operations: &[Operation]) -> Driver {
    let kept: Vec<_> = { operations.iter() }
        .filter(|it| {
            !matches!(it, Operation::Expire | Operation::HighWatermark(_) | Operation::Snapshot)
        })
        .cloned()
        .chain([Operation::Confirm])
        .collect();
    run(verify, &kept, |_, _| Ok(())).unwrap()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn ps_8_a_follower_ends_in_the_leaders_state(
        verify in verify(),
        operations in operations(80),
        cuts in prop::collection::vec(1_usize..9, 1..20),
    ) {
        let leader = leader(verify, &operations);
        let mut follower = ProducerStates::new(config(verify));
        let mut index = Vec::new();
        let mut rest = leader.log.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (batches, behind) = rest.split_at((*cut).min(rest.len()));
            index.extend(replicate(&mut follower, batches));
            rest = behind;
        }
        // Verifications are the leader's own.
        let next_guard = follower.export().next_guard;
        let verifications = Vec::new();
        let expected = PartitionState { verifications, next_guard, ..leader.states.export() };
        prop_assert_eq!(follower.export(), expected);
        prop_assert_eq!(index, leader.index);
    }

    #[test]
    fn ps_12_a_snapshot_and_a_replay_give_the_state_that_was_never_lost(
        verify in verify(),
        operations in operations(80),
        at in any::<prop::sample::Index>(),
    ) {
        let leader = leader(verify, &operations);
        let at = at.index(leader.log.len() + 1);
        let mut before = ProducerStates::new(config(verify));
        replicate(&mut before, &leader.log[..at]);
        let mut bytes = Vec::new();
        before.encode_snapshot(&mut bytes);

        let offset = before.map_end_offset();
        let mut after = ProducerStates::new(config(verify));
        // Before all records: nobody is due.
        let now = Timestamp::from_millis(0);
        after.load_snapshot(offset, Snapshot::parse(&bytes).unwrap().iter(), now).unwrap();
        prop_assert_eq!(after.map_end_offset(), offset);
        replicate(&mut after, &leader.log[at..]);
        check(&after.export(), &leader.states.export(), offset)?;
    }

    #[test]
    fn ps_12_a_rebuild_gives_the_state_that_was_never_lost(
        verify in verify(),
        operations in operations(80),
        cuts in prop::collection::vec(1_usize..9, 1..20),
        lost in prop::collection::vec(any::<bool>(), 20),
        from in prop::sample::select(vec![ReloadFrom::Newest, ReloadFrom::OneBefore, ReloadFrom::AtMost(4), ReloadFrom::LogStart]),
    ) {
        let leader = leader(verify, &operations);
        let mut files = BTreeMap::new();
        let mut segments = vec![0];
        let mut states = ProducerStates::new(config(verify));
        let mut rest = leader.log.as_slice();
        for (cut, lost) in cuts.iter().cycle().zip(lost.iter().cycle()) {
            if rest.is_empty() {
                break;
            }
            let (batches, behind) = rest.split_at((*cut).min(rest.len()));
            replicate(&mut states, batches);
            rest = behind;
            // The segment is rolled, and its snapshot written, or damaged.
            segments.push(states.map_end_offset());
            let offset = states.snapshot_due().unwrap();
            let mut bytes = Vec::new();
            states.encode_snapshot(&mut bytes);
            if *lost {
                bytes.truncate(bytes.len() - 1);
            }
            files.insert(offset, bytes);
            states.snapshot_written(offset);
        }
        let log_end = states.map_end_offset();

        let mut states = ProducerStates::new(config(verify));
        states.list_snapshots(files.keys().copied());
        for stray in states.forget_stray_snapshots(segments.iter().copied()) {
            files.remove(&stray);
        }
        let loaded = rebuild(&mut states, &segments, log_end, from, &mut files, &leader.log);
        check(&states.export(), &leader.states.export(), loaded)?;
        prop_assert_eq!(states.map_end_offset(), log_end);
        // Those of the last two segments and the end are there again, if there was anything to write.
        let known: Vec<_> = states.snapshots().iter().collect();
        prop_assert_eq!(&known, &files.keys().copied().collect::<Vec<_>>());
        if log_end > 0 {
            prop_assert_eq!(states.snapshots().latest(), Some(log_end));
        }
    }
}

/// Does what a rebuild asks for; answers the offset of the snapshot that was loaded, or 0.
fn rebuild(
    states: &mut ProducerStates,
    segments: &[i64],
    log_end: i64,
    from: ReloadFrom,
    files: &mut BTreeMap<i64, Vec<u8>>,
    log: &[Batch],
) -> i64 {
    let now = Timestamp::from_millis(0);
    let bases = segments.iter().copied();
    let mut rebuild = states.rebuild(bases, 0, log_end, MissingSnapshots::Scan, from);
    let mut loaded = 0;
    while let Some(step) = rebuild.next_step(states) {
        match step {
            RebuildStep::Delete(offsets) => files.retain(|offset, _| !offsets.contains(offset)),
            RebuildStep::Load(offset) => {
                if let Ok(snapshot) = Snapshot::parse(&files[&offset]) {
                    states.load_snapshot(offset, snapshot.iter(), now).unwrap();
                    loaded = offset;
                } else {
                    states.forget_snapshot(offset);
                    files.remove(&offset);
                }
            }
            RebuildStep::Write(offset) => {
                let mut bytes = Vec::new();
                states.encode_snapshot(&mut bytes);
                files.insert(offset, bytes);
                states.snapshot_written(offset);
            }
            RebuildStep::Replay { segment, from, until } => {
                assert!(segments.contains(&segment) && segment <= from);
                let batches = log.iter().filter(|it| (from..until).contains(&it.base_offset));
                let batches: Vec<_> = batches.copied().collect();
                replicate(states, &batches);
            }
            step => panic!("unknown step {step:?}"),
        }
    }
    loaded
}

/// Compares what was rebuilt from a snapshot of that offset with what was never lost.
fn check(
    rebuilt: &PartitionState,
    kept: &PartitionState,
    offset: i64,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(rebuilt.producers.len(), kept.producers.len());
    for (one, other) in rebuilt.producers.iter().zip(&kept.producers) {
        let bare = |it: &ProducerState| {
            (
                it.producer_id,
                it.entry.epoch(),
                it.entry.coordinator_epoch(),
                it.entry.last_timestamp(),
            )
        };
        prop_assert_eq!(bare(one), bare(other));
        prop_assert_eq!(one.entry.current_transaction(), other.entry.current_transaction());
        // All batches since the snapshot are there, and the newest one before it.
        let all: Vec<_> = other.entry.window().iter().collect();
        let old = all.iter().filter(|batch| batch.last_offset < offset).count();
        let expected: Window = all[old.saturating_sub(1)..].iter().copied().collect();
        let found: Vec<_> = one.entry.window().iter().collect();
        let fields = |batches: &[kafka_coordination::producer::CachedBatch]| -> Vec<_> {
            let fields = batches.iter();
            fields.map(|it| (it.last_sequence, it.last_offset, it.offset_delta)).collect()
        };
        let expected: Vec<_> = expected.iter().collect();
        prop_assert_eq!(fields(&found), fields(&expected));
    }
    prop_assert_eq!(&rebuilt.ongoing, &kept.ongoing);
    let since: Vec<_> =
        { kept.unreplicated.iter() }.filter(|it| it.last_offset >= offset).copied().collect();
    prop_assert_eq!(&rebuilt.unreplicated, &since);
    prop_assert_eq!(rebuilt.map_end_offset, kept.map_end_offset);
    Ok(())
}
