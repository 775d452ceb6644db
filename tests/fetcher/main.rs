//! The fetcher's side of a session: Kafka's own scenarios, public bug reports, and a plain model of the rules.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    clippy::unwrap_used,
    reason = "a test program, which fails by panicking"
)]

mod fixture;
mod model;
mod properties;
mod restore;
mod scenarios;
mod table;
mod wire_lists;
