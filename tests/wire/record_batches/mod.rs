//! Record batches: the bytes that Kafka's own classes write, the batches of another encoder, and bytes that lie.

mod encoder;
mod hostile;
mod kafka;
mod reading;

use kafka_coordination::producer::Batch;
use kafka_coordination::wire::producer::{Compression, RecordBatch, RecordBatchError as Error};

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Reads a batch as far as its producer concerns, and checks on the way that nothing is allocated.
fn read(bytes: &[u8]) -> Result<Batch, Error> {
    let mut result = None;
    let memory = allocation_counter::measure(|| {
        result = Some(RecordBatch::read(bytes).and_then(|batch| {
            batch.check_checksum()?;
            let batch_of_producer = batch.producer_batch()?;
            if batch.header().compression == Compression::None {
                batch.records()?.try_for_each(|record| record.map(drop))?;
            }
            Ok(batch_of_producer)
        }));
    });
    assert_eq!(memory.count_total, 0);
    result.unwrap()
}

/// The batch with other bytes at a place, and the checksum made right.
fn altered(hex: &str, at: usize, other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes(hex);
    bytes[at..at + other.len()].copy_from_slice(other);
    seal(bytes)
}

/// Makes length and checksum right.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// A commit of producer 4001 whose record is this.
fn with_record(record: &[u8]) -> Vec<u8> {
    seal([&bytes(kafka::COMMIT)[..61], record].concat())
}

/// The record of a marker with that key and value.
fn marker_record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let short = |len: usize| u8::try_from(2 * len).unwrap();
    let body = [&[0, 0, 0, short(key.len())], key, &[short(value.len())], value, &[0]].concat();
    [&[short(body.len())], body.as_slice()].concat()
}
