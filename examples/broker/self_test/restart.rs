//! A broker that was killed, and another that starts from what it has left behind.

use super::client::{Client, Failure, Named};
use super::crash::Directory;
use super::producers::{new_producer, numbered};
use super::transactional::Transactional;
use super::transactions::{committed, seen};
use super::{Checks, Subject};
use crate::args::Args;
use kafka_protocol::messages::MetadataRequest;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use tokio::task::JoinHandle;

/// Batches of the idempotent producer: enough for several segments.
const BATCHES: i32 = 60;
/// Offsets of each of them.
const RECORDS: i64 = 3;
/// Bytes of a marker.
const MARKER: u64 = 78;
const MINUTE_MS: i32 = 60_000;

pub(super) async fn check(checks: &mut Checks) -> Result<(), Failure> {
    let directory = Directory::new("data")?;
    let (subject, server) = start(&directory).await?;
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("kept", 1).await?;
    let id = new_producer(&mut client).await?;
    for number in 0..BATCHES {
        client.produce(&topic, 0, numbered(id, 0, number)?).await?;
    }
    let gone = client.create("gone", 1).await?;
    client.produce(&gone, 0, numbered(id, 0, 0)?).await?;
    super::topics::delete(&mut client, &gone).await?;

    whole(checks, &directory, &topic, id).await?;
    torn(checks, &directory, &topic, id).await?;
    damaged(checks, &directory, &topic, id).await?;
    transactions(checks, &directory, &subject).await?;
    let second = Subject::start(args(&directory)).await;
    checks.that(second.is_err(), "two brokers do not use one directory");
    server.abort();
    Ok(())
}

fn args(directory: &Directory) -> Args {
    let data_dir = Some(directory.path().to_owned());
    Args { data_dir, segment_bytes: 1_000, ..Args::default() }
}

async fn start(directory: &Directory) -> Result<(Subject, JoinHandle<()>), Failure> {
    Subject::start(args(directory)).await
}

/// Nothing is missing.
async fn whole(
    checks: &mut Checks,
    directory: &Directory,
    topic: &Named,
    id: i64,
) -> Result<(), Failure> {
    let image = directory.crash("whole")?;
    let (subject, server) = start(&image).await?;
    let mut client = Client::connect(subject.address).await?;
    let recovery = &subject.broker.stats.recovery;
    checks.equal(recovery.snapshots_loaded.value(), 1, "a snapshot is loaded");
    let replayed = recovery.batches_replayed.value();
    let is_tail = (5..u64::from(BATCHES.unsigned_abs()) / 2).contains(&replayed);
    checks.that(is_tail, format_args!("and the tail is replayed: {replayed} batches"));
    let all = MetadataRequest::default().with_topics(None);
    let response = client.call(13, &all).await?;
    let ids: Vec<_> = response.topics.iter().map(|topic| topic.topic_id.into()).collect();
    checks.equal(ids, vec![topic.id], "topics keep their ids, and deleted ones are gone");
    for number in BATCHES - 5..BATCHES {
        let answer = client.produce(topic, 0, numbered(id, 0, number)?).await?;
        let offset = i64::from(number) * RECORDS;
        checks.equal(answer, (0, offset), "a batch from before the crash is not stored twice");
    }
    let answer = client.produce(topic, 0, numbered(id, 0, BATCHES + 1)?).await?;
    checks.equal(answer.0, 45, "a gap is still one");
    let answer = client.produce(topic, 0, numbered(id, 0, BATCHES)?).await?;
    checks.equal(answer, (0, i64::from(BATCHES) * RECORDS), "the next batch is taken");
    checks.that(new_producer(&mut client).await? > id, "producer ids are not given out twice");
    server.abort();
    Ok(())
}

/// The last batch was not written to its end.
async fn torn(
    checks: &mut Checks,
    directory: &Directory,
    topic: &Named,
    id: i64,
) -> Result<(), Failure> {
    for cut in [1, 30, 70] {
        let image = directory.crash("torn")?;
        let last = image.files("log")?.pop().ok_or("no log")?;
        let len = fs::metadata(&last)?.len();
        OpenOptions::new().write(true).open(&last)?.set_len(len - cut)?;
        let (subject, server) = start(&image).await?;
        let mut client = Client::connect(subject.address).await?;
        let found = subject.broker.stats.recovery.bytes_cut.value();
        checks.that(found > 0, format_args!("a batch that lacks {cut} bytes is cut off"));
        let end = i64::from(BATCHES) * RECORDS;
        for (number, expected) in [(BATCHES - 2, end - 6), (BATCHES - 1, end - 3), (BATCHES, end)] {
            let answer = client.produce(topic, 0, numbered(id, 0, number)?).await?;
            checks.equal(answer, (0, expected), "it is stored when it is sent again");
        }
        server.abort();
    }
    Ok(())
}

/// Snapshots that are none.
async fn damaged(
    checks: &mut Checks,
    directory: &Directory,
    topic: &Named,
    id: i64,
) -> Result<(), Failure> {
    let image = directory.crash("damaged")?;
    for snapshot in image.files("snapshot")? {
        fs::write(snapshot, b"no snapshot")?;
    }
    let (subject, server) = start(&image).await?;
    let mut client = Client::connect(subject.address).await?;
    let recovery = &subject.broker.stats.recovery;
    checks.equal(recovery.snapshots_loaded.value(), 0, "no damaged snapshot is loaded");
    let replayed = recovery.batches_replayed.value();
    checks.equal(replayed, BATCHES.unsigned_abs().into(), "the log is read instead");
    let answer = client.produce(topic, 0, numbered(id, 0, BATCHES - 5)?).await?;
    checks.equal(answer, (0, i64::from(BATCHES - 5) * RECORDS), "and nothing is lost");
    server.abort();
    Ok(())
}

async fn transactions(
    checks: &mut Checks,
    directory: &Directory,
    subject: &Subject,
) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("transactional", 1).await?;
    let mut producer = Transactional::init(subject.address, "kept", MINUTE_MS).await?;
    let id = producer.id;
    producer.write(&topic, 0).await?;
    producer.end(false).await?;
    producer.write(&topic, 0).await?;
    let open = directory.crash("open")?;
    producer.end(true).await?;
    let decided = directory.crash("decided")?;

    let (subject, server) = start(&open).await?;
    let found = seen(&committed(&subject, &topic).await?);
    let before = Some((3, true, Some(vec![(id, 0)])));
    checks.equal(found, before, "what was aborted stays so, what is open stays open");
    producer.reconnect(subject.address).await?;
    producer.sequence -= 2;
    let answer = producer.produce(&topic, 0).await?;
    checks.equal(answer, (0, 3), "its producer goes on");
    checks.equal(producer.end(true).await?, 0, "and commits");
    let after = Some((6, true, Some(vec![(id, 0)])));
    checks.equal(seen(&committed(&subject, &topic).await?), after.clone(), "for all to see");
    server.abort();

    // The commit was decided, and neither its marker nor its end was written.
    let image = directory.crash("undone")?;
    let of_topic = |path: &PathBuf| path.to_string_lossy().contains(&topic.id.to_string());
    let log = image.files("log")?.into_iter().rfind(of_topic).ok_or("no log")?;
    let len = fs::metadata(&log)?.len();
    OpenOptions::new().write(true).open(&log)?.set_len(len - MARKER)?;
    for journal in image.files("journal")? {
        let text = fs::read_to_string(&journal)?;
        if let Some(at) = text.trim_end().rfind('\n').filter(|_| text.contains("PrepareCommit")) {
            fs::write(&journal, text.get(..=at).unwrap_or_default())?;
        }
    }
    for image in [image, decided] {
        let (subject, server) = start(&image).await?;
        let found = seen(&committed(&subject, &topic).await?);
        checks.equal(found, after.clone(), "a commit that was decided happens");
        server.abort();
    }
    Ok(())
}
