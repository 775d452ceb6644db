//! Requests and responses of `kafka-protocol` over TCP.

use crate::frame;
use bytes::{BufMut, Bytes, BytesMut};
use kafka_coordination::TopicId;
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiKey, CreateTopicsRequest, ProduceRequest, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Record,
    RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use std::error::Error;
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Why a scenario cannot go on.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The largest response that the broker may send.
const MAX_RESPONSE: usize = 64 << 20;

/// A topic as a client knows it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) id: TopicId,
    pub(super) name: StrBytes,
}

/// A connection to the broker.
#[derive(Debug)]
pub(super) struct Client {
    stream: TcpStream,
    correlation_id: i32,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, correlation_id: 0 })
    }

    /// Where the broker is.
    pub(super) fn address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.stream.peer_addr()?)
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn call<R: Request>(
        &mut self,
        version: i16,
        request: &R,
    ) -> Result<R::Response, Failure> {
        self.correlation_id += 1;
        let bytes = encode(version, self.correlation_id, request)?;
        self.send(&bytes).await?;
        let mut answer = self.receive().await?.ok_or("the broker has hung up")?;
        let header_version = R::Response::header_version(version);
        let header = ResponseHeader::decode(&mut answer, header_version)?;
        if header.correlation_id != self.correlation_id {
            return Err("the answer is to another request".into());
        }
        let response = R::Response::decode(&mut answer, version)?;
        if !answer.is_empty() {
            return Err("the answer is longer than its version".into());
        }
        Ok(response)
    }

    /// Sends bytes as a frame.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        let mut frame = BytesMut::with_capacity(request.len() + 4);
        frame.put_i32(i32::try_from(request.len())?);
        frame.put_slice(request);
        Ok(self.stream.write_all(&frame).await?)
    }

    /// Sends bytes without a frame.
    pub(super) async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// Waits for the next frame; `None` if the broker hangs up instead.
    pub(super) async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        match frame::read(&mut self.stream, MAX_RESPONSE).await {
            Ok(frame) => Ok(frame),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a topic.
    pub(super) async fn create(
        &mut self,
        name: &'static str,
        partitions: i32,
    ) -> Result<Named, Failure> {
        let name = StrBytes::from_static_str(name);
        let topic = CreatableTopic::default()
            .with_name(name.clone().into())
            .with_num_partitions(partitions)
            .with_replication_factor(1);
        let request = CreateTopicsRequest::default().with_topics(vec![topic]);
        let response = self.call(7, &request).await?;
        let created = response.topics.first().ok_or("no topic was created")?;
        match created.error_code {
            0 => Ok(Named { id: created.topic_id.into(), name }),
            code => Err(format!("topic {name} cannot be created: error {code}").into()),
        }
    }

    /// Produces one batch, and returns its error code and base offset.
    pub(super) async fn produce(
        &mut self,
        topic: &Named,
        partition: i32,
        records: Bytes,
    ) -> Result<(i16, i64), Failure> {
        let request = produce(topic, partition, records);
        let response = self.call(12, &request).await?;
        let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        let answer = partitions.next().ok_or("no partition was answered")?;
        Ok((answer.error_code, answer.base_offset))
    }
}

/// A produce request, which names its topic both ways where the version has both.
pub(super) fn produce(topic: &Named, partition: i32, records: Bytes) -> ProduceRequest {
    let data = PartitionProduceData::default().with_index(partition).with_records(Some(records));
    let data = TopicProduceData::default()
        .with_name(topic.name.clone().into())
        .with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(1_000).with_topic_data(vec![data])
}

/// A request from its header on.
pub(super) fn encode<R: Request>(
    version: i16,
    correlation_id: i32,
    request: &R,
) -> Result<BytesMut, Failure> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(StrBytes::from_static_str("self-test")));
    let key = ApiKey::try_from(R::KEY).map_err(|()| "no such API")?;
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes, key.request_header_version(version))?;
    request.encode(&mut bytes, version)?;
    Ok(bytes)
}

/// Who writes a batch, and where in its sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
    pub(crate) transactional: bool,
}

/// A batch of records with these timestamps, each with a value of `size` bytes, of no producer.
pub(super) fn batch(timestamps: &[i64], size: usize) -> Result<Bytes, Failure> {
    let nobody = Writer {
        id: NO_PRODUCER_ID,
        epoch: NO_PRODUCER_EPOCH,
        sequence: NO_SEQUENCE,
        transactional: false,
    };
    batch_of(nobody, timestamps, size)
}

/// The same of a producer.
pub(crate) fn batch_of(writer: Writer, timestamps: &[i64], size: usize) -> Result<Bytes, Failure> {
    let value = Bytes::from(vec![b'v'; size]);
    let records: Vec<_> = (0..)
        .zip(timestamps)
        .map(|(offset, timestamp)| Record {
            transactional: writer.transactional,
            control: false,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
            producer_id: writer.id,
            producer_epoch: writer.epoch,
            delete_horizon: false,
            timestamp_type: TimestampType::Creation,
            offset,
            // The encoder puts records into one batch whose sequences rise with their offsets.
            sequence: writer.sequence + i32::try_from(offset).unwrap_or(0),
            timestamp: *timestamp,
            key: None,
            value: Some(value.clone()),
            headers: IndexMap::new(),
        })
        .collect();
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    let mut bytes = BytesMut::new();
    RecordBatchEncoder::encode(&mut bytes, &records, &options)?;
    Ok(bytes.freeze())
}
