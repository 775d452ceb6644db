//! What holds of a leader's books after each step, whatever replicas do: one test an invariant.

use crate::quorum::{EPOCH, FETCH_TIMEOUT_MS, LEADER, on_disk};
use crate::settings::cases;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Election, Endpoints, KRaftVersion, Leader, ReplicaKey, ReplicaState, SupportedVersions,
    VoterNode, VoterSet, majority_end_offset,
};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const CASES: u32 = 300;
const START: i64 = 10;

/// What happens to a leader.
#[derive(Clone, Debug)]
enum Step {
    /// So many records are appended, and these are the voters then.
    Append { records: i64, voters: Option<Vec<ReplicaKey>> },
    /// All but so many records are flushed.
    Flush { but: i64 },
    /// A replica fetches so many records before the end.
    Fetch { replica: ReplicaKey, before_end: i64 },
    /// A replica fetches a snapshot.
    Snapshot { replica: ReplicaKey },
    /// Time goes by.
    Wait { ms: i64 },
}

fn replica() -> impl Strategy<Value = ReplicaKey> {
    // The leader is always on its first disk.
    (1..7, 1..3_u32).prop_map(|(id, disk)| on_disk(id, if id == LEADER { 1 } else { disk }))
}

fn voter_keys() -> impl Strategy<Value = Vec<ReplicaKey>> {
    prop::collection::vec(replica(), 1..6)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_i64, prop::option::of(voter_keys()))
            .prop_map(|(records, voters)| Step::Append { records, voters }),
        2 => (0..3_i64).prop_map(|but| Step::Flush { but }),
        8 => (replica(), 0..6_i64)
            .prop_map(|(replica, before_end)| Step::Fetch { replica, before_end }),
        1 => replica().prop_map(|replica| Step::Snapshot { replica }),
        1 => (0..2_000_i64).prop_map(|ms| Step::Wait { ms }),
    ]
}

fn node(key: ReplicaKey) -> VoterNode {
    let (endpoints, supported_versions) = (Endpoints::empty(), SupportedVersions::ALL);
    VoterNode { key, endpoints, supported_versions }
}

/// A leader, and its log.
struct Run {
    leader: Leader,
    voters: VoterSet,
    end: i64,
    flushed: i64,
    now: Monotonic,
    /// The high watermark, if the last step moved it.
    moved: Option<i64>,
}

impl Run {
    fn new(voters: Vec<ReplicaKey>) -> Self {
        let local = node(on_disk(LEADER, 1));
        let voters: VoterSet = voters.into_iter().map(node).chain([local.clone()]).collect();
        let now = Monotonic::from_millis(0);
        let election = Election {
            local,
            epoch: EPOCH,
            epoch_start_offset: START,
            voters: voters.clone(),
            kraft_version: KRaftVersion::V1,
            granting_voters: Vec::new(),
            fetch_timeout_ms: FETCH_TIMEOUT_MS,
        };
        let leader = Leader::new(election, now).unwrap();
        Self { leader, voters, end: START, flushed: START, now, moved: None }
    }

    fn step(&mut self, step: &Step) {
        self.moved = match step {
            Step::Append { records, voters } => {
                self.end += records;
                if let Some(voters) = voters {
                    self.voters = voters.iter().copied().map(node).collect();
                }
                self.leader.appended(self.end, &self.voters).unwrap()
            }
            Step::Flush { but } => {
                self.leader.appended(self.end, &self.voters).unwrap();
                self.flushed = self.flushed.max(self.end - but);
                self.leader.flushed(self.flushed).unwrap()
            }
            Step::Fetch { replica, before_end } => {
                let offset = (self.end - before_end).max(0);
                // The leader itself is refused.
                self.leader.fetched(*replica, offset, self.now).unwrap_or(None)
            }
            Step::Snapshot { replica } => {
                let _ = self.leader.heard_from(*replica, self.now);
                None
            }
            Step::Wait { ms } => {
                self.now = self.now.saturating_add(*ms);
                None
            }
        };
    }
}

/// Shows each step of random runs to the check that `check` makes for a run.
fn after_each_step<C>(check: impl Fn(&Run) -> C)
where
    C: FnMut(&Run, &Step) -> TestCaseResult,
{
    let mut runner = TestRunner::new(cases(CASES));
    let input = (voter_keys(), prop::collection::vec(step(), 1..60));
    let result = runner.run(&input, |(voters, steps)| {
        let mut run = Run::new(voters);
        let mut check = check(&run);
        for step in &steps {
            run.step(step);
            check(&run, step)?;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

#[test]
fn kl_1_the_high_watermark_never_goes_back_and_lies_within_the_own_epoch() {
    after_each_step(|_| {
        let mut last = None;
        move |run, _| {
            let mark = run.leader.high_watermark();
            prop_assert!(mark >= last, "{mark:?} after {last:?}");
            prop_assert!(mark.is_none_or(|mark| START < mark && mark <= run.end));
            if run.moved.is_some() {
                prop_assert!(run.moved == mark && mark > last);
            } else {
                prop_assert_eq!(mark, last);
            }
            last = mark;
            Ok(())
        }
    });
}

/// What is known of replicas by a model that remembers each replica's last offset.
#[derive(Default)]
struct Model {
    ends: BTreeMap<ReplicaKey, i64>,
    flushed: Option<i64>,
    mark: Option<i64>,
    voters: Vec<ReplicaKey>,
}

impl Model {
    fn step(&mut self, run: &Run, step: &Step) {
        match step {
            Step::Append { .. } => {
                let voters: Vec<_> = run.voters.keys().collect();
                // A voter whose directory changes in one step is another replica.
                for old in &self.voters {
                    if voters.iter().any(|new| new.id == old.id && new != old) {
                        self.ends.remove(old);
                    }
                }
                self.voters = voters;
            }
            Step::Flush { .. } => self.flushed = Some(run.flushed),
            Step::Fetch { replica, before_end } if replica.id != LEADER => {
                self.ends.insert(*replica, (run.end - before_end).max(0));
            }
            _ => return,
        }
        let leader = on_disk(LEADER, 1);
        let end = |key: &ReplicaKey| {
            if *key == leader { self.flushed } else { self.ends.get(key).copied() }
        };
        let mut ends: Vec<_> = self.voters.iter().map(end).collect();
        ends.sort_by(|one, other| other.cmp(one));
        let candidate = ends[ends.len() / 2].filter(|&end| end > START);
        self.mark = self.mark.max(candidate);
    }
}

#[test]
fn kl_2_the_high_watermark_is_the_middle_of_a_sorted_list() {
    after_each_step(|run| {
        let mut model = Model { voters: run.voters.keys().collect(), ..Model::default() };
        move |run, step| {
            model.step(run, step);
            prop_assert_eq!(run.leader.high_watermark(), model.mark);
            Ok(())
        }
    });
}

#[test]
fn kl_2_the_selection_is_the_middle_of_a_sorted_list() {
    let mut runner = TestRunner::new(cases(CASES));
    let ends = prop::collection::vec(-1..8_i64, 1..40);
    let result = runner.run(&ends, |mut ends| {
        let mut sorted = ends.clone();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let middle = sorted[sorted.len() / 2];
        prop_assert_eq!(majority_end_offset(&mut ends), (middle >= 0).then_some(middle));
        Ok(())
    });
    result.unwrap();
}

#[test]
fn kl_3_a_majority_has_what_a_fetch_commits() {
    after_each_step(|_| {
        |run, step| {
            let (Some(mark), Step::Fetch { .. }) = (run.moved, step) else { return Ok(()) };
            let has = |key: ReplicaKey, end: Option<i64>| {
                let end = if key.id == LEADER { Some(run.flushed) } else { end };
                end >= Some(mark)
            };
            let states = run.leader.voter_states();
            let number = states.filter(|state| has(state.key(), state.end_offset())).count();
            prop_assert!(number >= run.voters.majority());
            Ok(())
        }
    });
}

#[test]
fn kl_4_the_voters_are_those_of_the_log_and_no_observers() {
    after_each_step(|_| {
        |run, _| {
            let voters: Vec<_> = run.leader.voter_states().map(ReplicaState::key).collect();
            prop_assert_eq!(&voters, &run.voters.keys().collect::<Vec<_>>());
            for observer in run.leader.observer_states() {
                prop_assert!(!voters.contains(&observer.key()));
                prop_assert!(observer.endpoints().is_empty());
            }
            Ok(())
        }
    });
}

#[test]
fn kl_5_of_the_voters_that_were_heard_of_none_is_the_leader_and_fewer_than_a_majority_are_kept() {
    after_each_step(|_| {
        |run, step| {
            let heard: BTreeSet<_> = run.leader.fetched_voters().collect();
            let ids: BTreeSet<_> = run.voters.ids().collect();
            prop_assert!(heard.is_subset(&ids) && !heard.contains(&LEADER));
            if let Step::Fetch { replica, .. } = step
                && replica.id != LEADER
            {
                let leader = usize::from(ids.contains(&LEADER));
                let count = heard.len() + leader;
                prop_assert!(heard.is_empty() || count < run.voters.majority());
            }
            Ok(())
        }
    });
}

#[test]
fn kl_6_successors_are_the_other_voters_by_how_far_they_fetched() {
    after_each_step(|_| {
        |run, _| {
            let successors = run.leader.preferred_successors();
            let named: BTreeSet<_> = successors.iter().copied().collect();
            let leader = on_disk(LEADER, 1);
            let others: BTreeSet<_> = run.voters.keys().filter(|key| *key != leader).collect();
            prop_assert_eq!(&named, &others);
            prop_assert_eq!(named.len(), successors.len());
            let end = |key: &ReplicaKey| run.leader.replica(key).unwrap().end_offset();
            // None is the least.
            prop_assert!(successors.iter().map(end).is_sorted_by(|one, next| one >= next));
            Ok(())
        }
    });
}
