//! The metadata hash of a group whose topic hashes are known, and a heartbeat that does not need it.
//!
//! Floor: eight bytes a topic, hashed once. For a subscription that is told again, a look-up of each name in a table.

use criterion::Criterion;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kafka_coordination::Monotonic;
use kafka_coordination::group::{GroupChange, GroupMetadata, MetadataHash, Subscriptions};
use std::hint::black_box;
use twox_hash::XxHash3_64;

use crate::cluster::{add_topics, cluster, name};
use crate::ratio::paired;

/// Benches four numbers of topics.
pub(crate) fn bench(criterion: &mut Criterion) {
    for topics in [1, 10, 100, 1_000] {
        let mut image = cluster(3);
        add_topics(&mut image, topics, 1, 3);
        let mut subscriptions = Subscriptions::new(1);
        subscriptions.subscribe("group", (0..topics).map(name));
        black_box(subscriptions.metadata_hash("group", &image));
        let bytes: Vec<u8> = (0..u64::from(topics)).flat_map(u64::to_le_bytes).collect();
        let floor = || _ = black_box(XxHash3_64::oneshot(black_box(&bytes)));
        let case = || _ = black_box(subscriptions.metadata_hash(black_box("group"), &image));
        paired(criterion, &format!("group/hash/{topics}"), floor, case);

        let names: Vec<String> = (0..topics).map(name).collect();
        let mut index = HashMap::with_hasher(FixedState::with_seed(1));
        index.extend((0..topics).map(|topic| (name(topic), topic)));
        let floor = || {
            let numbers = names.iter().filter_map(|name| index.get(black_box(name)));
            black_box(numbers.sum::<u32>());
        };
        let case = || subscriptions.subscribe(black_box("group"), &names);
        paired(criterion, &format!("group/subscribed again/{topics}"), floor, case);
    }
    let mut group = GroupMetadata::new(1, MetadataHash::NONE);
    let now = Monotonic::from_millis(5);
    let update = group.decide_refresh(MetadataHash::NONE, GroupChange::Changed, now);
    group.commit(update.expect("an epoch")).expect("the same epoch");
    let floor = || _ = black_box(black_box(5) >= black_box(1_000));
    let case = || _ = black_box(black_box(&group).has_expired(black_box(now)));
    paired(criterion, "group/heartbeat", floor, case);
}
