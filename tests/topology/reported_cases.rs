//! Public bug reports of brokers, as transcripts named after their tickets.

use crate::driver::{broker_of, settle};
use crate::streams_broker::{Behaviour, Broker, Event, Group, Response};
use core::num::NonZeroU32;
use kafka_coordination::topology::{
    Backoff, BackoffConfig, Belief, Describe, Described, DescriptionStatus, Fencing, GetEnding,
    Heartbeat, Plugin, StoredEpoch, TopologyConfig, TopologyEpoch, TopologyManager, Window,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use std::collections::BTreeMap;

fn epoch(number: i32) -> TopologyEpoch {
    TopologyEpoch::new(number).unwrap()
}

/// A group of topology 3 of which that much is stored, with these members.
fn group(stored: i32, members: &[&str]) -> Group {
    let mut group = Group { epoch: 7, current: Some(epoch(3)), ..Group::new("streams") };
    group.belief = Belief::from_record(stored, -1).unwrap();
    group.members = members.iter().map(|it| (*it).to_owned()).collect();
    group
}

fn stored(broker: &Broker, group_id: &str) -> i32 {
    broker.log.latest.streams(group_id).unwrap().belief.stored.to_record()
}

/// Whether a new member is asked for the description.
fn asks(broker: &mut Broker, member_id: &str) -> bool {
    broker.heartbeat(99, "g", member_id, 0, 1, None);
    broker.commit();
    matches!(broker.responses.remove(&99), Some(Response::Heartbeat { is_asked: true, .. }))
}

fn describes(broker: &Broker) -> Describe {
    let group = broker.log.committed.streams("g").unwrap();
    broker.manager.describe(&Described {
        is_requested: true,
        error: ErrorCode::None,
        current: group.current,
        stored: Some(group.belief.stored),
    })
}

/// Crash points of a push.
#[test]
fn kafka_20748_a_push_heals_wherever_it_is_interrupted() {
    const NOT_STORED: Describe = Describe::Answer(DescriptionStatus::NotStored);
    for (steps, expected_stored, held, is_asked, is_deletable, described) in [
        (0, -1, None, true, false, NOT_STORED),
        (1, -2, None, true, true, NOT_STORED),
        (2, -2, Some(3), true, true, NOT_STORED),
        (3, 3, Some(3), false, true, Describe::Ask(epoch(3))),
    ] {
        let mut broker = broker_of(&[("g", group(-1, &["m"]))]);
        if steps >= 1 {
            broker.push(0, "g", "m", 3);
        }
        if steps >= 2 {
            // The plugin is done; of what is appended then, the crash leaves nothing unless it is a step later.
            broker.log.commits_at_once = steps >= 3;
            broker.end_call(0, Behaviour::Success);
        }
        broker.restart(false);
        broker.log.commits_at_once = true;
        assert_eq!(stored(&broker, "g"), expected_stored, "{steps} steps");
        assert_eq!(broker.plugin.held("g"), held, "{steps} steps");
        assert_eq!(describes(&broker), described, "{steps} steps");
        assert_eq!(asks(&mut broker, "n"), is_asked, "{steps} steps");
        for member in ["m", "n"] {
            broker.heartbeat(1, "g", member, -1, 1, None);
        }
        broker.plugin.on_delete = Behaviour::Success;
        broker.events.clear();
        broker.cleanup(2);
        let deletes = broker.events.iter().filter(|it| matches!(it, Event::Delete { .. })).count();
        assert_eq!(deletes == 1, is_deletable, "{steps} steps");
        assert_eq!((stored(&broker, "g"), broker.plugin.held("g")), (-1, None), "{steps} steps");
    }
}

/// KAFKA-20621 and KAFKA-20817, too: when a heartbeat asks for a push.
#[test]
fn kafka_20623_a_heartbeat_asks_if_all_of_it_fits() {
    let now = Monotonic::from_millis(0);
    let groups = broker_of(&[("g", group(-1, &["m"]))]).log.groups();
    let belief = |stored, failed| Belief::from_record(stored, failed).unwrap();
    let base = Heartbeat {
        group_id: "g",
        version: 1,
        member_epoch: 5,
        error: ErrorCode::None,
        statuses: &[],
        current: Some(epoch(3)),
        belief: belief(-1, -1),
    };
    let manager = |plugin| {
        let mut manager = TopologyManager::new(TopologyConfig::default().with_plugin(plugin));
        manager.loaded(0, now).unwrap();
        manager
    };
    let ask = |manager: &mut TopologyManager, heartbeat: &Heartbeat<'_>| {
        manager.heartbeat(heartbeat, &groups, &mut Middle, now)
    };
    let present = Plugin::Present(Fencing::Tokens);

    let mut absent = manager(Plugin::Absent);
    assert!(!ask(&mut absent, &base));
    assert_eq!(absent.push_window("g"), None);
    for refused in [
        Heartbeat { version: 0, ..base },
        Heartbeat { member_epoch: -1, ..base },
        Heartbeat { member_epoch: -2, ..base },
        Heartbeat { error: ErrorCode::UnknownMemberId, ..base },
        Heartbeat { current: None, ..base },
        Heartbeat { belief: belief(3, -1), ..base },
        Heartbeat { belief: belief(-1, 3), ..base },
        Heartbeat { statuses: &[1, 0], ..base },
    ] {
        let mut manager = manager(present);
        assert!(!ask(&mut manager, &refused), "{refused:?}");
        assert_eq!(manager.push_window("g"), None, "{refused:?}");
    }
    for asked in [
        base,
        Heartbeat { belief: belief(-2, -1), ..base },
        Heartbeat { belief: belief(2, -1), ..base },
        Heartbeat { belief: belief(4, -1), ..base },
        Heartbeat { belief: belief(-1, 2), ..base },
        // It raises the topology itself.
        Heartbeat { current: Some(epoch(4)), belief: belief(3, -1), ..base },
    ] {
        let mut manager = manager(present);
        assert!(ask(&mut manager, &asked), "{asked:?}");
        assert_eq!(manager.push_window("g").unwrap().epoch, asked.current.unwrap().get());
        assert!(!ask(&mut manager, &asked), "the second member in the same instant");
    }
    let mut manager = manager(present);
    assert!(ask(&mut manager, &Heartbeat { current: Some(epoch(2)), ..base }));
    assert!(ask(&mut manager, &base), "the window is for another epoch");
}

/// Draws what makes the factor of the jitter 1.
struct Middle;

impl Random for Middle {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        bound.get() / 2
    }
}

/// Arithmetic of windows.
#[test]
fn kafka_20623_windows_double_up_to_an_hour() {
    let at = Monotonic::from_millis;
    let mut backoff = Backoff::new(BackoffConfig::default(), 0);
    let close = |window: Option<&Window>, ends: i64| {
        let actual = window.unwrap().ends.as_millis();
        assert!((ends - 1..=ends).contains(&actual), "{actual} for {ends}");
    };
    assert!(backoff.arm_if_not_active("g", 3, &mut Middle, at(0)));
    close(backoff.get("g"), 30_000);
    assert!(!backoff.arm_if_not_active("g", 3, &mut Middle, at(29_998)));
    assert!(backoff.arm_if_not_active("g", 3, &mut Middle, at(30_000)));
    close(backoff.get("g"), 90_000);
    assert_eq!(backoff.get("g").unwrap().attempts, 1);

    let config = BackoffConfig::default();
    let delays = [30_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 3_600_000];
    for (attempts, delay) in (0..).zip(delays) {
        assert!(config.delay_ms(attempts, &mut Middle).abs_diff(delay) <= 1, "{attempts}");
    }

    let mut backoff = Backoff::new(config, 0);
    backoff.arm_or_extend("g", 3, &mut Middle, at(0));
    assert!(backoff.arm_if_not_active("g", 4, &mut Middle, at(100)));
    close(backoff.get("g"), 30_100);
    let window = *backoff.get("g").unwrap();
    backoff.arm_or_extend("g", 3, &mut Middle, at(200));
    backoff.clear("g", 3);
    assert_eq!(backoff.get("g"), Some(&window));
    backoff.clear("g", 4);
    assert_eq!(backoff.get("g"), None);
    backoff.arm_or_extend("g", 7, &mut Middle, at(0));
    backoff.clear_group("g");
    assert!(backoff.is_empty());
}

#[test]
fn kafka_20623_only_what_the_plugin_said_moves_a_window() {
    for (member, pushed, error) in
        [("stranger", 3, ErrorCode::UnknownMemberId), ("m", 4, ErrorCode::InvalidRequest)]
    {
        let mut broker = broker_of(&[("g", group(-1, &["m"]))]);
        broker.push(0, "g", member, pushed);
        assert_eq!(broker.responses[&0], Response::Push { error, message: None });
        assert_eq!(broker.manager.push_window("g"), None);
    }
    let mut broker = broker_of(&[]);
    broker.push(0, "g", "m", 3);
    let error = ErrorCode::GroupIdNotFound;
    assert_eq!(broker.responses[&0], Response::Push { error, message: None });
    assert_eq!(broker.manager.push_window("g"), None);

    for (behaviour, keeps) in [
        (Behaviour::TransientFailure, true),
        (Behaviour::PermanentFailure, false),
        (Behaviour::Success, false),
    ] {
        let mut broker = broker_of(&[("g", group(-1, &["m"]))]);
        assert!(asks(&mut broker, "n"));
        broker.plugin.on_set = behaviour;
        broker.push(0, "g", "m", 3);
        assert_eq!(broker.manager.push_window("g").is_some(), keeps, "{behaviour:?}");
    }
}

/// The windows of pushes and conversions are apart.
#[test]
fn kafka_20748_a_failed_conversion_leaves_the_window_of_pushes_alone() {
    let mut broker = broker_of(&[("g", group(3, &["m"]))]);
    broker.heartbeat(0, "g", "m", -1, 1, None);
    broker.plugin.on_delete = Behaviour::TransientFailure;
    broker.classic_join(1, "g", "");
    let error = ErrorCode::RebalanceInProgress;
    assert_eq!(broker.responses[&1], Response::Other { error });
    assert!(asks(&mut broker, "n"));
    let (pushes, conversions) = (
        *broker.manager.push_window("g").unwrap(),
        *broker.manager.conversion_window("g").unwrap(),
    );
    assert_eq!((pushes.epoch, conversions.epoch), (3, -2));
    broker.heartbeat(2, "g", "n", -1, 1, None);
    broker.events.clear();
    broker.classic_join(3, "g", "");
    assert_eq!(broker.responses[&3], Response::Other { error });
    assert_eq!(broker.events, [], "the plugin is left in peace");
    assert_eq!(broker.manager.push_window("g"), Some(&pushes));
    assert_eq!(broker.manager.conversion_window("g"), Some(&conversions));
}

/// What is served when a group is described.
#[test]
fn kafka_20624_only_the_description_of_the_current_topology_is_served() {
    let described = |current: Option<i32>, stored: i32| Described {
        is_requested: true,
        error: ErrorCode::None,
        current: current.map(epoch),
        stored: Some(StoredEpoch::from_record(stored).unwrap()),
    };
    let with = |plugin| TopologyManager::new(TopologyConfig::default().with_plugin(plugin));
    let (absent, present) = (with(Plugin::Absent), with(Plugin::Present(Fencing::Tokens)));
    let answer = |status| Describe::Answer(status);
    let not_asked = Described { is_requested: false, ..described(Some(3), 3) };
    let in_error = Described { error: ErrorCode::GroupIdNotFound, ..described(Some(3), 3) };
    for manager in [&absent, &present] {
        assert_eq!(manager.describe(&not_asked), answer(DescriptionStatus::NotRequested));
        assert_eq!(manager.describe(&in_error), answer(DescriptionStatus::NotRequested));
    }
    let not_stored = answer(DescriptionStatus::NotStored);
    assert_eq!(absent.describe(&described(Some(3), 3)), not_stored);
    assert_eq!(present.describe(&described(None, -1)), not_stored);
    for stored in [-1, -2, 2, 4] {
        assert_eq!(present.describe(&described(Some(3), stored)), not_stored);
    }
    assert_eq!(present.describe(&described(Some(3), 3)), Describe::Ask(epoch(3)));
    for (ending, status) in [
        (GetEnding::Found, DescriptionStatus::Available),
        (GetEnding::Missing, DescriptionStatus::NotStored),
        (GetEnding::Failed, DescriptionStatus::Error),
        (GetEnding::Unreadable, DescriptionStatus::Error),
    ] {
        assert_eq!(ending.status(), status);
    }
}

/// Groups are deleted while the plugin is broken.
#[test]
fn kafka_20748_delete_groups_keeps_what_the_plugin_did_not_delete() {
    let mut broker = broker_of(&[
        ("a", group(3, &[])),
        ("b", group(3, &[])),
        ("c", group(3, &["m"])),
        ("d", group(-1, &[])),
    ]);
    for group_id in ["a", "b"] {
        // Windows of both, from members that came and left.
        broker.log.latest.0.get_mut(group_id).unwrap().current = Some(epoch(4));
        broker.heartbeat(0, group_id, "x", 0, 1, None);
        broker.heartbeat(0, group_id, "x", -1, 1, None);
        assert!(broker.manager.push_window(group_id).is_some());
    }
    broker.events.clear();
    broker.delete_groups(1, ["a", "b", "c", "d"].map(str::to_owned).into());
    let Event::Append { records, .. } = &broker.events[0] else { panic!("no barrier") };
    assert_eq!(records.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(["a", "b", "c", "d"].map(|id| stored(&broker, id)), [-2, -2, 3, -1]);

    broker.end_call(0, Behaviour::Success);
    broker.end_call(1, Behaviour::TransientFailure);
    let results = BTreeMap::from([
        (String::from("a"), ErrorCode::None),
        (String::from("b"), ErrorCode::GroupDeletionFailed),
        (String::from("c"), ErrorCode::NonEmptyGroup),
        (String::from("d"), ErrorCode::None),
    ]);
    assert_eq!(broker.responses[&1], Response::DeleteGroups { results });
    assert_eq!(broker.log.latest.0.keys().collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(["b", "c"].map(|id| stored(&broker, id)), [-2, 3]);
    assert_eq!(broker.manager.push_window("a"), None);
    assert!(broker.manager.push_window("b").is_some());
}

#[test]
fn kafka_20748_without_a_barrier_the_plugin_is_not_called() {
    let mut broker = broker_of(&[("a", group(3, &[])), ("d", group(-1, &[]))]);
    broker.log.errors.push_back(ErrorCode::NotEnoughReplicas);
    broker.delete_groups(0, ["a", "d"].map(str::to_owned).into());
    let code = ErrorCode::CoordinatorNotAvailable;
    let results = ["a", "d"].map(|id| (id.to_owned(), code)).into();
    assert_eq!(broker.responses[&0], Response::DeleteGroups { results });
    assert!(broker.plugin.pending().is_empty());

    broker.events.clear();
    broker.delete_groups(1, vec![String::from("d")]);
    let records = BTreeMap::from([(String::from("d"), None)]);
    let tombstone = Event::Append { error: ErrorCode::None, records };
    assert_eq!(broker.events, [tombstone], "no barrier without need");
}

/// The window that is documented with KAFKA-20748: a set lands after a delete, and reports a failure.
#[test]
fn kafka_20748_a_set_that_overlaps_a_delete_waits_its_turn() {
    let mut broker = broker_of(&[("g", group(3, &[]))]);
    broker.cleanup(0);
    assert!(asks(&mut broker, "m"));
    broker.push(1, "g", "m", 3);
    let error = ErrorCode::StreamsTopologyDescriptionUpdateFailed;
    assert!(matches!(broker.responses[&1], Response::Push { error: it, .. } if it == error));
    assert_eq!(broker.plugin.pending(), [0], "the delete alone");
    broker.end_call(0, Behaviour::Success);
    assert_eq!((stored(&broker, "g"), broker.plugin.held("g")), (-1, None));

    assert!(asks(&mut broker, "n"), "as long as the group lives, a heartbeat asks again");
    broker.push(2, "g", "n", 3);
    settle(&mut broker);
    assert_eq!((stored(&broker, "g"), broker.plugin.held("g")), (3, Some(3)));
}
