//! The quorum's voters and its leader.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    clippy::unwrap_used,
    reason = "a test program, which fails by panicking"
)]

mod change_invariants;
mod format;
mod history;
mod leader;
mod leader_invariants;
mod level_invariant;
mod majorities;
mod quorum;
mod reconfiguration;
#[cfg(feature = "std")]
mod records;
mod settings;
mod voter_invariants;
mod voters;
