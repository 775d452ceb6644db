//! In a steady state nothing is allocated.
//!
//! The counter counts what the measuring thread allocates, so that tests may run side by side.

#![allow(clippy::unwrap_used, reason = "a test program, which fails by panicking")]

mod fetcher;
mod group;
mod kraft;
mod producer;
mod topology;

/// How many allocations `work` makes.
fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}
