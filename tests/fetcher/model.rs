//! The rules of the fetcher's side, written down plainly: lists and maps, nothing remembered that can be computed.

use crate::fixture::{Key, NO_ID, metadata};
use kafka_coordination::fetch::{FetchMetadata, FetchParams, LeakedSession};
use kafka_coordination::{ErrorCode, TopicId};
use std::collections::{BTreeMap, BTreeSet};

/// A partition as the fetcher's map is keyed.
type NameKey = (String, i32);

/// What is wanted of a partition.
type Want = (TopicId, FetchParams);

/// The fetcher's side of a session.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) next: FetchMetadata,
    pub(crate) partitions: Vec<(NameKey, Want)>,
    pub(crate) names: BTreeMap<TopicId, String>,
    pub(crate) leaked_session: LeakedSession,
}

/// What a build gives.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) send: Vec<(Key, FetchParams)>,
    pub(crate) forget: Vec<Key>,
    pub(crate) replace: Vec<Key>,
    pub(crate) can_use_topic_ids: bool,
}

impl Model {
    pub(crate) fn new(leaked_session: LeakedSession) -> Self {
        Self {
            next: FetchMetadata::INITIAL,
            partitions: Vec::new(),
            names: BTreeMap::new(),
            leaked_session,
        }
    }

    pub(crate) fn build(&mut self, wishes: &[(Key, FetchParams)]) -> Plan {
        let mut list: Vec<(NameKey, Want)> = Vec::new();
        let mut names = BTreeMap::new();
        let mut plan = Plan {
            can_use_topic_ids: wishes.iter().all(|((id, ..), _)| *id != NO_ID),
            ..Plan::default()
        };
        for ((id, name, partition), params) in wishes {
            let key = (name.clone(), *partition);
            match list.iter_mut().find(|(known, _)| *known == key) {
                Some((_, want)) => *want = (*id, *params),
                None => list.push((key, (*id, *params))),
            }
            names.entry(*id).or_insert_with(|| name.clone());
        }

        if self.next.is_full() {
            plan.send = list.iter().map(sent).collect();
            self.partitions = list;
        } else {
            let wanted =
                |key: &NameKey| list.iter().find(|(known, _)| known == key).map(|(_, want)| *want);
            let mut altered = Vec::new();
            let mut kept = Vec::new();
            for (key, held) in &self.partitions {
                let old = (held.0, key.0.clone(), key.1);
                let Some(want) = wanted(key) else {
                    plan.can_use_topic_ids &= held.0 != NO_ID;
                    plan.forget.push(old);
                    continue;
                };
                if want.0 != held.0 && want.0 != NO_ID && held.0 != NO_ID {
                    plan.replace.push(old);
                }
                if want != *held {
                    altered.push((key.clone(), want));
                }
                kept.push((key.clone(), want));
            }
            let is_held = |key: &NameKey| self.partitions.iter().any(|(held, _)| held == key);
            let added: Vec<_> = list.iter().filter(|(key, _)| !is_held(key)).cloned().collect();
            plan.send = added.iter().chain(&altered).map(sent).collect();
            kept.extend(added);
            self.partitions = kept;
        }
        self.names = if plan.can_use_topic_ids { names } else { BTreeMap::new() };
        plan
    }

    /// Hears a response; says whether it may be processed.
    pub(crate) fn hear(
        &mut self,
        version: i16,
        error: ErrorCode,
        session_id: i32,
        throttle_time_ms: i32,
        topics: &[(TopicId, String, Vec<i32>)],
    ) -> bool {
        let reset = metadata(self.next.session_id, 0);
        if error != ErrorCode::None {
            self.next = match error {
                ErrorCode::FetchSessionIdNotFound => metadata(0, 0),
                _ => reset,
            };
            return false;
        }
        let mut decoded = BTreeSet::new();
        let mut has_extra_ids = false;
        for (id, name, partitions) in topics {
            let name = if version < 13 { Some(name) } else { self.names.get(id) };
            has_extra_ids |= name.is_none() && *id != NO_ID;
            let keys = partitions.iter().filter_map(|partition| Some((name?.clone(), *partition)));
            decoded.extend(keys);
        }
        let held: BTreeSet<_> = self.partitions.iter().map(|(key, _)| key.clone()).collect();
        let has_extra = has_extra_ids || !decoded.is_subset(&held);
        let (is_processable, next) = if self.next.is_full() {
            if decoded.is_empty() && throttle_time_ms > 0 {
                (false, metadata(0, 0))
            } else if has_extra || decoded != held {
                let id = if self.leaked_session == LeakedSession::Close { session_id } else { 0 };
                (false, metadata(id, 0))
            } else {
                (true, metadata(session_id, i32::from(session_id != 0)))
            }
        } else if has_extra {
            (false, reset)
        } else if session_id == 0 {
            (true, metadata(0, 0))
        } else {
            (true, metadata(self.next.session_id, FetchMetadata::next_epoch(self.next.epoch)))
        };
        self.next = next;
        is_processable
    }
}

fn sent(((name, partition), (id, params)): &(NameKey, Want)) -> (Key, FetchParams) {
    ((*id, name.clone(), *partition), *params)
}
