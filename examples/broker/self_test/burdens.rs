//! Requests that are cheap to send, and must neither cost the broker more than that nor be lost. What they must not leave
//! in its memory shows where the self-test's memory is counted.

use super::client::{Client, Failure, batch, encode, produce};
use super::fetcher::Fetcher;
use super::{BY_ID, BY_NAME, Checks, Subject};
use kafka_coordination::TopicId;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::produce_request::PartitionProduceData;
use kafka_protocol::messages::{DeleteTopicsRequest, MetadataRequest};
use kafka_protocol::protocol::StrBytes;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long the broker may take to notice something.
const PATIENCE: Duration = Duration::from_secs(10);
/// So often is done what may leave about a megabyte behind: more than the whole self-test may hold.
const ROUNDS: usize = 24;
const MEGABYTE: usize = 1_000_000;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    last_words(checks, subject, &mut client).await?;
    repeated_names(checks, &mut client).await?;
    long_names(checks, subject).await?;
    large_requests(checks, &mut client).await?;
    deleted_topics(checks, subject, &mut client).await
}

/// Producers that send with acks 0 and leave at once.
async fn last_words(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let topic = client.create("last-words", 1).await?;
    let request = produce(&topic, 0, batch(&[1], 1)?).with_acks(0);
    let request = encode(12, 1, &request)?;
    let before = subject.broker.stats.records_appended.value();
    for _ in 0..ROUNDS {
        let mut leaving = Client::connect(subject.address).await?;
        leaving.send(&request).await?;
        leaving.send(&request).await?;
    }
    let all = before + 2 * u64::try_from(ROUNDS)?;
    let stored = until(|| subject.broker.stats.records_appended.value() == all).await;
    checks.that(stored, "what producers send before they leave is stored");
    Ok(())
}

/// One name many times over, each time beside another id.
async fn repeated_names(checks: &mut Checks, client: &mut Client) -> Result<(), Failure> {
    let topic = client.create("repeated", 100).await?;
    let wanted = (0..1_000).map(|id| {
        MetadataRequestTopic::default()
            .with_name(Some(topic.name.clone().into()))
            .with_topic_id(TopicId::from_u128(id).into())
    });
    let request = MetadataRequest::default().with_topics(Some(wanted.collect()));
    for version in [10, 13] {
        let response = client.call(version, &request).await?;
        checks.equal(
            response.topics.len(),
            1,
            format_args!("Metadata {version} describes a topic once, though asked often"),
        );
    }
    Ok(())
}

/// A session would keep the name.
async fn long_names(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let before = subject.broker.cached().sessions;
    let mut fetcher = Fetcher::connect(subject.address, BY_NAME).await?;
    for (len, error) in [(249, 0), (250, 42), (1 << 20, 42)] {
        let name = StrBytes::from_string("n".repeat(len));
        let topic = super::client::Named { id: TopicId::ZERO, name };
        let answer = fetcher.fetch(&[(&topic, 0, 0)]).await?;
        checks.equal(answer.error, error, format_args!("a fetch of a name of {len} bytes"));
        fetcher.metadata = fetcher.metadata.next_close_existing();
    }
    let answer = fetcher.fetch(&[]).await?;
    let left = subject.broker.cached().sessions - before;
    checks.equal((answer.error, left), (0, 0), "and no session keeps one");
    Ok(())
}

/// Few bytes that are stored, and many beside them that are not.
async fn large_requests(checks: &mut Checks, client: &mut Client) -> Result<(), Failure> {
    let topic = client.create("large-requests", 1).await?;
    let nonsense = vec![0; MEGABYTE];
    let mut request = produce(&topic, 0, batch(&[1], 1)?);
    for data in &mut request.topic_data {
        data.name = StrBytes::default().into();
        data.topic_id = topic.id.into();
        let refused = PartitionProduceData::default().with_records(Some(nonsense.clone().into()));
        data.partition_data.insert(0, refused);
    }
    let mut last = Vec::new();
    for _ in 0..ROUNDS {
        let response = client.call(13, &request).await?;
        let answered = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        last = answered.map(|partition| partition.error_code).collect();
    }
    checks.equal(last, vec![87, 0], "records are stored without what else their request brings");
    Ok(())
}

/// Topics that are deleted while fetches wait which have begun before.
async fn deleted_topics(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let empty = client.create("empty", 1).await?;
    let mut waiting = Vec::new();
    let mut all_wait = true;
    for _ in 0..ROUNDS {
        let full = client.create("full", 1).await?;
        client.produce(&full, 0, batch(&[1], MEGABYTE)?).await?;
        let before = subject.broker.stats.partitions_read.value();
        let (address, empty) = (subject.address, empty.clone());
        waiting.push(tokio::spawn(async move {
            let mut fetcher = Fetcher::connect(address, BY_ID).await?;
            fetcher.max_wait_ms = i32::MAX;
            fetcher.fetch(&[(&empty, 0, 0)]).await
        }));
        // Once before the wait begins and once after.
        all_wait &= until(|| subject.broker.stats.partitions_read.value() >= before + 2).await;
        let delete = DeleteTopicsRequest::default().with_topic_names(vec![full.name.into()]);
        client.call(5, &delete).await?;
    }
    client.produce(&empty, 0, batch(&[1], 1)?).await?;
    let mut answered = 0;
    for fetch in waiting {
        answered += usize::from(fetch.await??.with_records() == [0]);
    }
    checks.that(all_wait, "fetches wait while topics are deleted");
    checks.equal(answered, ROUNDS, "records wake all fetches that wait for them");
    Ok(())
}

/// Waits for something that does happen. Whether it has.
async fn until(mut has_happened: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !has_happened() && started.elapsed() < PATIENCE {
        sleep(Duration::from_millis(1)).await;
    }
    has_happened()
}
