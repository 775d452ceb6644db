//! The state and its model say the same, step by step (PS-19).

use crate::driver::{Did, Driver, Step, run};
use crate::operation::{operations, verify};
use crate::oracle::Answer;
use crate::settings::cases;
use kafka_coordination::producer::{AppendError, Guard, Verdict, VerificationError, Window};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn ps_19_a_state_says_what_a_model_of_the_whole_history_says(
        verify in verify(),
        operations in operations(80),
    ) {
        run(verify, &operations, compare)?;
    }
}

pub(crate) fn compare(driver: &mut Driver, step: &Step) -> TestCaseResult {
    match &step.did {
        Did::Appended { pushes, .. } => {
            for push in pushes {
                prop_assert_eq!(answer(push.verdict), push.expected, "{:?}", push);
            }
        }
        Did::Verified { answer, expected, .. } => {
            let answer = answer.map(|guard| guard.map(Guard::number));
            prop_assert_eq!(&answer.map_err(|error: VerificationError| error.code()), expected);
        }
        Did::Expired { .. } | Did::Snapshot(_) | Did::Else => {}
    }
    let (oracle, state) = (&driver.oracle, &step.after);
    let ids: Vec<_> = state.producers.iter().map(|it| it.producer_id).collect();
    prop_assert_eq!(ids, oracle.producers());
    for producer in &state.producers {
        let known = oracle.known(producer.producer_id).unwrap();
        let entry = &producer.entry;
        prop_assert_eq!(entry.epoch(), known.epoch);
        prop_assert_eq!(entry.coordinator_epoch(), known.coordinator_epoch);
        prop_assert_eq!(entry.last_timestamp().as_millis(), known.timestamp);
        prop_assert_eq!(entry.current_transaction(), known.open);
        let window: Window = known.batches.iter().map(|it| it.2).collect();
        prop_assert_eq!(*entry.window(), window);
    }
    let ongoing: Vec<_> =
        { state.ongoing.iter() }.map(|it| (it.first_offset, it.producer_id)).collect();
    prop_assert_eq!(ongoing, oracle.ongoing());
    let unreplicated: Vec<_> = { state.unreplicated.iter() }
        .map(|it| (it.first_offset, it.producer_id, it.last_offset))
        .collect();
    prop_assert_eq!(unreplicated, oracle.unreplicated());
    let pending: Vec<_> = { state.verifications.iter() }
        .map(|(producer, it)| {
            let bump = it.supports_epoch_bump();
            (*producer, it.guard().number(), it.lowest_sequence(), it.epoch(), bump)
        })
        .collect();
    let expected: Vec<_> = { oracle.pending.iter() }
        .map(|(producer, it)| (*producer, it.guard, it.lowest, it.epoch, it.bump))
        .collect();
    prop_assert_eq!(pending, expected);
    prop_assert_eq!(state.end_offset, oracle.end);
    for (number, &(completed, last_stable_offset)) in driver.index.iter().enumerate() {
        let (ended, offset) = oracle.indexed(number);
        prop_assert_eq!(completed.first_offset, ended.first);
        prop_assert_eq!(completed.producer_id, ended.producer);
        prop_assert_eq!(Some(completed.last_offset), ended.marker);
        prop_assert_eq!(completed.is_aborted, ended.is_aborted);
        prop_assert_eq!(last_stable_offset, offset);
    }
    Ok(())
}

fn answer(verdict: Result<Verdict, AppendError>) -> Answer {
    match verdict {
        Ok(Verdict::New | Verdict::NoProducer) => Answer::New,
        Ok(Verdict::Duplicate(it)) => {
            Answer::Duplicate(it.first_offset(), it.last_offset, it.timestamp.as_millis())
        }
        Err(error) => Answer::Refused(error.code()),
    }
}

/// Without this, equality could be that of two sides that refuse everything.
#[test]
fn the_operations_reach_every_outcome() {
    const LISTS: usize = 2_000;
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..LISTS {
        let lists = (verify(), operations(80)).new_tree(&mut runner);
        let (verify, operations) = lists.unwrap().current();
        run(verify, &operations, |driver, step| {
            if let Did::Appended { pushes, .. } = &step.did {
                seen.extend(pushes.iter().map(|push| match push.verdict {
                    Ok(Verdict::Duplicate(_)) => "duplicate".to_owned(),
                    Ok(_) => "new".to_owned(),
                    Err(error) => { format!("{error:?}") }.split(' ').next().unwrap().to_owned(),
                }));
            }
            if let Did::Expired { forgotten: 1.. } = step.did {
                seen.insert("expired".to_owned());
            }
            if driver.index.len() > 3 {
                seen.insert("several ended".to_owned());
            }
            if step.after.unconfirmed.len() > 1 {
                seen.insert("several unconfirmed".to_owned());
            }
            Ok(())
        })
        .unwrap();
        let wanted = [
            "new",
            "duplicate",
            "Sequence",
            "MarkerFromClient",
            "StaleEpoch",
            "LateMarker",
            "OutOfOrder",
            "EpochStart",
            "ProducerStart",
            "AboveTentative",
            "Unverified",
            "OutsideTransaction",
            "EpochInTransaction",
            "CoordinatorFenced",
            "expired",
            "several ended",
            "several unconfirmed",
        ];
        if wanted.iter().all(|&outcome| seen.contains(outcome)) {
            return;
        }
    }
    panic!("only {seen:?}");
}
