//! Sequence numbers: 0 to 2147483647, one a record, after the last comes 0 again.
//!
//! -1 stands for "no sequence". All functions are total: numbers outside of the range give some
//! number within it, never a panic.

use core::cmp::Ordering;

/// The last sequence before 0 comes again.
pub const MAX_SEQUENCE: i32 = i32::MAX;

/// "No sequence": of a batch without producer, of a marker, of what a coordinator writes.
pub const NO_SEQUENCE: i32 = -1;

/// The sequence `by` records after `sequence`, for a `by` of 0 and above.
///
/// ```
/// use kafka_coordination::producer::{MAX_SEQUENCE, increment};
///
/// assert_eq!(increment(5, 5), 10);
/// assert_eq!(increment(MAX_SEQUENCE - 10, 20), 9);
/// ```
pub const fn increment(sequence: i32, by: i32) -> i32 {
    sequence.wrapping_add(by) & MAX_SEQUENCE
}

/// The sequence `by` records before `sequence`, for a `by` of 0 and above.
///
/// What comes 0 before -1 is 2147483647, as in Kafka; nothing is decided by it.
pub const fn decrement(sequence: i32, by: i32) -> i32 {
    sequence.wrapping_sub(by) & MAX_SEQUENCE
}

/// The sequence of the last record of a batch; -1 if the batch has none.
pub const fn last_sequence(base_sequence: i32, offset_delta: i32) -> i32 {
    if base_sequence < 0 { NO_SEQUENCE } else { increment(base_sequence, offset_delta) }
}

/// Whether a batch that starts at `next` comes right after one that ends at `last`; `last` is -1 if
/// there was none, so that 0 comes next.
pub const fn follows(last: i32, next: i32) -> bool {
    if last == MAX_SEQUENCE {
        return next == 0;
    }
    next == last + 1
}

/// Which of two sequences comes first, on the shorter way around: `one` is before `other` if it is
/// 1 to 2^30 records below it. -1 comes before every sequence.
///
/// Deviation: Kafka compares plain integers, so that a producer with a pending batch on each side of
/// the wrap has the first one refused for ever.
pub const fn compare(one: i32, other: i32) -> Ordering {
    if one == other {
        return Ordering::Equal;
    }
    let is_before =
        if one < 0 || other < 0 { one < other } else { decrement(other, one) <= 1 << 30 };
    if is_before { Ordering::Less } else { Ordering::Greater }
}
