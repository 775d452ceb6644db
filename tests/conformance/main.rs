//! Replays the vectors that were taken from Kafka's own classes.
//!
//! Vectors lie in one folder a subject, one scenario a line; the folder's `FORMAT.md` says what the fields mean. They are
//! looked for under `tests/golden` and, if it is set, under the folder that the environment variable
//! `CONFORMANCE_VECTORS` names. To teach the replayer a folder, write a module with a [`Subject`] and list it in
//! [`SUBJECTS`].

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test program, which fails by panicking"
)]

mod fetch_session_handler;
mod fetch_sessions;
mod fields;
mod group_metadata;
mod group_shard;
mod image;
#[cfg(feature = "std")]
mod kraft_control_log;
mod kraft_leader;
#[cfg(feature = "std")]
mod kraft_quorum;
#[cfg(feature = "std")]
mod kraft_quorum_state;
#[cfg(feature = "std")]
mod kraft_records;
#[cfg(feature = "std")]
mod kraft_vote_rpc;
mod kraft_voter_history;
mod kraft_voter_set;
mod producer_batches;
#[cfg(feature = "std")]
mod producer_snapshot;
mod producer_state;
mod quorum;
mod runner;
mod snapshot_file;
#[path = "../support/streams_broker/mod.rs"]
#[allow(dead_code, reason = "each program of tests uses a part of it")]
mod streams_broker;
mod topic_hash;
mod topic_hash_layout;
mod topology_backoff;
mod topology_epoch;
mod topology_service;
mod value;

use runner::{Subject, Tally};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folders that the replayer knows.
const SUBJECTS: &[&Subject] = &[
    &fetch_session_handler::SUBJECT,
    &fetch_sessions::SUBJECT,
    &group_metadata::SUBJECT,
    #[cfg(feature = "std")]
    &kraft_control_log::SUBJECT,
    &kraft_leader::SUBJECT,
    #[cfg(feature = "std")]
    &kraft_quorum::SUBJECT,
    #[cfg(feature = "std")]
    &kraft_quorum_state::SUBJECT,
    #[cfg(feature = "std")]
    &kraft_records::SUBJECT,
    #[cfg(feature = "std")]
    &kraft_vote_rpc::SUBJECT,
    &kraft_voter_history::SUBJECT,
    &kraft_voter_set::SUBJECT,
    #[cfg(feature = "std")]
    &producer_snapshot::SUBJECT,
    &producer_state::SUBJECT,
    &topic_hash::SUBJECT,
    &topic_hash_layout::SUBJECT,
    &topology_backoff::SUBJECT,
    &topology_epoch::SUBJECT,
    &topology_service::SUBJECT,
];

/// The folders that take the feature `std`.
const WITH_STD: &[&str] = &[
    "kraft_control_log",
    "kraft_quorum",
    "kraft_quorum_state",
    "kraft_records",
    "kraft_vote_rpc",
    "producer_snapshot",
];

/// The environment variable that names a second folder of vectors.
const MORE_VECTORS: &str = "CONFORMANCE_VECTORS";

/// How many failures are written out.
const SHOWN: usize = 20;

#[test]
fn every_scenario_ends_as_in_kafka() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let more = std::env::var_os(MORE_VECTORS).map(PathBuf::from);
    let mut tallies = BTreeMap::new();
    let mut failures = Vec::new();
    for root in std::iter::once(golden).chain(more) {
        let left_out = if cfg!(feature = "std") { &[] } else { WITH_STD };
        runner::replay_all(&root, SUBJECTS, left_out, &mut tallies, &mut failures);
    }

    // Written past the test harness, which would keep the output of a passing test to itself.
    let mut out = std::io::stderr();
    for (subject, tally) in &tallies {
        writeln!(out, "conformance: {subject}: {tally}").expect("stderr is open");
    }
    let shown = failures.iter().take(SHOWN).map(String::as_str);
    let shown: Vec<_> = shown.collect();
    assert!(failures.is_empty(), "{} failures, among them\n{}", failures.len(), shown.join("\n"));
    for subject in SUBJECTS {
        let tally = tallies.get(subject.folder).copied().unwrap_or_default();
        assert!(tally.replayed > 0, "no vectors of {}", subject.folder);
    }
    assert_eq!(tallies.values().map(Tally::skipped).sum::<usize>(), 0);
}
