//! A scripted client that checks the broker over TCP, down to the bytes.

mod burdens;
pub(crate) mod client;
pub(crate) mod crash;
mod fetcher;
mod hostile;
mod hostile_transactions;
mod markers;
mod producers;
mod records;
mod restart;
mod sessions;
mod small;
mod topics;
mod transactional;
mod transactions;
mod versions;

use crate::args::Args;
use crate::broker::Broker;
use crate::server;
use client::Failure;
use std::fmt::{Debug, Display};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The first version of Fetch that names topics by id, and the last that names them by name.
const BY_ID: i16 = 18;
const BY_NAME: i16 = 12;

/// A broker under test.
#[derive(Clone, Debug)]
struct Subject {
    address: SocketAddr,
    /// For what no client can do: topics with ids of the test's choice.
    broker: Arc<Broker>,
}

/// Counts and prints what was checked.
#[derive(Debug, Default)]
struct Checks {
    held: usize,
    failed: usize,
}

impl Checks {
    fn that(&mut self, holds: bool, what: impl Display) {
        if holds {
            self.held += 1;
            println!("ok  {what}");
        } else {
            self.failed += 1;
            println!("FAILED  {what}");
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "reads better with literals")]
    fn equal<T: PartialEq + Debug>(&mut self, found: T, expected: T, what: impl Display) {
        if found == expected {
            self.that(true, what);
        } else {
            self.that(false, format_args!("{what}: {found:?} instead of {expected:?}"));
        }
    }

    /// Counts a scenario that could not go on as a failure.
    fn ended(&mut self, scenario: &str, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.that(false, format_args!("{scenario} goes on: {failure}"));
        }
    }
}

impl Subject {
    /// Starts a broker on a free port.
    async fn start(args: Args) -> Result<(Self, JoinHandle<()>), Failure> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let broker = Arc::new(Broker::new(args)?);
        let server = tokio::spawn(server::run(Arc::clone(&broker), listener));
        Ok((Self { address, broker }, server))
    }
}

/// Starts a broker on a free port and checks it. Whether everything held.
pub(crate) async fn run() -> Result<bool, Failure> {
    let (subject, server) = Subject::start(Args::default()).await?;
    let mut checks = Checks::default();

    let outcome = versions::check(&mut checks, &subject).await;
    checks.ended("version negotiation", outcome);
    let outcome = records::check(&mut checks, &subject).await;
    checks.ended("producing", outcome);
    let outcome = producers::check(&mut checks, &subject).await;
    checks.ended("producing idempotently", outcome);
    let outcome = transactions::check(&mut checks, &subject).await;
    checks.ended("transactions", outcome);
    let outcome = markers::check(&mut checks, &subject).await;
    checks.ended("markers of others", outcome);
    let outcome = topics::check(&mut checks, &subject).await;
    checks.ended("changing topics", outcome);
    for version in [BY_NAME, BY_ID] {
        let outcome = sessions::check(&mut checks, &subject, version).await;
        checks.ended("fetching in sessions", outcome);
    }
    let outcome = restart::check(&mut checks).await;
    checks.ended("restarting", outcome);
    let outcome = small::check(&mut checks).await;
    checks.ended("going without", outcome);
    let outcome = burdens::check(&mut checks, &subject).await;
    checks.ended("asking too much", outcome);
    let outcome = hostile::check(&mut checks, &subject).await;
    checks.ended("sending nonsense", outcome);

    server.abort();
    println!("{} passed, {} failed", checks.held, checks.failed);
    Ok(checks.failed == 0)
}
