//! What holds of the level of `kraft.version` along a log, whoever leads and whatever is asked.

use crate::quorum::{LEADER, Quorum, SUPPORTED, key, update_voter, voter};
use crate::settings::cases;
use kafka_coordination::kraft::{ControlRecord, KRaftVersion, LogVoters, UpgradeMode};
use proptest::prelude::*;

const CASES: u32 = 300;

#[derive(Clone, Debug)]
enum Step {
    /// A replica is elected that has what is not committed, or has not.
    Elect {
        has_all: bool,
    },
    /// A voter tells of itself.
    Update {
        id: i32,
    },
    Upgrade {
        level: KRaftVersion,
        mode: UpgradeMode,
    },
    Add {
        id: i32,
    },
    Remove {
        id: i32,
    },
    /// A replica fetches from the end of the log.
    Fetch {
        id: i32,
    },
    /// What is queued is appended and flushed.
    Append,
    /// Everybody makes a snapshot of what is committed.
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 2..5_i32;
    let level = prop_oneof![1 => Just(KRaftVersion::V0), 2 => Just(KRaftVersion::V1)];
    let mode = prop_oneof![3 => Just(UpgradeMode::Apply), 1 => Just(UpgradeMode::ValidateOnly)];
    prop_oneof![
        2 => any::<bool>().prop_map(|has_all| Step::Elect { has_all }),
        6 => (2..4_i32).prop_map(|id| Step::Update { id }),
        4 => (level, mode).prop_map(|(level, mode)| Step::Upgrade { level, mode }),
        1 => id.clone().prop_map(|id| Step::Add { id }),
        1 => id.clone().prop_map(|id| Step::Remove { id }),
        6 => id.prop_map(|id| Step::Fetch { id }),
        4 => Just(Step::Append),
        1 => Just(Step::Snapshot),
    ]
}

/// Takes a step, with the log committed up to there.
fn run(mut quorum: Quorum, committed: &mut i64, step: &Step) -> Quorum {
    quorum.holds_back = true;
    match step {
        Step::Elect { has_all } => {
            let mut log = quorum.log.clone();
            if !has_all {
                log.truncate_to(*committed);
            }
            return Quorum::elected(voter(LEADER), log);
        }
        Step::Update { id } => {
            let sent = quorum.probes.len();
            quorum.update(&update_voter(key(*id)));
            if quorum.probes.len() > sent {
                let _ = quorum.probed(SUPPORTED);
            }
        }
        Step::Upgrade { level, mode } => {
            let log = LogVoters::from(&quorum.log);
            let epoch = quorum.leader.epoch();
            let leader = &mut quorum.leader;
            let _ = quorum.changes.upgrade_version(epoch, *level, *mode, leader, log);
            quorum.carry_out();
        }
        Step::Add { id } => {
            let sent = quorum.probes.len();
            quorum.add_key(key(*id));
            if quorum.probes.len() > sent {
                let _ = quorum.probed(SUPPORTED);
            }
        }
        Step::Remove { id } => {
            quorum.remove_key(key(*id));
        }
        Step::Fetch { id } => quorum.catch_up(key(*id)),
        Step::Append => quorum.append(),
        Step::Snapshot => {
            if *committed > 0 {
                quorum.log.on_snapshot(*committed);
            }
        }
    }
    *committed = quorum.leader.high_watermark().unwrap_or(0).max(*committed);
    quorum
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn kv_12_the_level_of_kraft_version_never_goes_down_along_a_log(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut quorum = Quorum::static_fenced([1, 2, 3]);
        let (mut committed, mut level) = (0, KRaftVersion::V0);
        for step in &steps {
            quorum = run(quorum, &mut committed, step);
            let written = quorum.log.kraft_versions().map(|(_, level)| level);
            let queued = quorum.queued.iter().flat_map(|queued| &queued.records);
            let queued = queued.filter_map(|record| match record {
                ControlRecord::KRaftVersion(level) => Some(*level),
                _ => None,
            });
            let levels: Vec<_> = written.chain(queued).collect();
            prop_assert!(levels.is_sorted(), "{:?} after {:?}", levels, step);
            // What is committed stays, whoever leads.
            prop_assert!(quorum.log.kraft_version() >= level);
            if committed > 0 {
                level = quorum.log.kraft_version_at(committed - 1).unwrap();
            }
        }
    }
}
