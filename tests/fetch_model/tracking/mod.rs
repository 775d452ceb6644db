//! Invariant 25: a cache that is told which partitions change answers as one that visits all.

mod fetcher;
mod log;
mod progress;
mod read;
mod rows;
mod twins;
mod world;

use crate::settings::cases;
use fetcher::operations;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use twins::Twins;

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn inv_25_visiting_changes_is_visiting_everything(operations in operations(60)) {
        Twins::new(None).run(&operations).map_err(TestCaseError::fail)?;
    }
}
