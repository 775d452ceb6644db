//! Other nodes, as this one talks to them: a connection each, on which one request waits for its answer.

mod connection;

use crate::node::Input;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{Correlation, ListenerName, Node, Request, Response};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Peers that are remembered. A quorum has fewer; whoever says that it leads is one, too.
const MAX_PEERS: usize = 100;

/// Requests that may wait for a connection. There is a second one only when nobody waits for the first any more.
const REQUESTS: usize = 4;

/// What all connections have in common.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) cluster_id: String,
    pub(crate) client_id: String,
    pub(crate) listener: ListenerName,
    /// How long connecting may take, and an answer.
    pub(crate) timeout: Duration,
    /// Takes what becomes of requests.
    pub(crate) inputs: mpsc::Sender<Input>,
}

/// The peers that were talked to.
#[derive(Debug)]
pub(crate) struct Peers {
    context: Arc<Context>,
    runtime: Handle,
    connections: BTreeMap<i32, Peer>,
}

/// A peer and the way to the task that has its connection.
#[derive(Debug)]
struct Peer {
    node: Node,
    requests: mpsc::Sender<(Correlation, Request)>,
}

impl Peers {
    /// Nobody yet; connections live on this runtime.
    pub(crate) fn new(context: Context, runtime: Handle) -> Self {
        Self { context: Arc::new(context), runtime, connections: BTreeMap::new() }
    }

    /// Sends a request, without waiting. What becomes of it comes as an [`Input::Response`].
    pub(crate) fn send(&mut self, correlation: Correlation, to: &Node, request: Request) {
        let peer = self.connections.get(&to.id).filter(|peer| peer.node == *to);
        let sent = match peer {
            Some(peer) => peer.requests.try_send((correlation, request)),
            None => self.connect(to).try_send((correlation, request)),
        };
        // If there is no room for it the replica hears nothing of it, as if it were lost on the way.
        if let Err(TrySendError::Closed(request)) = sent {
            // The connection was idle for long.
            drop(self.connect(to).try_send(request));
        }
    }

    /// Starts a task for a connection to this peer, in place of any other.
    fn connect(&mut self, to: &Node) -> &mpsc::Sender<(Correlation, Request)> {
        if self.connections.len() >= MAX_PEERS {
            // The one that is needed is made again.
            self.connections.clear();
        }
        let (requests, received) = mpsc::channel(REQUESTS);
        let context = Arc::clone(&self.context);
        self.runtime.spawn(connection::run(context, to.clone(), received));
        self.connections.remove(&to.id);
        &self.connections.entry(to.id).or_insert(Peer { node: to.clone(), requests }).requests
    }
}

/// What the replica is told of a request that did not reach its peer, or whose answer did not come.
const BROKEN: Response = Response::Failed(ErrorCode::BrokerNotAvailable);
