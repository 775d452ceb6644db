//! The `wire` feature: decoding what nobody vouches for, and fetch messages.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what a test's helper cannot do fails the test"
)]

mod filled;
mod hostile;
mod quorum;
mod raft;
mod record_batches;
mod requests;
mod responses;
mod session;
mod vectors;
