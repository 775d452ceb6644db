//! `topology` as its users see it: invariants over random operations, reported cases, deviations, limits, states that
//! leave and enter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test has the standard library, and may fail by panicking"
)]

mod cleanup;
mod deviations;
mod driver;
mod invariants;
mod limits;
mod one;
mod operations;
mod reported_cases;
mod state;
#[path = "../support/streams_broker/mod.rs"]
#[allow(dead_code, reason = "each program of tests uses a part of it")]
mod streams_broker;
mod unload;
