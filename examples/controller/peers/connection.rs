//! A connection to a peer: made when it is needed, versions negotiated first, made again after a failure.

use super::{BROKEN, Context};
use crate::client::Failure;
use crate::frame;
use crate::node::Input;
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{Correlation, Node, Request, Response};
use kafka_coordination::wire::Preamble;
use kafka_coordination::wire::kraft::{PeerVersions, Sender, decode_answer, encode_request};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

/// The largest answer taken: a batch of the log is 8 MiB at most, and an answer has room for one in any case.
const MAX_ANSWER: usize = 64 << 20;

/// How long a connection may be idle before its task ends.
const IDLE: Duration = Duration::from_secs(600);

/// How long a connection is left alone after an attempt to make it (Kafka: `reconnect.backoff.ms`).
const RECONNECT: Duration = Duration::from_millis(50);

/// Carries requests to a peer and what becomes of them back, until nobody asks for it any more.
pub(super) async fn run(
    context: Arc<Context>,
    peer: Node,
    mut requests: mpsc::Receiver<(Correlation, Request)>,
) {
    let mut connection = Connection { context, peer, open: None, next_attempt: Instant::now() };
    let Some(mut next) = requests.recv().await else { return };
    loop {
        let (correlation, request) = next;
        let newer = tokio::select! {
            biased;
            newer = requests.recv() => newer,
            response = connection.call(&request) => {
                let input = Input::Response(correlation, response);
                if connection.context.inputs.send(input).await.is_err() {
                    return;
                }
                timeout(IDLE, requests.recv()).await.ok().flatten()
            }
        };
        // The replica sends a second request only if it does not wait for the first one's answer any more. The peer might
        // hold that back for long, so the connection goes with it.
        match newer {
            Some(newer) => next = newer,
            None => return,
        }
    }
}

/// A connection, or the wish for one.
struct Connection {
    context: Arc<Context>,
    peer: Node,
    open: Option<Open>,
    /// When it may be made.
    next_attempt: Instant,
}

/// A connection that is open.
struct Open {
    stream: TcpStream,
    versions: PeerVersions,
    next_id: i32,
}

impl Connection {
    /// Sends a request and waits for its answer. If that is given up, the connection is closed.
    async fn call(&mut self, request: &Request) -> Response {
        // While a request is under way the connection is its own: it is closed with it, should nobody wait any more.
        let open = self.open.take();
        match timeout(self.context.timeout, self.try_call(open, request)).await {
            Ok(Ok((open, response))) => {
                self.open = Some(open);
                response
            }
            Ok(Err(_)) | Err(_) => BROKEN,
        }
    }

    async fn try_call(
        &mut self,
        open: Option<Open>,
        request: &Request,
    ) -> Result<(Open, Response), Failure> {
        let mut open = match open {
            Some(open) => open,
            None => self.connect().await?,
        };
        let sent = open.encode(&self.context, request);
        let (sent, bytes) = match sent {
            Ok(sent) => sent,
            Err(error) => return Ok((open, Response::Failed(error))),
        };
        let answer = open.exchange(&bytes).await?;
        let response = decode_answer(sent, answer, &self.context.listener)?;
        Ok((open, response))
    }

    async fn connect(&mut self) -> Result<Open, Failure> {
        sleep_until(self.next_attempt).await;
        self.next_attempt = Instant::now() + RECONNECT;
        let stream = TcpStream::connect((self.peer.host.as_str(), self.peer.port)).await?;
        stream.set_nodelay(true)?;
        let mut open = Open { stream, versions: PeerVersions::default(), next_id: 0 };
        // A peer that does not know our version says which one to ask again in (KIP-35).
        for _ in 0..2 {
            let sent = open.encode(&self.context, &Request::ApiVersions);
            let (sent, bytes) = sent.map_err(ErrorCode::name)?;
            let answer = open.exchange(&bytes).await?;
            let (error, versions) = PeerVersions::decode(sent, answer)?;
            open.versions = versions;
            match error {
                ErrorCode::None => return Ok(open),
                ErrorCode::UnsupportedVersion => {}
                error => return Err(error.name().into()),
            }
        }
        Err("the peer does not say what it understands".into())
    }
}

impl Open {
    fn encode(
        &mut self,
        context: &Context,
        request: &Request,
    ) -> Result<(Preamble, Bytes), ErrorCode> {
        let sender = Sender { cluster_id: &context.cluster_id, client_id: &context.client_id };
        self.next_id = self.next_id.wrapping_add(1);
        encode_request(request, &sender, &self.versions, self.next_id).map_err(|error| error.code())
    }

    async fn exchange(&mut self, bytes: &[u8]) -> Result<Bytes, Failure> {
        frame::write(&mut self.stream, bytes).await?;
        let answer = frame::read(&mut self.stream, MAX_ANSWER).await?;
        Ok(answer.ok_or("the peer has hung up")?)
    }
}
