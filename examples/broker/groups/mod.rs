//! Consumer groups: the coordinator of all of them, and the timers that it asks for.
//!
//! [`Coordinator`] and what is below it decide, with the time as an argument, and do no I/O; this module gives them the
//! time. Offsets are in memory, as the records are.

mod classic;
mod config;
mod consumer;
mod coordinator;
mod counts;
mod described;
mod offsets;

pub(crate) use classic::{Claim, Join, Joined, Leaving, Protocol, Sync};
pub(crate) use config::GroupConfig;
pub(crate) use consumer::{ASSIGNOR, Assignment, Heartbeat, Told};
pub(crate) use coordinator::Coordinator;
pub(crate) use counts::Counts;
pub(crate) use described::{Described, DescribedConsumer};
pub(crate) use offsets::{Commit, Committed};

use crate::broker::{Broker, lock};
use crate::topics::Topics;
use kafka_coordination::Monotonic;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::oneshot::{self, Receiver, Sender};
use tokio::time::sleep;

/// The groups of the broker.
#[derive(Debug)]
pub(crate) struct Groups {
    coordinator: Mutex<Coordinator>,
    /// Rung when the next deadline has changed.
    alarm: Notify,
}

impl Groups {
    pub(crate) fn new(config: GroupConfig, topics: Topics, hash_seed: u64) -> Self {
        let coordinator = Mutex::new(Coordinator::new(config, topics, hash_seed));
        Self { coordinator, alarm: Notify::new() }
    }

    /// Lets the coordinator decide something.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Coordinator) -> T) -> T {
        let mut coordinator = lock(&self.coordinator);
        let before = coordinator.next_deadline();
        let done = act(&mut coordinator);
        let after = coordinator.next_deadline();
        drop(coordinator);
        if after != before {
            self.alarm.notify_one();
        }
        done
    }

    /// The same for what is answered later. The receiver fails only if the group never answers.
    pub(crate) fn ask<T>(&self, act: impl FnOnce(&mut Coordinator, Sender<T>)) -> Receiver<T> {
        let (reply, answer) = oneshot::channel();
        self.with(|coordinator| act(coordinator, reply));
        answer
    }
}

/// Tells the coordinator, for ever, when its deadlines have come.
pub(crate) async fn keep_time(broker: &Broker) {
    let groups = &broker.groups;
    loop {
        let next = groups.with(|coordinator| coordinator.next_deadline());
        tokio::select! {
            () = until(next, broker) => {
                groups.with(|coordinator| coordinator.handle_timeout(broker.now()));
            }
            () = groups.alarm.notified() => {}
        }
    }
}

async fn until(deadline: Option<Monotonic>, broker: &Broker) {
    match deadline {
        Some(at) => {
            let ms = at.millis_since(broker.now());
            sleep(Duration::from_millis(u64::try_from(ms).unwrap_or(0))).await;
        }
        None => std::future::pending().await,
    }
}
