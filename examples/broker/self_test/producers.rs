//! Idempotent producers: what is sent twice is stored once, and what is missing is noticed.

use super::client::{Client, Failure, Named, Writer, batch_of, encode, produce};
use super::{Checks, Subject};
use crate::args::Args;
use crate::faults::Share;
use bytes::Bytes;
use kafka_protocol::messages::{ApiVersionsRequest, InitProducerIdRequest};
use kafka_protocol::protocol::StrBytes;

/// Records of each batch here.
const RECORDS: i32 = 3;

const OUT_OF_ORDER: i16 = 45;
const FENCED: i16 = 47;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("idempotent", 1).await?;
    let id = new_producer(&mut client).await?;
    in_flight(checks, &mut client, &topic, id).await?;
    epochs(checks, &mut client, &topic, id).await?;
    wrap(checks, &mut client, &topic).await?;
    dropped(checks).await
}

/// The batch of a producer with this number, and epoch, and three records.
pub(super) fn numbered(id: i64, epoch: i16, number: i32) -> Result<Bytes, Failure> {
    let writer = Writer { id, epoch, sequence: number * RECORDS, transactional: false };
    batch_of(writer, &[1, 2, 3], 10)
}

pub(super) async fn new_producer(client: &mut Client) -> Result<i64, Failure> {
    let request = InitProducerIdRequest::default().with_transactional_id(None);
    let response = client.call(4, &request).await?;
    match response.error_code {
        0 => Ok(*response.producer_id),
        code => Err(format!("no producer id: error {code}").into()),
    }
}

/// Five batches in flight, whose answers are lost, and one that is missing.
async fn in_flight(
    checks: &mut Checks,
    client: &mut Client,
    topic: &Named,
    id: i64,
) -> Result<(), Failure> {
    for number in 0..6 {
        client.produce(topic, 0, numbered(id, 0, number)?).await?;
    }
    for number in 1..6 {
        let answer = client.produce(topic, 0, numbered(id, 0, number)?).await?;
        let offset = i64::from(number * RECORDS);
        checks.equal(answer, (0, offset), "a batch that was stored is answered with its offset");
    }
    for (what, number) in
        [("one older than the last five is out of order", 0), ("so is one after a gap", 7)]
    {
        let answer = client.produce(topic, 0, numbered(id, 0, number)?).await?;
        checks.equal(answer, (OUT_OF_ORDER, -1), what);
    }
    let answer = client.produce(topic, 0, numbered(id, 0, 6)?).await?;
    checks.equal(answer, (0, 18), "and the next one is stored behind the last");
    Ok(())
}

async fn epochs(
    checks: &mut Checks,
    client: &mut Client,
    topic: &Named,
    id: i64,
) -> Result<(), Failure> {
    let answer = client.produce(topic, 0, numbered(id, 1, 1)?).await?;
    checks.equal(answer, (OUT_OF_ORDER, -1), "a new epoch does not start in the middle");
    let answer = client.produce(topic, 0, numbered(id, 1, 0)?).await?;
    checks.equal(answer, (0, 21), "it starts at sequence 0");
    let answer = client.produce(topic, 0, numbered(id, 0, 7)?).await?;
    checks.equal(answer, (FENCED, -1), "and fences the old one");
    Ok(())
}

/// After sequence 2147483647 comes 0, also in the middle of a batch.
async fn wrap(checks: &mut Checks, client: &mut Client, topic: &Named) -> Result<(), Failure> {
    let id = new_producer(client).await?;
    let of = |sequence| Writer { id, epoch: 0, sequence, transactional: false };
    let (before, behind) = (batch_of(of(i32::MAX), &[1], 10)?, batch_of(of(0), &[1, 2], 10)?);
    for (records, expected) in [(&before, 24), (&behind, 25), (&before, 24), (&behind, 25)] {
        let answer = client.produce(topic, 0, records.clone()).await?;
        checks.equal(answer, (0, expected), "sequences wrap from 2147483647 to 0");
    }
    Ok(())
}

/// A broker that drops every answer of a produce request.
async fn dropped(checks: &mut Checks) -> Result<(), Failure> {
    let args = Args { drop_responses: Share::parse("1")?, seed: 1, ..Args::default() };
    let (subject, server) = Subject::start(args).await?;
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("dropped", 1).await?;
    let id = new_producer(&mut client).await?;
    let name = StrBytes::from_static_str("dropped-client");
    let hello = ApiVersionsRequest::default()
        .with_client_software_name(name.clone())
        .with_client_software_version(name);
    for _ in 0..3 {
        let mut client = Client::connect(subject.address).await?;
        client.call(3, &hello).await?;
        let request = produce(&topic, 0, numbered(id, 0, 0)?);
        client.send(&encode(12, 1, &request)?).await?;
        checks.that(client.receive().await?.is_none(), "an answer is dropped with its connection");
    }
    let program = subject.broker.stats.client("dropped-client", "dropped-client");
    let counted = (program.responses_dropped.value(), program.duplicates.value());
    checks.equal(counted, (3, 2), "and the batch, sent three times, is stored once");
    checks.equal(subject.broker.stats.records_appended.value(), 3, "with all its records");
    server.abort();
    Ok(())
}
