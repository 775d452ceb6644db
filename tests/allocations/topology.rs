//! Groups of which nothing is under way.

use crate::allocations;
use core::num::NonZeroU32;
use kafka_coordination::topology::{
    Belief, Cleanup, Effect, Ending, Fencing, Groups, Heartbeat, Life, Plugin, StreamsGroup,
    TopologyConfig, TopologyEpoch, TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};

const EPOCH: i32 = 5;

struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

/// Every group is there, with this belief and no members.
struct All(Belief);

impl Groups for All {
    fn latest(&self, _: &str) -> Option<StreamsGroup> {
        let current = TopologyEpoch::new(EPOCH);
        Some(StreamsGroup { current, belief: self.0, life: Life::Empty })
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        self.latest(group_id)
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        false
    }

    fn has_offsets(&self, _: &str) -> bool {
        true
    }
}

fn at(ms: i64) -> Monotonic {
    Monotonic::from_millis(ms)
}

fn manager() -> TopologyManager {
    let config = TopologyConfig::default().with_plugin(Plugin::Present(Fencing::Tokens));
    let mut manager = TopologyManager::new(config);
    assert_eq!(manager.loaded(0, at(0)), Ok(()));
    manager
}

const fn heartbeat(group_id: &str, belief: Belief) -> Heartbeat<'_> {
    Heartbeat {
        group_id,
        version: 1,
        member_epoch: 7,
        error: ErrorCode::None,
        statuses: &[],
        current: TopologyEpoch::new(EPOCH),
        belief,
    }
}

fn ids(groups: usize) -> Vec<String> {
    (0..groups).map(|id| format!("application-{id:09}")).collect()
}

#[test]
fn heartbeats_allocate_nothing_but_the_first_window_of_a_group() {
    let (mut manager, ids, all) = (manager(), ids(1_000), All(Belief::NEW));
    let mut beat = |belief, ms| {
        allocations(|| {
            for id in &ids {
                manager.heartbeat(&heartbeat(id, belief), &all, &mut Least, at(ms));
            }
        })
    };
    let stored = Belief::from_record(EPOCH, -1).unwrap();
    assert_eq!(beat(stored, 0), 0, "of groups that have what they need");
    assert!(beat(Belief::NEW, 0) > 0);
    assert_eq!(beat(Belief::NEW, 1), 0, "in their windows");
    assert_eq!(beat(Belief::NEW, 100_000), 0, "asked again");
}

#[test]
fn groups_that_have_what_they_need_take_no_memory() {
    let (mut manager, ids) = (manager(), ids(1_000));
    let stored = Belief::from_record(EPOCH, -1).unwrap();
    let group = |life| StreamsGroup { current: TopologyEpoch::new(EPOCH), belief: stored, life };
    let count = allocations(|| {
        for id in &ids {
            manager.observe(id, Some(&group(Life::Live)));
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn a_window_takes_no_more_than_100_bytes() {
    // The last number is the first for which the hash table doubles: its worst case.
    for groups in [10_000, 100_000, 114_689] {
        let ids = ids(groups);
        let memory = allocation_counter::measure(|| {
            let mut manager = manager();
            for id in &ids {
                let asked = heartbeat(id, Belief::NEW);
                manager.heartbeat(&asked, &All(Belief::NEW), &mut Least, at(0));
            }
            core::mem::forget(manager);
        });
        let bytes = memory.bytes_current / i64::try_from(groups).unwrap();
        assert!(bytes <= 100, "{bytes} bytes a window of {groups}");
    }
}

#[test]
fn a_cleanup_looks_at_groups_that_want_it_alone() {
    let mut manager = manager();
    let stored = Belief::from_record(EPOCH, -1).unwrap();
    let group = |life, belief| StreamsGroup { current: TopologyEpoch::new(EPOCH), belief, life };
    for id in ids(10_000) {
        manager.observe(&id, Some(&group(Life::Live, stored)));
        manager.observe(&id, Some(&group(Life::Empty, Belief::NEW)));
    }
    manager.observe("left", Some(&group(Life::Empty, stored)));
    assert_eq!(manager.uncleaned_count(), 1);
    assert_eq!(manager.start_cleanup(&All(stored), at(0)), Cleanup::Idle, "it has offsets");
}

#[test]
fn nothing_is_kept_of_the_groups_of_a_deletion_that_is_through() {
    let (mut manager, all) = (manager(), All(Belief::from_record(-2, -1).unwrap()));
    let mut delete = |round: usize| {
        manager.delete_groups((0..100).map(|id| format!("{round}-{id}")), &all, at(0));
        while let Some(effect) = manager.poll_effect() {
            match effect {
                Effect::AwaitCommit { operation } | Effect::Write { operation, .. } => {
                    manager.written(operation, Ok(()), &all, &mut Least, at(0));
                }
                Effect::Delete(call) => {
                    manager.delete_ended(&call, Ending::Done, &all, &mut Least, at(0));
                }
                other => assert!(matches!(other, Effect::DeleteGroups { .. }), "{other:?}"),
            }
        }
    };
    // Tables have their size then.
    (0..10).for_each(&mut delete);
    let memory = allocation_counter::measure(|| (10..60).for_each(&mut delete));
    assert_eq!(memory.bytes_current, 0);
}
