//! Plugins that do not answer or cannot fence, shards that leave, clocks that go back.

use kafka_coordination::topology::{
    Belief, ClassicJoin, Cleanup, DeleteCall, Description, Effect, Ending, Fencing, Groups,
    Heartbeat, InMemoryPlugin, Life, LoadError, OperationId, Plugin, PushError, PushRequest,
    SetCall, StreamsGroup, TopologyConfig, TopologyEpoch, TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use std::num::NonZeroU32;

const PUSH: PushRequest<'static> = PushRequest {
    group_id: "g",
    member_id: "m",
    topology_epoch: 3,
    description: Description::WellFormed,
};

struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

/// A group `g`, if it is there, whose records are committed at once.
#[derive(Clone, Copy)]
struct One(Option<StreamsGroup>);

impl One {
    fn new(stored: i32, life: Life) -> Self {
        let belief = Belief::from_record(stored, -1).unwrap();
        Self(Some(StreamsGroup { current: TopologyEpoch::new(3), belief, life }))
    }
}

impl Groups for One {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        self.0.filter(|_| group_id == "g")
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

const fn at(ms: i64) -> Monotonic {
    Monotonic::from_millis(ms)
}

fn manager(fencing: Fencing, timeout_ms: Option<u32>) -> TopologyManager {
    let config = TopologyConfig::default()
        .with_plugin(Plugin::Present(fencing))
        .with_call_timeout_ms(timeout_ms);
    let mut manager = TopologyManager::new(config);
    manager.loaded(0, at(0)).unwrap();
    manager
}

/// Commits what is written, and gives the calls and the answers.
fn drain(manager: &mut TopologyManager, group: &mut One, now: Monotonic) -> Drained {
    let mut drained = Drained::default();
    while let Some(effect) = manager.poll_effect() {
        match effect {
            Effect::Write { operation, beliefs, .. } => {
                group.0.as_mut().unwrap().belief = beliefs[0].belief;
                manager.observe("g", group.0.as_ref());
                manager.written(operation, Ok(()), group, &mut Least, now);
            }
            Effect::AwaitCommit { operation } => {
                manager.written(operation, Ok(()), group, &mut Least, now);
            }
            Effect::Set { call, .. } => drained.sets.push(call),
            Effect::Delete(call) => drained.deletes.push(call),
            Effect::AnswerPush { operation, result } => drained.pushes.push((operation, result)),
            other => drained.others.push(other),
        }
    }
    drained
}

#[derive(Default)]
struct Drained {
    sets: Vec<SetCall>,
    deletes: Vec<DeleteCall>,
    pushes: Vec<(OperationId, Result<(), PushError>)>,
    others: Vec<Effect>,
}

#[test]
fn a_call_that_is_not_answered_is_given_up_and_its_late_effect_is_fenced() {
    let mut manager = manager(Fencing::Tokens, Some(10_000));
    let mut group = One::new(-1, Life::Live);
    manager.observe("g", group.0.as_ref());
    let push = manager.push(&PUSH, &group, &mut Least, at(500));
    let late = drain(&mut manager, &mut group, at(500)).sets.remove(0);
    assert_eq!(manager.next_deadline(), Some(at(10_500)));
    manager.handle_timeout(&group, &mut Least, at(10_499));
    assert!(drain(&mut manager, &mut group, at(10_499)).pushes.is_empty());
    manager.handle_timeout(&group, &mut Least, at(10_500));
    let (answered, result) = drain(&mut manager, &mut group, at(10_500)).pushes.remove(0);
    assert_eq!((answered, result.unwrap_err().code().code()), (push, 135));
    assert!(!manager.is_busy("g"));
    assert!(manager.push_window("g").is_some(), "asked for again later");

    group.0.as_mut().unwrap().life = Life::Empty;
    manager.observe("g", group.0.as_ref());
    assert!(matches!(manager.start_cleanup(&group, at(11_000)), Cleanup::Started(_)));
    let delete = drain(&mut manager, &mut group, at(11_000)).deletes.remove(0);
    assert!(delete.token() > late.token());
    let mut plugin = InMemoryPlugin::new(0);
    assert!(plugin.delete(&delete));
    manager.delete_ended(&delete, Ending::Done, &group, &mut Least, at(11_001));
    drain(&mut manager, &mut group, at(11_001));
    assert!(!plugin.set(&late, "late"), "the plugin knows a later call");
    assert_eq!(plugin.epoch("g"), None);
    manager.set_ended(&late, Ending::Done, &group, &mut Least, at(11_002));
    assert!(!manager.has_effects(), "nobody waits for it");
    assert_eq!(group.0.unwrap().belief, Belief::NEW);
}

#[test]
fn without_fencing_nothing_is_called_until_old_calls_are_over() {
    let mut manager = manager(Fencing::Lifetime { lifetime_ms: 5_000 }, None);
    let mut group = One::new(-2, Life::Live);
    manager.observe("g", group.0.as_ref());
    manager.push(&PUSH, &group, &mut Least, at(4_999));
    let drained = drain(&mut manager, &mut group, at(4_999));
    assert_eq!(drained.pushes[0].1, Err(PushError::Busy));
    group.0.as_mut().unwrap().life = Life::Empty;
    manager.observe("g", group.0.as_ref());
    assert_eq!(manager.start_cleanup(&group, at(4_999)), Cleanup::Idle);
    assert_eq!(manager.classic_join("g", &group, at(4_999)), ClassicJoin::Refused);
    let operation = manager.delete_groups(["g"], &group, at(4_999));
    let remaining = vec!["g".into()];
    let expected = Effect::DeleteGroups { operation, failed: Vec::new(), remaining };
    assert_eq!(drain(&mut manager, &mut group, at(4_999)).others, [expected]);
    assert!(!manager.may_remove("g", group.0.as_ref()));

    assert!(matches!(manager.start_cleanup(&group, at(5_000)), Cleanup::Started(_)));
    let call = drain(&mut manager, &mut group, at(5_000)).deletes.remove(0);
    assert_eq!(manager.next_deadline(), Some(at(10_000)), "no call lives longer");
    manager.delete_ended(&call, Ending::Done, &group, &mut Least, at(5_001));
    drain(&mut manager, &mut group, at(5_001));
    assert!(manager.may_remove("g", group.0.as_ref()));
}

#[test]
fn a_shard_that_leaves_answers_whoever_waits() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(-1, Life::Live);
    let waits_for_the_log = manager.push(&PUSH, &group, &mut Least, at(0));
    manager.unloaded();
    let drained = drain(&mut manager, &mut group, at(0));
    let lost = || Err(PushError::Write(ErrorCode::NotCoordinator));
    assert_eq!(drained.pushes, [(waits_for_the_log, lost())]);
    let refused = manager.push(&PUSH, &group, &mut Least, at(0));
    assert_eq!(drain(&mut manager, &mut group, at(0)).pushes, [(refused, lost())]);

    manager.loaded(1, at(0)).unwrap();
    let waits_for_the_plugin = manager.push(&PUSH, &group, &mut Least, at(0));
    let call = drain(&mut manager, &mut group, at(0)).sets.remove(0);
    manager.unloaded();
    assert_eq!(manager.operation_count(), 1);
    manager.loaded(2, at(0)).unwrap();
    let again = manager.push(&PUSH, &group, &mut Least, at(0));
    let newer = drain(&mut manager, &mut group, at(0)).sets.remove(0);
    assert!(newer.token() > call.token());
    manager.set_ended(&call, Ending::Done, &group, &mut Least, at(0));
    let drained = drain(&mut manager, &mut group, at(0));
    assert_eq!(drained.pushes, [(waits_for_the_plugin, lost())], "and nothing is written");
    assert!(manager.is_busy("g"), "by the newer one");
    manager.set_ended(&newer, Ending::Done, &group, &mut Least, at(0));
    assert_eq!(drain(&mut manager, &mut group, at(0)).pushes, [(again, Ok(()))]);
}

#[test]
fn leader_epochs_do_not_go_back() {
    let mut manager = manager(Fencing::Tokens, None);
    assert_eq!(manager.loaded(1, at(0)), Err(LoadError::Loaded));
    manager.unloaded();
    manager.loaded(7, at(0)).unwrap();
    manager.unloaded();
    assert_eq!(manager.loaded(6, at(0)), Err(LoadError::LeaderEpoch { known: 7, given: 6 }));
    assert_eq!(manager.next_deadline(), None);
    assert_eq!(manager.loaded(7, at(0)), Ok(()));
    let fresh = || TopologyManager::new(TopologyConfig::default());
    assert_eq!(fresh().loaded(-1, at(0)), Err(LoadError::LeaderEpoch { known: -1, given: -1 }));
}

#[test]
fn cleanups_come_in_time_and_one_at_a_time() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(3, Life::Empty);
    manager.observe("g", group.0.as_ref());
    assert_eq!(manager.next_deadline(), Some(at(600_000)));
    manager.handle_timeout(&group, &mut Least, at(599_999));
    assert!(!manager.has_effects());
    manager.handle_timeout(&group, &mut Least, at(600_000));
    manager.handle_timeout(&group, &mut Least, at(600_000));
    let call = drain(&mut manager, &mut group, at(600_000)).deletes.remove(0);
    manager.handle_timeout(&group, &mut Least, at(1_200_000));
    assert!(!manager.has_effects(), "the cycle before is not through");
    assert_eq!(manager.start_cleanup(&group, at(1_200_000)), Cleanup::Skipped);
    manager.delete_ended(&call, Ending::NotCalled, &group, &mut Least, at(1_200_001));
    assert!(matches!(
        drain(&mut manager, &mut group, at(0)).others[..],
        [Effect::CleanupEnded { .. }]
    ));
    manager.handle_timeout(&group, &mut Least, at(1_800_000));
    assert_eq!(drain(&mut manager, &mut group, at(1_800_000)).deletes.len(), 1, "tried again");
    let counters = manager.counters();
    assert_eq!((counters.cleanup_cycles, counters.cleanup_eligible), (2, 2));
    assert_eq!((counters.deletes, counters.failed_deletes), (0, 1));
}

#[test]
fn nothing_is_kept_of_groups_that_are_not_there() {
    let mut manager = manager(Fencing::Tokens, None);
    let heartbeat = Heartbeat {
        group_id: "gone",
        version: 1,
        member_epoch: 1,
        error: ErrorCode::None,
        statuses: &[],
        current: TopologyEpoch::new(3),
        belief: Belief::NEW,
    };
    assert!(!manager.heartbeat(&heartbeat, &One(None), &mut Least, at(0)));
    assert_eq!(manager.push_window("gone"), None);

    let mut group = One::new(-1, Life::Live);
    manager.push(&PUSH, &group, &mut Least, at(0));
    let call = drain(&mut manager, &mut group, at(0)).sets.remove(0);
    // Whoever removed it did not ask.
    group.0 = None;
    manager.observe("g", None);
    manager.set_ended(&call, Ending::Failed(None), &group, &mut Least, at(0));
    drain(&mut manager, &mut group, at(0));
    assert_eq!(manager.push_window("g"), None);
    assert_eq!(manager.operation_count(), 0);
}

#[test]
fn a_clock_that_goes_back_makes_windows_longer_and_does_no_harm() {
    let mut manager = manager(Fencing::Tokens, Some(1_000));
    let mut group = One::new(-1, Life::Live);
    let heartbeat = Heartbeat {
        group_id: "g",
        version: 1,
        member_epoch: 1,
        error: ErrorCode::None,
        statuses: &[],
        current: TopologyEpoch::new(3),
        belief: Belief::NEW,
    };
    assert!(manager.heartbeat(&heartbeat, &group, &mut Least, at(100_000)));
    assert!(!manager.heartbeat(&heartbeat, &group, &mut Least, at(i64::MIN)));
    manager.push(&PUSH, &group, &mut Least, at(i64::MAX));
    assert_eq!(drain(&mut manager, &mut group, at(i64::MIN)).sets.len(), 1);
    manager.handle_timeout(&group, &mut Least, at(i64::MAX));
    assert_eq!(manager.operation_count(), 0);
}

#[test]
fn what_a_broker_without_plugin_is_asked_has_no_effect() {
    let mut manager = TopologyManager::new(TopologyConfig::default());
    manager.loaded(0, at(0)).unwrap();
    let mut group = One::new(3, Life::Empty);
    manager.observe("g", group.0.as_ref());
    assert_eq!(manager.next_deadline(), None);
    assert_eq!(manager.start_cleanup(&group, at(0)), Cleanup::Idle);
    assert_eq!(manager.classic_join("g", &group, at(0)), ClassicJoin::Admitted);
    assert!(manager.may_remove("g", group.0.as_ref()));
    manager.push(&PUSH, &group, &mut Least, at(0));
    let error = drain(&mut manager, &mut group, at(0)).pushes.remove(0).1.unwrap_err();
    assert_eq!(error.code(), ErrorCode::UnsupportedVersion);
    let operation = manager.delete_groups(["g"], &group, at(0));
    let remaining = vec!["g".into()];
    let expected = Effect::DeleteGroups { operation, failed: Vec::new(), remaining };
    assert_eq!(drain(&mut manager, &mut group, at(0)).others, [expected]);
}

#[test]
fn descriptions_are_checked_before_they_are_taken() {
    assert_eq!(Description::of([1, 2, 3], [(1, 2)]), Description::WellFormed);
    assert_eq!(Description::of([1, 4], []), Description::UnknownNodeType(4));
    assert_eq!(Description::of([0], [(2, 1)]), Description::UnknownNodeType(0));
    assert_eq!(Description::of([], [(2, 1)]), Description::MalformedGlobalStore);
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(-1, Life::Live);
    let node = Description::UnknownNodeType(9);
    for (request, code, message) in [
        (PushRequest { member_id: " \t\u{1}", ..PUSH }, 42, "MemberId can't be empty."),
        (PushRequest { group_id: "", ..PUSH }, 42, "GroupId can't be empty."),
        (
            PushRequest { description: Description::Missing, ..PUSH },
            42,
            "TopologyDescription can't be null.",
        ),
        (PushRequest { group_id: "h", ..PUSH }, 69, "Group h not found."),
        (
            PushRequest { topology_epoch: 4, description: node, ..PUSH },
            42,
            "Topology epoch 4 does not match the group's current topology epoch 3.",
        ),
        (PushRequest { description: node, ..PUSH }, 42, "Unknown topology node type: 9"),
    ] {
        manager.push(&request, &group, &mut Least, at(0));
        let error = drain(&mut manager, &mut group, at(0)).pushes.remove(0).1.unwrap_err();
        assert_eq!((error.code().code(), error.message().as_deref()), (code, Some(message)));
    }
    manager.push(&PushRequest { member_id: "\u{a0}", ..PUSH }, &group, &mut Least, at(0));
    assert_eq!(drain(&mut manager, &mut group, at(0)).sets.len(), 1, "Java does not trim that");
}
