//! A cache that is told which partitions change answers as one that visits all.

use super::{FEW, TOPICS, Twins, operations};
use crate::settings::cases;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn fs_25_visiting_changes_is_visiting_everything(operations in operations(FEW, 100)) {
        Twins::new(None).run(&operations).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// Sessions that are big enough for an index, and shrink by enough to be compacted.
    #[test]
    fn fs_25_in_sessions_that_grow_and_shrink(operations in operations(TOPICS.len(), 100)) {
        Twins::new(None).run(&operations).map_err(TestCaseError::fail)?;
    }
}

/// Equal answers are worth little if all is visited for them.
#[test]
fn quiet_partitions_are_left_out() {
    let mut runner = TestRunner::deterministic();
    let (mut full, mut tracked) = (0, 0);
    for _ in 0..50 {
        let operations = operations(FEW, 100).new_tree(&mut runner).unwrap().current();
        let mut twins = Twins::new(None);
        twins.run(&operations).unwrap();
        full += twins.visits().0;
        tracked += twins.visits().1;
    }
    assert!(full > 1000, "{full}");
    assert!(tracked * 10 < full * 9, "{tracked} of {full}");
}
