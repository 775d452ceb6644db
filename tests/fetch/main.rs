//! The broker's side of fetch sessions, scenario by scenario.
//!
//! The scenarios with a number are those of Kafka's own tests (`FetchSessionTest`, `FetchRequestTest`, `KafkaApisTest`,
//! `ReplicaManagerTest`), retold against the public interface.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test does not expect fails it"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers are small"
)]
#![allow(clippy::std_instead_of_alloc, reason = "tests have the standard library")]

mod broker;
mod cache;
mod contexts;
mod decision_tables;
mod life_cycle;
mod limits;
mod log;
mod reported_cases;
mod size;
mod state;
mod support;
mod topic_ids;
