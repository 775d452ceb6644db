//! Random members and topics: no partition is ever two members', and in the end everybody has a share.

use super::{Assignment, Client, FOO, World};
use crate::groups::consumer::member::size;
use kafka_coordination::TopicId;
use proptest::prelude::*;

const BAR: TopicId = TopicId::from_u128(2);

#[derive(Clone, Copy, Debug)]
enum Step {
    Join {
        member: usize,
        both: bool,
    },
    /// A heartbeat that says what the member has, or does not.
    Beat {
        member: usize,
        says: bool,
    },
    Subscribe {
        member: usize,
        both: bool,
    },
    Leave {
        member: usize,
    },
    Grow {
        partitions: usize,
    },
    Pass {
        ms: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let member = 0_usize..4;
    prop_oneof![
        2 => (member.clone(), any::<bool>()).prop_map(|(member, both)| Step::Join { member, both }),
        6 => (member.clone(), any::<bool>()).prop_map(|(member, says)| Step::Beat { member, says }),
        1 => (member.clone(), any::<bool>())
            .prop_map(|(member, both)| Step::Subscribe { member, both }),
        1 => member.prop_map(|member| Step::Leave { member }),
        1 => (1_usize..12).prop_map(|partitions| Step::Grow { partitions }),
        1 => (0_i64..30_000).prop_map(|ms| Step::Pass { ms }),
    ]
}

fn topics(both: bool) -> &'static [&'static str] {
    if both { &["foo", "bar"] } else { &["foo"] }
}

/// A client that is told that it is out has nothing any more.
fn or_drop(client: &mut Client, result: Result<(), super::Refusal>) {
    if result.is_err() {
        client.owned.clear();
    }
}

fn take(world: &mut World, clients: &mut [Client], step: Step) {
    match step {
        Step::Join { member, both } => {
            let client = &mut clients[member];
            let result = client.join(world, topics(both));
            or_drop(client, result);
        }
        Step::Beat { member, says } => {
            let client = &mut clients[member];
            let result = if says {
                client.beat(world)
            } else {
                // What it is told to give up it gives up, and says so later.
                client.idle(world).map(|told| {
                    if let Some(told) = told {
                        client.owned = told;
                    }
                })
            };
            or_drop(client, result);
        }
        Step::Subscribe { member, both } => {
            if world.group.members().contains_key(&clients[member].id)
                && clients[member].epoch == world.group.members()[&clients[member].id].epoch
            {
                clients[member].subscribe(world, topics(both));
            }
        }
        Step::Leave { member } => {
            let _refused = clients[member].leave(world);
            clients[member].owned.clear();
        }
        Step::Grow { partitions } => {
            let before = world.cluster.topics.by_id(FOO).map_or(0, |topic| topic.logs.len());
            if partitions > before {
                world.put(FOO, "foo", partitions);
            }
        }
        Step::Pass { ms } => {
            world.pass(ms);
            // Whoever was fenced hears of it before anybody else gets what it had.
            for client in clients.iter_mut() {
                if !world.group.members().contains_key(&client.id) {
                    client.owned.clear();
                }
            }
        }
    }
}

fn has_two_owners(clients: &[Client]) -> bool {
    let all: usize = clients.iter().map(Client::count).sum();
    let mut distinct = Assignment::new();
    for (topic, partitions) in clients.iter().flat_map(|client| &client.owned) {
        distinct.entry(*topic).or_default().extend(partitions);
    }
    size(&distinct) != all
}

proptest! {
    #[test]
    fn no_partition_is_two_members_and_all_are_somebodys_in_the_end(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut world = World::new(1);
        world.put(BAR, "bar", 3);
        let client = |id: &str| Client {
            id: id.to_owned(),
            instance: None,
            epoch: 0,
            owned: Assignment::new(),
        };
        let mut clients: Vec<_> = ["a", "b", "c", "d"].map(client).into();
        for step in steps {
            take(&mut world, &mut clients, step);
            prop_assert!(!has_two_owners(&clients));
        }
        for client in &mut clients {
            client.join(&mut world, topics(true)).unwrap();
        }
        for _ in 0..20 {
            for client in &mut clients {
                client.beat(&mut world).unwrap();
                // Between two heartbeats of one member the others may have theirs.
            }
            prop_assert!(!has_two_owners(&clients));
        }
        prop_assert_eq!(world.group.state(), "Stable");
        let image = world.cluster.topics.clone();
        let wanted: usize = [FOO, BAR].iter().map(|id| image.by_id(*id).unwrap().logs.len()).sum();
        let counts: Vec<_> = clients.iter().map(Client::count).collect();
        prop_assert_eq!(counts.iter().sum::<usize>(), wanted);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
    }
}
