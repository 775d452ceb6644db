//! Writers of numbered records. A number is never sent twice: what became of a record whose answer did not come is not
//! known, but it must not be there twice either.

use super::leader;
use crate::client::{Client, Failure};
use crate::node::METADATA_TOPIC;
use bytes::Bytes;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{Address, encode_data_batch};
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::protocol::StrBytes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The version of `Produce` that is spoken.
const VERSION: i16 = 12;

/// How many records an append has.
const BATCH: u64 = 20;

/// How long a writer waits before it looks for a leader again.
const PAUSE: Duration = Duration::from_millis(50);

/// What a writer has seen acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// What its records begin with.
    pub(crate) prefix: String,
    /// The numbers, ascending.
    pub(crate) acknowledged: Vec<u64>,
}

/// Writers at work.
#[derive(Debug)]
pub(crate) struct Run {
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<Log>>,
}

/// What writers have in common.
#[derive(Debug)]
struct Shared {
    /// Whom to ask for the leader.
    nodes: Mutex<Vec<Address>>,
    is_over: AtomicBool,
    acknowledged: AtomicU64,
}

impl Run {
    /// Lets so many writers append through whoever leads these nodes.
    pub(crate) fn start(nodes: Vec<Address>, run: u64, writers: usize) -> Self {
        let shared = Arc::new(Shared {
            nodes: Mutex::new(nodes),
            is_over: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
        });
        let spawn = |writer| {
            let log = Log { prefix: format!("{run:016x}/{writer}/"), acknowledged: Vec::new() };
            tokio::spawn(write(Arc::clone(&shared), log))
        };
        let writers = (0..writers).map(spawn).collect();
        Self { shared, writers }
    }

    /// How many records were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(Ordering::Relaxed)
    }

    /// Ask these nodes for the leader from now on.
    pub(crate) fn ask(&self, nodes: Vec<Address>) {
        *self.shared.nodes.lock().unwrap_or_else(PoisonError::into_inner) = nodes;
    }

    /// Ends the run; what was acknowledged.
    pub(crate) async fn stop(self) -> Vec<Log> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let mut logs = Vec::new();
        for writer in self.writers {
            logs.extend(writer.await);
        }
        logs
    }
}

async fn write(shared: Arc<Shared>, mut log: Log) -> Log {
    let mut next = 0;
    let mut connection = None;
    while !shared.is_over.load(Ordering::Relaxed) {
        let numbers = next..next + BATCH;
        next += BATCH;
        if append(&shared, &mut connection, &log.prefix, numbers.clone()).await.is_ok() {
            shared.acknowledged.fetch_add(BATCH, Ordering::Relaxed);
            log.acknowledged.extend(numbers);
        } else {
            connection = None;
            sleep(PAUSE).await;
        }
    }
    log
}

/// Appends the records with these numbers.
async fn append(
    shared: &Shared,
    connection: &mut Option<Client>,
    prefix: &str,
    numbers: std::ops::Range<u64>,
) -> Result<(), Failure> {
    let client = if let Some(client) = connection {
        client
    } else {
        let nodes = shared.nodes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (_, leader) = leader(&nodes).await.ok_or("nobody leads")?;
        connection.insert(Client::connect(&leader).await?)
    };
    let mut batch = Vec::new();
    let values = numbers.map(|number| format!("{prefix}{number}"));
    encode_data_batch(0, -1, Timestamp::from_millis(0), values, &mut batch)?;
    let response = client.call(VERSION, &request(batch.into())).await?;
    let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    match partitions.next().map(|partition| partition.error_code) {
        Some(0) => Ok(()),
        code => Err(format!("not appended: {code:?}").into()),
    }
}

fn request(records: Bytes) -> ProduceRequest {
    let partition = PartitionProduceData::default().with_index(0).with_records(Some(records));
    let topic = TopicProduceData::default()
        .with_name(StrBytes::from_static_str(METADATA_TOPIC).into())
        .with_partition_data(vec![partition]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(10_000).with_topic_data(vec![topic])
}
