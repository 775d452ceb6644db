//! The cache and its model do the same, step by step.

use crate::driver::{Did, Driver, Finished, Step, View, Visited, run};
use crate::model::{Answer, Context, Counts, Entry, Model, Setup};
use crate::operation::{TimedOperation, operations, setup};
use crate::request::Key;
use crate::settings::cases;
use kafka_coordination::Monotonic;
use kafka_coordination::fetch::{
    CacheStats, ChangeTracking, FetchAnswer, PartitionState, SessionState,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_cache_does_what_its_model_does(setup in setup(), operations in operations(60)) {
        follow(&setup, ChangeTracking::Off, &operations)?;
    }
}

/// Without this, equality could be that of two caches in which nothing ever happens.
#[test]
fn the_operations_reach_every_outcome() {
    const LISTS: usize = 1000;
    let mut runner = TestRunner::deterministic();
    let mut most = [0; 10];
    for _ in 0..LISTS {
        let lists = (setup(), operations(60)).new_tree(&mut runner);
        let (setup, operations) = lists.unwrap().current();
        let mut last = CacheStats::default();
        run(&setup, ChangeTracking::Off, &operations, |driver, _| {
            last = driver.cache.stats();
            Ok(())
        })
        .unwrap();
        for (most, count) in most.iter_mut().zip(counts_of(&last).all()) {
            *most = count.max(*most);
        }
        if most.iter().all(|&most| most > 0) {
            return;
        }
    }
    panic!("the most of each count in {LISTS} lists: {most:?}");
}

/// A model beside a cache.
pub(crate) struct Twin {
    pub(crate) model: Model,
    contexts: BTreeMap<usize, Context>,
}

impl Twin {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self { model: Model::new(setup), contexts: BTreeMap::new() }
    }

    /// Does what the cache did, and compares.
    pub(crate) fn follow(&mut self, step: &Step) -> TestCaseResult {
        let now = step.now.as_millis();
        match &step.did {
            Did::Begun(begun) => {
                let context = self.model.begin(&begun.request, now);
                prop_assert_eq!(context.kind(), begun.kind);
                prop_assert_eq!(context.error(), begun.error);
                prop_assert_eq!(context.session_id(), begun.session_id);
                let entries = Model::visit(&context);
                prop_assert_eq!(entries.len(), begun.partition_count);
                prop_assert_eq!(shown(&entries), begun.visited.clone());
                self.contexts.insert(begun.context, context);
            }
            Did::Visited(context, visited) => {
                let entries = Model::visit(&self.contexts[context]);
                prop_assert_eq!(&shown(&entries), visited);
            }
            Did::Finished(finished) => self.finish(finished, now)?,
            Did::Throttled(context, answer) => {
                let context = self.contexts.remove(context).unwrap();
                let expected = Model::throttle(&context, answer.throttle_time_ms);
                prop_assert_eq!(expected, answer_of(answer, Vec::new()));
            }
            Did::Dropped(context) => {
                self.contexts.remove(context);
            }
            Did::EpochSet(id, epoch) => self.model.set_epoch(*id, *epoch),
            Did::Marked => {}
        }
        prop_assert_eq!(self.sessions(), plain(&step.after));
        prop_assert_eq!(self.model.next_shard, step.after.state.next_shard);
        prop_assert_eq!(self.model.counts, counts_of(&step.after.stats));
        let totals = (step.after.stats.sessions, step.after.stats.partitions);
        let sessions = self.model.sessions().len() as u64;
        prop_assert_eq!((sessions, self.model.partitions() as u64), totals);
        Ok(())
    }

    fn finish(&mut self, finished: &Finished, now: i64) -> TestCaseResult {
        let context = self.contexts.remove(&finished.context).unwrap();
        let size = Model::response_size(&context, &finished.readings);
        prop_assert_eq!([size; 2], finished.sizes);
        let offered = finished.answer.session_id;
        let expected = self.model.finish(&context, &finished.readings, offered, now);
        let actual = answer_of(&finished.answer, finished.included.clone());
        prop_assert_eq!(expected, actual);
        Ok(())
    }

    /// The model's sessions as a cache would export them without change tracking.
    fn sessions(&self) -> Vec<SessionState> {
        let sessions = self.model.sessions();
        let sessions = sessions.iter().map(|session| {
            let session = session.borrow();
            SessionState {
                id: session.id,
                epoch: session.epoch,
                uses_topic_ids: session.uses_topic_ids,
                fetcher: session.fetcher,
                asked_by: session.asked_by,
                principal: session.principal,
                profile: session.profile,
                created: Monotonic::from_millis(session.created),
                last_used: Monotonic::from_millis(session.last_used),
                visits_all: true,
                quiet_at: None,
                partitions: session.entries.iter().map(state_of).collect(),
            }
        });
        sessions.collect()
    }
}

fn follow(
    setup: &Setup,
    tracking: ChangeTracking,
    operations: &[TimedOperation],
) -> TestCaseResult {
    let mut twin = Twin::new(setup);
    run(setup, tracking, operations, |_: &mut Driver, step| twin.follow(step))
}

/// An exported cache less what only change tracking uses.
fn plain(view: &View) -> Vec<SessionState> {
    let mut sessions = view.state.sessions.clone();
    for session in &mut sessions {
        session.visits_all = true;
        session.quiet_at = None;
        for partition in &mut session.partitions {
            partition.is_changed = false;
        }
    }
    sessions
}

fn state_of(entry: &Entry) -> PartitionState {
    PartitionState {
        topic_id: entry.key.id,
        topic: entry.name().map(Into::into),
        partition: entry.key.partition,
        params: entry.params,
        reported: kafka_coordination::fetch::Reported {
            high_watermark: entry.high_watermark,
            log_start_offset: entry.log_start,
        },
        is_changed: false,
    }
}

fn shown(entries: &[Entry]) -> Vec<Visited> {
    let shown = entries.iter().map(|entry| Visited {
        key: entry.key.clone(),
        is_named: entry.is_named,
        params: entry.params,
    });
    shown.collect()
}

fn answer_of(answer: &FetchAnswer, included: Vec<bool>) -> Answer {
    Answer {
        error: answer.error,
        session_id: answer.session_id,
        throttle_time_ms: answer.throttle_time_ms,
        evicted: answer.evicted.map(|it| (it.session_id, it.reason)),
        included,
    }
}

fn counts_of(stats: &CacheStats) -> Counts {
    Counts {
        created: stats.created,
        refused: stats.refused,
        closed: stats.closed,
        over_limit: stats.over_limit,
        evicted_stale: stats.evicted_stale,
        evicted_unprivileged: stats.evicted_unprivileged,
        evicted_smaller: stats.evicted_smaller,
        not_found: stats.not_found,
        invalid_epoch: stats.invalid_epoch,
        topic_id_error: stats.topic_id_error,
    }
}

/// The keys of exported partitions.
pub(crate) fn keys(session: &SessionState) -> Vec<Key> {
    let keys = session.partitions.iter().map(|it| Key {
        id: it.topic_id,
        name: it.topic.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default(),
        partition: it.partition,
    });
    keys.collect()
}
