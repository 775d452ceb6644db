//! A client of a controller: requests and responses of `kafka-protocol` over TCP.

use crate::frame;
use bytes::BytesMut;
use kafka_coordination::kraft::Address;
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use std::error::Error;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Why a client cannot go on.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The largest response taken.
const MAX_RESPONSE: usize = 64 << 20;

/// How long an answer may take. An append is answered when it is committed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a node.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    correlation_id: i32,
}

impl Client {
    pub(crate) async fn connect(to: &Address) -> Result<Self, Failure> {
        let connecting = TcpStream::connect((to.host.as_str(), to.port));
        let stream = timeout(TIMEOUT, connecting).await??;
        stream.set_nodelay(true)?;
        Ok(Self { stream, correlation_id: 0 })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call<R: Request>(
        &mut self,
        version: i16,
        request: &R,
    ) -> Result<R::Response, Failure> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id)
            .with_client_id(Some(StrBytes::from_static_str("controller")));
        let mut bytes = BytesMut::new();
        header.encode(&mut bytes, R::header_version(version))?;
        request.encode(&mut bytes, version)?;
        timeout(TIMEOUT, frame::write(&mut self.stream, &bytes)).await??;
        let answer = timeout(TIMEOUT, frame::read(&mut self.stream, MAX_RESPONSE)).await??;
        let mut answer = answer.ok_or("the node has hung up")?;
        let header = ResponseHeader::decode(&mut answer, R::Response::header_version(version))?;
        if header.correlation_id != self.correlation_id {
            return Err("the answer is to another request".into());
        }
        Ok(R::Response::decode(&mut answer, version)?)
    }
}
