//! The server-side assignor: every partition to one of its topic's subscribers, as evenly as subscriptions let it be, and
//! with as few changes as that takes.

use super::member::size;
use super::request::Assignment;
use kafka_coordination::TopicId;
use std::collections::{BTreeMap, BTreeSet};

/// How often the shares are levelled. Members that all subscribe to the same are level after one pass; others may not be
/// quite, for then each pass makes room for another.
const PASSES: usize = 8;

/// A member for the assignor.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    /// What it is subscribed to, of what exists.
    pub(super) topics: BTreeSet<TopicId>,
    /// What it was to have so far. Invariant: no two members' have a partition in common.
    pub(super) target: &'a Assignment,
}

/// A member's share while it is made.
#[derive(Debug)]
struct Share {
    count: usize,
    partitions: Assignment,
}

/// The number of a member, by its place among the candidates; with its load before it, an order by load.
type ByLoad = BTreeSet<(usize, usize)>;

/// Assigns the partitions of the topics, of each so many as it has. O((members × topics + partitions) × log members).
pub(super) fn assign(
    topics: &BTreeMap<TopicId, i32>,
    candidates: &[Candidate<'_>],
) -> Vec<Assignment> {
    let mut shares: Vec<Share> = candidates.iter().map(|one| kept(topics, one)).collect();
    let mut subscribers: BTreeMap<TopicId, Vec<usize>> = BTreeMap::new();
    for (number, candidate) in candidates.iter().enumerate() {
        for &topic in &candidate.topics {
            subscribers.entry(topic).or_default().push(number);
        }
    }
    for (topic, subscribers) in &subscribers {
        let partitions = 0..topics.get(topic).copied().unwrap_or(0);
        hand_out(*topic, partitions, subscribers, &mut shares);
    }
    for _ in 0..PASSES {
        let mut moved = false;
        for (topic, subscribers) in &subscribers {
            moved |= level(*topic, subscribers, &mut shares);
        }
        if !moved {
            break;
        }
    }
    shares.into_iter().map(|share| share.partitions).collect()
}

/// What a member keeps of what it had.
fn kept(topics: &BTreeMap<TopicId, i32>, candidate: &Candidate<'_>) -> Share {
    let mut partitions = Assignment::new();
    for (topic, had) in
        candidate.target.iter().filter(|(topic, _)| candidate.topics.contains(topic))
    {
        let count = topics.get(topic).copied().unwrap_or(0);
        let still: BTreeSet<i32> = had.range(..count).copied().collect();
        if !still.is_empty() {
            partitions.insert(*topic, still);
        }
    }
    Share { count: size(&partitions), partitions }
}

fn loads(members: impl Iterator<Item = usize>, shares: &[Share]) -> ByLoad {
    members.filter_map(|number| Some((shares.get(number)?.count, number))).collect()
}

/// Gives the partitions that nobody has to the subscribers that have fewest.
fn hand_out(
    topic: TopicId,
    partitions: std::ops::Range<i32>,
    subscribers: &[usize],
    shares: &mut [Share],
) {
    let taken: BTreeSet<i32> =
        shares.iter().filter_map(|share| share.partitions.get(&topic)).flatten().copied().collect();
    let mut loads = loads(subscribers.iter().copied(), shares);
    for partition in partitions.filter(|partition| !taken.contains(partition)) {
        if let Some((count, number)) = loads.pop_first()
            && let Some(share) = shares.get_mut(number)
        {
            share.partitions.entry(topic).or_default().insert(partition);
            share.count += 1;
            loads.insert((count + 1, number));
        }
    }
}

/// Moves partitions of a topic from who has most to who has fewest, until these differ by one at most. Whether any moved.
fn level(topic: TopicId, subscribers: &[usize], shares: &mut [Share]) -> bool {
    let has_some = |number: &usize| {
        shares.get(*number).is_some_and(|share| share.partitions.contains_key(&topic))
    };
    let mut owners = loads(subscribers.iter().copied().filter(has_some), shares);
    let mut all = loads(subscribers.iter().copied(), shares);
    let mut moved = false;
    while let (Some(&most), Some(&least)) = (owners.last(), all.first())
        && most.0 > least.0 + 1
        && let Some(partition) = give_up(topic, most.1, shares)
    {
        for loads in [&mut owners, &mut all] {
            loads.remove(&most);
            loads.remove(&least);
        }
        if let Some(share) = shares.get_mut(least.1) {
            share.partitions.entry(topic).or_default().insert(partition);
            share.count += 1;
        }
        all.insert((most.0 - 1, most.1));
        all.insert((least.0 + 1, least.1));
        owners.insert((least.0 + 1, least.1));
        if shares.get(most.1).is_some_and(|share| share.partitions.contains_key(&topic)) {
            owners.insert((most.0 - 1, most.1));
        }
        moved = true;
    }
    moved
}

fn give_up(topic: TopicId, number: usize, shares: &mut [Share]) -> Option<i32> {
    let share = shares.get_mut(number)?;
    let partitions = share.partitions.get_mut(&topic)?;
    let partition = partitions.pop_last()?;
    share.count -= 1;
    if partitions.is_empty() {
        share.partitions.remove(&topic);
    }
    Some(partition)
}
