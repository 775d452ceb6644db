//! What is done otherwise than in Kafka, and why nobody minds.

use crate::driver::broker_of;
use crate::one::{Least, One, PUSH, at, drain, heartbeat, manager};
use crate::streams_broker::{Behaviour, Broker, Event, Group, Response};
use kafka_coordination::ErrorCode;
use kafka_coordination::topology::{
    Belief, ClassicJoin, DescriptionStatus, Effect, Ending, Fencing, GetEnding, Life, StoredEpoch,
    TopologyEpoch,
};
use std::collections::BTreeMap;

const FAILED: ErrorCode = ErrorCode::StreamsTopologyDescriptionUpdateFailed;

fn group(stored: i32, members: &[&str]) -> Group {
    let mut group = Group { current: TopologyEpoch::new(3), ..Group::new("streams") };
    group.belief = Belief::from_record(stored, -1).unwrap();
    group.members = members.iter().map(|it| (*it).to_owned()).collect();
    group
}

fn stored(broker: &Broker) -> i32 {
    broker.log.latest.streams("g").unwrap().belief.stored.to_record()
}

fn error(response: &Response) -> ErrorCode {
    match response {
        Response::Push { error, .. } | Response::Other { error } => *error,
        Response::DeleteGroups { results } => results["g"],
        other => panic!("{other:?}"),
    }
}

/// Kafka calls the plugin again, and serves nothing meanwhile.
#[test]
fn a_push_of_what_is_stored_is_answered_without_the_plugin() {
    let mut broker = broker_of(&[("g", group(3, &["m"]))]);
    broker.push(0, "g", "m", 3);
    assert_eq!(error(&broker.responses[&0]), ErrorCode::None);
    assert_eq!((broker.events.len(), broker.plugin.pending().len(), stored(&broker)), (0, 0, 3));
}

/// Kafka takes -1 for the epoch of a group without topology, and then records that nothing is stored.
#[test]
fn a_push_without_epoch_is_refused() {
    let mut group = group(-1, &["m"]);
    group.current = None;
    let mut broker = broker_of(&[("g", group)]);
    for (request, pushed) in [(0, -1), (1, -2), (2, i32::MIN)] {
        broker.push(request, "g", "m", pushed);
        assert_eq!(error(&broker.responses[&request]), ErrorCode::InvalidRequest);
    }
    assert_eq!((broker.events.len(), stored(&broker)), (0, -1));
}

/// Kafka lets them overlap, and loses or leaks what the plugin holds.
#[test]
fn a_second_operation_is_refused_until_the_first_is_through() {
    let mut broker = broker_of(&[("g", group(-1, &["m"]))]);
    broker.push(0, "g", "m", 3);
    broker.push(1, "g", "m", 3);
    assert_eq!(error(&broker.responses[&1]), FAILED);
    assert!(broker.manager.push_window("g").is_some(), "it is asked for again, but not at once");
    broker.delete_groups(2, vec![String::from("g")]);
    assert_eq!(error(&broker.responses[&2]), ErrorCode::NonEmptyGroup);
    broker.heartbeat(3, "g", "m", -1, 1, None);
    broker.delete_groups(4, vec![String::from("g")]);
    assert_eq!(error(&broker.responses[&4]), ErrorCode::GroupDeletionFailed);
    broker.classic_join(5, "g", "");
    assert_eq!(error(&broker.responses[&5]), ErrorCode::RebalanceInProgress);
    broker.cleanup(6);
    assert_eq!(broker.plugin.pending(), [0], "the set alone");
    broker.end_call(0, Behaviour::Success);
    assert_eq!((error(&broker.responses[&0]), stored(&broker)), (ErrorCode::None, 3));
}

/// Kafka converts first, whatever is stored by then.
#[test]
fn a_conversion_makes_known_that_nothing_is_stored_before_it_converts() {
    let mut broker = broker_of(&[("g", group(3, &[]))]);
    broker.log.commits_at_once = false;
    broker.classic_join(0, "g", "");
    broker.commit();
    broker.end_call(0, Behaviour::Success);
    assert_eq!(stored(&broker), -1, "but that is not committed yet");
    assert!(!broker.responses.contains_key(&0));
    broker.commit();
    assert_eq!(error(&broker.responses[&0]), ErrorCode::MemberIdRequired);
    assert_eq!(broker.log.latest.0["g"].kind, "classic");
}

/// Kafka deletes the group, and what the plugin may hold is left for ever.
#[test]
fn a_group_whose_delete_could_not_be_recorded_stays() {
    let mut broker = broker_of(&[("g", group(3, &[]))]);
    broker.delete_groups(0, vec![String::from("g")]);
    broker.log.errors.push_back(ErrorCode::NotEnoughReplicas);
    broker.end_call(0, Behaviour::Success);
    assert_eq!(
        (error(&broker.responses[&0]), stored(&broker)),
        (ErrorCode::GroupDeletionFailed, -2)
    );
    broker.plugin.on_delete = Behaviour::Success;
    broker.delete_groups(1, vec![String::from("g")]);
    assert_eq!(error(&broker.responses[&1]), ErrorCode::None);
    assert_eq!(broker.log.latest.0, BTreeMap::new());
}

/// In Kafka the group answers "not stored" for ever.
#[test]
fn a_plugin_that_lost_a_description_gets_it_again() {
    let mut broker = broker_of(&[("g", group(3, &["m"]))]);
    let epoch = TopologyEpoch::new(3).unwrap();
    let answer = |broker: &mut Broker, ending| {
        let groups = broker.log.groups();
        let status = broker.manager.described("g", epoch, ending, &groups);
        broker.commit();
        status
    };
    assert_eq!(answer(&mut broker, GetEnding::Failed), DescriptionStatus::Error);
    assert_eq!(stored(&broker), 3, "a failure says nothing about what is held");
    assert_eq!(answer(&mut broker, GetEnding::Missing), DescriptionStatus::NotStored);
    assert_eq!(broker.log.committed.streams("g").unwrap().belief.stored, StoredEpoch::Uncertain);
    broker.heartbeat(0, "g", "n", 0, 1, None);
    assert!(matches!(broker.responses[&0], Response::Heartbeat { is_asked: true, .. }));
    broker.plugin.on_set = Behaviour::Success;
    broker.push(1, "g", "n", 3);
    assert_eq!((error(&broker.responses[&1]), stored(&broker)), (ErrorCode::None, 3));
    assert_eq!(broker.manager.operation_count(), 0);
}

/// Kafka keeps it until the id is used again, and for as long does not ask the new group.
#[test]
fn a_window_goes_with_its_group_and_with_its_shard() {
    let mut broker = broker_of(&[("g", group(-1, &[]))]);
    let asks = |broker: &mut Broker| {
        broker.heartbeat(0, "g", "m", 0, 1, TopologyEpoch::new(3));
        let is_asked = matches!(broker.responses[&0], Response::Heartbeat { is_asked: true, .. });
        broker.heartbeat(1, "g", "m", -1, 1, None);
        is_asked
    };
    assert!(asks(&mut broker));
    assert!(!asks(&mut broker), "inside of the window");
    broker.sweep(2);
    assert_eq!(broker.manager.push_window("g"), None);
    assert!(asks(&mut broker), "of a new group");
    broker.unload();
    broker.load();
    assert!(asks(&mut broker), "of a shard that was away");
}

/// In Kafka the end of the batch takes the uncertainty away on which the push relies.
#[test]
fn a_group_that_a_batch_is_through_with_need_not_wait_for_the_others() {
    let mut broker = broker_of(&[("g", group(3, &[])), ("slow", group(3, &[]))]);
    broker.cleanup(0);
    broker.end_call(0, Behaviour::Success);
    broker.heartbeat(1, "g", "m", 0, 1, None);
    broker.push(2, "g", "m", 3);
    assert_eq!(broker.plugin.pending(), [1, 2], "the other delete, and the set");
    broker.events.clear();
    broker.end_call(1, Behaviour::Success);
    let records = BTreeMap::from([(String::from("slow"), Some((0, -1, -1)))]);
    assert_eq!(broker.events, [Event::Append { error: ErrorCode::None, records }]);
    assert_eq!(stored(&broker), -2, "the push has the last word");
    broker.end_call(2, Behaviour::Success);
    assert_eq!((stored(&broker), broker.plugin.held("g")), (3, Some(3)));
}

/// In Kafka the end of the batch clears it.
#[test]
fn a_batch_that_ends_leaves_the_window_of_a_later_push_alone() {
    let mut broker = broker_of(&[("g", group(3, &[])), ("slow", group(3, &[]))]);
    broker.cleanup(0);
    broker.end_call(0, Behaviour::Success);
    broker.heartbeat(1, "g", "m", 0, 1, None);
    broker.push(2, "g", "m", 3);
    broker.end_call(2, Behaviour::TransientFailure);
    let window = broker.manager.push_window("g").copied();
    assert!(window.is_some(), "the plugin failed: it is left in peace for a while");
    broker.end_call(1, Behaviour::Success);
    assert_eq!(broker.manager.push_window("g").copied(), window);
    assert_eq!((stored(&broker), broker.manager.operation_count()), (-2, 0));
}

/// Kafka has converted the group by then. Clients that are sent away join again at once, and would have the plugin called
/// as often.
#[test]
fn a_conversion_whose_delete_could_not_be_recorded_is_not_tried_again_at_once() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(-2, Life::Empty);
    manager.observe("g", group.0.as_ref());
    assert!(matches!(manager.classic_join("g", &group, at(0)), ClassicJoin::Pending(_)));
    let call = drain(&mut manager, &mut group, at(0)).deletes.remove(0);
    manager.delete_ended(&call, Ending::Done, &group, &mut Least, at(0));
    let Some(Effect::Write { operation, .. }) = manager.poll_effect() else {
        panic!("not recorded")
    };
    manager.written(operation, Err(ErrorCode::NotEnoughReplicas), &group, &mut Least, at(0));
    assert!(matches!(manager.poll_effect(), Some(Effect::Join { .. })));
    assert!(!manager.may_remove("g", group.0.as_ref()), "the host answers 27");
    assert_eq!(manager.classic_join("g", &group, at(23_999)), ClassicJoin::Refused);
    assert!(!manager.has_effects());
    assert!(matches!(manager.classic_join("g", &group, at(24_000)), ClassicJoin::Pending(_)));
}

/// What is asked for when the answer comes is another epoch, or the push that waits knows better.
#[test]
fn a_get_that_found_nothing_long_ago_changes_nothing() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(3, Life::Live);
    let [old, current] = [2, 3].map(|it| TopologyEpoch::new(it).unwrap());
    manager.described("g", old, GetEnding::Missing, &group);
    for stored in [-2, -1] {
        manager.described("g", current, GetEnding::Missing, &One::new(stored, Life::Live));
    }
    assert!(!manager.has_effects());
    let push = manager.push(&PUSH, &group, &mut Least, at(0));
    manager.described("g", current, GetEnding::Missing, &group);
    assert_eq!(drain(&mut manager, &mut group, at(0)).pushes, [(push, Ok(()))]);
    assert_eq!((manager.operation_count(), manager.is_busy("g")), (0, false));
    assert_eq!(group.0.unwrap().belief.stored, StoredEpoch::Held(current));
}

/// A heartbeat that was written before the description was stored may ask for it after that.
#[test]
fn a_push_of_what_is_stored_ends_the_window_in_which_it_was_asked_for() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(3, Life::Live);
    assert!(manager.heartbeat(&heartbeat(), &group, &mut Least, at(0)));
    manager.push(&PUSH, &group, &mut Least, at(0));
    assert_eq!(drain(&mut manager, &mut group, at(0)).pushes[0].1, Ok(()));
    assert_eq!(manager.push_window("g"), None);
}
