//! Counters, and how they are shown.

use crate::broker::lock;
use crate::groups::Counts;
use crate::log::Recovered;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The most client programs that are counted apart: their names are the clients' choice.
const MAX_CLIENTS: usize = 64;

/// A number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `n` and returns the number before.
    pub(crate) fn add(&self, n: usize) -> u64 {
        self.0.fetch_add(u64::try_from(n).unwrap_or(0), Ordering::Relaxed)
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What fetches came to.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    pub(crate) full: Counter,
    pub(crate) incremental: Counter,
    pub(crate) sessionless: Counter,
    pub(crate) error: Counter,
}

impl Fetches {
    fn json(&self) -> Value {
        json!({
            "full": self.full.value(),
            "incremental": self.incremental.value(),
            "sessionless": self.sessionless.value(),
            "error": self.error.value(),
        })
    }
}

/// What one client program, of any number of connections, has done.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// Connections on which the program has said what it is.
    pub(crate) connections: Counter,
    pub(crate) fetches: Fetches,
    pub(crate) sessions_by_id: Counter,
    pub(crate) sessions_by_name: Counter,
    pub(crate) partitions_returned: Counter,
    /// Session errors given to it on purpose.
    pub(crate) given_70: Counter,
    pub(crate) given_71: Counter,
    pub(crate) records_appended: Counter,
    /// Batches that it has sent again, and that were answered with the offsets they had.
    pub(crate) duplicates: Counter,
    /// Answers to its produce requests that were dropped on purpose.
    pub(crate) responses_dropped: Counter,
    /// The names and versions of the APIs called.
    apis: Mutex<BTreeMap<&'static str, BTreeSet<i16>>>,
}

impl Client {
    pub(crate) fn called(&self, api: &'static str, version: i16) {
        lock(&self.apis).entry(api).or_default().insert(version);
    }

    fn json(&self, (name, version): &(String, String)) -> Value {
        json!({
            "name": name,
            "version": version,
            "connections": self.connections.value(),
            "fetches": self.fetches.json(),
            "sessions_by_id": self.sessions_by_id.value(),
            "sessions_by_name": self.sessions_by_name.value(),
            "partitions_returned": self.partitions_returned.value(),
            "given_70": self.given_70.value().min(1),
            "given_71": self.given_71.value().min(1),
            "records_appended": self.records_appended.value(),
            "duplicates": self.duplicates.value(),
            "responses_dropped": self.responses_dropped.value(),
            "apis": *lock(&self.apis),
        })
    }
}

/// What it took to start from the data directory.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) logs: Counter,
    /// Batches that no snapshot knew of.
    pub(crate) batches_replayed: Counter,
    pub(crate) snapshots_loaded: Counter,
    /// Bytes at the end of logs that were no whole batch.
    pub(crate) bytes_cut: Counter,
}

impl Recovery {
    /// Counts one log.
    pub(crate) fn add(&self, recovered: Recovered) {
        self.logs.add(1);
        self.batches_replayed.add(recovered.batches_replayed);
        self.snapshots_loaded.add(recovered.snapshots_loaded);
        self.bytes_cut.add(recovered.bytes_cut);
    }

    fn json(&self) -> Value {
        json!({
            "logs": self.logs.value(),
            "batches_replayed": self.batches_replayed.value(),
            "snapshots_loaded": self.snapshots_loaded.value(),
            "bytes_cut": self.bytes_cut.value(),
        })
    }
}

/// What the whole broker has done.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) fetches: Fetches,
    pub(crate) partitions_read: Counter,
    pub(crate) partitions_returned: Counter,
    pub(crate) records_appended: Counter,
    pub(crate) duplicates: Counter,
    pub(crate) responses_dropped: Counter,
    pub(crate) broken_connections: Counter,
    pub(crate) recovery: Recovery,
    clients: Mutex<BTreeMap<(String, String), Arc<Client>>>,
}

/// What the fetch session cache says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cached {
    pub(crate) sessions: u64,
    pub(crate) partitions: u64,
    pub(crate) evictions: u64,
    pub(crate) groups: Counts,
}

impl Stats {
    /// The counters of a client program. Programs beyond a limit share those of the empty name.
    pub(crate) fn client(&self, name: &str, version: &str) -> Arc<Client> {
        let mut clients = lock(&self.clients);
        let mut key = (name.to_owned(), version.to_owned());
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(&key) {
            key = (String::new(), String::new());
        }
        Arc::clone(clients.entry(key).or_default())
    }

    /// One line for a reader.
    pub(crate) fn line(&self, cached: Cached) -> String {
        let Cached { sessions, partitions, evictions, .. } = cached;
        format!(
            "sessions {sessions}  partitions cached {partitions}  evictions {evictions}  \
             fetches full {} incremental {} sessionless {} error {}  partitions read {} returned {}  \
             duplicates {}  responses dropped {}",
            self.fetches.full.value(),
            self.fetches.incremental.value(),
            self.fetches.sessionless.value(),
            self.fetches.error.value(),
            self.partitions_read.value(),
            self.partitions_returned.value(),
            self.duplicates.value(),
            self.responses_dropped.value(),
        )
    }

    /// Everything, on one line for a program.
    pub(crate) fn json(&self, cached: Cached) -> String {
        let clients: Vec<_> = lock(&self.clients)
            .iter()
            .filter(|(_, client)| !lock(&client.apis).is_empty())
            .map(|(key, client)| client.json(key))
            .collect();
        let all = json!({
            "sessions": cached.sessions,
            "partitions_cached": cached.partitions,
            "evictions": cached.evictions,
            "fetches": self.fetches.json(),
            "partitions_read": self.partitions_read.value(),
            "partitions_returned": self.partitions_returned.value(),
            "groups": cached.groups.json(),
            "records_appended": self.records_appended.value(),
            "duplicates": self.duplicates.value(),
            "responses_dropped": self.responses_dropped.value(),
            "broken_connections": self.broken_connections.value(),
            "recovery": self.recovery.json(),
            "clients": clients,
        });
        format!("stats {all}")
    }
}
