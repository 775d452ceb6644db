//! Transactions: what readers of committed records see, and who may end what.

use super::client::{Client, Failure, Named, Writer, batch_of};
use super::fetcher::{Fetched, Fetcher};
use super::transactional::Transactional;
use super::{BY_ID, Checks, Subject};
use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const FENCED: i16 = 90;
const INVALID_EPOCH: i16 = 47;
const INVALID_STATE: i16 = 48;
const UNKNOWN_ID: i16 = 49;

/// Longer than anything here takes, shorter than its fetches would wait.
const PATIENCE: Duration = Duration::from_secs(10);
const MINUTE_MS: i32 = 60_000;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("transactions", 2).await?;
    commit_and_abort(checks, subject, &topic).await?;
    let topic = client.create("waking", 1).await?;
    waking(checks, subject, &topic).await?;
    let topic = client.create("fencing", 1).await?;
    fencing(checks, subject, &topic).await?;
    let topic = client.create("nobody", 1).await?;
    nobody(checks, subject, &topic).await?;
    let topic = client.create("overdue", 1).await?;
    overdue(checks, subject, &topic).await
}

/// What a reader of committed records finds in partition 0 from its start on.
pub(super) async fn committed(subject: &Subject, topic: &Named) -> Result<Fetched, Failure> {
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.isolation_level = 1;
    fetcher.fetch(&[(topic, 0, 0)]).await
}

/// The last stable offset, whether there were records, and the aborted transactions.
type Seen = (i64, bool, Option<Vec<(i64, i64)>>);

pub(super) fn seen(fetched: &Fetched) -> Option<Seen> {
    let partition = fetched.partitions.first()?;
    Some((partition.last_stable_offset, partition.size > 0, partition.aborted.clone()))
}

async fn commit_and_abort(
    checks: &mut Checks,
    subject: &Subject,
    topic: &Named,
) -> Result<(), Failure> {
    let mut producer = Transactional::init(subject.address, "commit-and-abort", MINUTE_MS).await?;
    let id = producer.id;
    checks.equal(producer.end(true).await?, INVALID_STATE, "there is no transaction to end yet");
    let answer = producer.produce(topic, 0).await?;
    checks.equal(answer.0, 120, "a partition that was not added takes no batch");
    checks.equal(producer.write(topic, 0).await?, (0, 0), "one that was added does");
    let found = seen(&committed(subject, topic).await?);
    checks.equal(found, Some((0, false, Some(vec![]))), "nobody sees it before it is committed");
    checks.equal(latest(subject, topic, 1).await?, 0, "and the log ends before it");
    checks.equal(latest(subject, topic, 0).await?, 2, "but for readers of everything");
    checks.equal(producer.end(true).await?, 0, "it is committed");
    checks.equal(producer.end(true).await?, 0, "and again, should the answer be lost");
    checks.equal(producer.end(false).await?, INVALID_STATE, "but not aborted any more");
    let found = seen(&committed(subject, topic).await?);
    checks.equal(found, Some((3, true, Some(vec![]))), "then everybody sees it");

    producer.write(topic, 0).await?;
    checks.equal(producer.end(false).await?, 0, "the next one is aborted");
    let found = seen(&committed(subject, topic).await?);
    checks.equal(found, Some((6, true, Some(vec![(id, 3)]))), "which readers are told");
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    let found = seen(&fetcher.fetch(&[(topic, 0, 0)]).await?);
    checks.equal(found, Some((6, true, None)), "unless they read everything");

    producer.write(topic, 0).await?;
    let outside =
        Writer { id, epoch: producer.epoch, sequence: producer.sequence, transactional: false };
    let answer = producer.client.produce(topic, 0, batch_of(outside, &[1], 10)?).await?;
    checks.equal(answer.0, INVALID_STATE, "an open transaction takes no batch outside of it");
    producer.write(topic, 1).await?;
    producer.end(true).await?;
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.isolation_level = 1;
    let found = fetcher.fetch(&[(topic, 0, 0), (topic, 1, 0)]).await?;
    let stable: Vec<_> = found.partitions.iter().map(|it| it.last_stable_offset).collect();
    checks.equal(stable, vec![9, 3], "a transaction ends in all its partitions");
    Ok(())
}

/// The end of partition 0 for a reader.
async fn latest(subject: &Subject, topic: &Named, isolation_level: i8) -> Result<i64, Failure> {
    let partition =
        ListOffsetsPartition::default().with_timestamp(-1).with_current_leader_epoch(-1);
    let wanted = ListOffsetsTopic::default()
        .with_name(topic.name.clone().into())
        .with_partitions(vec![partition]);
    let request = ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_isolation_level(isolation_level)
        .with_topics(vec![wanted]);
    let response = Client::connect(subject.address).await?.call(7, &request).await?;
    let mut found = response.topics.iter().flat_map(|topic| &topic.partitions);
    Ok(found.next().ok_or("no partition")?.offset)
}

/// A fetch that waits in a session is woken by the end of a transaction.
async fn waking(checks: &mut Checks, subject: &Subject, topic: &Named) -> Result<(), Failure> {
    let mut producer = Transactional::init(subject.address, "waking", MINUTE_MS).await?;
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.isolation_level = 1;
    fetcher.fetch(&[(topic, 0, 0)]).await?;
    producer.write(topic, 0).await?;
    fetcher.max_wait_ms = i32::MAX;
    let (found, ended) = tokio::join!(timeout(PATIENCE, fetcher.fetch(&[])), async {
        sleep(Duration::from_millis(200)).await;
        producer.end(true).await
    });
    let found = found.map_err(|_| "the fetch waits for ever")??;
    let ok = ended? == 0 && found.with_records() == [0];
    checks.that(ok, "a commit wakes the readers that wait for it");
    Ok(())
}

async fn fencing(checks: &mut Checks, subject: &Subject, topic: &Named) -> Result<(), Failure> {
    let mut old = Transactional::init(subject.address, "fencing", MINUTE_MS).await?;
    old.write(topic, 0).await?;
    let mut new = Transactional::init(subject.address, "fencing", MINUTE_MS).await?;
    checks.equal((new.id, new.epoch), (old.id, 2), "the next of its name has a higher epoch");
    let found = seen(&committed(subject, topic).await?);
    let aborted = Some((3, true, Some(vec![(old.id, 0)])));
    checks.equal(found, aborted, "and the transaction that was left open is aborted");
    checks.equal(old.produce(topic, 0).await?.0, INVALID_EPOCH, "the old one writes no more");
    checks.equal(old.add(topic, 0).await?, FENCED, "nor does it begin a transaction");
    checks.equal(old.end(true).await?, FENCED, "nor end one");
    new.write(topic, 0).await?;
    checks.equal(new.end(true).await?, 0, "the new one does");
    Ok(())
}

/// Requests about transactions that are not the sender's.
async fn nobody(checks: &mut Checks, subject: &Subject, topic: &Named) -> Result<(), Failure> {
    let mut producer = Transactional::init(subject.address, "somebody", MINUTE_MS).await?;
    let mut other = Transactional::init(subject.address, "somebody-else", MINUTE_MS).await?;
    producer.write(topic, 0).await?;
    other.id = producer.id;
    checks.equal(other.end(true).await?, UNKNOWN_ID, "a transaction is not ended by another");
    checks.equal(other.add(topic, 0).await?, UNKNOWN_ID, "nor added to");
    // Its own sequence would do, were it verified.
    other.sequence = producer.sequence;
    other.epoch = producer.epoch + 1;
    checks.equal(other.produce(topic, 0).await?.0, UNKNOWN_ID, "nor is a higher epoch invented");
    let mut unknown = Transactional::init(subject.address, "soon-unknown", MINUTE_MS).await?;
    unknown.rename("never-heard-of");
    checks.equal(unknown.end(true).await?, UNKNOWN_ID, "nobody's transaction is not ended");
    checks.equal(producer.end(true).await?, 0, "its producer does");
    Ok(())
}

async fn overdue(checks: &mut Checks, subject: &Subject, topic: &Named) -> Result<(), Failure> {
    let mut producer = Transactional::init(subject.address, "overdue", 1).await?;
    producer.write(topic, 0).await?;
    sleep(Duration::from_millis(20)).await;
    subject.broker.transactions.tend(&subject.broker);
    let found = seen(&committed(subject, topic).await?);
    let aborted = Some((3, true, Some(vec![(producer.id, 0)])));
    checks.equal(found, aborted, "a transaction that takes too long is aborted");
    checks.equal(producer.end(true).await?, FENCED, "and its producer fenced");
    for timeout_ms in [0, -1, 900_001] {
        let refused = Transactional::init(subject.address, "overdue", timeout_ms).await;
        checks.that(refused.is_err(), format_args!("a time-out of {timeout_ms} ms is refused"));
    }
    Ok(())
}
