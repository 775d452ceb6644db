//! Accepting connections, and serving each one's requests in order.

use crate::api::{self, Answer};
use crate::broker::Broker;
use crate::frame;
use crate::groups;
use crate::stats::Client;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// How long a connection may stay silent between two requests (Kafka's `connections.max.idle.ms`).
const IDLE: Duration = Duration::from_secs(600);
/// How long a peer may take to accept an answer.
const WRITE: Duration = Duration::from_secs(60);
/// How often a connection with unread requests is looked at for its end while a fetch waits.
const HANG_UP_CHECK: Duration = Duration::from_secs(1);

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The address by which the client has reached the broker, so one by which it can reach it again.
    pub(crate) reached_at: SocketAddr,
    /// The client's own address.
    pub(crate) from: SocketAddr,
    /// The program that connected, once it has said so.
    pub(crate) client: Arc<Client>,
}

/// Serves for ever, and lets the time pass for the groups.
pub(crate) async fn run(broker: Arc<Broker>, listener: TcpListener) {
    tokio::join!(accept(Arc::clone(&broker), listener), groups::keep_time(&broker));
}

/// Accepts connections for ever; at the limit it accepts the next one when one has ended.
async fn accept(broker: Arc<Broker>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(broker.args.connections.max(1)));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let broker = Arc::clone(&broker);
                tokio::spawn(async move {
                    if serve(&broker, stream).await.is_err() {
                        broker.stats.broken_connections.add(1);
                    }
                    drop(place);
                });
            }
            // Out of file descriptors, most likely: connections that end will free some.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Serves one connection until the peer leaves or sends what no answer fits.
async fn serve(broker: &Broker, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut peer = Peer {
        reached_at: stream.local_addr()?,
        from: stream.peer_addr()?,
        client: broker.stats.client("", ""),
    };
    while let Some(request) = timeout(IDLE, frame::read(&mut stream, frame::MAX_REQUEST)).await?? {
        let answer = tokio::select! {
            // In this order: a peer that sends its last records and leaves at once has them stored.
            biased;
            answer = api::answer(broker, &mut peer, request) => answer,
            // Dropping the request's future aborts a waiting fetch.
            () = hung_up(&stream) => return Ok(()),
        };
        match answer {
            Answer::Reply(bytes) => timeout(WRITE, stream.write_all(&bytes)).await??,
            Answer::Silence => {}
            Answer::HangUp => return Ok(()),
            Answer::Close => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(())
}

/// Completes when the peer has closed the connection. It reads nothing: the next requests stay where they are.
async fn hung_up(stream: &TcpStream) {
    loop {
        match stream.ready(Interest::READABLE).await {
            Ok(ready) if !ready.is_read_closed() => sleep(HANG_UP_CHECK).await,
            _ => return,
        }
    }
}
