//! The barrier, explored exhaustively: every order of steps of a few operations on one group, with crashes, refused and
//! lost answers, failed writes, and calls of an old coordinator that land late.
//!
//! - [`world`]: a log, a plugin, and a coordinator between them; the coordinator is the crate's own manager
//!   ([`ours`]), or Kafka's rules made of the crate's decision tables ([`kafka`]).
//! - [`proof`]: with the manager nothing is lost or leaked, and the invariants hold in every state.
//! - [`windows`]: with Kafka's rules the same exploration finds the windows that are known, so that the proof could fail.
//! - [`faults`]: it also finds faults that are planted around the manager.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test has the standard library, and may fail by panicking"
)]

mod coordinator;
mod faults;
mod invariants;
mod kafka;
mod ours;
mod proof;
mod search;
mod windows;
mod world;
