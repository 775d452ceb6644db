//! `group` against what is computed from nothing, over random clusters and groups: a test for each invariant, by its number.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a test has the standard library, may panic, and its numbers are small"
)]

mod driver;
mod hashes;
mod invariants;
mod operation;
mod scratch;
mod settings;
