//! Record batches of format 2: what a produce request may store, and where its records are.
//!
//! The batch is the unit that the broker stores, indexes and returns. Its bytes stay what the producer sent, but for the
//! base offset and the leader epoch, which are outside of its checksum so that a broker can set them.

use bytes::{Bytes, BytesMut};
use kafka_coordination::ErrorCode;
use kafka_coordination::producer::EndMarker;
use kafka_coordination::wire::producer::{
    BatchHeader, Compression, RecordBatch, RecordBatchError, TimestampType, encode_marker,
};
use std::borrow::Cow;
use std::fmt::Display;

/// Kafka's `message.max.bytes`.
const MAX_BYTES: usize = 1_048_588;

/// The first version of Produce that may bring records compressed with Zstandard (KIP-110).
const FIRST_WITH_ZSTD: i16 = 7;

/// A batch that may be appended.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) header: BatchHeader,
    bytes: BytesMut,
}

/// Why a batch is refused: the code and the text that go into the answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) text: Cow<'static, str>,
}

impl Refusal {
    pub(crate) const fn new(code: ErrorCode, text: &'static str) -> Self {
        Self { code, text: Cow::Borrowed(text) }
    }

    /// A refusal of the crate's, in its words.
    pub(crate) fn of(code: ErrorCode, error: &impl Display) -> Self {
        Self { code, text: Cow::Owned(error.to_string()) }
    }
}

impl From<RecordBatchError> for Refusal {
    fn from(error: RecordBatchError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl Batch {
    /// Checks the records of one partition of a produce request of the given version.
    pub(crate) fn parse(records: &[u8], version: i16) -> Result<Self, Refusal> {
        let refuse = |code, text| Err(Refusal::new(code, text));
        let invalid = |text| refuse(ErrorCode::InvalidRecord, text);
        if records.is_empty() {
            return invalid("a produce request must hold one record batch for each partition");
        }
        if records.len() > MAX_BYTES {
            return refuse(ErrorCode::MessageTooLarge, "the record batch is too large");
        }
        let (batch, rest) = RecordBatch::read_first(records)?;
        if !rest.is_empty() {
            return invalid("a produce request must hold one record batch for each partition");
        }
        batch.check_checksum()?;
        let header = *batch.header();
        if header.is_control {
            return invalid("control batches are not taken");
        }
        if header.compression == Compression::Zstd && version < FIRST_WITH_ZSTD {
            let text = "zstd needs version 7 of the produce request";
            return refuse(ErrorCode::UnsupportedCompressionType, text);
        }
        if header.timestamp_type == TimestampType::LogAppendTime {
            return refuse(ErrorCode::InvalidTimestamp, "producers may not set the append time");
        }
        batch.check_from_client()?;
        if header.compression == Compression::None {
            check_records(&batch)?;
        }
        // A copy: what else the request has brought must not stay in memory for as long as the log does.
        Ok(Self { header, bytes: BytesMut::from(records) })
    }

    /// The control batch that ends a producer's transaction.
    pub(crate) fn marker(
        producer_id: i64,
        producer_epoch: i16,
        marker: EndMarker,
    ) -> Result<Self, RecordBatchError> {
        let bytes = encode_marker(0, 0, producer_id, producer_epoch, marker);
        let header = *RecordBatch::read(&bytes)?.header();
        Ok(Self { header, bytes: BytesMut::from(bytes.as_slice()) })
    }

    /// How many records there are.
    pub(crate) fn record_count(&self) -> usize {
        usize::try_from(self.header.count).unwrap_or(0)
    }

    /// The batch's bytes as they are stored when its first record gets `base_offset`.
    pub(crate) fn place(mut self, base_offset: i64, leader_epoch: i32) -> Bytes {
        for (field, value) in [
            (0..8, base_offset.to_be_bytes().as_slice()),
            (12..16, leader_epoch.to_be_bytes().as_slice()),
        ] {
            if let Some(bytes) = self.bytes.get_mut(field) {
                bytes.copy_from_slice(value);
            }
        }
        self.bytes.freeze()
    }
}

/// Where a record is: what it adds to its batch's base offset, and its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) offset_delta: i32,
    pub(crate) timestamp: i64,
}

/// The stamps of a stored batch's records. Those of a compressed one are inside of its compression: it gives one stamp,
/// its first offset with its largest timestamp.
pub(crate) fn stamps(batch: &[u8]) -> impl Iterator<Item = Stamp> {
    let batch = RecordBatch::read(batch).ok();
    let max_timestamp = batch.map_or(-1, |batch| batch.header().max_timestamp.as_millis());
    let records = batch.and_then(|batch| batch.records().ok());
    let whole = records.is_none().then_some(Stamp { offset_delta: 0, timestamp: max_timestamp });
    let each = records.into_iter().flatten().filter_map(Result::ok).map(|record| Stamp {
        offset_delta: record.offset_delta,
        timestamp: record.timestamp.as_millis(),
    });
    whole.into_iter().chain(each)
}

/// Whether a batch that is not compressed holds whole records with rising offsets, and nothing else.
fn check_records(batch: &RecordBatch<'_>) -> Result<(), Refusal> {
    for (expected, record) in (0..).zip(batch.records()?) {
        if record?.offset_delta != expected {
            let text = "the offsets of the batch's records do not follow each other";
            return Err(Refusal::new(ErrorCode::InvalidRecord, text));
        }
    }
    Ok(())
}
