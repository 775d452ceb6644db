//! Bytes that no honest client sends. The broker answers or hangs up, and serves the next client.
//!
//! A request of each API and version is sent once for each of its bytes with a huge number from there on, which turns
//! every count and length that it has into a claim of billions, and once cut off there.

use super::client::{Client, Failure, batch, encode, produce};
use super::{Checks, Subject, hostile_transactions};
use crate::frame;
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{FetchMetadata, FetchParams, PartitionRequest};
use kafka_coordination::wire::fetch::RequestBuilder;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest,
    DescribeClusterRequest, FetchRequest, FindCoordinatorRequest, InitProducerIdRequest,
    ListOffsetsRequest, MetadataRequest,
};
use kafka_protocol::protocol::StrBytes;
use std::ops::RangeInclusive;
use std::time::Duration;
use tokio::time::timeout;

/// How long the broker may take for a request, none of which asks it to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is written over a request: counts of four bytes, of two, and varints, as large as they get.
const HUGE: [&[u8]; 4] = [
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x07],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x7f],
];

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut sender = Sender { subject, connection: None, sent: 0, answered: 0 };
    for (api, versions, sample) in samples().into_iter().chain(hostile_transactions::samples()) {
        let (sent, answered) = (sender.sent, sender.answered);
        for version in versions {
            sender.distort(&sample(version)?).await?;
        }
        let (sent, answered) = (sender.sent - sent, sender.answered - answered);
        checks.that(
            true,
            format_args!("{api} outlives {sent} distorted requests; {answered} are answered"),
        );
    }
    frames(checks, subject).await?;
    let mut client = Client::connect(subject.address).await?;
    let response = client.call(0, &ApiVersionsRequest::default()).await?;
    checks.equal(response.error_code, 0, "the broker goes on serving");
    Ok(())
}

/// Frames that are none.
async fn frames(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let over = i32::try_from(frame::MAX_REQUEST)? + 1;
    for (what, length) in [
        ("a negative length", -1),
        ("the largest length", i32::MAX),
        ("a length over the limit", over),
    ] {
        let mut client = Client::connect(subject.address).await?;
        client.send_raw(&length.to_be_bytes()).await?;
        let answer = timeout(PATIENCE, client.receive()).await??;
        checks.that(answer.is_none(), format_args!("{what} closes the connection"));
    }
    // Not an error until the rest fails to come; it costs the broker a small buffer.
    let mut patient = Vec::new();
    for _ in 0..100 {
        let mut client = Client::connect(subject.address).await?;
        client.send_raw(&(over - 1).to_be_bytes()).await?;
        patient.push(client);
    }
    let mut client = Client::connect(subject.address).await?;
    client.call(0, &ApiVersionsRequest::default()).await?;
    checks.that(true, "a hundred clients that announce the largest request are no burden");
    Ok(())
}

struct Sender<'a> {
    subject: &'a Subject,
    connection: Option<Client>,
    sent: usize,
    answered: usize,
}

impl Sender<'_> {
    /// Sends a request in all its distorted forms. Its first eight bytes are what they must be to arrive anywhere.
    async fn distort(&mut self, request: &[u8]) -> Result<(), Failure> {
        for at in 8..request.len() {
            for huge in HUGE {
                let mut bytes = request.to_vec();
                for (byte, huge) in bytes.iter_mut().skip(at).zip(huge) {
                    *byte = *huge;
                }
                self.send(&bytes).await?;
            }
        }
        for len in 0..request.len() {
            self.send(request.get(..len).unwrap_or_default()).await?;
        }
        self.send(&[request, &[0]].concat()).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut client = match self.connection.take() {
            Some(client) => client,
            None => Client::connect(self.subject.address).await?,
        };
        client.send(bytes).await?;
        self.sent += 1;
        let answer = timeout(PATIENCE, client.receive()).await;
        if answer.map_err(|_| format!("no answer to {bytes:02x?}"))??.is_some() {
            self.answered += 1;
            self.connection = Some(client);
        }
        Ok(())
    }
}

pub(super) type Sample = fn(i16) -> Result<Vec<u8>, Failure>;

/// For each API a request of each version, with an element in each of its arrays. None changes anything that would take
/// memory.
fn samples() -> [(&'static str, RangeInclusive<i16>, Sample); 11] {
    [
        ("Produce", 3..=13, |version| {
            let mut request = produce(&topic(), 0, batch(&[1], 1)?);
            for data in request.topic_data.iter_mut().filter(|_| version >= 13) {
                data.name = StrBytes::default().into();
                data.topic_id = topic().id.into();
            }
            Ok(encode(version, 1, &request)?.into())
        }),
        ("Fetch", 4..=18, |version| Ok(encode(version, 1, &fetch(version))?.into())),
        ("ListOffsets", 1..=10, |version| {
            let topic = ListOffsetsTopic::default()
                .with_name(name().into())
                .with_partitions(vec![ListOffsetsPartition::default()]);
            let request = ListOffsetsRequest::default().with_topics(vec![topic]);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("Metadata", 0..=13, |version| {
            let topic = MetadataRequestTopic::default().with_name(Some(name().into()));
            let request = MetadataRequest::default()
                .with_topics(Some(vec![topic]))
                .with_allow_auto_topic_creation(version < 4);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("FindCoordinator", 0..=6, |version| {
            let request = if version < 4 {
                FindCoordinatorRequest::default().with_key(name())
            } else {
                FindCoordinatorRequest::default().with_coordinator_keys(vec![name()])
            };
            Ok(encode(version, 1, &request)?.into())
        }),
        ("ApiVersions", 0..=4, |version| {
            let software = if version < 3 { StrBytes::default() } else { name() };
            let request = ApiVersionsRequest::default()
                .with_client_software_name(software.clone())
                .with_client_software_version(software);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("CreateTopics", 2..=7, |version| {
            let assignment = CreatableReplicaAssignment::default().with_broker_ids(vec![1.into()]);
            let config = CreatableTopicConfig::default().with_value(Some(name()));
            let topic = CreatableTopic::default()
                .with_name(name().into())
                .with_assignments(vec![assignment])
                .with_configs(vec![config]);
            let request =
                CreateTopicsRequest::default().with_topics(vec![topic]).with_validate_only(true);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("DeleteTopics", 1..=6, |version| {
            let topic = DeleteTopicState::default().with_name(Some(name().into()));
            let request = if version < 6 {
                DeleteTopicsRequest::default().with_topic_names(vec![name().into()])
            } else {
                DeleteTopicsRequest::default().with_topics(vec![topic])
            };
            Ok(encode(version, 1, &request)?.into())
        }),
        ("InitProducerId", 0..=5, |version| {
            let request =
                InitProducerIdRequest::default().with_transactional_id(Some(name().into()));
            Ok(encode(version, 1, &request)?.into())
        }),
        ("CreatePartitions", 0..=3, |version| {
            let assignment = CreatePartitionsAssignment::default().with_broker_ids(vec![1.into()]);
            let topic = CreatePartitionsTopic::default()
                .with_name(name().into())
                .with_assignments(Some(vec![assignment]));
            let request = CreatePartitionsRequest::default()
                .with_topics(vec![topic])
                .with_validate_only(true);
            Ok(encode(version, 1, &request)?.into())
        }),
        ("DescribeCluster", 0..=2, |version| {
            Ok(encode(version, 1, &DescribeClusterRequest::default())?.into())
        }),
    ]
}

pub(super) fn name() -> StrBytes {
    StrBytes::from_static_str("hostile")
}

fn topic() -> super::client::Named {
    super::client::Named { id: TopicId::from_u128(7), name: name() }
}

/// A fetch without a wait.
fn fetch(version: i16) -> FetchRequest {
    let topic = topic();
    let params = FetchParams {
        fetch_offset: 0,
        log_start_offset: -1,
        max_bytes: 1,
        leader_epoch: None,
        last_fetched_epoch: None,
    };
    let mut request = RequestBuilder::new(version, FetchMetadata::LEGACY, FetchRequest::default())
        .replica(-1, -1);
    request.fetch(topic.id, &topic.name, [PartitionRequest { partition: 0, params }]);
    request.forget(topic.id, &topic.name, [0]);
    request.finish()
}
