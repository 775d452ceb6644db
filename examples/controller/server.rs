//! Accepting connections, and serving each one's requests in order.

use crate::api::{self, Decoded};
use crate::frame;
use crate::node::{Input, Request};
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};

/// How long a connection may stay silent between two requests (Kafka's `connections.max.idle.ms`).
const IDLE: Duration = Duration::from_secs(600);

/// How long a peer may take to accept an answer.
const WRITE: Duration = Duration::from_secs(60);

/// Accepts connections for ever; at the limit it accepts the next one when one has ended.
pub(crate) async fn run(listener: TcpListener, connections: usize, node: mpsc::Sender<Input>) {
    let places = Arc::new(Semaphore::new(connections.max(1)));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let node = node.clone();
                tokio::spawn(async move {
                    // One that breaks off is no business of anybody else.
                    drop(serve(stream, &node).await);
                    drop(place);
                });
            }
            // Out of file descriptors, most likely: connections that end will free some.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Serves one connection until the peer leaves or sends what no answer fits.
async fn serve(mut stream: TcpStream, node: &mpsc::Sender<Input>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(request) = timeout(IDLE, frame::read(&mut stream, frame::MAX_REQUEST)).await?? {
        let answer = answer(node, request).await.ok_or(io::ErrorKind::InvalidData)?;
        timeout(WRITE, frame::write(&mut stream, &answer)).await??;
    }
    Ok(())
}

/// The answer to a request; none if there is none, or the node has ended.
async fn answer(node: &mpsc::Sender<Input>, request: Bytes) -> Option<Bytes> {
    match api::decode(request).ok()? {
        Decoded::Answer(answer) => Some(answer),
        Decoded::Request(body) => {
            let (reply, answer) = oneshot::channel();
            node.send(Input::Request(Request { body, reply })).await.ok()?;
            answer.await.ok()
        }
    }
}
