//! A member of a group of the next generation.

use super::member::PATIENCE_MS;
use crate::self_test::client::{Client, Failure, Named};
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, OffsetCommitRequest, OffsetFetchRequest,
};
use kafka_protocol::protocol::StrBytes;
use std::net::SocketAddr;

#[derive(Debug)]
pub(super) struct Consumer {
    client: Client,
    pub(super) version: i16,
    group: &'static str,
    pub(super) id: StrBytes,
    pub(super) epoch: i32,
    owned: Vec<TopicPartitions>,
}

impl Consumer {
    pub(super) async fn connect(
        address: SocketAddr,
        group: &'static str,
        id: &'static str,
    ) -> Result<Self, Failure> {
        let client = Client::connect(address).await?;
        let id = StrBytes::from_static_str(id);
        Ok(Self { client, version: 1, group, id, epoch: 0, owned: Vec::new() })
    }

    /// How many partitions it has.
    pub(super) fn count(&self) -> usize {
        self.owned.iter().map(|topic| topic.partitions.len()).sum()
    }

    fn request(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(StrBytes::from_static_str(self.group).into())
            .with_member_id(self.id.clone())
            .with_member_epoch(self.epoch)
            .with_subscribed_topic_names(None)
            .with_topic_partitions(None)
    }

    /// Joins, and returns the error code.
    pub(super) async fn join(&mut self, topics: &[&'static str]) -> Result<i16, Failure> {
        let names = topics.iter().map(|topic| StrBytes::from_static_str(topic).into());
        let request = self.request().with_subscribed_topic_names(Some(names.collect()));
        self.send(
            request.with_rebalance_timeout_ms(PATIENCE_MS).with_topic_partitions(Some(Vec::new())),
        )
        .await
    }

    pub(super) async fn join_matching(&mut self, regex: &'static str) -> Result<i16, Failure> {
        let regex = Some(StrBytes::from_static_str(regex));
        let request = self.request().with_subscribed_topic_regex(regex);
        self.send(
            request.with_rebalance_timeout_ms(PATIENCE_MS).with_topic_partitions(Some(Vec::new())),
        )
        .await
    }

    /// Says what it has.
    pub(super) async fn beat(&mut self) -> Result<i16, Failure> {
        self.send(self.request().with_topic_partitions(Some(self.owned.clone()))).await
    }

    pub(super) async fn leave(&mut self) -> Result<i16, Failure> {
        let request = self.request().with_member_epoch(-1);
        Ok(self.client.call(self.version, &request).await?.error_code)
    }

    async fn send(&mut self, request: ConsumerGroupHeartbeatRequest) -> Result<i16, Failure> {
        let response = self.client.call(self.version, &request).await?;
        if response.error_code == 0 {
            self.epoch = response.member_epoch;
            self.id = response.member_id.unwrap_or_default();
            if let Some(assignment) = response.assignment {
                let topics = assignment.topic_partitions.into_iter().map(|topic| {
                    TopicPartitions::default()
                        .with_topic_id(topic.topic_id)
                        .with_partitions(topic.partitions)
                });
                self.owned = topics.collect();
            }
        }
        Ok(response.error_code)
    }

    /// Commits an offset and reads it again, in this epoch; both error codes.
    pub(super) async fn commit_and_read(
        &mut self,
        topic: &Named,
        epoch: i32,
    ) -> Result<(i16, i16), Failure> {
        let group = StrBytes::from_static_str(self.group);
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(7);
        let committed = OffsetCommitRequestTopic::default()
            .with_name(topic.name.clone().into())
            .with_partitions(vec![partition]);
        // Whoever says no epoch says that it is no member.
        let id = if epoch < 0 { StrBytes::from_static_str("stranger") } else { self.id.clone() };
        let commit = OffsetCommitRequest::default()
            .with_group_id(group.clone().into())
            .with_member_id(id.clone())
            .with_generation_id_or_member_epoch(epoch)
            .with_topics(vec![committed]);
        let response = self.client.call(9, &commit).await?;
        let mut partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
        let committed = partitions.next().ok_or("no partition")?.error_code;

        let wanted = OffsetFetchRequestTopics::default()
            .with_name(topic.name.clone().into())
            .with_partition_indexes(vec![0]);
        let wanted = OffsetFetchRequestGroup::default()
            .with_group_id(group.into())
            .with_member_id(Some(id))
            .with_member_epoch(epoch)
            .with_topics(Some(vec![wanted]));
        let read = OffsetFetchRequest::default().with_groups(vec![wanted]);
        let response = self.client.call(9, &read).await?;
        let read = response.groups.first().ok_or("no group")?.error_code;
        Ok((committed, read))
    }
}
