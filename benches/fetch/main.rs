//! Fetch sessions, beside the least that the same work can cost.
//!
//! `cargo bench --bench fetch` prints, before Criterion's own figures, a line a case with the ratio of the two.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program that measures, with small numbers"
)]

mod cache;
mod fetcher;
mod floor;
#[path = "../support/ratio.rs"]
mod ratio;

fn main() {
    let mut criterion = ratio::criterion();
    cache::bench(&mut criterion);
    fetcher::bench(&mut criterion);
    criterion.final_summary();
}
