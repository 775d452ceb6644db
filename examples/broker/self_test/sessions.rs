//! Fetch sessions, by id and by name.

use super::client::{Client, Failure, Named, batch};
use super::fetcher::Fetcher;
use super::{BY_ID, BY_NAME, Checks, Subject};
use kafka_coordination::fetch::FetchMetadata;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long an idle fetch is let wait, and how long no fetch may take that is woken.
const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);

const NOTHING: [i32; 0] = [];

pub(super) async fn check(
    checks: &mut Checks,
    subject: &Subject,
    version: i16,
) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let name = if version >= 13 { "by-id" } else { "by-name" };
    let topic = client.create(name, 4).await?;
    let fetcher = life(checks, subject, &mut client, &topic, version).await?;
    waits(checks, fetcher, client, &topic, name).await?;
    metadata(checks, subject, &topic, version).await
}

/// A session from its first fetch on.
async fn life(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
    topic: &Named,
    version: i16,
) -> Result<Fetcher, Failure> {
    let by = &topic.name;
    client.produce(topic, 0, batch(&[1], 1)?).await?;
    let mut fetcher = Fetcher::connect(subject.address, version).await?;
    let all: Vec<_> = (0..4).map(|partition| (topic, partition, 0)).collect();
    let answer = fetcher.fetch(&all).await?;
    let ok =
        answer.session_id > 0 && answer.indexes() == [0, 1, 2, 3] && answer.with_records() == [0];
    checks.that(ok, format_args!("{by}: (0, 0) opens a session and returns all partitions"));

    let answer = fetcher.fetch(&[]).await?;
    checks.equal(
        answer.with_records(),
        vec![0],
        format_args!("{by}: records come again until the offset moves"),
    );
    let answer = fetcher.fetch(&[(topic, 0, 1)]).await?;
    checks.equal(
        answer.indexes(),
        NOTHING.into(),
        format_args!("{by}: nothing new is an empty answer"),
    );
    client.produce(topic, 2, batch(&[1], 1)?).await?;
    let answer = fetcher.fetch(&[]).await?;
    checks.equal(
        answer.with_records(),
        vec![2],
        format_args!("{by}: what has changed, and no more"),
    );
    let marks: Vec<_> =
        answer.partitions.iter().map(|partition| partition.high_watermark).collect();
    checks.equal(marks, vec![1], format_args!("{by}: with its high watermark"));

    let answer = fetcher.fetch_and_forget(&[(topic, 2, 1)], &[(topic, 3)]).await?;
    checks.equal(answer.indexes(), NOTHING.into(), format_args!("{by}: a partition is forgotten"));
    client.produce(topic, 3, batch(&[1], 1)?).await?;
    let answer = fetcher.fetch(&[]).await?;
    checks.equal(answer.indexes(), NOTHING.into(), format_args!("{by}: and not served any more"));
    let answer = fetcher.fetch(&[(topic, 3, 1)]).await?;
    checks.equal(
        answer.indexes(),
        vec![3],
        format_args!("{by}: a partition that comes back is told of once"),
    );

    let mut wrong = fetcher.metadata;
    wrong.epoch += 5;
    let answer = fetcher.fetch_as(wrong, &[], &[]).await?;
    checks.equal(
        (answer.error, answer.session_id),
        (71, 0),
        format_args!("{by}: a wrong epoch gets 71"),
    );
    let answer = fetcher.fetch(&[]).await?;
    checks.equal(answer.error, 0, format_args!("{by}: and the session lives on"));
    let other = if version >= 13 { BY_NAME } else { BY_ID };
    fetcher.version = other;
    let answer = fetcher.fetch_as(fetcher.metadata, &[], &[]).await?;
    fetcher.version = version;
    checks.equal(answer.error, 106, format_args!("{by}: names and ids do not mix"));
    Ok(fetcher)
}

/// Long polls of an idle session.
async fn waits(
    checks: &mut Checks,
    mut fetcher: Fetcher,
    mut client: Client,
    topic: &Named,
    by: &str,
) -> Result<(), Failure> {
    fetcher.max_wait_ms = i32::try_from(SHORT.as_millis())?;
    let started = Instant::now();
    let answer = fetcher.fetch(&[]).await?;
    let ok = started.elapsed() >= SHORT && answer.error == 0 && answer.partitions.is_empty();
    checks.that(ok, format_args!("{by}: an idle session waits"));

    fetcher.max_wait_ms = i32::try_from(LONG.as_millis())?;
    let started = Instant::now();
    let records = batch(&[1], 1)?;
    let (answer, produced) = tokio::join!(fetcher.fetch(&[]), async {
        sleep(SHORT).await;
        client.produce(topic, 1, records.clone()).await
    });
    produced?;
    let ok = started.elapsed() < LONG / 2 && answer?.with_records() == [1];
    checks.that(ok, format_args!("{by}: records wake a session that waits"));

    let started = Instant::now();
    let mut other = Fetcher::connect(fetcher.client.address()?, fetcher.version).await?;
    other.max_wait_ms = fetcher.max_wait_ms;
    let wanted = [(topic, 1, 1)];
    let (answer, produced) = tokio::join!(other.fetch(&wanted), async {
        sleep(SHORT).await;
        client.produce(topic, 1, records.clone()).await
    });
    produced?;
    let ok = started.elapsed() < LONG / 2 && answer?.with_records() == [1];
    checks.that(ok, format_args!("{by}: records wake a first fetch that waits"));

    // The broker has accepted the fetch of a client that then leaves: the session goes on where it would have.
    let next = fetcher.metadata.next_incremental();
    let left = timeout(SHORT, fetcher.fetch(&[(topic, 1, 2)])).await.is_err();
    drop(fetcher);
    other.max_wait_ms = 0;
    let answer = other.fetch_as(next, &[], &[]).await?;
    checks.that(
        left && answer.error == 0,
        format_args!("{by}: a session outlives a client that leaves while it waits"),
    );
    let mut waiting = Fetcher::connect(other.client.address()?, other.version).await?;
    let opened = waiting.fetch(&[(topic, 1, 2)]).await?.session_id;
    waiting.max_wait_ms = i32::MAX;
    let (answer, closed) = tokio::join!(timeout(LONG / 2, waiting.fetch(&[])), async {
        sleep(SHORT).await;
        let close = FetchMetadata { session_id: opened, epoch: FetchMetadata::FINAL_EPOCH };
        other.fetch_as(close, &[], &[]).await
    });
    closed?;
    let ok = answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.partitions.is_empty()));
    checks.that(ok, format_args!("{by}: a fetch is answered when its session is closed"));
    Ok(())
}

/// Session ids and epochs that a client may send at any time.
async fn metadata(
    checks: &mut Checks,
    subject: &Subject,
    topic: &Named,
    version: i16,
) -> Result<(), Failure> {
    let by = &topic.name;
    let mut fetcher = Fetcher::connect(subject.address, version).await?;
    let wanted = [(topic, 0, 0)];
    let unknown = i32::MAX - 12_345;
    for (session_id, epoch, error, opens) in [
        (0, 1, 70, false),
        (0, -2, 70, false),
        (0, -1, 0, false),
        (-1, -1, 0, false),
        (-1, 0, 0, true),
        (unknown, 5, 70, false),
        (unknown, -1, 0, false),
        (unknown, 0, 0, true),
    ] {
        let answer = fetcher.fetch_as(FetchMetadata { session_id, epoch }, &wanted, &[]).await?;
        let answer = (answer.error, answer.session_id > 0, answer.with_records().len());
        let expected = (error, opens, usize::from(error == 0));
        let who = if session_id == unknown { "unknown".to_owned() } else { session_id.to_string() };
        checks.equal(answer, expected, format_args!("{by}: ({who}, {epoch})"));
    }
    let first = fetcher.fetch(&wanted).await?.session_id;
    let replaced = FetchMetadata { session_id: first, epoch: 0 };
    let second = fetcher.fetch_as(replaced, &wanted, &[]).await?.session_id;
    checks.that(second > 0 && second != first, format_args!("{by}: (id, 0) replaces a session"));
    let answer = fetcher.fetch_as(FetchMetadata::new_incremental(first), &[], &[]).await?;
    checks.equal(answer.error, 70, format_args!("{by}: the replaced one is gone"));
    let before = subject.broker.cached().sessions;
    let close = FetchMetadata { session_id: second, epoch: -1 };
    let answer = fetcher.fetch_as(close, &[], &[]).await?;
    let ok = answer.error == 0
        && answer.session_id == 0
        && subject.broker.cached().sessions == before - 1;
    checks.that(ok, format_args!("{by}: (id, -1) closes a session"));
    let answer = fetcher.fetch_as(FetchMetadata::new_incremental(second), &[], &[]).await?;
    checks.equal(answer.error, 70, format_args!("{by}: the closed one is gone"));
    Ok(())
}
