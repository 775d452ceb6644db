//! The log of a shard, and what it says of groups.

use super::group::{Both, Group, Shard};
use super::{RequestNumber, Then, Written};
use kafka_coordination::{ErrorCode, Monotonic};
use std::collections::{BTreeMap, VecDeque};

/// For how long a write may wait for its commit.
const TIMEOUT_MS: i64 = 5_000;

type Changes = Vec<(String, Option<Group>)>;

#[derive(Clone, Debug)]
struct Waiting {
    then: Then,
    /// How many batches must be committed before it goes on.
    batches: usize,
    since: Monotonic,
}

#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) latest: Shard,
    pub(crate) committed: Shard,
    /// Batches that are not committed.
    pending: VecDeque<Changes>,
    committed_batches: usize,
    waiting: Vec<Waiting>,
    /// Whether what is appended is committed at once.
    pub(crate) commits_at_once: bool,
    /// The errors of the next appends.
    pub(crate) errors: VecDeque<ErrorCode>,
    /// Whether a write that may be split is, so that it may fail with a part of it written.
    pub(crate) splits: bool,
    /// The groups that requests want deleted.
    pub(crate) requested: BTreeMap<RequestNumber, Vec<String>>,
}

impl Log {
    pub(crate) fn new(shard: Shard) -> Self {
        Self {
            latest: shard.clone(),
            committed: shard,
            pending: VecDeque::new(),
            committed_batches: 0,
            waiting: Vec::new(),
            commits_at_once: true,
            errors: VecDeque::new(),
            splits: false,
            requested: BTreeMap::new(),
        }
    }

    pub(crate) fn groups(&self) -> Both {
        Both { latest: self.latest.clone(), committed: self.committed.clone() }
    }

    pub(crate) fn next_error(&mut self) -> ErrorCode {
        self.errors.pop_front().unwrap_or(ErrorCode::None)
    }

    /// The records of streams groups in a batch.
    pub(crate) fn records(&self, changes: &Changes) -> BTreeMap<String, Written> {
        let records = changes.iter().filter_map(|(group_id, group)| {
            let was_streams = self.latest.streams(group_id).is_some();
            match group {
                Some(group) if group.is_streams() => {
                    let (stored, failed) = group.belief.to_record();
                    Some((group_id.clone(), Some((group.epoch, stored, failed))))
                }
                _ => was_streams.then(|| (group_id.clone(), None)),
            }
        });
        records.collect()
    }

    /// Appends a batch; answers who goes on at once.
    pub(crate) fn append(&mut self, changes: Changes, then: Then, now: Monotonic) -> Vec<Then> {
        self.latest.apply(changes.clone());
        self.pending.push_back(changes);
        let batches = self.committed_batches + self.pending.len();
        self.waiting.push(Waiting { then, batches, since: now });
        if self.commits_at_once { self.commit() } else { Vec::new() }
    }

    /// Appends a batch for which nobody waits.
    pub(crate) fn append_part(&mut self, changes: Changes) {
        self.latest.apply(changes.clone());
        self.pending.push_back(changes);
        if self.commits_at_once {
            self.commit_one();
        }
    }

    /// Waits for all that was appended; answers who goes on at once.
    pub(crate) fn await_commit(&mut self, then: Then, now: Monotonic) -> Option<Then> {
        if self.pending.is_empty() {
            return Some(then);
        }
        let batches = self.committed_batches + self.pending.len();
        self.waiting.push(Waiting { then, batches, since: now });
        None
    }

    /// Commits everything; answers who goes on.
    pub(crate) fn commit(&mut self) -> Vec<Then> {
        while !self.pending.is_empty() {
            self.commit_one();
        }
        self.take_ready()
    }

    /// Commits the oldest batch.
    pub(crate) fn commit_one(&mut self) {
        if let Some(changes) = self.pending.pop_front() {
            self.committed.apply(changes);
            self.committed_batches += 1;
        }
    }

    /// Who goes on by what is committed.
    pub(crate) fn take_ready(&mut self) -> Vec<Then> {
        let committed = self.committed_batches;
        self.waiting.extract_if(.., |it| it.batches <= committed).map(|it| it.then).collect()
    }

    /// Who waited for too long.
    pub(crate) fn overdue(&mut self, now: Monotonic) -> Vec<Then> {
        let is_overdue = |it: &mut Waiting| now.millis_since(it.since) > TIMEOUT_MS;
        self.waiting.extract_if(.., is_overdue).map(|it| it.then).collect()
    }

    /// Everybody who waits.
    pub(crate) fn take_waiting(&mut self) -> Vec<Then> {
        std::mem::take(&mut self.waiting).into_iter().map(|it| it.then).collect()
    }

    /// What is not committed is lost.
    pub(crate) fn cut(&mut self) {
        self.pending.clear();
        self.latest = self.committed.clone();
    }

    /// The state after loading: all of the log, which is committed by then.
    pub(crate) fn reload(&mut self) {
        while !self.pending.is_empty() {
            self.commit_one();
        }
        self.latest = self.committed.clone();
    }
}
