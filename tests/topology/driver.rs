//! Random operations of clients, log, plugin and processes on a broker of three groups.

use crate::streams_broker::{Behaviour, Broker, Group};
use kafka_coordination::ErrorCode;
use kafka_coordination::topology::{Fencing, Plugin, TopologyConfig, TopologyEpoch};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::collections::BTreeMap;

/// The groups that clients know.
pub(crate) const GROUPS: [&str; 3] = ["a", "b", "c"];

/// The version of heartbeats that can ask.
const VERSION: i16 = 1;

/// So many cases, or as many as the environment variable `PROPTEST_CASES` says.
pub(crate) fn cases(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|it| it.parse().ok()).unwrap_or(cases);
    Config { failure_persistence: None, ..Config::with_cases(cases) }
}

/// A group of [`GROUPS`], and a member of it.
type At = (usize, bool);

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Join(At, i32),
    Stay(At),
    Leave(At),
    Push(At, i32),
    ClassicJoin(usize),
    DeleteGroups(Vec<usize>),
    Cleanup,
    Sweep,
    EndCall(usize, Behaviour),
    LandZombie(usize),
    FailAppend(ErrorCode),
    CommitsAtOnce(bool),
    Commit,
    Advance(i64),
    Tick,
    Miss(usize, i32),
    Unload,
    Load,
    Restart(bool),
    Plugin(Behaviour, Behaviour),
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        3 => Just(Behaviour::Pending),
        4 => Just(Behaviour::Success),
        1 => Just(Behaviour::PermanentFailure),
        1 => Just(Behaviour::TransientFailure),
        1 => Just(Behaviour::NotCalled),
    ]
}

fn ending() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        4 => Just(Behaviour::Success),
        1 => Just(Behaviour::PermanentFailure),
        1 => Just(Behaviour::TransientFailure),
    ]
}

fn log_error() -> impl Strategy<Value = ErrorCode> {
    prop_oneof![
        Just(ErrorCode::NotEnoughReplicas),
        Just(ErrorCode::NotLeaderOrFollower),
        Just(ErrorCode::MessageTooLarge),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let at = || (0..GROUPS.len(), any::<bool>());
    prop_oneof![
        6 => (at(), 5..7).prop_map(|(at, epoch)| Step::Join(at, epoch)),
        2 => at().prop_map(Step::Stay),
        5 => at().prop_map(Step::Leave),
        8 => (at(), 4..7).prop_map(|(at, epoch)| Step::Push(at, epoch)),
        3 => (0..GROUPS.len()).prop_map(Step::ClassicJoin),
        3 => prop::collection::vec(0..GROUPS.len(), 1..4).prop_map(Step::DeleteGroups),
        4 => Just(Step::Cleanup),
        3 => Just(Step::Sweep),
        8 => (0..4_usize, ending()).prop_map(|(at, ending)| Step::EndCall(at, ending)),
        2 => (0..2_usize).prop_map(Step::LandZombie),
        1 => log_error().prop_map(Step::FailAppend),
        1 => any::<bool>().prop_map(Step::CommitsAtOnce),
        6 => Just(Step::Commit),
        3 => (0..70_000_i64).prop_map(Step::Advance),
        3 => Just(Step::Tick),
        1 => (0..GROUPS.len(), 4..7).prop_map(|(at, epoch)| Step::Miss(at, epoch)),
        1 => Just(Step::Unload),
        3 => Just(Step::Load),
        1 => any::<bool>().prop_map(Step::Restart),
        2 => (behaviour(), behaviour()).prop_map(|(set, delete)| Step::Plugin(set, delete)),
    ]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..60)
}

/// A broker with a plugin that fences, and no groups.
pub(crate) fn broker() -> Broker {
    let plugin = Plugin::Present(Fencing::Tokens);
    let config = TopologyConfig::default().with_plugin(plugin).with_call_timeout_ms(50_000);
    let mut broker = Broker::new(config, BTreeMap::new());
    broker.log.splits = true;
    broker
}

/// A broker of these streams groups, in which nobody is but `m`, if anybody.
pub(crate) fn broker_of(groups: &[(&str, Group)]) -> Broker {
    let groups = groups.iter().map(|(id, group)| ((*id).to_owned(), group.clone())).collect();
    Broker::new(TopologyConfig::default().with_plugin(Plugin::Present(Fencing::Tokens)), groups)
}

/// Takes a step; its requests have this number.
pub(crate) fn act(broker: &mut Broker, number: u32, step: &Step) {
    let member = |is_second: bool| if is_second { "n" } else { "m" };
    match step {
        Step::Join((at, second), epoch) => {
            let topology = TopologyEpoch::new(*epoch);
            broker.heartbeat(number, GROUPS[*at], member(*second), 0, VERSION, topology);
        }
        Step::Stay((at, second)) => {
            broker.heartbeat(number, GROUPS[*at], member(*second), 7, VERSION, None);
        }
        Step::Leave((at, second)) => {
            broker.heartbeat(number, GROUPS[*at], member(*second), -1, VERSION, None);
        }
        Step::Push((at, second), epoch) => {
            broker.push(number, GROUPS[*at], member(*second), *epoch);
        }
        Step::ClassicJoin(at) => broker.classic_join(number, GROUPS[*at], ""),
        Step::DeleteGroups(ids) => {
            let ids = ids.iter().map(|at| GROUPS[*at].to_owned()).collect();
            broker.delete_groups(number, ids);
        }
        Step::Cleanup => broker.cleanup(number),
        Step::Sweep => broker.sweep(number),
        Step::EndCall(at, ending) => {
            if let Some(&call) = broker.plugin.pending().get(*at) {
                broker.end_call(call, *ending);
            }
        }
        Step::LandZombie(at) => broker.plugin.land_zombie(*at),
        Step::FailAppend(error) => broker.log.errors.push_back(*error),
        Step::CommitsAtOnce(at_once) => {
            broker.log.commits_at_once = *at_once;
            if *at_once {
                broker.commit();
            }
        }
        Step::Commit => broker.commit(),
        Step::Advance(ms) => broker.advance(*ms),
        Step::Tick => broker.tick(),
        Step::Miss(at, epoch) => {
            broker.miss(GROUPS[*at], TopologyEpoch::new(*epoch).unwrap());
        }
        Step::Unload if broker.is_loaded() => broker.unload(),
        Step::Load if !broker.is_loaded() => broker.load(),
        Step::Unload | Step::Load => {}
        Step::Restart(keeps) => {
            if !broker.is_loaded() {
                broker.load();
            }
            broker.restart(*keeps);
        }
        Step::Plugin(set, delete) => {
            broker.plugin.on_set = *set;
            broker.plugin.on_delete = *delete;
        }
    }
}

/// Lets whatever is under way go well.
pub(crate) fn settle(broker: &mut Broker) {
    broker.log.errors.clear();
    broker.log.commits_at_once = true;
    broker.plugin.on_set = Behaviour::Success;
    broker.plugin.on_delete = Behaviour::Success;
    if !broker.is_loaded() {
        broker.load();
    }
    loop {
        broker.commit();
        let Some(&call) = broker.plugin.pending().first() else { return };
        broker.end_call(call, Behaviour::Success);
    }
}
