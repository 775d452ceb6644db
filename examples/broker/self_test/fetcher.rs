//! A client that fetches, and keeps its session.

use super::client::{Client, Failure, Named};
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{FetchMetadata, FetchParams, PartitionRequest};
use kafka_coordination::wire::fetch::RequestBuilder;
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use std::net::SocketAddr;

/// A partition to fetch: topic, index and offset.
pub(super) type Wanted<'a> = (&'a Named, i32, i64);

/// A fetching client.
#[derive(Debug)]
pub(super) struct Fetcher {
    pub(super) client: Client,
    pub(super) version: i16,
    /// What the next request says of its session.
    pub(super) metadata: FetchMetadata,
    pub(super) replica_id: i32,
    /// 1: committed records only.
    pub(super) isolation_level: i8,
    pub(super) max_wait_ms: i32,
    pub(super) max_bytes: i32,
    pub(super) partition_max_bytes: i32,
}

/// A fetch response, made plain.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) error: i16,
    pub(super) session_id: i32,
    pub(super) partitions: Vec<FetchedPartition>,
}

#[derive(Debug)]
pub(super) struct FetchedPartition {
    pub(super) topic_id: TopicId,
    pub(super) index: i32,
    pub(super) error: i16,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    /// Producers and first offsets of aborted transactions.
    pub(super) aborted: Option<Vec<(i64, i64)>>,
    /// Bytes of records.
    pub(super) size: usize,
}

impl Fetcher {
    pub(super) async fn connect(address: SocketAddr, version: i16) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::connect(address).await?,
            version,
            metadata: FetchMetadata::INITIAL,
            replica_id: -1,
            isolation_level: 0,
            max_wait_ms: 0,
            max_bytes: 1 << 20,
            partition_max_bytes: 1 << 20,
        })
    }

    /// Fetches with the metadata that is due, and moves it on as a client does.
    pub(super) async fn fetch(&mut self, wanted: &[Wanted<'_>]) -> Result<Fetched, Failure> {
        self.fetch_and_forget(wanted, &[]).await
    }

    pub(super) async fn fetch_and_forget(
        &mut self,
        wanted: &[Wanted<'_>],
        forgotten: &[(&Named, i32)],
    ) -> Result<Fetched, Failure> {
        let fetched = self.fetch_as(self.metadata, wanted, forgotten).await?;
        if fetched.error == 0 {
            self.metadata = if fetched.session_id == 0 {
                FetchMetadata::INITIAL
            } else if self.metadata.is_full() {
                FetchMetadata::new_incremental(fetched.session_id)
            } else {
                self.metadata.next_incremental()
            };
        }
        Ok(fetched)
    }

    /// Fetches with any metadata, and does not remember the session.
    pub(super) async fn fetch_as(
        &mut self,
        metadata: FetchMetadata,
        wanted: &[Wanted<'_>],
        forgotten: &[(&Named, i32)],
    ) -> Result<Fetched, Failure> {
        let message = FetchRequest::default()
            .with_max_wait_ms(self.max_wait_ms)
            .with_min_bytes(1)
            .with_isolation_level(self.isolation_level)
            .with_max_bytes(self.max_bytes);
        let mut request =
            RequestBuilder::new(self.version, metadata, message).replica(self.replica_id, -1);
        for &(topic, partition, fetch_offset) in wanted {
            let params = FetchParams {
                fetch_offset,
                log_start_offset: -1,
                max_bytes: self.partition_max_bytes,
                leader_epoch: None,
                last_fetched_epoch: None,
            };
            request.fetch(topic.id, &topic.name, [PartitionRequest { partition, params }]);
        }
        for (topic, partition) in forgotten {
            request.forget(topic.id, &topic.name, [*partition]);
        }
        let response = self.client.call(self.version, &request.finish()).await?;
        Ok(plain(&response))
    }
}

fn plain(response: &FetchResponse) -> Fetched {
    let partitions = response.responses.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| FetchedPartition {
            topic_id: topic.topic_id.into(),
            index: partition.partition_index,
            error: partition.error_code,
            high_watermark: partition.high_watermark,
            last_stable_offset: partition.last_stable_offset,
            aborted: { partition.aborted_transactions.as_ref() }
                .map(|all| all.iter().map(|it| (*it.producer_id, it.first_offset)).collect()),
            size: partition.records.as_ref().map_or(0, bytes::Bytes::len),
        })
    });
    Fetched {
        error: response.error_code,
        session_id: response.session_id,
        partitions: partitions.collect(),
    }
}

impl Fetched {
    /// The partitions in the response, in its order.
    pub(super) fn indexes(&self) -> Vec<i32> {
        self.partitions.iter().map(|partition| partition.index).collect()
    }

    /// The partitions in the response that came with records.
    pub(super) fn with_records(&self) -> Vec<i32> {
        let filled = self.partitions.iter().filter(|partition| partition.size > 0);
        filled.map(|partition| partition.index).collect()
    }

    /// The partitions in the response, and their errors.
    pub(super) fn errors(&self) -> Vec<(i32, i16)> {
        let errors = self.partitions.iter();
        errors.map(|partition| (partition.index, partition.error)).collect()
    }
}
