//! The state machine that the log feeds: it keeps every record, in order.
//!
//! One of use keeps what the records amount to. This one lets tests see that no record was lost, doubled or moved. A
//! snapshot of it is all records: right for what `--load` writes, but not for the metadata of a cluster, whose
//! transactions have no place in a snapshot. So a node that has Kafka's controllers for peers is to make none.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    Batch, EncodeError, OffsetAndEpoch, SnapshotHeader, SnapshotReader, encode_data_batch,
    encode_snapshot_footer, encode_snapshot_header,
};
use kafka_coordination::wire::producer::RecordBatch;
use std::error::Error;

/// Records in one batch of a snapshot.
const BATCH: usize = 1_000;

/// Bytes of records in one batch of a snapshot, the last record not counted.
const BATCH_BYTES: usize = 1 << 20;

/// What the log amounts to, up to an offset.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    next_offset: i64,
    records: Vec<Bytes>,
}

impl Machine {
    /// The next offset that it needs.
    pub(crate) const fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// The values of all records.
    pub(crate) fn records(&self) -> &[Bytes] {
        &self.records
    }

    /// Takes in a committed batch of the log, and passes over one that it has.
    pub(crate) fn apply(&mut self, batch: &Batch<'_>) -> Result<(), Box<dyn Error>> {
        if batch.base_offset >= self.next_offset {
            self.take(batch)?;
            self.next_offset = batch.last_offset.saturating_add(1);
        }
        Ok(())
    }

    /// Becomes what a snapshot says.
    pub(crate) fn load(&mut self, id: OffsetAndEpoch, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut loaded = Self { next_offset: id.offset, records: Vec::new() };
        for batch in SnapshotReader::open(bytes)? {
            loaded.take(&batch?)?;
        }
        *self = loaded;
        Ok(())
    }

    /// Control records are the replica's business alone.
    fn take(&mut self, batch: &Batch<'_>) -> Result<(), Box<dyn Error>> {
        if batch.control_records.is_none() {
            for record in RecordBatch::read(batch.bytes)?.records()? {
                self.records.extend(record?.value.map(Bytes::copy_from_slice));
            }
        }
        Ok(())
    }

    /// The bytes of a snapshot that ends where the machine is.
    pub(crate) fn snapshot(
        &self,
        header: &SnapshotHeader,
        epoch: i32,
        now: Timestamp,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        let mut next = encode_snapshot_header(header, epoch, now, &mut bytes)?;
        let mut rest = self.records.as_slice();
        while !rest.is_empty() {
            let (batch, behind) = rest.split_at(batch_length(rest));
            encode_data_batch(next, epoch, now, batch, &mut bytes)?;
            next += i64::try_from(batch.len()).unwrap_or(i64::MAX);
            rest = behind;
        }
        encode_snapshot_footer(next, epoch, now, &mut bytes)?;
        Ok(bytes)
    }
}

/// How many of these records go into one batch: one at least.
fn batch_length(records: &[Bytes]) -> usize {
    let mut bytes = 0;
    let full = records.iter().take(BATCH).position(|record| {
        bytes += record.len();
        bytes > BATCH_BYTES
    });
    full.unwrap_or(BATCH).clamp(1, records.len())
}
