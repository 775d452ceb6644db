//! Two decisions on one partition: does the response carry it, and must the next fetch visit it.
//!
//! Both are functions of plain values, for hosts that keep sessions elsewhere.

use super::response::PartitionRead;
use crate::error_code::ErrorCode;

/// What the fetcher was last told of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the two values that KIP-227 remembers")]
pub struct Reported {
    /// The high watermark of the last answer; -1 if none was told, or if that answer was an error.
    pub high_watermark: i64,
    /// The log start offset of the last answer; -1 if none was told.
    pub log_start_offset: i64,
}

impl Reported {
    /// Nothing told yet.
    pub const NOTHING: Self = Self { high_watermark: -1, log_start_offset: -1 };
}

/// Whether an incremental response carries this partition, and what the fetcher has then been
/// told.
///
/// A partition is carried if it has records, an error, a preferred replica (KAFKA-8443) or a
/// diverging epoch, or if its high watermark or log start offset differs, up or down, from the
/// reported one. An error leaves a high watermark of -1 behind, so that the first answer without
/// one is carried too (KIP-227).
///
/// ```
/// # use kafka_coordination::fetch::{FetchCache, PartitionRead, Reported, inclusion};
/// # fn example(slot: kafka_coordination::fetch::Slot) {
/// let told = Reported { high_watermark: 10, log_start_offset: 0 };
/// let (carried, _) = inclusion(told, &PartitionRead::new(slot, 10, 0));
/// assert!(!carried);
/// let (carried, told) = inclusion(told, &PartitionRead::new(slot, 9, 0));
/// assert!(carried);
/// assert_eq!(told.high_watermark, 9);
/// # }
/// ```
#[inline]
pub fn inclusion(reported: Reported, read: &PartitionRead) -> (bool, Reported) {
    let failed = read.error() != ErrorCode::None;
    let told = Reported {
        high_watermark: if failed { -1 } else { read.high_watermark() },
        log_start_offset: read.log_start_offset(),
    };
    let differs = reported.high_watermark != read.high_watermark()
        || reported.log_start_offset != read.log_start_offset();
    let carried = read.records_size() > 0 || differs || failed || read.redirects();
    (carried, told)
}

/// Why a partition that was just answered has to be visited by the session's next fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retention {
    /// Data is there at the fetch offset: returned and not yet confirmed, or withheld.
    Data,
    /// The answer was an error, and errors are repeated until they clear.
    Error,
    /// The answer sent the fetcher elsewhere or back: that is repeated too.
    Redirect,
    /// The fetcher has been told something else than what is true.
    Untold,
}

/// Whether a partition has to be visited again although nothing marks it, given the read that
/// was answered and what the fetcher has been told since.
///
/// `None` means that another visit without a change in between would find nothing to answer.
#[inline]
pub fn retention(told: Reported, read: &PartitionRead) -> Option<Retention> {
    if read.records_size() > 0 || read.is_revisited() {
        Some(Retention::Data)
    } else if read.error() != ErrorCode::None {
        Some(Retention::Error)
    } else if read.redirects() {
        Some(Retention::Redirect)
    } else if told.high_watermark != read.high_watermark()
        || told.log_start_offset != read.log_start_offset()
    {
        Some(Retention::Untold)
    } else {
        None
    }
}
