//! A node of a metadata quorum (`KRaft`) over TCP, and the reference for how to embed [`Replica`](kafka_coordination::kraft::Replica).
//!
//! ```text
//! cargo run --release --example controller --features wire -- --id 1 --data-dir /tmp/1 --standalone \
//!     --cluster-id AAAAAAAAAAAAAAAAAAAAAQ
//! cargo run --release --example controller --features wire -- --status 127.0.0.1:9093
//! ```
//!
//! It speaks Kafka's protocol and keeps Kafka's files, so it can be a voter beside Kafka's own controllers; see `--help`.
//! What it has of a controller is the quorum alone: its state machine only collects records.
//!
//! # How a replica is embedded
//!
//! ```text
//!  connections of others          one thread                    connections to others
//!  server.rs ── Input::Request ──► node/  ◄── Input::Response ── peers/
//!            ◄─ answer ─────────── Replica ── Effect::Send ────►
//!                                  storage/, machine.rs
//! ```
//!
//! - `node/mod.rs` owns the replica: it hands in requests, responses and the time, and after each carries out what the
//!   replica asks for, in order. It is one loop on one thread, which may block on the disk; nothing is locked.
//! - `node/effects.rs` has a line for each effect: the contract of a host.
//! - `node/requests.rs` and `node/replies.rs` translate between Kafka's messages and the replica's.
//! - `peers/` has a connection for each node that the replica talks to, and tells it what became of each request.
//! - `storage/recovery.rs` builds again what the replica knew, from files that a crash has left.
//!
//! All queues are bounded: a request is not read before there is room for it.
//!
//! Two things are its own, so that clients can put records into the log and look for them: `Produce` to partition 0 of
//! `__cluster_metadata` appends (`node/appends.rs`), and `Fetch` by that name reads what the node's state machine has
//! (`node/reads.rs`). Nothing else than such an append makes a leader write records of the state machine, so beside
//! Kafka's controllers it does a quorum's duties and no more.

#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program, which has the standard library"
)]

mod api;
mod args;
mod client;
mod frame;
mod load;
mod machine;
mod node;
mod peers;
#[allow(dead_code, reason = "the broker draws more")]
#[path = "../broker/random.rs"]
mod random;
mod self_test;
mod server;
#[path = "../broker/signals.rs"]
mod signals;
mod status;
mod storage;

use args::Args;
use client::Failure;
use node::{Input, Node};
use signals::{Asked, Signals};
use std::io::{self, Write};
use std::process::ExitCode;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Inputs that may wait for the replica.
const INPUTS: usize = 256;

fn main() -> ExitCode {
    let args = match Args::parse() {
        Ok(args) if args.help => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Does what is asked for. Whether all is well.
#[tokio::main]
async fn run(args: Args) -> Result<bool, Failure> {
    if args.self_test {
        return self_test::run().await;
    }
    if let Some(nodes) = &args.status {
        return status::run(nodes).await;
    }
    if let Some(nodes) = &args.load {
        return load::run(nodes, args.records).await;
    }
    serve(args).await
}

/// Runs a node until it is told to end, or cannot go on.
async fn serve(args: Args) -> Result<bool, Failure> {
    let listen = &args.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| format!("{listen}: {error}"))?;
    let (inputs, received) = mpsc::channel(INPUTS);
    let connections = args.connections;
    let address = listener.local_addr()?;
    let node = Node::start(&args, address, inputs.clone())?;
    // Signals are heard from before anybody is told that the node is there.
    let mut signals = Signals::new()?;
    say(&format!("listening on {address}"));
    let mut running = tokio::task::spawn_blocking(move || node.run(received));
    tokio::spawn(server::run(listener, connections, inputs.clone()));
    loop {
        let asked = tokio::select! {
            ended = &mut running => return ended?.map(|()| true),
            asked = signals.next() => asked,
        };
        let input = match asked {
            Asked::Report => Input::Report,
            Asked::End => Input::ShutDown,
        };
        // If nobody takes it, the node has just ended.
        drop(inputs.send(input).await);
    }
}

/// Prints a line. If nobody reads any more, that is no reason to end.
fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
