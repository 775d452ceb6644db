//! `producer` against a plain model that remembers every batch ever written.
//!
//! - [`equality`]: random operations on a state and on the model, compared step by step.
//! - [`invariants`]: what must hold after each step, one test an invariant, by its number.
//! - [`recovery`]: followers, snapshots and replays end in the state that was never lost.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a test has the standard library, and may fail by panicking"
)]

mod driver;
mod equality;
mod invariants;
mod operation;
mod oracle;
mod recovery;
mod settings;
