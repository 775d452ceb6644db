//! The invariants of the module's documentation, by their numbers.

use crate::driver::{GROUPS, Step, act, broker, cases, settle, steps};
use crate::operations::follow;
use crate::streams_broker::{Behaviour, Broker, Event, Response};
use kafka_coordination::topology::{
    Backoff, BackoffConfig, Belief, Caller, Life, Mark, StoredEpoch, StreamsGroup, TopologyEpoch,
    TopologyManager, Window, mark,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// What a broker looked like before a step, and after it.
struct Seen<'a> {
    number: u32,
    step: &'a Step,
    before: &'a Broker,
    after: &'a Broker,
    events: &'a [Event],
    responses: &'a BTreeMap<u32, Response>,
}

/// Takes the steps, and has each looked at.
fn watch(steps: &[Step], mut look: impl FnMut(&Seen<'_>)) -> Broker {
    let mut after = broker();
    for (number, step) in (0..).zip(steps) {
        let before = after.clone();
        act(&mut after, number, step);
        let events = std::mem::take(&mut after.events);
        let responses = std::mem::take(&mut after.responses);
        let (before, events, responses) = (&before, &*events, &responses);
        look(&Seen { number, step, before, after: &after, events, responses });
    }
    after
}

/// What is stored of a group by the latest and by the committed state; nothing of a group that is no streams group.
fn stored(broker: &Broker, group_id: &str) -> [Option<StoredEpoch>; 2] {
    [&broker.log.latest, &broker.log.committed]
        .map(|shard| shard.streams(group_id).map(|group| group.belief.stored))
}

/// Looks at each group after each step.
fn each_group(steps: &[Step], look: impl Fn(&Broker, &str, Option<StoredEpoch>)) {
    watch(steps, |seen| {
        for group_id in GROUPS {
            for stored in stored(seen.after, group_id) {
                look(seen.after, group_id, stored);
            }
        }
    });
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn tb_1_calls_that_may_take_effect_are_covered(steps in steps()) {
        each_group(&steps, |broker, group_id, stored| {
            for sets in broker.plugin.outstanding(group_id) {
                let is_covered = match stored {
                    Some(StoredEpoch::Uncertain) => true,
                    Some(StoredEpoch::Held(epoch)) => sets == Some(epoch.get()),
                    Some(StoredEpoch::None) => sets.is_none(),
                    None => false,
                };
                assert!(is_covered, "{group_id}: {stored:?}, a call sets {sets:?}");
            }
        });
    }

    #[test]
    fn tb_2_a_held_epoch_is_what_the_plugin_holds(steps in steps()) {
        each_group(&steps, |broker, group_id, stored| {
            if let Some(StoredEpoch::Held(epoch)) = stored {
                assert_eq!(broker.plugin.held(group_id), Some(epoch.get()));
                assert!(!broker.plugin.outstanding(group_id).contains(&None));
            }
        });
    }

    #[test]
    fn tb_3_nothing_means_that_the_plugin_holds_nothing(steps in steps()) {
        each_group(&steps, |broker, group_id, stored| {
            if stored == Some(StoredEpoch::None) {
                assert_eq!(broker.plugin.held(group_id), None);
                assert!(broker.plugin.outstanding(group_id).iter().all(Option::is_none));
            }
        });
    }

    #[test]
    fn tb_4_a_group_that_left_has_left_nothing(steps in steps()) {
        each_group(&steps, |broker, group_id, stored| {
            if stored.is_none() {
                assert_eq!(broker.plugin.held(group_id), None);
                assert_eq!(broker.plugin.outstanding(group_id), []);
            }
        });
    }

    /// The broker of these tests asserts it at each call.
    #[test]
    fn tb_5_calls_come_after_a_committed_barrier(steps in steps()) {
        watch(&steps, |_| {});
    }

    #[test]
    fn tb_6_what_is_told_to_have_failed_is_uncertain_or_unchanged(steps in steps()) {
        let mut begun = BTreeMap::new();
        watch(&steps, |seen| {
            if let Step::Push((at, _), _) = seen.step {
                begun.insert(seen.number, (GROUPS[*at], stored(seen.before, GROUPS[*at])[0]));
            }
            for (request, response) in seen.responses {
                if let (Response::Push { error, .. }, Some((group_id, before))) =
                    (response, begun.get(request))
                    && !error.is_none()
                {
                    let after = stored(seen.after, group_id)[0];
                    let is_sound = match after {
                        Some(StoredEpoch::Uncertain) => true,
                        // A write that timed out, and was durable.
                        Some(StoredEpoch::Held(epoch)) => {
                            seen.after.plugin.held(group_id) == Some(epoch.get())
                        }
                        after => after == *before || !seen.after.is_loaded(),
                    };
                    assert!(is_sound, "{before:?} became {after:?} by {error}");
                }
            }
        });
    }

    #[test]
    fn tb_7_only_what_the_plugin_took_is_held(steps in steps()) {
        watch(&steps, |seen| {
            for event in seen.events {
                let Event::Append { error: ErrorCode::None, records } = event else { continue };
                for (group_id, record) in records {
                    if let Some((_, held @ 0.., _)) = record {
                        assert_eq!(seen.after.plugin.held(group_id), Some(*held));
                    }
                }
            }
        });
    }

    #[test]
    fn tb_8_a_held_epoch_becomes_uncertain_first_and_refusals_do_not_go_back(steps in steps()) {
        watch(&steps, |seen| {
            if matches!(seen.step, Step::Restart(_) | Step::Load) {
                return;
            }
            let known = |id: &String| seen.before.log.latest.streams(id).map(|it| it.belief);
            let mut last: BTreeMap<_, _> = BTreeMap::new();
            for event in seen.events {
                let Event::Append { error: ErrorCode::None, records } = event else { continue };
                for (group_id, record) in records {
                    let before = last.remove(group_id).unwrap_or_else(|| {
                        known(group_id).map(Belief::to_record)
                    });
                    if let (Some((stored, failed)), Some((_, new_stored, new_failed))) = (before, record) {
                        assert!(*new_failed >= failed);
                        assert!(stored < 0 || [stored, -2].contains(new_stored));
                    }
                    last.insert(group_id.clone(), record.map(|(_, stored, failed)| (stored, failed)));
                }
            }
        });
    }

    #[test]
    fn tb_9_one_member_is_asked_in_a_window(steps in steps()) {
        let mut windows = BTreeMap::new();
        watch(&steps, |seen| {
            for group_id in GROUPS {
                let was_asked = seen.responses.values().any(|response| {
                    matches!(response, Response::Heartbeat { is_asked: true, .. })
                });
                let window = seen.after.manager.push_window(group_id).copied();
                let before: Option<Window> =
                    windows.insert(group_id, window).flatten();
                let touches = |step: &Step| match step {
                    Step::Join((at, _), _) | Step::Stay((at, _)) | Step::Leave((at, _)) => {
                        GROUPS[*at] == group_id
                    }
                    _ => false,
                };
                if was_asked && touches(seen.step) && seen.responses.len() == 1 {
                    let window = window.expect("who asks opens a window");
                    assert!(!before.is_some_and(|it| it.is_active(window.epoch, seen.before.now)));
                    assert!(window.is_active(window.epoch, seen.after.now));
                }
            }
        });
    }

    #[test]
    fn tb_10_windows_grow_until_they_are_cleared(
        ops in prop::collection::vec((0..4_u8, -2..3_i32, 0..40_000_i64), 0..40),
    ) {
        let config = BackoffConfig::default().with_jitter_percent(0).unwrap();
        let (mut backoff, mut now) = (Backoff::new(config, 3), Monotonic::from_millis(0));
        for (op, epoch, wait) in ops {
            now = now.saturating_add(wait);
            let before = backoff.get("g").copied();
            match op {
                0 => {
                    let armed = backoff.arm_if_not_active("g", epoch, &mut Unasked, now);
                    prop_assert_eq!(armed, !before.is_some_and(|it| it.is_active(epoch, now)));
                }
                1 => backoff.arm_or_extend("g", epoch, &mut Unasked, now),
                2 => backoff.clear("g", epoch),
                _ => backoff.clear_group("other"),
            }
            let after = backoff.get("g").copied();
            match (before, after) {
                (Some(before), Some(after)) if after != before => {
                    let grown = before.epoch == after.epoch;
                    prop_assert_eq!(after.attempts, if grown { before.attempts + 1 } else { 0 });
                    prop_assert!(after.ends > now);
                    prop_assert!(op == 0 || before.epoch <= epoch, "a newer window was replaced");
                }
                (Some(before), None) => prop_assert_eq!((op, before.epoch), (2, epoch)),
                (None, Some(after)) => prop_assert_eq!((after.epoch, after.attempts), (epoch, 0)),
                _ => {}
            }
        }
    }

    #[test]
    fn tb_11_a_failed_delete_removes_no_window(steps in steps()) {
        watch(&steps, |seen| {
            if let Step::EndCall(_, ending) = seen.step
                && ending != &Behaviour::Success
                && seen.before.plugin.pending().len() == seen.after.plugin.pending().len() + 1
                && seen.events.is_empty()
            {
                for group_id in GROUPS {
                    let [before, after] = [seen.before, seen.after]
                        .map(|it| it.manager.push_window(group_id).is_some());
                    // Another group of the batch may have been deleted; then its record is written.
                    assert!(after || !before || !seen.after.is_loaded(), "{group_id}");
                }
            }
        });
    }

    #[test]
    fn tb_12_no_live_group_is_marked_to_be_deleted_from_the_plugin(steps in steps()) {
        watch(&steps, |seen| {
            let (Step::ClassicJoin(_) | Step::DeleteGroups(_) | Step::Cleanup | Step::Tick) = seen.step
            else {
                return;
            };
            for group_id in GROUPS {
                let is_deleted = |it: &Event| matches!(it, Event::Delete { group_id: of, .. } if of == group_id);
                let begins = seen.after.manager.is_busy(group_id) || seen.events.iter().any(is_deleted);
                if begins && !seen.before.manager.is_busy(group_id) {
                    let group = seen.before.log.latest.streams(group_id);
                    assert!(group.is_some_and(|it| it.wants_cleanup()), "{group:?} is deleted");
                }
            }
        });
    }

    #[test]
    fn tb_12_the_table_of_barriers_says_so(stored in -2..4_i32, is_live in any::<bool>()) {
        let belief = Belief::from_record(stored, -1).unwrap();
        let life = if is_live { Life::Live } else { Life::Empty };
        let group = StreamsGroup { current: TopologyEpoch::new(1), belief, life };
        let is_refused = mark(Some(&group), Caller::Delete) == Mark::Refused;
        prop_assert_eq!(is_refused, is_live || stored == -1);
    }

    #[test]
    fn tb_13_what_is_wanted_comes_about(steps in steps()) {
        let mut broker = watch(&steps, |_| {});
        settle(&mut broker);
        for group_id in GROUPS {
            let Some(group) = broker.log.latest.0.get(group_id).filter(|it| it.is_streams()) else {
                continue;
            };
            if let Some(member) = group.members.first().cloned()
                && let Some(current) = group.current
            {
                broker.push(1_000, group_id, &member, current.get());
                let [latest, _] = stored(&broker, group_id);
                prop_assert_eq!(latest, Some(StoredEpoch::Held(current)));
            }
            for member in broker.log.latest.0[group_id].members.clone() {
                broker.heartbeat(1_001, group_id, &member, -1, 1, None);
            }
        }
        settle(&mut broker);
        broker.cleanup(1_002);
        broker.sweep(1_003);
        settle(&mut broker);
        for group_id in GROUPS {
            prop_assert_eq!(stored(&broker, group_id), [None, None]);
            prop_assert_eq!(broker.plugin.held(group_id), None);
        }
        prop_assert_eq!(broker.manager.operation_count(), 0);
    }

    #[test]
    fn tb_14_a_group_has_one_operation_at_a_time(steps in steps()) {
        watch(&steps, |seen| {
            let state = seen.after.manager.export().expect("effects are carried out");
            // The import counts them.
            TopologyManager::import(seen.after.manager.config().clone(), &state).unwrap();
        });
    }

    #[test]
    fn tb_15_nothing_is_kept_of_groups_that_left(steps in steps()) {
        watch(&steps, |seen| {
            for group_id in GROUPS {
                if seen.after.log.latest.streams(group_id).is_none() || !seen.after.is_loaded() {
                    assert_eq!(seen.after.manager.push_window(group_id), None);
                    assert_eq!(seen.after.manager.conversion_window(group_id), None);
                    assert!(!seen.after.manager.is_busy(group_id));
                }
            }
            assert!(seen.after.manager.uncleaned_count() <= GROUPS.len());
        });
    }

    #[test]
    fn tb_16_a_manager_that_left_and_entered_goes_on_as_before(steps in steps(), at in 0..60_usize) {
        let mut straight = broker();
        let mut moved = broker();
        for (number, step) in (0..).zip(&steps) {
            if number as usize == at {
                let state = moved.manager.export().expect("effects are carried out");
                let config = moved.manager.config().clone();
                moved.manager = TopologyManager::import(config, &state).unwrap();
            }
            act(&mut straight, number, step);
            act(&mut moved, number, step);
            prop_assert_eq!(straight.manager.export(), moved.manager.export());
        }
        prop_assert_eq!(&straight.events, &moved.events);
        prop_assert_eq!(&straight.responses, &moved.responses);
    }

    /// By hosts that keep no order, too, and from states that were made up.
    #[test]
    fn tb_17_each_operation_is_answered_once(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        follow(&bytes);
    }
}

/// Without jitter nothing is drawn.
struct Unasked;

impl Random for Unasked {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        panic!("without jitter nothing is drawn")
    }
}
