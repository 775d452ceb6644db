//! Invariants 14 to 20: what an answer carries and what it leaves behind.

use super::{after_each_step, created};
use crate::driver::{Did, Driver, Finished, Step, visit};
use crate::encoding::{Carried, encode};
use crate::reading::Reading;
use crate::request::{Key, Request};
use crate::twin::keys;
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{
    CacheConfig, ContextKind, FetchCache, FetchMetadata, PartitionRead, Reported, SessionState,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::BTreeMap;

/// A step that generated an answer of a session that lives on.
fn generated(step: &Step) -> Option<(&Finished, &SessionState)> {
    let Did::Finished(finished) = &step.did else { return None };
    let session = step.after.session(finished.answer.session_id)?;
    let is_of_session = match finished.kind {
        ContextKind::Incremental => finished.answer.error == ErrorCode::None,
        ContextKind::Full => created(step).is_some(),
        _ => false,
    };
    is_of_session.then_some((finished, session))
}

fn reported(session: &SessionState, key: &Key) -> Option<Reported> {
    let at = keys(session).iter().position(|it| it.is_same(key, session.uses_topic_ids))?;
    Some(session.partitions[at].reported)
}

/// The readings without those of a partition that was handed in twice.
fn is_simple(finished: &Finished) -> bool {
    let by_id = finished.uses_topic_ids;
    finished.readings.iter().enumerate().all(|(at, (key, _))| {
        let earlier = &finished.readings[..at];
        !earlier.iter().any(|(other, _)| other.is_same(key, by_id))
    })
}

#[test]
fn fs_14_the_size_is_that_of_the_encoded_answer_and_asking_changes_nothing() {
    after_each_step(|| {
        |_, step| {
            let Did::Finished(finished) = &step.did else { return Ok(()) };
            let carried: Vec<Carried<'_>> = finished
                .readings
                .iter()
                .zip(&finished.included)
                .filter(|&(_, &is_included)| is_included)
                .map(|((key, reading), _)| {
                    (key.id, Some(key.name.as_str()), key.partition, reading)
                })
                .collect();
            let answer = &finished.answer;
            let (error, session_id) = (answer.error.code(), answer.session_id);
            let encoded = encode(finished.version, error, session_id, &carried);
            // A partition that is handed in twice is sized twice before the first is committed.
            if is_simple(finished) {
                prop_assert_eq!(finished.sizes, [4 + encoded.len() as u64; 2]);
            }
            prop_assert!(!finished.sizing_changed);
            Ok(())
        }
    });
}

/// Reads the partitions of an answer once more, in a cache of its own that takes the session over:
/// whether the next answer carries each, and whether it should. `again` says what the second read
/// finds after the first, and whether that has to be carried.
fn read_again(
    driver: &mut Driver,
    step: &Step,
    again: impl Fn(&Finished, &Reading) -> Option<(Reading, bool)>,
) -> TestCaseResult {
    let Some((finished, session)) = generated(step) else { return Ok(()) };
    if session.partitions.is_empty() {
        return Ok(());
    }
    let config = CacheConfig::default().with_shards(8).and_then(|it| it.with_slots(1 << 20));
    let mut cache = FetchCache::import(config.unwrap(), &step.after.state).unwrap();
    let request = Request {
        version: if session.uses_topic_ids { 18 } else { 12 },
        metadata: FetchMetadata { session_id: session.id, epoch: session.epoch },
        fetcher: session.fetcher,
        profile: session.profile,
        principal: 0,
        wanted: Vec::new(),
        forgotten: Vec::new(),
        names: crate::universe::NOTHING,
    };
    let context = request.begin(&mut cache, step.now);
    let mut expected = Vec::new();
    let mut reads = Vec::new();
    for visited in visit(&mut cache, &context) {
        let key = &visited.key;
        let mut readings = finished.readings.iter().rev();
        let read = readings.find(|(it, _)| it.is_same(key, session.uses_topic_ids));
        let Some((reading, is_carried)) = read.and_then(|(_, it)| again(finished, it)) else {
            continue;
        };
        let slot = cache.slots(&context).find(key.id, &key.name, key.partition);
        reads.push(reading.at(slot.unwrap()));
        expected.push(is_carried);
    }
    cache.finish(context, &mut reads, &mut driver.random, step.now);
    let included: Vec<bool> = reads.iter().map(PartitionRead::is_included).collect();
    prop_assert_eq!(included, expected);
    Ok(())
}

#[test]
fn fs_15_the_same_reads_again_carry_what_every_answer_repeats() {
    after_each_step(|| {
        |driver, step| {
            read_again(driver, step, |_, reading| Some((*reading, reading.is_repeated())))
        }
    });
}

#[test]
fn fs_16_an_answer_carries_reads_as_they_are_and_in_their_order() {
    after_each_step(|| {
        |_, step| {
            if let Did::Finished(finished) = &step.did {
                prop_assert!(finished.reads_kept);
                prop_assert_eq!(finished.included.len(), finished.readings.len());
                let is_error = finished.answer.error != ErrorCode::None;
                prop_assert!(!is_error || finished.included.iter().all(|included| !included));
            }
            Ok(())
        }
    });
}

#[test]
fn fs_17_what_is_left_out_has_nothing_that_the_fetcher_was_not_told() {
    after_each_step(|| {
        |_, step| {
            let Some((finished, session)) = generated(step) else { return Ok(()) };
            for ((key, reading), included) in finished.readings.iter().zip(&finished.included) {
                if *included {
                    continue;
                }
                prop_assert!(finished.kind == ContextKind::Incremental);
                prop_assert!(!reading.is_repeated());
                let told = Reported {
                    high_watermark: reading.high_watermark,
                    log_start_offset: reading.log_start,
                };
                prop_assert_eq!(reported(session, key), Some(told));
            }
            Ok(())
        }
    });
}

/// Also if nothing else changed. But the answer that created the session left the high watermark
/// behind that its error carried, if it carried one.
#[test]
fn fs_18_the_first_answer_without_the_error_of_the_last_is_carried() {
    after_each_step(|| {
        |driver, step| {
            read_again(driver, step, |finished, reading| {
                let high_watermark = reading.high_watermark.max(0);
                let is_sticky =
                    finished.kind == ContextKind::Incremental || reading.high_watermark < 0;
                let cleared = Reading::of(high_watermark, reading.log_start);
                (reading.error != ErrorCode::None).then_some((cleared, is_sticky))
            })
        }
    });
}

#[test]
fn fs_19_partitions_move_to_the_end_if_they_return_records() {
    after_each_step(|| {
        |_, step| {
            let Some((finished, session)) = generated(step) else { return Ok(()) };
            let Some(before) = step.before.session(session.id) else { return Ok(()) };
            let by_id = session.uses_topic_ids;
            let mut expected = keys(before);
            let has_records = |(_, reading): &&(Key, Reading)| reading.records > 0;
            for (key, _) in finished.readings.iter().filter(has_records) {
                if let Some(at) = expected.iter().position(|it| it.is_same(key, by_id)) {
                    let key = expected.remove(at);
                    expected.push(key);
                }
            }
            prop_assert_eq!(keys(session), expected);
            Ok(())
        }
    });
}

#[test]
fn fs_20_a_throttled_answer_leaves_the_session_as_it_was_accepted() {
    after_each_step(|| {
        let mut accepted: BTreeMap<usize, (i32, i32)> = BTreeMap::new();
        move |_, step| {
            match &step.did {
                Did::Begun(begun) if begun.kind == ContextKind::Incremental => {
                    let epoch = FetchMetadata::next_epoch(begun.request.metadata.epoch);
                    accepted.insert(begun.context, (begun.session_id, epoch));
                }
                Did::Throttled(context, answer) => {
                    prop_assert_eq!(&step.before.state, &step.after.state);
                    let Some((id, epoch)) = accepted.get(context) else {
                        prop_assert_eq!(answer.session_id, 0);
                        prop_assert_eq!(answer.error, ErrorCode::None);
                        return Ok(());
                    };
                    prop_assert_eq!(answer.session_id, *id);
                    if answer.error == ErrorCode::None {
                        let session = step.after.session(*id);
                        prop_assert!(session.is_none_or(|session| session.epoch == *epoch));
                    }
                }
                _ => {}
            }
            Ok(())
        }
    });
}
