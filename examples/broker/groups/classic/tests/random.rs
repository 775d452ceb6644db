//! Random requests: the group keeps its invariants, and answers everybody in the end.

use super::{Joined, Synced, World, protocol};
use crate::groups::GroupConfig;
use crate::groups::classic::State;
use proptest::prelude::*;
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The member of this place in the list of known ids joins; a new one beyond its end.
    Join {
        member: usize,
        instance: Option<u8>,
        must_know_id: bool,
        metadata: bool,
    },
    Sync {
        member: usize,
        generation: i32,
    },
    Heartbeat {
        member: usize,
        generation: i32,
    },
    Leave {
        member: usize,
    },
    Pass {
        ms: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let member = 0_usize..6;
    // Mostly the current generation.
    let generation = prop_oneof![4 => Just(0), 1 => -1..=1];
    prop_oneof![
        4 => (member.clone(), prop::option::of(0_u8..2), any::<bool>(), any::<bool>()).prop_map(
            |(member, instance, must_know_id, metadata)| Step::Join { member, instance, must_know_id, metadata }
        ),
        4 => (member.clone(), generation.clone())
            .prop_map(|(member, generation)| Step::Sync { member, generation }),
        2 => (member.clone(), generation).prop_map(|(member, generation)| Step::Heartbeat { member, generation }),
        1 => member.prop_map(|member| Step::Leave { member }),
        3 => (0_i64..20_000).prop_map(|ms| Step::Pass { ms }),
    ]
}

#[derive(Default)]
struct Clients {
    ids: Vec<String>,
    joining: Vec<Receiver<Joined>>,
    syncing: Vec<Receiver<Synced>>,
}

impl Clients {
    fn collect(&mut self) {
        let ids = &mut self.ids;
        self.joining.retain_mut(|answer| match answer.try_recv() {
            Ok(joined) => {
                if !joined.member_id.is_empty() && !ids.contains(&joined.member_id) {
                    ids.push(joined.member_id);
                }
                false
            }
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Closed) => panic!("a join is never answered"),
        });
        self.syncing.retain_mut(|answer| match answer.try_recv() {
            Ok(_) => false,
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Closed) => panic!("a sync is never answered"),
        });
    }

    fn id(&self, member: usize) -> String {
        // The last ones: the first may be long gone.
        self.ids.iter().rev().nth(member).cloned().unwrap_or_default()
    }
}

fn take(world: &mut World, clients: &mut Clients, step: Step) {
    let current = world.group.generation;
    let of = |member: usize, generation: i32| {
        let mut joined = Joined::refused(super::ErrorCode::None, clients.id(member));
        joined.generation = current + generation;
        joined
    };
    match step {
        Step::Join { member, instance, must_know_id, metadata } => {
            let mut join = world.request(&clients.id(member));
            join.instance_id = instance.map(|instance| instance.to_string());
            join.must_know_id = must_know_id;
            join.protocols = vec![protocol("range", if metadata { "some" } else { "other" })];
            let answer = world.send(join);
            clients.joining.push(answer);
        }
        Step::Sync { member, generation } => {
            let joined = of(member, generation);
            clients.syncing.push(world.sync(&joined, &[]));
        }
        Step::Heartbeat { member, generation } => {
            let joined = of(member, generation);
            world.heartbeat(&joined);
        }
        Step::Leave { member } => {
            world.leave(&clients.id(member));
        }
        Step::Pass { ms } => world.pass(ms),
    }
}

fn check(world: &World) {
    let group = &world.group;
    assert!(group.members.len() <= 3 && group.pending.len() <= 3);
    assert_eq!(group.leader.is_none(), group.members.is_empty());
    assert!(group.leader.iter().all(|leader| group.members.contains_key(leader)));
    for (instance, id) in &group.instances {
        assert_eq!(group.members[id].instance_id.as_ref(), Some(instance));
    }
    let statics = group.members.values().filter(|member| member.is_static()).count();
    assert_eq!(statics, group.instances.len());
    assert_eq!(group.join_timer.is_some(), group.state == State::PreparingRebalance);
    if group.state == State::Empty {
        assert!(group.members.is_empty());
    }
    assert_eq!(group.protocol_name.is_some(), {
        matches!(group.state, State::CompletingRebalance | State::Stable)
            || (group.state == State::PreparingRebalance && group.protocol_name.is_some())
    });
    for member in group.members.values() {
        assert!(member.session_deadline.is_some() || member.may_be_silent());
        assert!(!member.is_joining() || group.state == State::PreparingRebalance);
    }
}

proptest! {
    #[test]
    fn invariants_hold_and_nobody_waits_for_ever(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::with(GroupConfig { max_members: 3, ..GroupConfig::default() });
        let mut clients = Clients::default();
        for step in steps {
            take(&mut world, &mut clients, step);
            clients.collect();
            check(&world);
        }
        world.pass(3_600_000);
        clients.collect();
        check(&world);
        prop_assert!(clients.joining.is_empty() && clients.syncing.is_empty());
        prop_assert!(world.group.is_gone(), "all have fallen silent");
        prop_assert_eq!(world.group.next_deadline(), None);
    }
}
