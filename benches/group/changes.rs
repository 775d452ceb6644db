//! A delta that changes ten topics, among few and among 100,000, each with one group of 10,000; and a rack that changes.
//!
//! Floor: ten look-ups of names in a table, and a mark on each topic and on each of its groups.

use criterion::Criterion;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kafka_coordination::group::Subscriptions;
use kafka_coordination::metadata::ImageDelta;
use std::hint::black_box;

use crate::cluster::{add_topics, cluster, id, name, replicas};
use crate::ratio::paired;

const BROKERS: i32 = 300;
const CHANGED: u32 = 10;

/// Benches three numbers of topics.
pub(crate) fn bench(criterion: &mut Criterion) {
    for topics in [1_000, 10_000, 100_000] {
        changed_topics(criterion, topics);
    }
}

fn changed_topics(criterion: &mut Criterion, topics: u32) {
    let mut image = cluster(BROKERS);
    add_topics(&mut image, topics, 1, BROKERS);
    let groups = topics / 10;
    let mut subscriptions = Subscriptions::new(1);
    for group in 0..groups {
        let of_group = (0..10).map(|at| name(group + at * groups));
        subscriptions.subscribe(&format!("group-{group:06}"), of_group);
    }
    let hashes = |subscriptions: &mut Subscriptions| {
        for group in 0..groups {
            black_box(subscriptions.metadata_hash(&format!("group-{group:06}"), &image));
        }
    };
    hashes(&mut subscriptions);
    let mut delta = ImageDelta::new(3);
    for changed in 0..CHANGED {
        delta.add_partition(id(changed), 1, &replicas(1, BROKERS));
    }
    let mut next = image.clone();
    let changes = next.apply(&delta).expect("a legal delta");
    assert_eq!(changes.changed().len(), 10);

    let mut floor = Floor::new(topics);
    let names: Vec<String> = (0..CHANGED).map(name).collect();
    let floor = || _ = black_box(floor.change(&names));
    let case = || {
        let woken = subscriptions.on_image_changes(black_box(&changes), &next);
        black_box(woken.map(str::len).sum::<usize>());
    };
    paired(criterion, &format!("change/10 topics/{topics}"), floor, case);

    // Each broker holds three in 300 topics.
    hashes(&mut subscriptions);
    let words = vec![1_u64 << 7; topics as usize];
    let floor =
        || _ = black_box(words.iter().filter(|&&word| word & black_box(1 << 8) != 0).count());
    let case = || {
        let woken = subscriptions.on_metadata_update([], black_box(&[1_000]), &image);
        assert_eq!(black_box(woken.len()), 0);
    };
    paired(criterion, &format!("change/a rack of no topic/{topics}"), floor, case);
}

struct Floor {
    index: HashMap<String, u32, FixedState>,
    marks: Vec<(u64, u32)>,
    groups: Vec<u64>,
    round: u64,
}

impl Floor {
    fn new(topics: u32) -> Self {
        let mut index = HashMap::with_hasher(FixedState::with_seed(1));
        index.extend((0..topics).map(|topic| (name(topic), topic)));
        let groups = topics / 10;
        let marks = (0..topics).map(|topic| (0, topic % groups)).collect();
        Self { index, marks, groups: vec![0; groups as usize], round: 0 }
    }

    fn change(&mut self, names: &[String]) -> u32 {
        self.round += 1;
        let mut marked = 0;
        for name in names {
            let Some(&topic) = self.index.get(name) else { continue };
            let (mark, group) = &mut self.marks[topic as usize];
            *mark = self.round;
            self.groups[*group as usize] = self.round;
            marked += 1;
        }
        marked
    }
}
