//! Why a batch is refused.

use thiserror::Error;

use crate::error_code::ErrorCode;

/// Why a batch cannot be appended. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The offsets are negative, go back, or span more than a batch can.
    #[error("a batch from offset {base_offset} to {last_offset} is not possible here")]
    Offsets {
        /// The offset of the first record.
        base_offset: i64,
        /// The offset of the last record.
        last_offset: i64,
    },
    /// A client's batch has a producer but no sequence, or any batch one below -1.
    #[error("producer {producer_id} sent base sequence {base_sequence}")]
    Sequence {
        /// The producer.
        producer_id: i64,
        /// What stands for a sequence.
        base_sequence: i32,
    },
    /// A client's batch has a producer but no epoch.
    ///
    /// Deviation: Kafka takes it, and from then on any sequence of that producer.
    #[error("producer {producer_id} sent epoch {epoch}")]
    Epoch {
        /// The producer.
        producer_id: i64,
        /// What stands for an epoch.
        epoch: i16,
    },
    /// A client sent a control batch.
    #[error("producer {producer_id} sent a control batch")]
    MarkerFromClient {
        /// The producer.
        producer_id: i64,
    },
    /// The producer was fenced by a later epoch of its own.
    #[error("epoch {epoch} of producer {producer_id} is fenced by {current}")]
    StaleEpoch {
        /// The producer.
        producer_id: i64,
        /// The epoch of the batch.
        epoch: i16,
        /// The epoch that the producer is known to have.
        current: i16,
    },
    /// A late marker of an earlier transaction, which must not end the open one (KIP-1228).
    #[error("marker of producer {producer_id} with epoch {epoch} is of an earlier transaction")]
    LateMarker {
        /// The producer.
        producer_id: i64,
        /// The epoch of the marker and of the open transaction.
        epoch: i16,
    },
    /// The batch does not come after the last one, nor is it a remembered one.
    #[error("producer {producer_id} sent sequence {base_sequence} after {last_sequence}")]
    OutOfOrder {
        /// The producer.
        producer_id: i64,
        /// The first sequence of the batch.
        base_sequence: i32,
        /// The last sequence that was appended; -1: 0 has to come.
        last_sequence: i32,
    },
    /// A new epoch must start at sequence 0.
    #[error("epoch {epoch} of producer {producer_id} starts at sequence {base_sequence}")]
    EpochStart {
        /// The producer.
        producer_id: i64,
        /// The new epoch.
        epoch: i16,
        /// The first sequence of the batch.
        base_sequence: i32,
    },
    /// A producer without remembered batches must start at sequence 0: under transaction version 2
    /// (KAFKA-18202), or by [`FirstSequence`](super::FirstSequence).
    #[error("producer {producer_id} has no batches here and starts at sequence {base_sequence}")]
    ProducerStart {
        /// The producer.
        producer_id: i64,
        /// The first sequence of the batch.
        base_sequence: i32,
    },
    /// A batch with a lower sequence is still being verified (KAFKA-14920).
    #[error("producer {producer_id} sent {base_sequence} before {lowest_sequence}")]
    AboveTentative {
        /// The producer.
        producer_id: i64,
        /// The first sequence of the batch.
        base_sequence: i32,
        /// The lowest sequence whose verification was asked for.
        lowest_sequence: i32,
    },
    /// A batch would start a transaction that was not verified with the coordinator (KIP-890).
    #[error("the transaction of producer {producer_id} is not verified")]
    Unverified {
        /// The producer.
        producer_id: i64,
    },
    /// A batch outside of the open transaction.
    #[error("producer {producer_id} has had a transaction open since offset {first_offset}")]
    OutsideTransaction {
        /// The producer.
        producer_id: i64,
        /// Where the transaction starts.
        first_offset: i64,
    },
    /// A batch of a later epoch would join the open transaction.
    ///
    /// Deviation: Kafka lets it join, and refuses the marker later: the transaction hangs.
    #[error("epoch {epoch} of producer {producer_id} would join the transaction of {current}")]
    EpochInTransaction {
        /// The producer.
        producer_id: i64,
        /// The epoch of the batch.
        epoch: i16,
        /// The epoch of the open transaction.
        current: i16,
    },
    /// The coordinator that sent the marker was replaced.
    #[error("coordinator epoch {coordinator_epoch} is fenced by {current}")]
    CoordinatorFenced {
        /// The epoch of the marker.
        coordinator_epoch: i32,
        /// The epoch that was seen before.
        current: i32,
    },
    /// Misuse: a marker without transaction version, which only replication may append.
    #[error("marker of producer {producer_id} without transaction version")]
    NoTransactionVersion {
        /// The producer.
        producer_id: i64,
    },
    /// A transaction would start at an offset where one does already: the log is not what it was.
    #[error("a transaction starts at offset {first_offset} already")]
    TransactionOffset {
        /// The offset.
        first_offset: i64,
    },
    /// The bound on producers is reached, and all of them have a transaction open.
    #[error("{producers} producers have a transaction open, over the limit of {max}")]
    TooManyProducers {
        /// How many there are.
        producers: usize,
        /// The limit.
        max: u32,
    },
    /// Misuse: the producers changed since the append was begun.
    #[error("the append was begun before the producers changed")]
    Superseded,
}

impl AppendError {
    /// What Kafka answers: 87, 47, 45, 48, 52, and -1 for misuse; 19, which clients retry, at the
    /// bound.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Offsets { .. }
            | Self::Sequence { .. }
            | Self::Epoch { .. }
            | Self::MarkerFromClient { .. } => ErrorCode::InvalidRecord,
            Self::StaleEpoch { .. } | Self::LateMarker { .. } => ErrorCode::InvalidProducerEpoch,
            Self::OutOfOrder { .. }
            | Self::EpochStart { .. }
            | Self::ProducerStart { .. }
            | Self::AboveTentative { .. } => ErrorCode::OutOfOrderSequenceNumber,
            Self::Unverified { .. }
            | Self::OutsideTransaction { .. }
            | Self::EpochInTransaction { .. } => ErrorCode::InvalidTxnState,
            Self::CoordinatorFenced { .. } => ErrorCode::TransactionCoordinatorFenced,
            Self::TooManyProducers { .. } => ErrorCode::NotEnoughReplicas,
            Self::NoTransactionVersion { .. }
            | Self::TransactionOffset { .. }
            | Self::Superseded => ErrorCode::UnknownServerError,
        }
    }
}

/// Misuse: an append cannot be committed, because the producers changed since it was begun, or are
/// those of another partition. Nothing changed.
///
/// Whoever appends to one log at a time never meets it. If the batches were written already, the
/// state must be built again from the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Error)]
#[error("the append was begun before the producers changed")]
#[non_exhaustive]
pub struct CommitError;
