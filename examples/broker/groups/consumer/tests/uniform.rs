//! The assignor.

use crate::groups::consumer::Assignment;
use crate::groups::consumer::member::size;
use crate::groups::consumer::uniform::{Candidate, assign};
use kafka_coordination::TopicId;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn topic(number: u128) -> TopicId {
    TopicId::from_u128(number)
}

/// Topics with their partitions, and of each member which of the topics it wants.
type Cluster = (BTreeMap<TopicId, i32>, Vec<BTreeSet<TopicId>>);

fn cluster(alike: bool) -> impl Strategy<Value = Cluster> {
    let topics = prop::collection::vec(0_i32..20, 1..5).prop_map(|counts| {
        let topics = (1..).map(topic).zip(counts);
        topics.collect::<BTreeMap<_, _>>()
    });
    let members = prop::collection::vec(prop::collection::vec(any::<bool>(), 5), 1..6);
    (topics, members).prop_map(move |(topics, members)| {
        let wants = |wanted: &Vec<bool>| {
            let wanted = topics.keys().zip(wanted).filter(|(_, wanted)| alike || **wanted);
            wanted.map(|(topic, _)| *topic).collect()
        };
        let members = members.iter().map(wants).collect();
        (topics, members)
    })
}

fn assign_to((topics, members): &Cluster, before: &[Assignment]) -> Vec<Assignment> {
    let none = Assignment::new();
    let candidates: Vec<_> = members
        .iter()
        .enumerate()
        .map(|(number, wanted)| Candidate {
            topics: wanted.clone(),
            target: before.get(number).unwrap_or(&none),
        })
        .collect();
    assign(topics, &candidates)
}

/// Every partition that somebody wants is one member's that wants it.
fn is_complete((topics, members): &Cluster, shares: &[Assignment]) -> bool {
    topics.iter().all(|(topic, count)| {
        let wanted = members.iter().any(|wanted| wanted.contains(topic));
        (0..*count).all(|partition| {
            let has = |share: &Assignment| {
                share.get(topic).is_some_and(|partitions| partitions.contains(&partition))
            };
            let owners = members.iter().zip(shares).filter(|(_, share)| has(share));
            let owners: Vec<_> = owners.collect();
            owners.len() == usize::from(wanted)
                && owners.iter().all(|(wanted, _)| wanted.contains(topic))
        })
    })
}

fn spread(shares: &[Assignment]) -> usize {
    let counts = shares.iter().map(size);
    counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0)
}

proptest! {
    #[test]
    fn every_partition_is_assigned_once_to_a_subscriber(
        cluster in cluster(false),
        later in cluster(false),
    ) {
        let first = assign_to(&cluster, &[]);
        prop_assert!(is_complete(&cluster, &first));
        // Anything may have changed since: topics, partitions, members, subscriptions.
        prop_assert!(is_complete(&later, &assign_to(&later, &first)));
    }

    #[test]
    fn members_that_want_the_same_have_alike_many(cluster in cluster(true), later in cluster(true)) {
        let first = assign_to(&cluster, &[]);
        prop_assert!(spread(&first) <= 1);
        prop_assert!(spread(&assign_to(&later, &first)) <= 1);
    }

    #[test]
    fn without_a_change_nothing_moves(cluster in cluster(false)) {
        let first = assign_to(&cluster, &[]);
        let settled = assign_to(&cluster, &first);
        prop_assert_eq!(assign_to(&cluster, &settled), settled);
    }
}

#[test]
fn a_member_that_comes_takes_no_more_than_its_share() {
    let topics = BTreeMap::from([(topic(1), 9)]);
    let wanted: BTreeSet<_> = topics.keys().copied().collect();
    let two = (topics.clone(), vec![wanted.clone(); 2]);
    let before = assign_to(&two, &[]);
    let three = (topics, vec![wanted; 3]);
    let after = assign_to(&three, &before);
    let kept: usize = before
        .iter()
        .zip(&after)
        .map(|(before, after)| before[&topic(1)].intersection(&after[&topic(1)]).count())
        .sum();
    assert_eq!(kept, 6, "three of nine move, to the third");
}

#[test]
fn many_partitions_are_no_burden() {
    let topics = BTreeMap::from([(topic(1), 100_000)]);
    let wanted: BTreeSet<_> = topics.keys().copied().collect();
    let one = (topics.clone(), vec![wanted.clone()]);
    let before = assign_to(&one, &[]);
    let many = (topics, vec![wanted; 100]);
    let after = assign_to(&many, &before);
    assert!(after.iter().all(|share| size(share) == 1_000));
}
