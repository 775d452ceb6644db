//! Whole clusters of replicas on a virtual clock, network and disk, under faults of all kinds.
//!
//! One seed is one run: equal seeds give equal runs. After every event the invariants of [`ledger`] and [`local`] are held
//! against the cluster; when the faults are over, it has to make progress within a bound. All seeds together have to come
//! by everything that is listed in [`coverage`].
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

mod bug;
mod cases;
mod clients;
mod cluster;
mod coverage;
mod dice;
mod directed;
mod disk;
mod event;
mod fault;
mod flight;
mod host;
mod inputs;
mod ledger;
mod local;
mod meaning;
mod message;
mod network;
mod node;
mod plan;
mod stuck;
mod transitions;
mod world;
mod writes;

use cluster::{Cluster, Seen};
use coverage::Coverage;
use fault::Fault;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds that are run if nobody says how many.
const SEEDS: u64 = if cfg!(debug_assertions) { 40 } else { 2_000 };

/// Seeds that come by everything; fewer may not.
const SEEDS_TO_COVER: u64 = 2_000;

/// Seeds among which a planted fault has to be found.
const SEEDS_TO_FIND: u64 = 2_000;

/// Lines of the trace that a failure shows.
const TRACE: usize = 80;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

/// Runs a seed. Gives what was wrong or what was seen, and the trace.
fn run(seed: u64, fault: Option<Fault>, is_traced: bool) -> (Result<Seen, String>, String) {
    let mut cluster = Cluster::new(seed, fault, is_traced);
    let result = match catch_unwind(AssertUnwindSafe(|| cluster.run())) {
        Ok(result) => result,
        Err(_) => Err(String::from("panicked")),
    };
    let trace = cluster.trace();
    (result.map(|()| cluster.into_seen()), trace)
}

/// What was wrong with a seed, what led to it, and how to see all of it.
fn tell(seed: u64, failure: &str) -> String {
    // Equal seeds give equal runs: the trace is made when somebody wants it.
    let (_, trace) = run(seed, None, true);
    let lines: Vec<_> = trace.lines().collect();
    let last = lines[lines.len().saturating_sub(TRACE)..].join("\n");
    format!(
        "{last}\nseed {seed}: {failure}\nto see all of it: SIMULATION_SEED={seed} cargo test --release --test simulation clusters -- --nocapture"
    )
}

#[test]
fn clusters_keep_what_they_promise() {
    if let Some(seed) = number("SIMULATION_SEED") {
        let (result, trace) = run(seed, None, true);
        eprintln!("{trace}");
        if let Err(failure) = result {
            panic!("seed {seed}: {failure}");
        }
        return;
    }
    let seeds = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let (mut commits, mut stuck, mut recovery) = (0, 0, 0);
    let mut coverage = Coverage::default();
    for seed in 0..seeds {
        match run(seed, None, false).0 {
            Ok(seen) => {
                commits += seen.commits;
                stuck += u64::from(seen.is_stuck);
                if !seen.is_stuck {
                    recovery = recovery.max(seen.recovery);
                }
                coverage.add(seen.coverage);
            }
            Err(failure) => panic!("{}", tell(seed, &failure)),
        }
    }
    eprintln!(
        "simulation: {seeds} seeds, {commits} records committed, {stuck} stuck by a removal, {recovery} ms to recover at most"
    );
    for (item, times) in coverage.all() {
        eprintln!("simulation: {times:>9} {item}");
    }
    assert!(commits > seeds, "next to nothing was committed");
    let missed = coverage.missed();
    assert!(seeds < SEEDS_TO_COVER || missed.is_empty(), "no seed has come by {missed:#?}");
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

/// A planted fault is found, or the simulation would not find a like one of the crate's. A debug build, which is slow,
/// begins at a seed that is known to find it.
fn finds(fault: Fault, known: u64) {
    let first = if cfg!(debug_assertions) { known } else { 0 };
    let mut seeds = (first..SEEDS_TO_FIND).chain(0..first);
    let found =
        seeds.find_map(|seed| run(seed, Some(fault), false).0.err().map(|failure| (seed, failure)));
    let Some((seed, failure)) = found else {
        panic!("{fault:?} is not found in {SEEDS_TO_FIND} seeds");
    };
    let what: String = failure.chars().take(200).collect();
    eprintln!("simulation: {fault:?} is found by seed {seed}: {what}");
}

macro_rules! planted {
    ($($name:ident: $fault:ident at $seed:literal,)*) => {
        $(
            #[test]
            fn $name() {
                finds(Fault::$fault, $seed);
            }
        )*
    };
}

planted! {
    finds_a_vote_that_is_not_persisted: VoteNotPersisted at 0,
    finds_an_acknowledgement_before_flush: FlushLies at 3,
    finds_a_truncation_that_does_not_happen: NotTruncated at 6,
    finds_voters_that_are_stale_after_a_restart: StaleVoters at 13,
    finds_a_log_that_loses_its_last_batch: LosesLastBatch at 15,
    finds_a_snapshot_that_is_not_installed: SnapshotKeepsLog at 0,
    finds_votes_that_are_always_granted: AlwaysGrants at 6,
    finds_votes_that_are_granted_to_shorter_logs: GrantsToShorterLogs at 15,
    finds_a_vote_that_counts_twice: CountsVotesTwice at 11,
    finds_a_vote_of_an_earlier_epoch_that_counts: CountsOldVotes at 18,
    finds_a_leader_that_leads_again_after_a_restart: LeadsAgain at 6,
    finds_a_high_watermark_that_runs_ahead: HighWatermarkAhead at 42,
    finds_a_fetch_that_counts_for_too_much: FetchCountsForMore at 6,
    finds_an_observer_that_counts: ObserversCount at 6,
    finds_a_fetch_of_another_directory_that_counts: OtherDirectoryCounts at 56,
    finds_a_commit_of_an_earlier_epoch_by_count: CommitsByCount at 11,
    finds_a_truncation_of_what_is_committed: TruncatesCommitted at 53,
    finds_a_delivery_of_what_is_not_committed: DeliversUncommitted at 2,
    finds_records_that_are_taken_late: TakesLateRecords at 388,
    finds_voters_that_are_overlooked_after_a_truncation: OverlooksVoters at 42,
    finds_a_change_of_two_voters_at_once: TwoVotersAtOnce at 11,
    finds_a_removed_leader_that_goes_on: RemovedLeaderGoesOn at 18,
}
