//! The broker's side of `fetch` against plain models of it.
//!
//! - [`equality`]: random operations on a cache and on a reference model, compared step by step.
//! - [`invariants`]: what must hold after each step, one test an invariant, by its number.
//! - [`end_to_end`]: a fetcher and a broker over a channel that loses and repeats.
//! - [`tracking`]: a cache that is told what changes beside one that visits everything, on one
//!   simulated broker; and the proof that each rule of it is needed.
//!
//! `PROPTEST_CASES` sets how many cases each property is tried with.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test does not expect fails it"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers are small"
)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have the standard library"
)]
#![allow(clippy::struct_excessive_bools, reason = "a random plan has a switch for each choice")]

mod driver;
mod encoding;
mod end_to_end;
mod equality;
mod invariants;
mod model;
mod operation;
mod reading;
mod request;
mod settings;
mod tracking;
mod twin;
mod universe;
