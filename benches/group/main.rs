//! Topic hashes, group hashes and changes of the cluster, beside the least that the same work can cost.
//!
//! `cargo bench --bench group` prints, before Criterion's own figures, a line a case with the ratio of the two.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program that measures, with small numbers"
)]

mod changes;
mod cluster;
mod group_hash;
#[path = "../support/ratio.rs"]
mod ratio;
mod topic_hash;

use criterion::Criterion;
use std::time::Duration;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    topic_hash::bench(&mut criterion);
    group_hash::bench(&mut criterion);
    changes::bench(&mut criterion);
    criterion.final_summary();
}
