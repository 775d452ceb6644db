//! What a read of a partition found.

use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{PartitionRead, Slot};

/// The outcome of a read, field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: i64,
    pub(crate) log_start: i64,
    pub(crate) records: u32,
    pub(crate) has_preferred_replica: bool,
    pub(crate) has_diverging_epoch: bool,
    pub(crate) has_current_leader: bool,
    pub(crate) has_snapshot_id: bool,
    pub(crate) aborted: Option<u32>,
}

impl Reading {
    /// Nothing but two offsets.
    pub(crate) const fn of(high_watermark: i64, log_start: i64) -> Self {
        Self {
            error: ErrorCode::None,
            high_watermark,
            log_start,
            records: 0,
            has_preferred_replica: false,
            has_diverging_epoch: false,
            has_current_leader: false,
            has_snapshot_id: false,
            aborted: None,
        }
    }

    /// An error without offsets.
    pub(crate) const fn failed(error: ErrorCode) -> Self {
        Self { error, ..Self::of(-1, -1) }
    }

    /// Whether each answer repeats it, whatever the fetcher was told before.
    pub(crate) fn is_repeated(&self) -> bool {
        self.records > 0
            || self.error != ErrorCode::None
            || self.has_preferred_replica
            || self.has_diverging_epoch
    }

    /// As a host hands it in.
    pub(crate) fn at(&self, slot: Slot) -> PartitionRead {
        let mut read = PartitionRead::new(slot, self.high_watermark, self.log_start)
            .with_error(self.error)
            .with_records(self.records);
        if self.has_preferred_replica {
            read = read.with_preferred_replica();
        }
        if self.has_diverging_epoch {
            read = read.with_diverging_epoch();
        }
        if self.has_current_leader {
            read = read.with_current_leader();
        }
        if self.has_snapshot_id {
            read = read.with_snapshot_id();
        }
        if let Some(count) = self.aborted {
            read = read.with_aborted_transactions(count);
        }
        read
    }
}
