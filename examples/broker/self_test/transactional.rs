//! A transactional producer.

use super::client::{Client, Failure, Named, Writer, batch_of};
use kafka_protocol::messages::FindCoordinatorRequest;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, TransactionalId,
};
use kafka_protocol::protocol::StrBytes;
use std::net::SocketAddr;

/// A transactional producer of one partition.
#[derive(Debug)]
pub(super) struct Transactional {
    pub(super) client: Client,
    name: TransactionalId,
    pub(super) id: i64,
    pub(super) epoch: i16,
    /// The sequence of the next record.
    pub(super) sequence: i32,
}

impl Transactional {
    /// Connects and is given its producer id and epoch.
    pub(super) async fn init(
        address: SocketAddr,
        name: &'static str,
        timeout_ms: i32,
    ) -> Result<Self, Failure> {
        let mut client = Client::connect(address).await?;
        let name = TransactionalId(StrBytes::from_static_str(name));
        let find = FindCoordinatorRequest::default()
            .with_key_type(1)
            .with_coordinator_keys(vec![name.0.clone()]);
        let found = client.call(4, &find).await?;
        let port = found.coordinators.first().map(|found| found.port);
        if port != Some(address.port().into()) {
            return Err("the broker does not coordinate transactions".into());
        }
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(name.clone()))
            .with_transaction_timeout_ms(timeout_ms)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        // An open transaction is aborted first.
        for _ in 0..2 {
            let response = client.call(4, &request).await?;
            match response.error_code {
                0 => {
                    let (id, epoch) = (*response.producer_id, response.producer_epoch);
                    return Ok(Self { client, name, id, epoch, sequence: 0 });
                }
                51 => {}
                code => return Err(format!("no producer id: error {code}").into()),
            }
        }
        Err("no end of concurrent transactions".into())
    }

    /// Goes on with another broker.
    pub(super) async fn reconnect(&mut self, address: SocketAddr) -> Result<(), Failure> {
        self.client = Client::connect(address).await?;
        Ok(())
    }

    /// Takes another transactional id for its own.
    pub(super) fn rename(&mut self, name: &'static str) {
        self.name = TransactionalId(StrBytes::from_static_str(name));
    }

    /// Adds a partition to the transaction; its error code.
    pub(super) async fn add(&mut self, topic: &Named, partition: i32) -> Result<i16, Failure> {
        let topic = AddPartitionsToTxnTopic::default()
            .with_name(topic.name.clone().into())
            .with_partitions(vec![partition]);
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.name.clone())
            .with_v3_and_below_producer_id(self.id.into())
            .with_v3_and_below_producer_epoch(self.epoch)
            .with_v3_and_below_topics(vec![topic]);
        let response = self.client.call(3, &request).await?;
        let mut results = response.results_by_topic_v3_and_below.iter();
        let mut results = results.by_ref().flat_map(|topic| &topic.results_by_partition);
        let result = results.next().ok_or("no partition was answered")?;
        Ok(result.partition_error_code)
    }

    /// Produces a batch of two records; its error code and base offset.
    pub(super) async fn produce(
        &mut self,
        topic: &Named,
        partition: i32,
    ) -> Result<(i16, i64), Failure> {
        let &mut Self { id, epoch, sequence, .. } = self;
        let writer = Writer { id, epoch, sequence, transactional: true };
        let records = batch_of(writer, &[1, 2], 10)?;
        let request = super::client::produce(topic, partition, records)
            .with_transactional_id(Some(self.name.clone()));
        let response = self.client.call(11, &request).await?;
        let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        let answer = partitions.next().ok_or("no partition was answered")?;
        if answer.error_code == 0 {
            self.sequence += 2;
        }
        Ok((answer.error_code, answer.base_offset))
    }

    /// Adds the partition and produces to it.
    pub(super) async fn write(
        &mut self,
        topic: &Named,
        partition: i32,
    ) -> Result<(i16, i64), Failure> {
        match self.add(topic, partition).await? {
            0 => self.produce(topic, partition).await,
            code => Err(format!("partition {partition} cannot be added: error {code}").into()),
        }
    }

    /// Ends the transaction; its error code.
    pub(super) async fn end(&mut self, committed: bool) -> Result<i16, Failure> {
        let request = EndTxnRequest::default()
            .with_transactional_id(self.name.clone())
            .with_producer_id(self.id.into())
            .with_producer_epoch(self.epoch)
            .with_committed(committed);
        Ok(self.client.call(4, &request).await?.error_code)
    }
}
