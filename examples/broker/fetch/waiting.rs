//! Fetches that wait for records, and how they are woken.
//!
//! A fetch in a session waits for a mark on it, which the cache reports; one waiter does for all its partitions. A fetch
//! without a session, or one that is to open one, waits for each partition that it asks for.

use super::read::Wanted;
use crate::broker::lock;
use kafka_coordination::TopicName;
use kafka_coordination::fetch::{ContextKind, FetchContext};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// What a fetch may wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// A session, by its id.
    Session(i32),
    /// A partition, by its topic's name and its index.
    Partition(TopicName, i32),
}

/// All waiting fetches.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Waiters>);

#[derive(Debug, Default)]
struct Waiters {
    by_key: HashMap<Key, BTreeMap<u64, Arc<Signal>>>,
    registered: u64,
}

#[derive(Debug, Default)]
struct Signal {
    notify: Notify,
    is_over: AtomicBool,
}

impl Waiters {
    fn at(&self, key: &Key) -> impl Iterator<Item = &Arc<Signal>> {
        self.by_key.get(key).into_iter().flat_map(BTreeMap::values)
    }
}

/// A waiting fetch. Dropping it ends the wait.
#[derive(Debug)]
pub(super) struct Waiter<'a> {
    waiting: &'a Waiting,
    number: u64,
    keys: Vec<Key>,
    signal: Arc<Signal>,
}

impl Waiting {
    /// Starts waiting for changes of what a fetch has asked for.
    pub(super) fn register(&self, context: &FetchContext, wanted: &[Wanted]) -> Waiter<'_> {
        let keys: Vec<_> = if context.kind() == ContextKind::Incremental {
            vec![Key::Session(context.session_id())]
        } else {
            let partition =
                |wanted: &Wanted| Some(Key::Partition(wanted.topic.clone()?, wanted.partition));
            wanted.iter().filter_map(partition).collect()
        };
        let signal = Arc::new(Signal::default());
        let mut waiters = lock(&self.0);
        waiters.registered += 1;
        let number = waiters.registered;
        for key in &keys {
            let at_key = waiters.by_key.entry(key.clone()).or_default();
            at_key.insert(number, Arc::clone(&signal));
        }
        drop(waiters);
        Waiter { waiting: self, number, keys, signal }
    }

    /// Wakes the fetch that waits in this session.
    pub(crate) fn wake_session(&self, id: i32) {
        self.wake(&Key::Session(id));
    }

    /// Tells the fetch that waits in this session that the session is gone: no mark will wake it any more.
    pub(crate) fn end_session(&self, id: i32) {
        let waiters = lock(&self.0);
        for signal in waiters.at(&Key::Session(id)) {
            signal.is_over.store(true, Ordering::Relaxed);
            signal.notify.notify_one();
        }
    }

    /// Wakes the fetches that wait for this partition without a session.
    pub(crate) fn wake_partition(&self, topic: &TopicName, partition: i32) {
        self.wake(&Key::Partition(topic.clone(), partition));
    }

    fn wake(&self, key: &Key) {
        // A permit stays with a waiter that is just reading, so none misses a change.
        for signal in lock(&self.0).at(key) {
            signal.notify.notify_one();
        }
    }
}

impl Waiter<'_> {
    /// Completes once something has changed since the last call.
    pub(super) async fn woken(&self) {
        self.signal.notify.notified().await;
    }

    /// Whether waiting on makes no sense.
    pub(super) fn is_over(&self) -> bool {
        self.signal.is_over.load(Ordering::Relaxed)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let by_key = &mut lock(&self.waiting.0).by_key;
        for key in &self.keys {
            if let Some(at_key) = by_key.get_mut(key) {
                at_key.remove(&self.number);
                if at_key.is_empty() {
                    by_key.remove(key);
                }
            }
        }
    }
}
