//! Heartbeats of groups at random, of which all have a window: inside of it, after it, and of groups that need none.

use crate::floor::Windows;
use crate::ratio::paired;
use criterion::Criterion;
use kafka_coordination::topology::{
    Belief, Fencing, Groups, Heartbeat, Life, Plugin, StreamsGroup, TopologyConfig, TopologyEpoch,
    TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::SeedableRng;
use std::hint::black_box;

const EPOCH: i32 = 5;

/// Every group is there, and has members.
struct All;

impl Groups for All {
    fn latest(&self, _: &str) -> Option<StreamsGroup> {
        let current = TopologyEpoch::new(EPOCH);
        Some(StreamsGroup { current, belief: Belief::NEW, life: Life::Live })
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        self.latest(group_id)
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_offsets(&self, _: &str) -> bool {
        false
    }
}

/// A heartbeat of a group of which that is believed.
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

/// Benches three numbers of groups.
pub(crate) fn bench(criterion: &mut Criterion) {
    for groups in [1_000, 100_000, 1_000_000] {
        // 21 letters, as many as a readable application id has.
        let ids: Vec<Box<str>> =
            (0..groups).map(|id| format!("application-{id:09}").into_boxed_str()).collect();
        let plugin = Plugin::Present(Fencing::Tokens);
        let config = TopologyConfig::default().with_plugin(plugin).with_hash_seed(0x5eed);
        let mut manager = TopologyManager::new(config);
        manager.loaded(0, Monotonic::from_millis(0)).expect("it is new");
        let mut random = Pcg32::seed_from_u64(1);
        let mut windows = Windows::new();
        for id in &ids {
            windows.arm(id, EPOCH, 0);
            let now = Monotonic::from_millis(0);
            assert!(manager.heartbeat(&heartbeat(id, Belief::NEW), &All, &mut random, now));
        }
        // Neither finds in the cache what the other has just read.
        let mut visits = Visits::new(groups, 0x9e37_79b9_7f4a_7c15);
        let mut floor_visits = Visits::new(groups, 0xd1b5_4a32_d192_ed03);

        let floor = || assert!(windows.is_active(&ids[floor_visits.next()], EPOCH, 1));
        let case = || {
            let asked = heartbeat(&ids[visits.next()], Belief::NEW);
            let now = Monotonic::from_millis(1);
            assert!(!black_box(manager.heartbeat(&asked, &All, &mut random, now)));
        };
        paired(criterion, &format!("gate/in a window/{groups}"), floor, case);

        // Each visit comes after the longest window that any other one started.
        let (mut floor_now, mut now) = (0, 0);
        let floor = || {
            floor_now += 4_000_000;
            assert!(windows.arm(&ids[floor_visits.next()], EPOCH, floor_now));
        };
        let case = || {
            now += 4_000_000;
            let asked = heartbeat(&ids[visits.next()], Belief::NEW);
            let now = Monotonic::from_millis(now);
            assert!(manager.heartbeat(&asked, &All, &mut random, now));
        };
        paired(criterion, &format!("gate/asks/{groups}"), floor, case);

        let stored = Belief::from_record(EPOCH, -1).expect("an epoch");
        let floor = || {
            let id = &ids[floor_visits.next()];
            assert!(black_box(id.len()) == 21);
        };
        let case = || {
            let answered = heartbeat(&ids[visits.next()], stored);
            let now = Monotonic::from_millis(1);
            assert!(!black_box(manager.heartbeat(&answered, &All, &mut random, now)));
        };
        paired(criterion, &format!("gate/has what it needs/{groups}"), floor, case);
    }
}

/// Groups in random order.
struct Visits {
    groups: u64,
    random: u64,
}

impl Visits {
    const fn new(groups: u64, random: u64) -> Self {
        Self { groups, random }
    }

    const fn next(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random as u128 * self.groups as u128) >> 64) as usize
    }
}
