//! One replica of a quorum of three, fed by hand: what Kafka's process would end on, and what only a host can see.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test program, which fails by panicking"
)]

mod appends;
mod elections;
mod fetches;
mod host;
mod joining;
mod late;
mod log;
mod messages;
mod patience;
mod peers;
mod quorum_admin;
mod replication;
mod scenarios;
mod snapshots;
mod votes;
