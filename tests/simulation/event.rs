//! What happens, and when.

use kafka_coordination::kraft::{Correlation, Request, Response};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A node's deadline may have come.
    Wake { node: usize },
    /// A request arrives.
    Request { from: usize, to: usize, life: u64, correlation: Correlation, request: Request },
    /// A response arrives, at the life of the node that asked.
    Response { from: usize, to: usize, life: u64, correlation: Correlation, response: Response },
    /// A node's log is durable up to here.
    Flushed { node: usize, life: u64, end_offset: i64 },
    /// A node that was down starts.
    Start { node: usize },
    /// The faults of the plan.
    Fault,
    /// The client appends.
    Append,
    /// Somebody changes voters.
    Change,
    /// Somebody makes a snapshot.
    Snapshot,
    /// The faults are over.
    Heal,
}

#[derive(Debug)]
struct Entry {
    at: i64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Events by their time in milliseconds; those of one time in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<Entry>>,
    made: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at: i64, event: Event) {
        self.made += 1;
        self.heap.push(Reverse(Entry { at, number: self.made, event }));
    }

    pub(crate) fn pop(&mut self) -> Option<(i64, Event)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}
