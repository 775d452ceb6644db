//! The broker's side of `fetch` against plain models of it.
//!
//! - [`equality`]: random operations on a cache and on a reference model, compared step by step.
//! - [`invariants`]: what must hold after each step, one test an invariant, by its number.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a test may panic, and its numbers are small"
)]

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
mod universe;
