//! `producer` as its users see it: reported cases, deviations, limits, states that leave and enter, rebuilds.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic, and its numbers are small"
)]

mod deviations;
mod kernel;
mod limits;
mod log;
mod rebuild;
mod reported_cases;
mod state;
