//! A quorum whose voters change, explored completely within bounds.
//!
//! Each state that elections, fetches, changes of voters, time-outs and crashes lead to is visited, and is checked for
//! what must hold in all of them. Leaders and their changes are the crate's own; logs, votes and fetches are a model.
//!
//! The bounds are the number of replicas, of epochs that an election may start and of changes that a leader takes up.
//! They bound the rest: a log is a first record, one for each election and one for each change, at most; and a crash,
//! or a leader that is cut off, matters only if an election follows. Everything that is written is on disk at once.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    clippy::unwrap_used,
    reason = "a test program, which fails by panicking"
)]

mod faults;
mod model;
mod properties;
mod replica;
mod symmetry;
mod universe;

use model::{Bounds, Fault};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeSet;
use std::io::Write;

/// Visits all there is within the bounds: at least `recorded` states, or the model has lost something.
fn explore(bounds: Bounds, recorded: usize) {
    let checker = bounds.checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    // Written past the test harness, which would keep the output of a passing test to itself.
    let mut out = std::io::stderr();
    writeln!(out, "exploration: {states} states within {bounds:?}").unwrap();
    assert!(checker.is_done());
    checker.assert_properties();
    assert!(states >= recorded, "{states} of {recorded} states");
}

/// What the leaders of a model break that leave out a rule, as far as it goes until the first break.
fn broken(bounds: Bounds) -> BTreeSet<&'static str> {
    let checker = bounds.checker().threads(1).finish_when(HasDiscoveries::AnyFailures);
    let checker = checker.spawn_bfs().join();
    let always = properties::always();
    let found = checker.discoveries().into_keys();
    found.filter(|name| always.contains(name)).collect()
}

#[test]
fn five_replicas_three_changes_and_an_election_meanwhile() {
    let fault = Fault::None;
    explore(Bounds { replicas: 5, voters: 3, epochs: 2, requests: 3, fault }, 165_725);
}

#[test]
fn five_replicas_two_changes_and_two_elections_meanwhile() {
    let fault = Fault::None;
    explore(Bounds { replicas: 5, voters: 3, epochs: 3, requests: 2, fault }, 104_929);
}

#[test]
fn four_voters_two_changes_and_two_elections_meanwhile() {
    let fault = Fault::None;
    explore(Bounds { replicas: 4, voters: 4, epochs: 3, requests: 2, fault }, 44_253);
}

#[test]
fn three_replicas_three_changes_and_two_elections_meanwhile() {
    let fault = Fault::None;
    explore(Bounds { replicas: 3, voters: 3, epochs: 3, requests: 3, fault }, 16_428);
}

/// The mistake of the first description of one-at-a-time changes.
#[test]
fn a_leader_that_changes_voters_before_its_first_commit_is_found() {
    let fault = Fault::ChangesBeforeItsFirstCommit;
    let broken = broken(Bounds { replicas: 4, voters: 4, epochs: 3, requests: 2, fault });
    assert!(broken.contains("what is committed stays"), "{broken:?}");
}

#[test]
fn a_leader_that_changes_uncommitted_voters_is_found() {
    let fault = Fault::ChangesUncommittedVoters;
    let broken = broken(Bounds { replicas: 4, voters: 3, epochs: 2, requests: 2, fault });
    assert!(broken.contains("a log has one uncommitted voters record"), "{broken:?}");
}

/// Kafka's leader does.
#[test]
fn a_leader_that_forgets_what_it_has_queued_is_found() {
    let fault = Fault::ForgetsQueuedRecords;
    let broken = broken(Bounds { replicas: 4, voters: 3, epochs: 2, requests: 2, fault });
    assert!(broken.contains("a log has one uncommitted voters record"), "{broken:?}");
}
