//! Static members, which leave for a while and come back.

use super::{Client, ErrorCode, SESSION, World, settle};
use crate::groups::consumer::LEAVE_FOR_NOW;

fn pair(world: &mut World) -> (Client, Client) {
    let mut a = Client {
        id: "a".to_owned(),
        instance: Some("one".to_owned()),
        epoch: 0,
        owned: super::Assignment::new(),
    };
    a.join(world, &["foo"]).unwrap();
    let mut b = world.join("b", &["foo"]);
    settle(world, &mut [&mut a, &mut b]);
    (a, b)
}

fn leave_for_now(client: &Client, world: &mut World) {
    let mut heartbeat = client.request();
    heartbeat.member_epoch = LEAVE_FOR_NOW;
    let told = world.group.leave(&heartbeat, &mut world.cluster, world.now).unwrap();
    assert_eq!(told.member_epoch, LEAVE_FOR_NOW);
}

#[test]
fn its_partitions_wait_for_a_static_member_that_comes_back() {
    let mut world = World::new(4);
    let (a, mut b) = pair(&mut world);
    let epoch = world.group.epoch();
    leave_for_now(&a, &mut world);
    b.beat(&mut world).unwrap();
    assert_eq!((b.count(), world.group.epoch()), (2, epoch), "nobody else gets them");
    let mut back = Client { id: "another".to_owned(), ..a.clone() };
    back.join(&mut world, &["foo"]).unwrap();
    assert_eq!((back.owned, world.group.epoch()), (a.owned.clone(), epoch));
    let mut old = a;
    assert_eq!(old.beat(&mut world).unwrap_err().0, ErrorCode::FencedInstanceId);
}

#[test]
fn a_static_member_that_does_not_come_back_is_out_after_its_session() {
    let mut world = World::new(4);
    let (a, mut b) = pair(&mut world);
    leave_for_now(&a, &mut world);
    world.pass(SESSION - 1);
    b.idle(&mut world).unwrap();
    world.pass(1);
    b.beat(&mut world).unwrap();
    assert_eq!(b.count(), 4);
}

#[test]
fn a_member_has_one_instance_id() {
    let mut world = World::new(4);
    let (mut a, _) = pair(&mut world);
    for instance in ["two", "three"] {
        a.instance = Some(instance.to_owned());
        a.join(&mut world, &["foo"]).unwrap();
    }
    assert_eq!(world.group.instances.keys().collect::<Vec<_>>(), ["three"]);
}

#[test]
fn the_instance_id_of_a_member_that_is_there_is_not_given_away() {
    let mut world = World::new(4);
    let (a, _) = pair(&mut world);
    let mut other = Client { id: "another".to_owned(), ..a };
    let refused = other.join(&mut world, &["foo"]).unwrap_err();
    assert_eq!(refused.0, ErrorCode::UnreleasedInstanceId);
}
