//! A Kafka-compatible broker in one process, and the reference for how to embed `kafka-coordination`.
//!
//! ```text
//! cargo run --release --example broker --features wire -- --listen 127.0.0.1:9092 --topic demo:12
//! ```
//!
//! Ordinary clients produce to it, also idempotently and in transactions, and consume from it; see `--help` for what else
//! it can do. Where to start reading, by the machine of the crate that is embedded:
//!
//! - fetch sessions: `fetch/mod.rs`, which hands every fetch to the crate;
//! - producers: `log/append.rs`, which asks about every batch, `log/recovery.rs`, which builds again what was known, and
//!   `transactions/verify.rs`, which lets no transaction start that nobody ends.

#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program, which has the standard library"
)]

mod api;
mod args;
mod batch;
mod broker;
mod faults;
mod fetch;
mod frame;
mod log;
mod producer_ids;
mod random;
mod self_test;
mod server;
mod signals;
mod stats;
mod storage;
#[cfg(test)]
mod tests;
mod topics;
mod transactions;
mod upkeep;

use args::Args;
use broker::Broker;
use kafka_coordination::ErrorCode;
use signals::{Asked, Signals};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};

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
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(args: Args) -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    if args.self_test {
        let held = self_test::run().await?;
        return Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let broker = Arc::new(Broker::new(args)?);
    for (name, partitions) in &broker.args.topics {
        match broker.create_topic(name, *partitions) {
            // From the data directory.
            Err(ErrorCode::TopicAlreadyExists) if broker.args.data_dir.is_some() => {}
            created => drop(created.map_err(|error| format!("topic {name}: {error}"))?),
        }
    }
    let listen = &broker.args.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| format!("{listen}: {error}"))?;
    // Signals are heard from before anybody is told that the broker is there.
    let signals = Signals::new()?;
    say(&format!("listening on {}", listener.local_addr()?))?;
    tokio::spawn(upkeep::run(Arc::clone(&broker)));
    tokio::spawn(server::run(Arc::clone(&broker), listener));
    report(&broker, signals).await?;
    Ok(ExitCode::SUCCESS)
}

/// Prints counters when asked to, until the process is told to end.
async fn report(broker: &Broker, mut signals: Signals) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = second.tick() => {
                if broker.args.stats {
                    say(&broker.stats.line(broker.cached()))?;
                }
                if broker.args.stats_json {
                    say(&broker.stats.json(broker.cached()))?;
                }
            }
            asked = signals.next() => match asked {
                Asked::Report => say(&broker.stats.json(broker.cached()))?,
                Asked::End => break,
            },
        }
    }
    Ok(say(&broker.stats.json(broker.cached()))?)
}

/// Prints a line; unlike `println!` it does not panic when nobody reads any more.
fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}
