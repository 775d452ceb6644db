//! Whole clusters of replicas on a virtual clock, network and disk, under faults of all kinds.
//!
//! One seed is one run: equal seeds give equal runs. After every event the invariants of [`checks`] are held against the
//! cluster; when the faults are over, it has to make progress within a bound.
//!
//! - `SIMULATION_SEEDS=100000` runs so many seeds instead of the default.
//! - `SIMULATION_SEED=17` runs that one and prints its trace.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test program, which fails by panicking"
)]

mod checks;
mod cluster;
mod disk;
mod event;
mod fault;
mod message;
mod node;
mod plan;

use cluster::Cluster;
use fault::Fault;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds that are run if nobody says how many.
const SEEDS: u64 = if cfg!(debug_assertions) { 60 } else { 2_000 };

/// Seeds among which a planted fault has to be found.
const SEEDS_TO_FIND: u64 = 2_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

/// Runs a seed. Gives what was wrong, with the trace, or the transitions that were seen.
fn run(seed: u64, fault: Option<Fault>, is_traced: bool) -> Result<cluster::Seen, String> {
    let mut cluster = Cluster::new(seed, fault, is_traced);
    let run = catch_unwind(AssertUnwindSafe(|| cluster.run()));
    match run {
        Ok(Ok(())) => Ok(cluster.into_seen()),
        Ok(Err(violation)) => Err(format!("{violation}\n{}", cluster.trace())),
        Err(_) => Err(format!("panicked\n{}", cluster.trace())),
    }
}

#[test]
fn clusters_keep_what_they_promise() {
    if let Some(seed) = number("SIMULATION_SEED") {
        if let Err(failure) = run(seed, None, true) {
            panic!("seed {seed}: {failure}");
        }
        return;
    }
    let mut transitions: BTreeMap<_, u64> = BTreeMap::new();
    let seeds = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let (mut commits, mut stuck) = (0, 0);
    for seed in 0..seeds {
        match run(seed, None, false) {
            Ok(seen) => {
                commits += seen.commits;
                stuck += u64::from(seen.is_stuck);
                for transition in seen.transitions {
                    *transitions.entry(transition).or_default() += 1;
                }
            }
            Err(failure) => panic!(
                "seed {seed}: {failure}\nto replay: SIMULATION_SEED={seed} cargo test --test simulation clusters -- --nocapture"
            ),
        }
    }
    eprintln!("simulation: {seeds} seeds, {commits} records committed, {stuck} stuck by a removal");
    eprintln!("simulation: transitions: {transitions:?}");
    // Small voter sets, whose leader the administrator often removes, make it frequent here.
    assert!(stuck * 10 <= seeds + 10, "{stuck} of {seeds} clusters are stuck by a removal");
    assert!(commits > seeds, "next to nothing was committed");
}

#[test]
fn equal_seeds_give_equal_runs() {
    for seed in [3, 4] {
        let [first, second] = [(); 2].map(|()| {
            let mut cluster = Cluster::new(seed, None, true);
            cluster.run().expect("the run is sound");
            cluster.trace()
        });
        assert!(first == second, "seed {seed} has two runs");
    }
}

/// A planted fault is found, or the simulation would not find a like one of the crate's.
fn finds(fault: Fault) {
    let found = (0..SEEDS_TO_FIND).find(|seed| run(*seed, Some(fault), false).is_err());
    let seed = found.unwrap_or_else(|| panic!("{fault:?} is not found in {SEEDS_TO_FIND} seeds"));
    eprintln!("simulation: {fault:?} is found by seed {seed}");
}

macro_rules! planted {
    ($($name:ident: $fault:ident,)*) => {
        $(
            #[test]
            fn $name() {
                finds(Fault::$fault);
            }
        )*
    };
}

planted! {
    finds_a_vote_that_is_not_persisted: VoteNotPersisted,
    finds_an_acknowledgement_before_flush: FlushLies,
    finds_a_truncation_that_does_not_happen: NotTruncated,
    finds_a_high_watermark_that_runs_ahead: HighWatermarkAhead,
    finds_votes_that_are_always_granted: AlwaysGrants,
    finds_a_fetch_that_counts_for_too_much: FetchCountsForMore,
    finds_voters_that_are_stale_after_a_restart: StaleVoters,
    finds_a_change_of_two_voters_at_once: TwoVotersAtOnce,
    finds_a_log_that_loses_its_last_batch: LosesLastBatch,
    finds_a_snapshot_that_is_not_installed: SnapshotKeepsLog,
}
