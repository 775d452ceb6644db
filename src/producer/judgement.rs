//! The decision on one batch of one producer.

use core::cmp::Ordering;

use tracing::debug;

use super::batch::{Batch, Content, EndMarker, Origin, TransactionVersion};
use super::entry::{NO_EPOCH, ProducerEntry};
use super::error::AppendError;
use super::sequence::{NO_SEQUENCE, compare, follows, last_sequence};
use super::verification::{Guard, Verification};
use super::window::CachedBatch;

/// What becomes of a batch that is not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "written or known")]
pub enum Verdict {
    /// It is to be written.
    New,
    /// It is to be written; it has no producer, and changes nothing of any.
    NoProducer,
    /// It was written before, here. It is not written again; the producer is answered success with
    /// these offsets, once the last one is replicated as far as it asked for.
    ///
    /// For a topic that keeps its producers' timestamps the answer's append time is -1, as it was
    /// the first time; Kafka answers the timestamp that is here.
    Duplicate(CachedBatch),
}

/// At which sequence a producer may start of which nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the three answers to one question")]
pub enum FirstSequence {
    /// At any: what was known may have been lost by retention or expiry (KIP-360).
    #[default]
    Any,
    /// At 0 in a log that never held a record, that is at base offset 0; elsewhere at any
    /// (KAFKA-15591). The first of several batches in flight to a new partition may be refused for
    /// want of metadata; this keeps the second from being taken for the first.
    ZeroInNewLog,
    /// At 0. A producer whose state expired cannot go on, but by a new epoch.
    Zero,
}

/// Whether a transaction must be verified with its coordinator before it starts (KIP-890): Kafka's
/// `transaction.partition.verification.enable`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "on or off")]
pub enum Verify {
    /// It must: without the guard of a verification, no transaction starts.
    #[default]
    On,
    /// It need not.
    Off,
}

/// What [`judge`] goes by, beside the batch and the producer's entry.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the arguments of one function")]
pub struct Circumstances<'a> {
    /// Who appends.
    pub origin: Origin,
    /// The guard that the append presents.
    pub guard: Option<Guard>,
    /// The level at which markers were written; `None`: unknown, as for what is read from a log.
    pub transaction_version: Option<TransactionVersion>,
    /// The producer's pending verification.
    pub verification: Option<&'a Verification>,
    /// Whether transactions must be verified.
    pub verify: Verify,
    /// Where unknown producers may start.
    pub first_sequence: FirstSequence,
}

/// Decides on a batch, given what is known of its producer ([`ProducerEntry::UNKNOWN`] if
/// nothing): Kafka's `ProducerAppendInfo`, as a function of plain values. O(1).
///
/// | check, in this order | client | coordinator | replication | raft leader |
/// | --- | --- | --- | --- | --- |
/// | form of the batch | 87 | 87 | 87 | 87 |
/// | same span among the last five batches of this epoch | duplicate | | | |
/// | transaction not open: stale epoch, then guard | 47, 48 | 47, 48 | | |
/// | epoch below the known one | 47 | 47 | | 47 |
/// | sequence | 45 | | | |
/// | open transaction: not transactional, or of a later epoch | 48 | 48 | | 48 |
///
/// Markers: the epoch by the rule of their transaction version (47), then the coordinator epoch (52);
/// replication takes any.
///
/// Deviation: a follower that reads a batch outside of its producer's open transaction takes it, as
/// the leader did. Kafka's refuses it, and cannot load such a log any more.
///
/// # Errors
/// [`AppendError`], all variants but [`TransactionOffset`](AppendError::TransactionOffset),
/// [`TooManyProducers`](AppendError::TooManyProducers) and [`Superseded`](AppendError::Superseded).
#[inline]
pub fn judge(
    entry: &ProducerEntry,
    batch: &Batch,
    circumstances: &Circumstances<'_>,
) -> Result<Verdict, AppendError> {
    let Some(offset_delta) = batch.offset_delta() else {
        let &Batch { base_offset, last_offset, .. } = batch;
        return Err(AppendError::Offsets { base_offset, last_offset });
    };
    if batch.producer_id < 0 {
        return Ok(Verdict::NoProducer);
    }
    match batch.content {
        Content::Data { base_sequence, is_transactional, .. } => {
            let data = Data { base_sequence, offset_delta, is_transactional };
            judge_data(entry, batch, data, circumstances)
        }
        Content::Marker(marker) => judge_marker(entry, batch, Some(marker), circumstances),
        Content::EmptiedMarker { .. } => judge_marker(entry, batch, None, circumstances),
    }
}

#[derive(Clone, Copy)]
struct Data {
    base_sequence: i32,
    offset_delta: i32,
    is_transactional: bool,
}

#[inline]
fn judge_data(
    entry: &ProducerEntry,
    batch: &Batch,
    data: Data,
    circumstances: &Circumstances<'_>,
) -> Result<Verdict, AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, .. } = batch;
    let origin = circumstances.origin;
    check_form(batch, data.base_sequence, origin)?;
    if origin == Origin::Client && entry.epoch() == epoch {
        let last = last_sequence(data.base_sequence, data.offset_delta);
        if let Some(known) = entry.window().find(data.base_sequence, last) {
            return Ok(Verdict::Duplicate(known));
        }
    }
    let is_checked = matches!(origin, Origin::Client | Origin::Coordinator);
    if is_checked && data.is_transactional && !entry.is_in_transaction(epoch) {
        check_epoch(entry, batch)?;
        if circumstances.verify == Verify::On {
            let is_verified = circumstances.guard.is_some()
                && circumstances.verification.map(Verification::guard) == circumstances.guard;
            if !is_verified {
                return Err(AppendError::Unverified { producer_id });
            }
        }
    }
    if origin == Origin::Replication {
        if epoch < entry.epoch() {
            debug!(producer_id, epoch, current = entry.epoch(), "replicated epoch goes back");
        }
    } else {
        check_epoch(entry, batch)?;
    }
    if origin == Origin::Client {
        check_sequence(entry, batch, data.base_sequence, circumstances)?;
    }
    check_transaction(entry, batch, data, origin)?;
    Ok(Verdict::New)
}

#[inline]
fn check_form(batch: &Batch, base_sequence: i32, origin: Origin) -> Result<(), AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, .. } = batch;
    let least = if origin == Origin::Client { (0, 0) } else { (NO_SEQUENCE, NO_EPOCH) };
    if base_sequence < least.0 {
        return Err(AppendError::Sequence { producer_id, base_sequence });
    }
    if epoch < least.1 {
        return Err(AppendError::Epoch { producer_id, epoch });
    }
    Ok(())
}

#[inline]
const fn check_epoch(entry: &ProducerEntry, batch: &Batch) -> Result<(), AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, .. } = batch;
    let current = entry.epoch();
    if epoch < current {
        return Err(AppendError::StaleEpoch { producer_id, epoch, current });
    }
    Ok(())
}

#[inline]
fn check_sequence(
    entry: &ProducerEntry,
    batch: &Batch,
    base_sequence: i32,
    circumstances: &Circumstances<'_>,
) -> Result<(), AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, base_offset, .. } = batch;
    if let Some(verification) = circumstances.verification {
        let has_no_batches = entry.window().is_empty();
        if verification.supports_epoch_bump() && base_sequence != 0 && has_no_batches {
            return Err(AppendError::ProducerStart { producer_id, base_sequence });
        }
        let lowest_sequence = verification.lowest_sequence();
        if compare(base_sequence, lowest_sequence) == Ordering::Greater {
            return Err(AppendError::AboveTentative {
                producer_id,
                base_sequence,
                lowest_sequence,
            });
        }
    }
    if entry.epoch() == epoch {
        let last_sequence = entry.window().last_sequence();
        if follows(last_sequence, base_sequence) {
            return Ok(());
        }
        return Err(AppendError::OutOfOrder { producer_id, base_sequence, last_sequence });
    }
    if base_sequence == 0 {
        return Ok(());
    }
    if !entry.is_unknown() {
        return Err(AppendError::EpochStart { producer_id, epoch, base_sequence });
    }
    let may_start = match circumstances.first_sequence {
        FirstSequence::Any => true,
        FirstSequence::ZeroInNewLog => base_offset > 0,
        FirstSequence::Zero => false,
    };
    if may_start { Ok(()) } else { Err(AppendError::ProducerStart { producer_id, base_sequence }) }
}

#[inline]
fn check_transaction(
    entry: &ProducerEntry,
    batch: &Batch,
    data: Data,
    origin: Origin,
) -> Result<(), AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, .. } = batch;
    let Some(first_offset) = entry.current_transaction() else {
        return Ok(());
    };
    let refusal = if !data.is_transactional {
        AppendError::OutsideTransaction { producer_id, first_offset }
    } else if epoch > entry.epoch() {
        AppendError::EpochInTransaction { producer_id, epoch, current: entry.epoch() }
    } else {
        return Ok(());
    };
    if origin == Origin::Replication {
        debug!(producer_id, %refusal, "replicated all the same");
        return Ok(());
    }
    Err(refusal)
}

fn judge_marker(
    entry: &ProducerEntry,
    batch: &Batch,
    marker: Option<EndMarker>,
    circumstances: &Circumstances<'_>,
) -> Result<Verdict, AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, .. } = batch;
    if epoch < NO_EPOCH {
        return Err(AppendError::Epoch { producer_id, epoch });
    }
    match circumstances.origin {
        Origin::Client => return Err(AppendError::MarkerFromClient { producer_id }),
        Origin::Coordinator => check_epoch(entry, batch)?,
        Origin::Replication | Origin::RaftLeader => {}
    }
    let Some(marker) = marker else {
        return Ok(Verdict::New);
    };
    let verdict = match circumstances.transaction_version {
        // The version is not in the record. The leader went by it; what it wrote is taken.
        None if circumstances.origin == Origin::Replication => Ok(()),
        None => return Err(AppendError::NoTransactionVersion { producer_id }),
        Some(version) => check_marker_epoch(entry, batch, version),
    };
    let verdict = verdict.and_then(|()| {
        let coordinator_epoch = marker.coordinator_epoch;
        let current = entry.coordinator_epoch();
        if coordinator_epoch < current {
            return Err(AppendError::CoordinatorFenced { coordinator_epoch, current });
        }
        Ok(())
    });
    match verdict {
        Err(refusal) if circumstances.origin == Origin::Replication => {
            debug!(producer_id, %refusal, "replicated all the same");
            Ok(Verdict::New)
        }
        verdict => verdict.map(|()| Verdict::New),
    }
}

/// Under version 2 the marker has the epoch after that of its transaction. The same epoch is then
/// that of a marker sent again (KAFKA-19999), if nothing is open; or that of the last epoch there
/// is, which cannot be raised (KAFKA-20090).
const fn check_marker_epoch(
    entry: &ProducerEntry,
    batch: &Batch,
    version: TransactionVersion,
) -> Result<(), AppendError> {
    let &Batch { producer_id, producer_epoch: epoch, .. } = batch;
    let is_late = version.raises_epoch() && entry.is_in_transaction(epoch) && epoch != i16::MAX;
    if is_late {
        return Err(AppendError::LateMarker { producer_id, epoch });
    }
    check_epoch(entry, batch)
}
