//! What the host read of a partition, and what it is to answer.

use crate::error_code::ErrorCode;

/// The place of a partition in its context, as [`FetchPartition::slot`](super::FetchPartition)
/// gives it.
///
/// It is meaningful only with the context that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub(super) u32);

impl Slot {
    /// The place as a number: below the number of partitions that the context has or had, so that
    /// a host can keep an array beside them.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// The outcome of reading one partition: what the session has to know of it.
///
/// The records themselves stay with the host. [`FetchCache::finish`](super::FetchCache::finish)
/// marks the reads that the response carries; see [`is_included`](Self::is_included).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionRead {
    slot: Slot,
    records_size: u32,
    high_watermark: i64,
    log_start_offset: i64,
    aborted_transactions: u32,
    error: ErrorCode,
    flags: u8,
}

const PREFERRED_REPLICA: u8 = 1;
const DIVERGING_EPOCH: u8 = 1 << 1;
const CURRENT_LEADER: u8 = 1 << 2;
const SNAPSHOT_ID: u8 = 1 << 3;
const ABORTED_TRANSACTIONS: u8 = 1 << 4;
const REVISIT: u8 = 1 << 5;
const INCLUDED: u8 = 1 << 6;

impl PartitionRead {
    /// A read without error and, so far, without records.
    ///
    /// `high_watermark` and `log_start_offset` are those that the response would carry; -1 stands
    /// for "unknown".
    pub const fn new(slot: Slot, high_watermark: i64, log_start_offset: i64) -> Self {
        Self {
            slot,
            records_size: 0,
            high_watermark,
            log_start_offset,
            aborted_transactions: 0,
            error: ErrorCode::None,
            flags: 0,
        }
    }

    /// A partition that could not be read: its offsets are -1.
    pub const fn failed(slot: Slot, error: ErrorCode) -> Self {
        Self::new(slot, -1, -1).with_error(error)
    }

    /// This read with an error, and with its offsets as they are.
    #[must_use]
    pub const fn with_error(mut self, error: ErrorCode) -> Self {
        self.error = error;
        self
    }

    /// This read with that many bytes of records.
    #[must_use]
    pub const fn with_records(mut self, size_bytes: u32) -> Self {
        self.records_size = size_bytes;
        self
    }

    /// This read, sending the fetcher to another replica (KIP-392).
    #[must_use]
    pub const fn with_preferred_replica(self) -> Self {
        self.with(PREFERRED_REPLICA)
    }

    /// This read, telling the fetcher that its log has diverged (KIP-595).
    #[must_use]
    pub const fn with_diverging_epoch(self) -> Self {
        self.with(DIVERGING_EPOCH)
    }

    /// This read, naming the partition's leader (KIP-951). It counts only for the size.
    #[must_use]
    pub const fn with_current_leader(self) -> Self {
        self.with(CURRENT_LEADER)
    }

    /// This read, naming a snapshot. It counts only for the size.
    #[must_use]
    pub const fn with_snapshot_id(self) -> Self {
        self.with(SNAPSHOT_ID)
    }

    /// This read with a list of that many aborted transactions, which may be empty; without this
    /// call the list is null. It counts only for the size.
    #[must_use]
    pub const fn with_aborted_transactions(mut self, count: u32) -> Self {
        self.aborted_transactions = count;
        self.with(ABORTED_TRANSACTIONS)
    }

    /// This read, to be visited again by the session's next request even if nothing marks it.
    ///
    /// For a partition that holds data at the fetch offset which the read withheld (a limit, a
    /// throttle, a remote tier), and for a follower that is out of the partition's ISR.
    #[must_use]
    pub const fn with_revisit(self) -> Self {
        self.with(REVISIT)
    }

    const fn with(mut self, flag: u8) -> Self {
        self.flags |= flag;
        self
    }

    const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the fetcher is sent elsewhere, or back: to another replica, or to where its log diverged.
    pub(super) const fn redirects(&self) -> bool {
        self.has(PREFERRED_REPLICA | DIVERGING_EPOCH)
    }

    /// Whether it has a field whose size depends on its presence or content, records aside.
    pub(super) const fn has_sized_fields(&self) -> bool {
        self.has(DIVERGING_EPOCH | CURRENT_LEADER | SNAPSHOT_ID | ABORTED_TRANSACTIONS)
    }

    /// The partition's place in the context.
    pub const fn slot(&self) -> Slot {
        self.slot
    }

    /// The error; [`ErrorCode::None`] for none.
    pub const fn error(&self) -> ErrorCode {
        self.error
    }

    /// The high watermark that the response would carry.
    pub const fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// The log start offset that the response would carry.
    pub const fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// Bytes of records.
    pub const fn records_size(&self) -> u32 {
        self.records_size
    }

    /// The number of aborted transactions, `None` if the list is null.
    pub const fn aborted_transactions(&self) -> Option<u32> {
        if self.has(ABORTED_TRANSACTIONS) { Some(self.aborted_transactions) } else { None }
    }

    /// Whether the fetcher is sent to another replica.
    pub const fn has_preferred_replica(&self) -> bool {
        self.has(PREFERRED_REPLICA)
    }

    /// Whether the fetcher is told that its log has diverged.
    pub const fn has_diverging_epoch(&self) -> bool {
        self.has(DIVERGING_EPOCH)
    }

    /// Whether the partition's leader is named.
    pub const fn has_current_leader(&self) -> bool {
        self.has(CURRENT_LEADER)
    }

    /// Whether a snapshot is named.
    pub const fn has_snapshot_id(&self) -> bool {
        self.has(SNAPSHOT_ID)
    }

    /// Whether the partition is to be visited again even if nothing marks it.
    pub const fn is_revisited(&self) -> bool {
        self.has(REVISIT)
    }

    /// Whether the response carries this partition: meaningful after
    /// [`FetchCache::finish`](super::FetchCache::finish).
    pub const fn is_included(&self) -> bool {
        self.has(INCLUDED)
    }

    pub(super) const fn set_included(&mut self, included: bool) {
        if included {
            self.flags |= INCLUDED;
        } else {
            self.flags &= !INCLUDED;
        }
    }
}

/// What a fetch is answered, beside its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchAnswer {
    /// The top-level error.
    pub error: ErrorCode,
    /// The session's id; 0 if there is none.
    pub session_id: i32,
    /// How long the fetcher is asked to wait, in milliseconds.
    pub throttle_time_ms: i32,
    /// The session that was evicted so that this answer's could be created.
    pub evicted: Option<Evicted>,
}

impl FetchAnswer {
    pub(super) const fn new(error: ErrorCode, session_id: i32) -> Self {
        Self { error, session_id, throttle_time_ms: 0, evicted: None }
    }
}

/// A session that had to give way to a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Evicted {
    /// The id that the session had. A fetch of it that still waits can be answered at once.
    pub session_id: i32,
    /// The principal whose request had created it.
    pub principal: u64,
    /// Why it was this one.
    pub reason: EvictionReason,
}

/// Why a session was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EvictionReason {
    /// It had been idle for longer than the eviction threshold.
    Stale,
    /// A privileged session took the place of one that is not.
    Unprivileged,
    /// A session with more partitions took the place of one that had passed the threshold in age.
    Smaller,
}
