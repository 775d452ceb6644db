//! Shards that leave while something is under way.

use crate::one::{Alike, Least, One, PUSH, at, drain, manager};
use kafka_coordination::ErrorCode;
use kafka_coordination::topology::{
    ClassicJoin, Cleanup, Effect, Ending, Fencing, Life, LoadError, PushError, TopologyConfig,
    TopologyManager,
};

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

/// A manager of which one effect, the wait for a covered barrier, is carried out; the calls wait to be polled.
fn called(begin: impl FnOnce(&mut TopologyManager, &Alike)) -> (TopologyManager, Alike) {
    let groups = Alike(One::new(-2, Life::Empty).0.unwrap());
    let mut manager = manager(Fencing::Tokens, None);
    for group_id in ["a", "b"] {
        manager.observe(group_id, Some(&groups.0));
    }
    begin(&mut manager, &groups);
    let Some(Effect::AwaitCommit { operation }) = manager.poll_effect() else { panic!("no wait") };
    manager.written(operation, Ok(()), &groups, &mut Least, at(0));
    (manager, groups)
}

fn is_over(manager: &TopologyManager) -> bool {
    manager.operation_count() == 0 && manager.next_deadline().is_none() && !manager.has_effects()
}

#[test]
fn a_set_that_nobody_polled_answers_its_push_when_the_shard_leaves() {
    let mut push = None;
    let (mut manager, _) = called(|manager, groups| {
        push = Some(manager.push(&PUSH, groups, &mut Least, at(0)));
    });
    manager.unloaded();
    let result = Err(PushError::Write(ErrorCode::NotCoordinator));
    let expected = Effect::AnswerPush { operation: push.unwrap(), result };
    assert_eq!(manager.poll_effect(), Some(expected));
    assert!(is_over(&manager));
}

#[test]
fn deletes_that_nobody_polled_are_not_waited_for_when_the_shard_leaves() {
    for polled in 0..=2 {
        let mut request = None;
        let (mut manager, groups) = called(|manager, groups| {
            request = Some(manager.delete_groups(["a", "b"], groups, at(0)));
        });
        let calls: Vec<_> = (0..polled).filter_map(|_| manager.poll_effect()).collect();
        manager.unloaded();
        for call in calls {
            assert_eq!((manager.operation_count(), manager.has_effects()), (1, false));
            let Effect::Delete(call) = call else { panic!("{call:?}") };
            manager.delete_ended(&call, Ending::Done, &groups, &mut Least, at(1));
        }
        // No delete failed; whether the groups may be removed is asked where they are now.
        let remaining = vec!["a".into(), "b".into()];
        let operation = request.unwrap();
        let expected = Effect::DeleteGroups { operation, failed: Vec::new(), remaining };
        assert_eq!(manager.poll_effect(), Some(expected));
        assert!(is_over(&manager), "{polled}");
    }
}

#[test]
fn cleanups_and_conversions_end_with_the_shard_if_nobody_polled_their_calls() {
    let (mut manager, groups) = called(|manager, groups| {
        assert!(matches!(manager.start_cleanup(groups, at(0)), Cleanup::Started(_)));
    });
    manager.unloaded();
    assert!(matches!(manager.poll_effect(), Some(Effect::CleanupEnded { .. })));
    assert!(is_over(&manager));
    manager.loaded(1, at(0)).unwrap();
    manager.observe("a", Some(&groups.0));
    assert!(matches!(manager.start_cleanup(&groups, at(0)), Cleanup::Started(_)));

    let (mut manager, _) = called(|manager, groups| {
        assert!(matches!(manager.classic_join("a", groups, at(0)), ClassicJoin::Pending(_)));
    });
    manager.unloaded();
    assert!(
        matches!(manager.poll_effect(), Some(Effect::Join { group_id, .. }) if &*group_id == "a")
    );
    assert!(is_over(&manager));
}

#[test]
fn a_call_that_is_given_up_before_it_is_polled_is_not_made() {
    let mut manager = manager(Fencing::Tokens, Some(10));
    let group = One::new(-2, Life::Live);
    let push = manager.push(&PUSH, &group, &mut Least, at(0));
    manager.poll_effect();
    manager.written(push, Ok(()), &group, &mut Least, at(0));
    manager.handle_timeout(&group, &mut Least, at(10));
    assert!(matches!(manager.poll_effect(), Some(Effect::AnswerPush { .. })));
    assert!(!manager.has_effects());
}

/// Of a shard that left and came back.
#[test]
fn a_late_answer_to_a_delete_leaves_the_push_alone_that_has_the_group_now() {
    for ending in [Ending::Done, Ending::Failed(None)] {
        let mut manager = manager(Fencing::Tokens, None);
        let mut group = One::new(-2, Life::Empty);
        manager.observe("g", group.0.as_ref());
        let request = manager.delete_groups(["g"], &group, at(0));
        let old = drain(&mut manager, &mut group, at(0)).deletes.remove(0);
        manager.unloaded();
        manager.loaded(1, at(0)).unwrap();
        group.0.as_mut().unwrap().life = Life::Live;
        let push = manager.push(&PUSH, &group, &mut Least, at(0));
        let set = drain(&mut manager, &mut group, at(0)).sets.remove(0);
        manager.push(&PUSH, &group, &mut Least, at(0));
        assert_eq!(drain(&mut manager, &mut group, at(0)).pushes[0].1, Err(PushError::Busy));
        let window = manager.push_window("g").copied();
        assert!(window.is_some());

        manager.delete_ended(&old, ending, &group, &mut Least, at(1));
        let answers = drain(&mut manager, &mut group, at(1)).others;
        assert!(
            matches!(answers[..], [Effect::DeleteGroups { operation, .. }] if operation == request)
        );
        assert!(manager.is_busy("g"));
        assert_eq!(manager.push_window("g").copied(), window);
        manager.set_ended(&set, Ending::Done, &group, &mut Least, at(2));
        assert_eq!(drain(&mut manager, &mut group, at(2)).pushes, [(push, Ok(()))]);
        assert_eq!((manager.operation_count(), manager.is_busy("g")), (0, false));
    }
}
