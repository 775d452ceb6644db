//! A model that does what a cache did, and is compared with it.

use crate::driver::{Did, Finished, Step, View, Visited, run};
use crate::model::{Answer, Context, Counts, Entry, Model, Setup};
use crate::operation::TimedOperation;
use crate::request::Key;
use kafka_coordination::Monotonic;
use kafka_coordination::fetch::{
    CacheStats, ChangeTracking, FetchAnswer, PartitionState, Reported, SessionState,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::BTreeMap;

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

/// Runs the operations on a cache and on its model.
pub(crate) fn follow(setup: &Setup, operations: &[TimedOperation]) -> TestCaseResult {
    let mut twin = Twin::new(setup);
    run(setup, ChangeTracking::Off, operations, |_, step| twin.follow(step))
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
        reported: Reported {
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

pub(crate) fn counts_of(stats: &CacheStats) -> Counts {
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
