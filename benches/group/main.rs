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

fn main() {
    let mut criterion = ratio::criterion();
    topic_hash::bench(&mut criterion);
    group_hash::bench(&mut criterion);
    changes::bench(&mut criterion);
    criterion.final_summary();
}
