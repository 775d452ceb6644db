//! A broker without room: for one session, for few records, and for no topic that nobody creates.

use super::client::{Client, Failure, batch};
use super::fetcher::Fetcher;
use super::{BY_ID, Checks, Subject};
use crate::args::Args;
use kafka_coordination::fetch::FetchMetadata;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::protocol::StrBytes;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Longer than anything here takes, shorter than its fetches would wait.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn check(checks: &mut Checks) -> Result<(), Failure> {
    let args = Args { sessions: 1, retention_bytes: 2_500, auto_create: false, ..Args::default() };
    let (subject, server) = Subject::start(args).await?;
    let mut client = Client::connect(subject.address).await?;
    let wanted =
        MetadataRequestTopic::default().with_name(Some(StrBytes::from_static_str("small").into()));
    let request = MetadataRequest::default().with_topics(Some(vec![wanted]));
    let response = client.call(13, &request).await?;
    let code = response.topics.first().map(|topic| topic.error_code);
    checks.equal(code, Some(3), "without auto-creation a missing topic stays missing");

    retention(checks, &subject, &mut client).await?;
    eviction(checks, &subject, &mut client).await?;
    server.abort();
    Ok(())
}

async fn retention(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let topic = client.create("kept", 1).await?;
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.fetch(&[(&topic, 0, 0)]).await?;
    for _ in 0..5 {
        client.produce(&topic, 0, batch(&[1], 1_000)?).await?;
    }
    let answer = fetcher.fetch(&[]).await?;
    checks.equal(answer.errors(), vec![(0, 1)], "an offset whose records went gets 1");
    let answer = fetcher.fetch(&[(&topic, 0, 3)]).await?;
    checks.equal(answer.with_records(), vec![0], "the records within the retention stay");
    let close = fetcher.metadata.next_close_existing();
    fetcher.fetch_as(close, &[], &[]).await?;
    Ok(())
}

/// A follower's session takes the place of a consumer's, whose fetch waits.
async fn eviction(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let topic = client.create("contested", 1).await?;
    let wanted = [(&topic, 0, 0)];
    let mut consumer = Fetcher::connect(subject.address, BY_ID).await?;
    let mut follower = Fetcher::connect(subject.address, BY_ID).await?;
    consumer.fetch(&wanted).await?;
    consumer.max_wait_ms = i32::MAX;
    follower.replica_id = 2;
    let (left, taken) = tokio::join!(timeout(PATIENCE, consumer.fetch(&[])), async {
        sleep(Duration::from_millis(200)).await;
        follower.fetch(&wanted).await
    });
    checks.that(taken?.session_id > 0, "a follower's session takes the place of a consumer's");
    let left = left.map_err(|_| "the consumer's fetch waits for ever")??;
    checks.that(left.partitions.is_empty(), "which is answered at once, though it waits");
    checks.equal(consumer.fetch(&[]).await?.error, 70, "and is gone");
    consumer.max_wait_ms = 0;
    let answer = consumer.fetch_as(FetchMetadata::INITIAL, &wanted, &[]).await?;
    let ok = answer.error == 0 && answer.session_id == 0 && answer.indexes() == [0];
    checks.that(ok, "a consumer for which there is no room is served without a session");
    Ok(())
}
