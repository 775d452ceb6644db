//! The node: a replica and what it is embedded in.
//!
//! One loop owns everything. It hands an input to the replica, or the time if that is due, and then carries out all that
//! the replica asks for before it looks at the next input. It runs on a thread of its own, so that the disk holds up
//! nobody else.

mod appends;
mod describe;
mod effects;
mod features;
mod reads;
mod replies;
mod requests;
mod snapshots;
mod start;

use crate::api::Body;
pub(crate) use crate::client::Failure;
use crate::machine::Machine;
use crate::peers::Peers;
use crate::random::HostRandom;
use crate::say;
use crate::storage::Disk;
use appends::Appends;
use bytes::Bytes;
use kafka_coordination::kraft::{Correlation, ListenerName, Replica, RequestId, Response};
use kafka_coordination::{Clock, SystemClock};
use replies::Owed;
use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use uuid::Uuid;

/// The topic of the metadata log, which has one partition.
pub(crate) const METADATA_TOPIC: &str = "__cluster_metadata";

/// Its id.
const METADATA_ID: Uuid = Uuid::from_u128(1);

/// How long a leader may take to hand over when the node is told to end, in milliseconds.
const SHUTDOWN_MS: u32 = 5_000;

/// What the node is told.
#[derive(Debug)]
pub(crate) enum Input {
    /// A request has come in.
    Request(Request),
    /// A request that was sent is answered, or will not be.
    Response(Correlation, Response),
    /// Print the state.
    Report,
    /// Hand over and end.
    ShutDown,
}

/// A request that somebody waits for an answer to.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) body: Body,
    /// Takes the bytes of the answer.
    pub(crate) reply: oneshot::Sender<Bytes>,
}

/// The replica and its world.
#[derive(Debug)]
pub(crate) struct Node {
    replica: Replica,
    disk: Disk,
    machine: Machine,
    peers: Peers,
    clock: SystemClock,
    random: HostRandom,
    cluster_id: String,
    listener: ListenerName,
    /// Records of the log after which a snapshot is made.
    snapshot_records: u64,
    next_request: u64,
    /// Requests that the replica owes an answer to; a connection waits for at most one.
    owed: HashMap<RequestId, Owed>,
    appends: Appends,
    /// The node has shut down, and whether it handed over in time.
    is_over: Option<bool>,
}

impl Node {
    /// Runs until the node has shut down.
    ///
    /// # Errors
    /// The disk fails, or the replica can go no further.
    pub(crate) fn run(mut self, inputs: mpsc::Receiver<Input>) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        runtime.block_on(self.drive(inputs))
    }

    async fn drive(&mut self, mut inputs: mpsc::Receiver<Input>) -> Result<(), Failure> {
        self.settle()?;
        loop {
            // First the time, then an input: neither keeps the other from its turn.
            let now = self.clock.monotonic();
            if self.replica.next_deadline().is_some_and(|deadline| deadline <= now) {
                self.replica.handle_timeout(&mut self.random, now);
                self.settle()?;
            }
            if let Some(is_graceful) = self.is_over {
                say(if is_graceful { "ended" } else { "ended, and nobody leads" });
                return Ok(());
            }
            tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => self.take(input),
                    None => return Ok(()),
                },
                () = self.wait() => {}
            }
            self.settle()?;
        }
    }

    /// Waits until the replica has something to do.
    async fn wait(&self) {
        match self.replica.next_deadline() {
            Some(deadline) => {
                let wait_ms = deadline.millis_since(self.clock.monotonic());
                sleep(Duration::from_millis(wait_ms.unsigned_abs())).await;
            }
            None => pending().await,
        }
    }

    fn take(&mut self, input: Input) {
        let now = self.clock.monotonic();
        match input {
            Input::Request(request) => self.take_request(request),
            Input::Response(correlation, response) => {
                self.replica.handle_response(correlation, response, &mut self.random, now);
            }
            Input::Report => say(&format!("state {}", self.report())),
            Input::ShutDown => self.replica.shut_down(SHUTDOWN_MS, now),
        }
    }

    /// Carries out what the replica asks for, until it asks for nothing more.
    fn settle(&mut self) -> Result<(), Failure> {
        while let Some(effect) = self.replica.poll_effect() {
            self.carry_out(effect)?;
        }
        if let Some(fatal) = self.replica.fatal() {
            return Err(fatal.to_string().into());
        }
        self.appends.settle(&self.replica);
        self.maybe_snapshot()
    }
}
