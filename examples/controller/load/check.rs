//! Whether what was acknowledged is there, once and in order.

use super::writer::Log;
use crate::client::{Client, Failure};
use crate::node::METADATA_TOPIC;
use kafka_coordination::kraft::Address;
use kafka_coordination::wire::producer::RecordBatch;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::protocol::StrBytes;

/// The last version of `Fetch` that names topics by name: by it a node tells what its own state machine has.
const VERSION: i16 = 12;

/// Bytes that are fetched at a time.
const FETCH: i32 = 4 << 20;

/// The records of a node that the writers have written, if nothing is wrong with them.
pub(crate) async fn records(node: &Address, logs: &[Log]) -> Result<Vec<String>, Failure> {
    let mut records = read(node).await?;
    records.retain(|record| logs.iter().any(|log| record.starts_with(&log.prefix)));
    check(&records, logs)?;
    Ok(records)
}

/// How many records the state machine of a node has.
pub(crate) async fn count(node: &Address) -> Result<i64, Failure> {
    let mut client = Client::connect(node).await?;
    Ok(fetch(&mut client, 0).await?.high_watermark)
}

/// All records that the state machine of a node has.
async fn read(node: &Address) -> Result<Vec<String>, Failure> {
    let mut client = Client::connect(node).await?;
    let mut records = Vec::new();
    loop {
        let partition = fetch(&mut client, records.len()).await?;
        let bytes = partition.records.as_deref().unwrap_or_default();
        if bytes.is_empty() {
            return Ok(records);
        }
        for record in RecordBatch::read(bytes)?.records()? {
            let value = record?.value.unwrap_or_default();
            records.push(String::from_utf8_lossy(value).into_owned());
        }
    }
}

async fn fetch(client: &mut Client, offset: usize) -> Result<PartitionData, Failure> {
    let partition = FetchPartition::default()
        .with_fetch_offset(i64::try_from(offset)?)
        .with_partition_max_bytes(FETCH);
    let topic = FetchTopic::default()
        .with_topic(StrBytes::from_static_str(METADATA_TOPIC).into())
        .with_partitions(vec![partition]);
    let request = FetchRequest::default().with_max_bytes(FETCH).with_topics(vec![topic]);
    let response = client.call(VERSION, &request).await?;
    let mut partitions = response.responses.into_iter().flat_map(|topic| topic.partitions);
    let partition = partitions.next().ok_or("no partition was answered")?;
    match partition.error_code {
        0 => Ok(partition),
        code => Err(format!("error {code}").into()),
    }
}

/// Whether the records of each writer are in order, each at most once, and those that were acknowledged all there.
fn check(records: &[String], logs: &[Log]) -> Result<(), String> {
    for Log { prefix, acknowledged } in logs {
        let numbers = records.iter().filter_map(|record| record.strip_prefix(prefix.as_str()));
        let mut missing = acknowledged.iter().peekable();
        let mut last = None;
        for number in numbers {
            let number: u64 =
                number.parse().map_err(|error| format!("{prefix}{number}: {error}"))?;
            if last.is_some_and(|last| last >= number) {
                return Err(format!("{prefix}{number} follows {last:?}"));
            }
            last = Some(number);
            missing.next_if_eq(&&number);
        }
        if let Some(number) = missing.next() {
            return Err(format!("{prefix}{number} was acknowledged and is not there"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Log, check};

    /// Whether a log with these records passes, of a writer whose records 1, 2 and 4 were acknowledged.
    fn passes(records: &[&str]) -> bool {
        let log = Log { prefix: "run/".to_owned(), acknowledged: vec![1, 2, 4] };
        let records: Vec<_> = records.iter().map(|record| (*record).to_owned()).collect();
        check(&records, &[log]).is_ok()
    }

    #[test]
    fn what_is_lost_doubled_or_moved_is_found() {
        assert!(passes(&["run/1", "run/2", "run/4"]));
        assert!(passes(&["run/0", "run/1", "other/1", "run/2", "run/3", "run/4", "run/9"]));
        assert!(!passes(&["run/1", "run/4"]), "lost");
        assert!(!passes(&["run/1", "run/2"]), "lost at the end");
        assert!(!passes(&["run/1", "run/2", "run/2", "run/4"]), "doubled");
        assert!(!passes(&["run/1", "run/4", "run/2"]), "moved");
        assert!(
            !passes(&["run/1", "run/2", "run/4", "run/3"]),
            "one whose answer did not come, moved"
        );
    }
}
