//! Plugins that do not answer or cannot fence, clocks that go back or end.

use crate::one::{Alike, Least, One, PUSH, at, drain, heartbeat, manager};
use kafka_coordination::ErrorCode;
use kafka_coordination::topology::{
    Belief, ClassicJoin, Cleanup, Description, Effect, Ending, Fencing, Heartbeat, InMemoryPlugin,
    Life, PushError, PushRequest, TopologyConfig, TopologyManager,
};

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
    let heartbeat = Heartbeat { belief: group.0.unwrap().belief, ..heartbeat() };
    assert!(
        !manager.heartbeat(&heartbeat, &group, &mut Least, at(4_999)),
        "the push would be refused"
    );
    assert_eq!(manager.push_window("g"), None);
    assert!(manager.clone().heartbeat(&heartbeat, &group, &mut Least, at(5_000)));
    manager.push(&PUSH, &group, &mut Least, at(4_999));
    let drained = drain(&mut manager, &mut group, at(4_999));
    assert_eq!(drained.pushes[0].1, Err(PushError::Busy));
    assert_eq!(manager.push_window("g"), None, "it would outlive the wait");
    group.0.as_mut().unwrap().life = Life::Empty;
    manager.observe("g", group.0.as_ref());
    assert_eq!(manager.start_cleanup(&group, at(4_999)), Cleanup::Idle);
    assert_eq!(manager.classic_join("g", &group, at(4_999)), ClassicJoin::Refused);
    let operation = manager.delete_groups(["g"], &group, at(4_999));
    let remaining = vec!["g".into()];
    let expected = Effect::DeleteGroups { operation, failed: Vec::new(), remaining };
    assert_eq!(drain(&mut manager, &mut group, at(4_999)).others, [expected]);
    assert!(!manager.may_remove("g", group.0.as_ref()));

    let live = One::new(-2, Life::Live);
    assert_eq!(manager.classic_join("g", &live, at(4_999)), ClassicJoin::Admitted, "to be refused");

    assert!(matches!(manager.start_cleanup(&group, at(5_000)), Cleanup::Started(_)));
    let call = drain(&mut manager, &mut group, at(5_000)).deletes.remove(0);
    assert_eq!(manager.next_deadline(), Some(at(10_000)), "no call lives longer");
    manager.delete_ended(&call, Ending::Done, &group, &mut Least, at(5_001));
    drain(&mut manager, &mut group, at(5_001));
    assert!(manager.may_remove("g", group.0.as_ref()));
}

#[test]
fn no_setting_gives_up_a_call_as_it_is_made() {
    for fencing in [Fencing::Tokens, Fencing::Lifetime { lifetime_ms: 0 }] {
        let mut manager = manager(fencing, Some(0));
        let mut group = One::new(-1, Life::Live);
        manager.push(&PUSH, &group, &mut Least, at(7));
        let call = drain(&mut manager, &mut group, at(7)).sets.remove(0);
        manager.handle_timeout(&group, &mut Least, at(7));
        manager.set_ended(&call, Ending::Done, &group, &mut Least, at(7));
        assert_eq!(drain(&mut manager, &mut group, at(7)).pushes[0].1, Ok(()), "{fencing:?}");
    }
}

#[test]
fn cleanups_come_in_time_and_one_at_a_time() {
    let mut manager = manager(Fencing::Tokens, Some(u32::MAX));
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
fn a_cleanup_whose_call_is_not_answered_does_not_end_all_cleanup() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(3, Life::Empty);
    manager.observe("g", group.0.as_ref());
    for tick in [600_000, 1_200_000, 1_800_000] {
        manager.handle_timeout(&group, &mut Least, at(tick));
        assert_eq!(drain(&mut manager, &mut group, at(tick)).deletes.len(), 1, "at {tick}");
        assert_eq!(manager.next_deadline(), Some(at(tick + 600_000)));
    }
    assert_eq!(manager.counters().failed_deletes, 2);
}

#[test]
fn the_end_of_the_clock_is_no_deadline_for_ever() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(3, Life::Empty);
    manager.observe("g", group.0.as_ref());
    let mut now = at(i64::MAX - 600_000);
    for _ in 0..9 {
        manager.handle_timeout(&group, &mut Least, now);
        drain(&mut manager, &mut group, now);
        let Some(next) = manager.next_deadline() else { break };
        assert!(next > now, "a host would spin");
        now = next;
    }
    assert_eq!((manager.next_deadline(), manager.operation_count()), (None, 0));
}

/// A clock that went back, or a state of other settings.
#[test]
fn the_first_call_to_be_given_up_need_not_be_the_first_that_was_made() {
    let mut manager = manager(Fencing::Tokens, Some(1_000));
    let groups = Alike(One::new(-2, Life::Live).0.unwrap());
    let [late, early] = [("late", 9_000), ("early", 5_000)].map(|(group_id, now)| {
        let request = PushRequest { group_id, ..PUSH };
        let operation = manager.push(&request, &groups, &mut Least, at(now));
        assert_eq!(manager.poll_effect(), Some(Effect::AwaitCommit { operation }));
        manager.written(operation, Ok(()), &groups, &mut Least, at(now));
        assert!(matches!(manager.poll_effect(), Some(Effect::Set { .. })));
        operation
    });
    let state = manager.export().unwrap();
    let mut manager = TopologyManager::import(manager.config().clone(), &state).unwrap();
    for (push, deadline) in [(early, 6_000), (late, 10_000)] {
        assert_eq!(manager.next_deadline(), Some(at(deadline)));
        manager.handle_timeout(&groups, &mut Least, at(deadline));
        let answer = manager.poll_effect();
        assert!(matches!(answer, Some(Effect::AnswerPush { operation, .. }) if operation == push));
        assert!(!manager.has_effects());
    }
}

/// Each shard has its own manager, and their first calls have the same token.
#[test]
fn the_answer_to_a_call_of_another_shard_changes_nothing() {
    let uncertain = Alike(One::new(-2, Life::Empty).0.unwrap());
    let called = |group_id, is_push| {
        let mut manager = manager(Fencing::Tokens, None);
        if is_push {
            let request = PushRequest { group_id, ..PUSH };
            manager.push(&request, &uncertain, &mut Least, at(0));
        } else {
            manager.delete_groups([group_id], &uncertain, at(0));
        }
        let Some(Effect::AwaitCommit { operation }) = manager.poll_effect() else {
            panic!("no wait")
        };
        manager.written(operation, Ok(()), &uncertain, &mut Least, at(0));
        let call = manager.poll_effect();
        (manager, call)
    };
    for (mine, is_push) in [("a", true), ("a", false)] {
        for (other, is_pushed) in [("a", !is_push), ("b", true), ("b", false)] {
            let (mut manager, _) = called(mine, is_push);
            let before = manager.export();
            match called(other, is_pushed).1 {
                Some(Effect::Set { call, .. }) => {
                    manager.set_ended(&call, Ending::Done, &uncertain, &mut Least, at(0));
                }
                Some(Effect::Delete(call)) => {
                    manager.delete_ended(&call, Ending::Done, &uncertain, &mut Least, at(0));
                }
                effect => panic!("{effect:?}"),
            }
            assert!(before.is_some() && manager.export() == before, "{mine} {is_push} {other}");
        }
    }
}

#[test]
fn nothing_is_kept_of_groups_that_are_not_there() {
    let mut manager = manager(Fencing::Tokens, None);
    let heartbeat = Heartbeat { group_id: "gone", ..heartbeat() };
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

    group = One::new(-1, Life::Live);
    manager.push(&PUSH, &group, &mut Least, at(0));
    let call = drain(&mut manager, &mut group, at(0)).sets.remove(0);
    manager.set_ended(&call, Ending::Done, &group, &mut Least, at(0));
    let Some(Effect::Write { operation, .. }) = manager.poll_effect() else { panic!("no record") };
    group.0 = None;
    manager.observe("g", None);
    let error = Err(ErrorCode::NotEnoughReplicas);
    manager.written(operation, error, &group, &mut Least, at(0));
    drain(&mut manager, &mut group, at(0));
    assert_eq!((manager.push_window("g"), manager.operation_count()), (None, 0));
}

#[test]
fn a_clock_that_goes_back_makes_windows_longer_and_does_no_harm() {
    let mut manager = manager(Fencing::Tokens, Some(1_000));
    let mut group = One::new(-1, Life::Live);
    assert!(manager.heartbeat(&heartbeat(), &group, &mut Least, at(100_000)));
    assert!(!manager.heartbeat(&heartbeat(), &group, &mut Least, at(i64::MIN)));
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
