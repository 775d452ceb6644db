//! A record batch in its bytes.

use super::header::{CHECKED_FROM, CHECKSUM, Compression, HEADER};
use super::marker::end_marker;
use super::{BatchHeader, RecordBatchError, Records};
use crate::producer::{Batch, Content, EndMarker};

/// A record batch of format 2 in its bytes, whose header was read and fits them.
///
/// ```
/// use kafka_coordination::producer::{Content, MarkerKind};
/// use kafka_coordination::wire::producer::{RecordBatch, RecordBatchError};
///
/// // The commit of a transaction of producer 4001, as Kafka writes it at offset 40.
/// let bytes = b"\0\0\0\0\0\0\0\x28\0\0\0\x42\0\0\0\x07\x02\x40\x42\xa0\x66\
///     \0\x30\0\0\0\0\0\0\x01\x8b\xcf\xe5\x68\x7b\0\0\x01\x8b\xcf\xe5\x68\x7b\
///     \0\0\0\0\0\0\x0f\xa1\0\x03\xff\xff\xff\xff\0\0\0\x01\
///     \x20\0\0\0\x08\0\0\0\x01\x0c\0\0\0\0\0\x0f\0";
/// let batch = RecordBatch::read(bytes)?;
/// batch.check_checksum()?;
/// let Content::Marker(marker) = batch.producer_batch()?.content else { panic!() };
/// assert_eq!((marker.kind, marker.coordinator_epoch), (MarkerKind::Commit, 15));
/// # Ok::<(), RecordBatchError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RecordBatch<'a> {
    header: BatchHeader,
    bytes: &'a [u8],
}

impl<'a> RecordBatch<'a> {
    /// Reads the only batch in `bytes`. O(1).
    ///
    /// Checked are the size, the format, that the compression is known, and that offsets and count are
    /// possible; not the checksum.
    ///
    /// # Errors
    /// [`RecordBatchError`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, RecordBatchError> {
        let (batch, rest) = Self::read_first(bytes)?;
        if rest.is_empty() {
            return Ok(batch);
        }
        Err(RecordBatchError::Trailing { field: "batch", count: rest.len() })
    }

    /// Reads the first of several batches, as a segment or a fetch response holds them; answers the
    /// bytes behind it too. O(1). Checks what [`read`](Self::read) does.
    ///
    /// # Errors
    /// [`RecordBatchError`]: [`Incomplete`](RecordBatchError::Incomplete) if only the start of a
    /// batch is there, as at the end of a fetch response or of a torn log.
    pub fn read_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), RecordBatchError> {
        let (header, size) = BatchHeader::read(bytes)?;
        let (bytes, rest) = bytes.split_at_checked(size).unwrap_or((bytes, &[]));
        Ok((Self { header, bytes }, rest))
    }

    /// Its header.
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Its bytes.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the bytes are those that the producer sent. O(bytes).
    ///
    /// # Errors
    /// [`RecordBatchError::Checksum`].
    pub fn check_checksum(&self) -> Result<(), RecordBatchError> {
        let checksum = self.bytes.get(CHECKSUM..).and_then(<[u8]>::first_chunk);
        let expected = checksum.map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let actual = crc32c::crc32c(self.bytes.get(CHECKED_FROM..).unwrap_or_default());
        if expected == actual {
            return Ok(());
        }
        Err(RecordBatchError::Checksum { expected, actual })
    }

    /// Whether a client may send such a batch, as far as its header tells and no producer is
    /// concerned: it starts at offset 0, has records, and as many as offsets. O(1).
    ///
    /// That it is no control batch and has a sequence if it has a producer, [`judge`] looks at.
    ///
    /// [`judge`]: crate::producer::judge
    ///
    /// # Errors
    /// [`RecordBatchError::ClientBaseOffset`], [`RecordBatchError::ClientCount`].
    pub fn check_from_client(&self) -> Result<(), RecordBatchError> {
        let BatchHeader { base_offset, count, last_offset_delta, .. } = self.header;
        if base_offset != 0 {
            return Err(RecordBatchError::ClientBaseOffset { base_offset });
        }
        if count < 1 || last_offset_delta != count - 1 {
            return Err(RecordBatchError::ClientCount { count, last_offset_delta });
        }
        Ok(())
    }

    /// Its records, each of which is checked when it is reached.
    ///
    /// # Errors
    /// [`RecordBatchError::Compressed`].
    pub fn records(&self) -> Result<Records<'a>, RecordBatchError> {
        if self.header.compression != Compression::None {
            return Err(RecordBatchError::Compressed);
        }
        Ok(Records::new(&self.header, self.bytes.get(HEADER..).unwrap_or_default()))
    }

    /// What [`crate::producer`] decides on, at the offset that the bytes say: for what is replicated
    /// or read back. O(1).
    ///
    /// A control batch of a producer is read as the end of a transaction. One without producer, of the
    /// metadata quorum, concerns nobody: it comes as data without producer, and is not looked into.
    ///
    /// # Errors
    /// [`RecordBatchError`], if it is a control batch of a producer that ends no transaction.
    pub fn producer_batch(&self) -> Result<Batch, RecordBatchError> {
        self.producer_batch_at(self.header.base_offset)
    }

    /// The same at the offset that the log gives to it: for what a client or coordinator appends.
    ///
    /// # Errors
    /// Those of [`producer_batch`](Self::producer_batch), and [`RecordBatchError::Offsets`].
    pub fn producer_batch_at(&self, base_offset: i64) -> Result<Batch, RecordBatchError> {
        let header = &self.header;
        header.check_offsets(base_offset)?;
        let max_timestamp = header.max_timestamp;
        let content = if !header.is_control || header.producer_id < 0 {
            let BatchHeader { base_sequence, is_transactional, .. } = *header;
            Content::Data { base_sequence, max_timestamp, is_transactional }
        } else {
            match self.end_marker()? {
                Some(marker) => Content::Marker(marker),
                None => Content::EmptiedMarker { max_timestamp },
            }
        };
        Ok(Batch {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            base_offset,
            last_offset: base_offset + i64::from(header.last_offset_delta),
            content,
            position: None,
        })
    }

    /// How its one record ends a transaction; `None` if the log cleaner has removed the record.
    fn end_marker(&self) -> Result<Option<EndMarker>, RecordBatchError> {
        let BatchHeader { count, last_offset_delta, .. } = self.header;
        if count > 1 {
            let bytes = self.bytes.len().saturating_sub(HEADER);
            return Err(RecordBatchError::Count { count, last_offset_delta, bytes });
        }
        let mut records = self.records()?;
        let marker = records.next().transpose()?.map(|record| end_marker(&record)).transpose()?;
        // Whether something follows.
        records.next().transpose()?;
        Ok(marker)
    }
}
