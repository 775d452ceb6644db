//! States that leave and enter.

use crate::driver::broker_of;
use crate::streams_broker::{Behaviour, Group};
use kafka_coordination::Monotonic;
use kafka_coordination::topology::{
    Belief, CallState, Token, TopologyEpoch, TopologyManager, TopologyState, TopologyStateError,
    Window,
};

fn group(stored: i32, members: &[&str]) -> Group {
    let mut group = Group { current: TopologyEpoch::new(3), ..Group::new("streams") };
    group.belief = Belief::from_record(stored, -1).unwrap();
    group.members = members.iter().map(|it| (*it).to_owned()).collect();
    group
}

fn state() -> (TopologyManager, TopologyState) {
    let mut broker =
        broker_of(&[("a", group(2, &["m"])), ("b", group(2, &[])), ("c", group(2, &[]))]);
    broker.heartbeat(0, "a", "n", 0, 1, None);
    broker.push(1, "a", "m", 3);
    broker.cleanup(2);
    let state = broker.manager.export().unwrap();
    (broker.manager, state)
}

fn refused(change: impl FnOnce(&mut TopologyState)) -> TopologyStateError {
    let (manager, mut state) = state();
    change(&mut state);
    TopologyManager::import(manager.config().clone(), &state).unwrap_err()
}

#[test]
fn a_state_with_all_kinds_of_things_enters_as_it_left() {
    let (manager, state) = state();
    assert_eq!((state.operations.len(), state.calls.len(), state.push_windows.len()), (2, 3, 1));
    let entered = TopologyManager::import(manager.config().clone(), &state).unwrap();
    assert_eq!(entered.export(), Some(state));
}

#[test]
fn a_state_does_not_leave_while_effects_wait() {
    let mut broker = broker_of(&[]);
    broker.manager.delete_groups(["g"], &broker.log.groups(), Monotonic::from_millis(0));
    assert_eq!(broker.manager.export(), None);
}

#[test]
fn each_broken_invariant_is_named() {
    type Error = TopologyStateError;
    let window = Window { epoch: 3, attempts: -1, ends: Monotonic::from_millis(0) };
    let order = |list| Error::Order { list };
    let not_loaded = |list| Error::NotLoaded { list };
    let numbers = |list| Error::Numbers { list };

    let attempts = refused(|it| it.conversion_windows = vec![("a".into(), window)]);
    assert_eq!(attempts, Error::Attempts { group_id: "a".into(), attempts: -1 });
    assert_eq!(
        refused(|it| it.push_windows.push(it.push_windows[0].clone())),
        order("push windows")
    );
    assert_eq!(refused(|it| it.uncleaned.reverse()), order("uncleaned groups"));
    assert_eq!(refused(|it| it.operations.reverse()), order("operations"));
    assert_eq!(refused(|it| it.calls.reverse()), order("calls"));
    assert_eq!(refused(|it| it.shard = None), not_loaded("push windows"));
    let operations = |it: &mut TopologyState| {
        (it.shard, it.push_windows, it.uncleaned) = (None, Vec::new(), Vec::new());
    };
    assert_eq!(refused(operations), not_loaded("operations"));
    assert_eq!(refused(|it| it.next_operation = 1), numbers("operations"));
    assert_eq!(refused(|it| it.next_token = Token::new(0, 1)), numbers("calls"));
    let half = u64::MAX / 2 + 1;
    assert_eq!(refused(|it| it.next_operation = half), numbers("operations"));
    assert_eq!(refused(|it| it.next_token = Token::new(0, half)), numbers("calls"));
    assert_eq!(
        refused(|it| (it.calls, it.next_token) = (Vec::new(), Token::new(-1, 0))),
        numbers("calls")
    );
    let twice = refused(|it| {
        let operation = it.operations[0].1.clone();
        it.operations[1].1 = operation;
    });
    assert_eq!(twice, Error::TwoOperations("a".into()));
    let (_, state) = state();
    let [push, cycle] = [state.operations[0].0, state.operations[1].0];
    assert_eq!(refused(|it| it.cycle = None), Error::Cycle(cycle));
    assert_eq!(refused(|it| it.cycle = Some(push)), Error::Cycle(push));
    assert_eq!(refused(|it| it.calls.truncate(2)), Error::Calls(cycle));
    assert_eq!(refused(|it| it.calls[2].index = 0), Error::Calls(cycle));
    let stranger = refused(|it| {
        it.next_operation = 9;
        let call = CallState { operation: push, index: 1, ..it.calls[0] };
        it.calls[0] = call;
    });
    assert_eq!(stranger, Error::Calls(push));
}

#[test]
fn the_highest_numbers_that_enter_are_counted_on() {
    let (_, mut state) = state();
    state.next_operation = u64::MAX / 2;
    state.next_token = Token::new(i32::MAX, u64::MAX / 2);
    state.counters.cleanup_cycles = u64::MAX;
    state.counters.deletes = u64::MAX;
    for (_, window) in &mut state.push_windows {
        (window.attempts, window.ends) = (i32::MAX, Monotonic::from_millis(i64::MIN));
    }
    let mut broker = broker_of(&[("a", group(3, &["m"])), ("d", group(2, &[]))]);
    broker.manager = TopologyManager::import(broker.manager.config().clone(), &state).unwrap();
    broker.manager.unloaded();
    broker.manager.loaded(i32::MAX, Monotonic::from_millis(0)).unwrap();
    broker.plugin.on_delete = Behaviour::Success;
    broker.delete_groups(0, ["a", "d"].map(str::to_owned).into());
    assert_eq!(broker.log.latest.streams("d"), None, "deleted with the next numbers");
    broker.cleanup(1);
    let counters = broker.manager.counters();
    assert_eq!((counters.deletes, counters.cleanup_cycles), (u64::MAX, u64::MAX));
    let after = broker.manager.export().unwrap();
    assert_eq!(after.next_token, Token::new(i32::MAX, u64::MAX / 2 + 1));
    assert_eq!(after.next_operation, u64::MAX / 2 + 1);
}
