//! What holds after each step, whatever producers, coordinators and hosts do: one test an invariant. They judge what the
//! state says and exports, not what the model does.

use crate::driver::{Did, Driver, EXPIRATION_MS, Push, Step, config, run};
use crate::operation::{Fate, operations, verify};
use crate::settings::cases;
use kafka_coordination::producer::{
    Batch, Content, MAX_SEQUENCE, Origin, PartitionState, ProducerStates, ReloadFrom, Snapshot,
    Verdict, Verify, decrement, follows, increment,
};
use kafka_coordination::{ErrorCode, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::collections::BTreeSet;

/// How many lists of operations an invariant is tried with.
const CASES: u32 = 60;

/// Shows each step of random runs to the check that `check` makes for a run.
fn after_each_step<C>(check: impl Fn() -> C)
where
    C: FnMut(&mut Driver, &Step) -> TestCaseResult,
{
    let mut runner = TestRunner::new(cases(CASES));
    let input = (verify(), operations(80));
    let result =
        runner.run(&input, |(verify, operations)| run(verify, &operations, check()).map(|_| ()));
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

fn pushes(step: &Step) -> &[Push] {
    match &step.did {
        Did::Appended { pushes, .. } => pushes,
        _ => &[],
    }
}

/// The pushes of a step that were committed.
fn committed(step: &Step) -> impl Iterator<Item = &Push> {
    let is_committed =
        matches!(step.did, Did::Appended { fate: Fate::Commit | Fate::CommitOnly, .. });
    pushes(step).iter().filter(move |push| is_committed && push.verdict == Ok(Verdict::New))
}

#[test]
fn ps_1_a_window_has_at_most_five_batches_with_rising_offsets() {
    after_each_step(|| {
        |_, step| {
            for producer in &step.after.producers {
                let offsets: Vec<_> =
                    producer.entry.window().iter().map(|batch| batch.last_offset).collect();
                prop_assert!(offsets.len() <= 5 && offsets.is_sorted_by(|one, next| one < next));
            }
            for push in committed(step) {
                let producer = find(&step.after, push.batch.producer_id);
                for batch in producer.iter().flat_map(|it| it.entry.window().iter()) {
                    let is_of_epoch = batch.last_offset != push.batch.last_offset
                        || producer.is_some_and(|it| it.entry.epoch() == push.batch.producer_epoch);
                    prop_assert!(is_of_epoch);
                }
            }
            Ok(())
        }
    });
}

fn find(state: &PartitionState, id: i64) -> Option<&kafka_coordination::producer::ProducerState> {
    state.producers.iter().find(|it| it.producer_id == id)
}

#[test]
fn ps_2_what_clients_wrote_follows_one_another() {
    after_each_step(|| {
        let mut others = BTreeSet::new();
        move |_, step| {
            for push in committed(step) {
                if push.terms.origin != Origin::Client && !push.batch.is_marker() {
                    others.insert(push.batch.producer_id);
                }
            }
            for producer in
                step.after.producers.iter().filter(|it| !others.contains(&it.producer_id))
            {
                let batches: Vec<_> = producer.entry.window().iter().collect();
                for pair in batches.windows(2) {
                    prop_assert!(follows(pair[0].last_sequence, pair[1].first_sequence()));
                }
            }
            Ok(())
        }
    });
}

#[test]
fn ps_3_ongoing_transactions_are_those_of_producers_or_unconfirmed() {
    after_each_step(|| {
        |_, step| {
            let current = step
                .after
                .producers
                .iter()
                .filter_map(|it| Some((it.entry.current_transaction()?, it.producer_id)));
            let unconfirmed =
                step.after.unconfirmed.iter().map(|it| (it.first_offset, it.producer_id));
            let mut expected: Vec<_> = current.chain(unconfirmed).collect();
            expected.sort_unstable();
            let ongoing: Vec<_> =
                step.after.ongoing.iter().map(|it| (it.first_offset, it.producer_id)).collect();
            prop_assert_eq!(ongoing, expected);
            Ok(())
        }
    });
}

#[test]
fn ps_4_unreplicated_transactions_are_apart_and_above_the_high_watermark() {
    after_each_step(|| {
        |driver, step| {
            let ongoing: BTreeSet<_> =
                step.after.ongoing.iter().map(|it| it.first_offset).collect();
            for transaction in &step.after.unreplicated {
                prop_assert!(!ongoing.contains(&transaction.first_offset));
                prop_assert!(transaction.last_offset >= driver.oracle.high_watermark);
            }
            Ok(())
        }
    });
}

#[test]
fn ps_5_what_is_refused_a_duplicate_or_dropped_changes_nothing() {
    after_each_step(|| {
        |_, step| {
            if let Did::Verified { answer: Err(_), .. } = step.did {
                prop_assert_eq!(&step.before, &step.after);
            }
            if matches!(step.did, Did::Appended { .. })
                && committed(step).next().is_none()
                && !matches!(step.did, Did::Appended { fate: Fate::Commit, .. })
            {
                prop_assert_eq!(&step.before, &step.after);
            }
            Ok(())
        }
    });
}

#[test]
fn ps_6_any_of_the_last_five_batches_sent_again_is_a_duplicate() {
    after_each_step(|| {
        |driver, step| {
            for producer in &step.after.producers {
                let batches: Vec<_> = producer.entry.window().iter().collect();
                let mut spans = BTreeSet::new();
                for known in batches.iter().filter(|it| it.last_sequence >= 0) {
                    // A coordinator may have used the same sequences before: then the first is told.
                    if !spans.insert((known.first_sequence(), known.last_sequence)) {
                        continue;
                    }
                    let end = driver.oracle.end;
                    let batch = Batch {
                        producer_id: producer.producer_id,
                        producer_epoch: producer.entry.epoch(),
                        base_offset: end,
                        last_offset: end + i64::from(known.offset_delta),
                        content: Content::Data {
                            base_sequence: known.first_sequence(),
                            max_timestamp: Timestamp::from_millis(0),
                            is_transactional: false,
                        },
                        position: None,
                    };
                    let mut append = driver.states.begin(Origin::Client);
                    for _ in 0..2 {
                        let verdict = driver.states.push(&mut append, &batch);
                        prop_assert_eq!(verdict, Ok(Verdict::Duplicate(*known)));
                    }
                }
            }
            Ok(())
        }
    });
}

#[test]
fn ps_7_epochs_of_a_known_producer_do_not_go_down() {
    after_each_step(|| {
        |_, step| {
            for producer in &step.after.producers {
                if let Some(before) = find(&step.before, producer.producer_id) {
                    prop_assert!(producer.entry.epoch() >= before.entry.epoch());
                    let coordinator = producer.entry.coordinator_epoch();
                    prop_assert!(coordinator >= before.entry.coordinator_epoch());
                }
            }
            Ok(())
        }
    });
}

#[test]
fn ps_9_the_last_stable_offset_stays_below_open_transactions_and_does_not_go_back() {
    after_each_step(|| {
        let mut last = 0;
        move |driver, step| {
            let high_watermark = driver.oracle.high_watermark;
            let stable = driver.states.last_stable_offset(high_watermark, 0);
            prop_assert!(stable <= high_watermark);
            for transaction in &step.after.ongoing {
                prop_assert!(stable <= transaction.first_offset);
            }
            prop_assert!(stable >= last, "{} after {}", stable, last);
            last = stable;
            Ok(())
        }
    });
}

#[test]
fn ps_10_expiry_removes_who_is_due_and_nobody_else() {
    after_each_step(|| {
        |driver, step| {
            let Did::Expired { forgotten } = step.did else { return Ok(()) };
            for producer in &step.before.producers {
                let age = driver.now - producer.entry.last_timestamp().as_millis();
                let is_open = producer.entry.current_transaction().is_some();
                let stays = is_open || age < i64::from(EXPIRATION_MS);
                let after = find(&step.after, producer.producer_id);
                prop_assert_eq!(after, stays.then_some(producer));
            }
            prop_assert_eq!(step.before.producers.len() - step.after.producers.len(), forgotten);
            Ok(())
        }
    });
}

#[test]
fn ps_11_a_snapshot_holds_each_producer_with_its_newest_batch() {
    after_each_step(|| {
        |driver, step| {
            if step.before.producers == step.after.producers {
                return Ok(());
            }
            let mut bytes = Vec::new();
            driver.states.encode_snapshot(&mut bytes);
            let snapshot = Snapshot::parse(&bytes).unwrap();
            prop_assert_eq!(snapshot.len(), step.after.producers.len());
            for (saved, producer) in snapshot.iter().zip(&step.after.producers) {
                prop_assert_eq!(saved.producer_id, producer.producer_id);
                let entry = kafka_coordination::producer::ProducerEntry::from(&saved);
                prop_assert_eq!(entry.epoch(), producer.entry.epoch());
                prop_assert_eq!(entry.coordinator_epoch(), producer.entry.coordinator_epoch());
                prop_assert_eq!(entry.last_timestamp(), producer.entry.last_timestamp());
                prop_assert_eq!(entry.current_transaction(), producer.entry.current_transaction());
                let newest = producer.entry.window().newest();
                prop_assert_eq!(entry.window().len(), usize::from(newest.is_some()));
                prop_assert_eq!(
                    entry.window().last_sequence(),
                    producer.entry.window().last_sequence()
                );
            }
            for at in 0..bytes.len() {
                prop_assert!(Snapshot::parse(&bytes[..at]).is_err());
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                prop_assert!(Snapshot::parse(&damaged).is_err(), "byte {}", at);
            }
            Ok(())
        }
    });
}

#[test]
fn ps_13_a_snapshot_is_due_once_for_an_offset() {
    after_each_step(|| {
        |driver, step| {
            if let Did::Snapshot(Some(offset)) = step.did {
                prop_assert_eq!(offset, step.before.map_end_offset);
                prop_assert!(offset > step.before.last_snapshot_offset);
                prop_assert_eq!(driver.states.snapshot_due(), None);
                prop_assert_eq!(driver.states.snapshot_to_load(ReloadFrom::Newest), Some(offset));
            }
            prop_assert!(step.after.snapshots.is_sorted());
            Ok(())
        }
    });
}

#[test]
fn ps_14_a_transaction_starts_with_the_guard_of_the_pending_verification() {
    after_each_step(|| {
        let mut given = BTreeSet::new();
        move |driver, step| {
            if let Did::Verified { producer, answer: Ok(Some(guard)), .. } = step.did {
                let is_new = step.before.next_guard != step.after.next_guard;
                prop_assert_eq!(
                    given.insert(guard.number()),
                    is_new,
                    "guard {:?} of {}",
                    guard,
                    producer
                );
            }
            if driver.states.config() != &config(Verify::On) {
                return Ok(());
            }
            for (at, push) in pushes(step).iter().enumerate() {
                let of_client = matches!(push.terms.origin, Origin::Client | Origin::Coordinator);
                let starts = push.verdict == Ok(Verdict::New)
                    && of_client
                    && !push.batch.is_marker()
                    && push.batch.is_transactional()
                    && !push.was_open;
                let is_first = pushes(step)[..at]
                    .iter()
                    .all(|it| it.batch.producer_id != push.batch.producer_id);
                if starts && is_first {
                    let pending = { step.before.verifications.iter() }
                        .find(|(producer, _)| *producer == push.batch.producer_id);
                    let guard = pending.map(|(_, it)| it.guard().number());
                    prop_assert!(guard.is_some() && push.terms.guard == guard);
                }
            }
            Ok(())
        }
    });
}

#[test]
fn ps_15_after_a_marker_of_version_2_its_epoch_holds_and_nothing_is_open() {
    after_each_step(|| {
        |driver, step| {
            let Some(push) = committed(step).last().filter(|it| it.terms.version >= 2) else {
                return Ok(());
            };
            let batch = push.batch;
            let entry = driver.states.producer(batch.producer_id).unwrap();
            prop_assert_eq!(entry.epoch(), batch.producer_epoch);
            prop_assert_eq!(entry.current_transaction(), None);
            let before = find(&step.before, batch.producer_id).map(|it| it.entry.epoch());
            prop_assert!(before == Some(batch.producer_epoch) || entry.window().is_empty());

            let end = batch.last_offset + 1;
            let again = Batch { base_offset: end, last_offset: end, ..batch };
            let version = kafka_coordination::producer::TransactionVersion::V2;
            let mut append =
                driver.states.begin(Origin::Coordinator).with_transaction_version(version);
            prop_assert_eq!(driver.states.push(&mut append, &again), Ok(Verdict::New));
            if batch.producer_epoch > 0 {
                let late = Batch { producer_epoch: batch.producer_epoch - 1, ..again };
                let mut append =
                    driver.states.begin(Origin::Coordinator).with_transaction_version(version);
                let refused = driver.states.push(&mut append, &late).map_err(|it| it.code());
                prop_assert_eq!(refused, Err(ErrorCode::InvalidProducerEpoch));
            }
            Ok(())
        }
    });
}

#[test]
fn ps_17_a_late_transaction_stays_late() {
    after_each_step(|| {
        |driver, _| {
            let steps = [0, 1, 1_199_999, 1_200_000, 1_200_100, 10_000_000, i64::MAX];
            let late = steps.map(|after| {
                let now = Timestamp::from_millis(driver.now).saturating_add(after);
                driver.states.has_late_transaction(now)
            });
            prop_assert!(late.is_sorted());
            prop_assert_eq!(late[6], driver.states.first_undecided_offset().is_some());
            Ok(())
        }
    });
}

#[test]
fn each_state_that_leaves_enters_again() {
    after_each_step(|| {
        |driver, step| {
            let config = driver.states.config().clone();
            let entered = ProducerStates::import(config, &step.after);
            prop_assert_eq!(&entered.unwrap().export(), &step.after);
            Ok(())
        }
    });
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn ps_16_sequences_go_around(
        sequence in 0..=MAX_SEQUENCE,
        one in 0..=MAX_SEQUENCE,
        other in 0..=MAX_SEQUENCE,
    ) {
        prop_assert_eq!(increment(decrement(sequence, one), one), sequence);
        prop_assert_eq!(decrement(increment(sequence, one), one), sequence);
        let sum = i64::from(sequence) + i64::from(one) + i64::from(other);
        let twice = increment(increment(sequence, one), other);
        prop_assert_eq!(i64::from(twice), sum % (1 << 31));
    }

    #[test]
    fn ps_18_stray_snapshots_go_but_the_one_above_all_segments(
        files in prop::collection::btree_set(0_i64..20, 0..8),
        segments in prop::collection::btree_set(0_i64..20, 0..8),
    ) {
        let mut states = ProducerStates::new(config(Verify::On));
        states.list_snapshots(files.iter().copied());
        let gone: BTreeSet<_> =
            states.forget_stray_snapshots(segments.iter().copied()).into_iter().collect();
        let left: BTreeSet<_> = states.snapshots().iter().collect();
        prop_assert!(gone.is_disjoint(&left));
        prop_assert_eq!(gone.union(&left).copied().collect::<BTreeSet<_>>(), files.clone());
        let stray: Vec<_> = left.difference(&segments).copied().collect();
        let above = files.last().filter(|last| segments.last().is_none_or(|it| *last > it));
        prop_assert_eq!(stray, above.copied().into_iter().collect::<Vec<_>>());
        prop_assert!(files.intersection(&segments).all(|offset| left.contains(offset)));
    }
}
