//! What holds of changes of voters after each step, whatever is asked in which order: one test an
//! invariant.

use crate::quorum::{LEADER, Quorum, SUPPORTED, add_voter, key, on_disk, update_voter};
use crate::settings::cases;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ProbeOutcome, RemoveVoter, ReplicaKey, RequestId, VoterSet,
};
use kafka_coordination::{ErrorCode, Monotonic};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseResult, TestRunner};

const CASES: u32 = 200;

#[derive(Clone, Debug)]
enum Step {
    Add {
        replica: ReplicaKey,
        acknowledge: Acknowledge,
    },
    Remove {
        replica: ReplicaKey,
    },
    Update {
        replica: ReplicaKey,
    },
    /// An answer to the `probe`th probe that was sent, counted back.
    Probed {
        probe: usize,
        outcome: ProbeOutcome,
    },
    Fetch {
        replica: ReplicaKey,
        before_end: i64,
    },
    /// What is queued is appended and flushed.
    Append,
    Wait {
        ms: i64,
    },
}

fn replica() -> impl Strategy<Value = ReplicaKey> {
    (1..6, 1..3_u32).prop_map(|(id, disk)| on_disk(id, if id == LEADER { 1 } else { disk }))
}

fn outcome() -> impl Strategy<Value = ProbeOutcome> {
    prop_oneof![
        6 => Just(SUPPORTED),
        1 => Just(ProbeOutcome::NotSent),
        1 => Just(ProbeOutcome::Failed(ErrorCode::BrokerNotAvailable)),
        1 => Just(ProbeOutcome::Supports(None)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let acknowledge = prop_oneof![Just(Acknowledge::Committed), Just(Acknowledge::Appended)];
    prop_oneof![
        3 => (replica(), acknowledge)
            .prop_map(|(replica, acknowledge)| Step::Add { replica, acknowledge }),
        3 => replica().prop_map(|replica| Step::Remove { replica }),
        1 => replica().prop_map(|replica| Step::Update { replica }),
        4 => (0..3_usize, outcome()).prop_map(|(probe, outcome)| Step::Probed { probe, outcome }),
        8 => (replica(), 0..2_i64)
            .prop_map(|(replica, before_end)| Step::Fetch { replica, before_end }),
        4 => Just(Step::Append),
        1 => (0..6_000_i64).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// A quorum, and the requests that were made of it.
struct Run {
    quorum: Quorum,
    requests: Vec<RequestId>,
}

impl Run {
    fn step(&mut self, step: &Step) {
        let quorum = &mut self.quorum;
        quorum.holds_back = true;
        match step {
            Step::Add { replica, acknowledge } => {
                let acknowledge = *acknowledge;
                let add = AddVoter { acknowledge, ..add_voter(*replica) };
                self.requests.push(quorum.add(&add));
            }
            Step::Remove { replica } => {
                let remove = RemoveVoter { cluster_id: None, voter: *replica };
                self.requests.push(quorum.remove(&remove));
            }
            Step::Update { replica } => {
                self.requests.push(quorum.update(&update_voter(*replica)));
            }
            Step::Probed { probe, outcome } => {
                let sent = quorum.probes.len();
                if let Some(probe) = sent.checked_sub(probe + 1) {
                    let id = quorum.probes[probe].id;
                    let _ = quorum.probed_late(id, *outcome);
                }
            }
            Step::Fetch { replica, before_end } => {
                if replica.id != LEADER {
                    quorum.fetch(*replica, quorum.end - before_end);
                }
            }
            Step::Append => quorum.append(),
            Step::Wait { ms } => quorum.advance(*ms),
        }
    }

    /// The offset of the last voters, in the log or queued.
    fn last_written(&self) -> Option<i64> {
        let queued = self.quorum.queued.last().map(|queued| queued.base_offset);
        queued.or_else(|| self.quorum.log.voters_offset())
    }
}

/// Shows each step of random runs to the check that `check` makes for a run, and the end of a run.
fn after_each_step<C>(check: impl Fn() -> C)
where
    C: FnMut(&Run, &Step) -> TestCaseResult,
{
    let mut runner = TestRunner::new(cases(CASES));
    let result = runner.run(&prop::collection::vec(step(), 1..80), |steps| {
        let mut run = Run { quorum: Quorum::fenced([1, 2, 3]), requests: Vec::new() };
        let mut check = check();
        for step in &steps {
            run.step(step);
            check(&run, step)?;
        }
        // Each request is answered in the end, and none twice: the quorum minds that.
        run.quorum.step_down();
        for request in &run.requests {
            prop_assert!(run.quorum.code(*request).is_some(), "{:?} has no answer", request);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

#[test]
fn kc_1_one_change_is_under_way_and_voters_are_written_over_committed_ones() {
    after_each_step(|| {
        let mut written = None;
        let mut mark = None;
        move |run, _| {
            prop_assert!(run.quorum.queued.len() <= 1);
            let now = run.last_written();
            if now != written {
                // What was written before had been committed before this step.
                prop_assert!(written < mark || written.is_none(), "{now:?} over {written:?}");
                written = now;
            }
            mark = run.quorum.leader.high_watermark();
            let (in_log, queued) = (run.quorum.log.voters_offset(), &run.quorum.queued);
            prop_assert!(queued.is_empty() || in_log < mark);
            Ok(())
        }
    });
}

#[test]
fn kc_2_each_request_is_answered_once() {
    after_each_step(|| {
        |run, _| {
            let waiting =
                run.requests.iter().filter(|request| run.quorum.code(**request).is_none());
            prop_assert!(waiting.count() <= usize::from(run.quorum.is_pending()));
            Ok(())
        }
    });
}

#[test]
fn kc_3_voters_that_follow_each_other_differ_in_one_and_their_majorities_overlap() {
    after_each_step(|| {
        |run, step| {
            let Step::Append = step else { return Ok(()) };
            let sets: Vec<&VoterSet> = run.quorum.log.voter_sets().map(|(_, set)| set).collect();
            for pair in sets.windows(2) {
                let [one, next] = pair else { unreachable!() };
                let lost = one.keys().filter(|key| !next.keys().any(|other| other == *key));
                let won = next.keys().filter(|key| !one.keys().any(|other| other == *key));
                prop_assert!(lost.count() + won.count() <= 1);
                prop_assert!(one.has_overlapping_majority(next));
            }
            Ok(())
        }
    });
}

#[test]
fn kc_4_a_leader_that_the_committed_voters_leave_out_is_to_resign() {
    after_each_step(|| {
        |run, _| {
            let Quorum { leader, log, .. } = &run.quorum;
            let committed = leader.high_watermark().and_then(|mark| {
                let below = log.voter_sets().filter(|(offset, _)| *offset < mark);
                below.last().map(|(_, set)| set.clone())
            });
            let Some(committed) = committed else { return Ok(()) };
            if !committed.is_voter(&key(LEADER)) {
                prop_assert!(leader.is_resignation_requested());
            }
            Ok(())
        }
    });
}

#[test]
fn kc_5_a_change_ends_by_its_deadline() {
    after_each_step(|| {
        |run, _| {
            let deadline: Option<Monotonic> = run.quorum.changes.next_deadline();
            prop_assert_eq!(deadline.is_some(), run.quorum.is_pending());
            // `Wait` hands the time on.
            prop_assert!(deadline.is_none_or(|deadline| deadline > run.quorum.now));
            Ok(())
        }
    });
}

#[test]
fn the_runs_change_voters() {
    // Without this the invariants could hold because nothing ever happens.
    let mut runner = TestRunner::deterministic();
    let mut changes = 0;
    let steps = prop::collection::vec(step(), 80);
    for _ in 0..100 {
        let steps = steps.new_tree(&mut runner).unwrap().current();
        let mut run = Run { quorum: Quorum::fenced([1, 2, 3]), requests: Vec::new() };
        for step in &steps {
            run.step(step);
        }
        changes += run.quorum.log.voter_sets().len() - 1;
    }
    assert!(changes > 100, "{changes}");
}
