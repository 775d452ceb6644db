//! One session, as a list that is searched from its beginning.

use crate::reading::Reading;
use crate::request::{Key, Request};
use crate::universe::{NameMap, look_up};
use kafka_coordination::fetch::{FetchParams, FetcherKind, Profile};

/// A partition of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    /// By id: whether the key's name is known. By name it always is.
    pub(crate) is_named: bool,
    pub(crate) params: FetchParams,
    pub(crate) high_watermark: i64,
    pub(crate) log_start: i64,
}

impl Entry {
    /// What a request lists, nothing of it reported yet.
    pub(crate) fn new(key: &Key, params: FetchParams, request: &Request) -> Self {
        let mut entry = Self {
            key: key.clone(),
            is_named: true,
            params: stored(params),
            high_watermark: -1,
            log_start: -1,
        };
        if request.uses_topic_ids() {
            entry.key.name.clear();
            entry.is_named = false;
            entry.resolve(request.names);
        } else {
            entry.key.id = kafka_coordination::TopicId::ZERO;
        }
        entry
    }

    /// A name is learnt once and kept.
    pub(crate) fn resolve(&mut self, names: NameMap) {
        if self.is_named {
            return;
        }
        if let Some(name) = look_up(names, self.key.id) {
            name.as_str().clone_into(&mut self.key.name);
            self.is_named = true;
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.is_named.then_some(self.key.name.as_str())
    }

    /// Whether an answer carries the reading; tells the fetcher so if `commits`.
    pub(crate) fn includes(&mut self, reading: &Reading, commits: bool) -> bool {
        let mut includes = reading.records > 0;
        if self.high_watermark != reading.high_watermark {
            includes = true;
            if commits {
                self.high_watermark = reading.high_watermark;
            }
        }
        if self.log_start != reading.log_start {
            includes = true;
            if commits {
                self.log_start = reading.log_start;
            }
        }
        if reading.has_preferred_replica {
            includes = true;
        }
        if reading.error.code() != 0 {
            includes = true;
            if commits {
                self.high_watermark = -1;
            }
        }
        if reading.has_diverging_epoch {
            includes = true;
        }
        includes
    }
}

/// Epochs below zero stand for none.
fn stored(params: FetchParams) -> FetchParams {
    FetchParams {
        leader_epoch: params.leader_epoch.filter(|&epoch| epoch >= 0),
        last_fetched_epoch: params.last_fetched_epoch.filter(|&epoch| epoch >= 0),
        ..params
    }
}

/// Puts a request's list into a list of entries: a repeated key keeps its first place and takes
/// its last parameters.
pub(crate) fn put_all(entries: &mut Vec<Entry>, request: &Request) -> usize {
    let before = entries.len();
    for (key, params) in &request.wanted {
        let is_it = |entry: &&mut Entry| entry.key.is_same(key, request.uses_topic_ids());
        match entries.iter_mut().find(is_it) {
            Some(entry) => entry.params = stored(*params),
            None => entries.push(Entry::new(key, *params, request)),
        }
    }
    entries.len() - before
}

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: i32,
    pub(crate) fetcher: FetcherKind,
    /// Who sent the last request.
    pub(crate) asked_by: FetcherKind,
    pub(crate) principal: u64,
    pub(crate) profile: Profile,
    pub(crate) uses_topic_ids: bool,
    pub(crate) entries: Vec<Entry>,
    pub(crate) created: i64,
    pub(crate) last_used: i64,
    pub(crate) epoch: i32,
    /// -1 until the session is first touched.
    pub(crate) cached_size: i64,
}

impl Session {
    pub(crate) const fn is_privileged(&self) -> bool {
        matches!(self.fetcher, FetcherKind::Follower)
    }

    /// Applies an accepted request's lists; answers how many partitions it added.
    pub(crate) fn update(&mut self, request: &Request) -> usize {
        let added = put_all(&mut self.entries, request);
        for key in &request.forgotten {
            self.entries.retain(|entry| !entry.key.is_same(key, self.uses_topic_ids));
        }
        added
    }

    pub(crate) fn entry_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        let uses_topic_ids = self.uses_topic_ids;
        self.entries.iter_mut().find(|entry| entry.key.is_same(key, uses_topic_ids))
    }

    pub(crate) fn move_to_end(&mut self, key: &Key) {
        let at = |entry: &Entry| entry.key.is_same(key, self.uses_topic_ids);
        if let Some(at) = self.entries.iter().position(at) {
            let entry = self.entries.remove(at);
            self.entries.push(entry);
        }
    }
}

/// The epoch after one.
pub(crate) const fn next_epoch(epoch: i32) -> i32 {
    match epoch {
        i32::MIN..=-1 => -1,
        i32::MAX => 1,
        _ => epoch + 1,
    }
}
