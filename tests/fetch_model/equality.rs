//! The cache and its model do the same, step by step.

use crate::driver::run;
use crate::operation::{operations, setup};
use crate::settings::cases;
use crate::twin::{counts_of, follow};
use kafka_coordination::fetch::{CacheStats, ChangeTracking};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_cache_does_what_its_model_does(setup in setup(), operations in operations(60)) {
        follow(&setup, &operations)?;
    }
}

/// Without this, equality could be that of two caches in which nothing ever happens.
#[test]
fn the_operations_reach_every_outcome() {
    const LISTS: usize = 1000;
    let mut runner = TestRunner::deterministic();
    let mut most = [0; 10];
    for _ in 0..LISTS {
        let lists = (setup(), operations(60)).new_tree(&mut runner);
        let (setup, operations) = lists.unwrap().current();
        let mut last = CacheStats::default();
        run(&setup, ChangeTracking::Off, &operations, |driver, _| {
            last = driver.cache.stats();
            Ok(())
        })
        .unwrap();
        for (most, count) in most.iter_mut().zip(counts_of(&last).all()) {
            *most = count.max(*most);
        }
        if most.iter().all(|&most| most > 0) {
            return;
        }
    }
    panic!("the most of each count in {LISTS} lists: {most:?}");
}
