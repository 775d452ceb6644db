//! The metadata quorum, beside the least that the same work can cost.
//!
//! `cargo bench --bench kraft` prints, before Criterion's own figures, a line a case with the ratio of the two.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program that measures"
)]

mod cluster;
mod floor;
mod high_watermark;
#[path = "../support/ratio.rs"]
mod ratio;
mod replica;
mod voters;

fn main() {
    let mut criterion = ratio::criterion();
    high_watermark::bench(&mut criterion);
    voters::bench(&mut criterion);
    replica::bench(&mut criterion);
    criterion.final_summary();
}
