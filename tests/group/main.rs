//! `group` as its users see it: hashes, refreshes, reported cases, deviations, states that leave and enter.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a test has the standard library, may panic, and its numbers are small"
)]

mod coordinator;
mod deviations;
mod hash;
mod limits;
mod refresh;
mod regex;
mod reported_cases;
mod subscriptions;
