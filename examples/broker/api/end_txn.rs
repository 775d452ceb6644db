//! `EndTxn`: commits or aborts a producer's transaction.

use crate::broker::Broker;
use crate::transactions::Producer;
use kafka_coordination::ErrorCode;
use kafka_coordination::producer::MarkerKind;
use kafka_protocol::messages::{EndTxnRequest, EndTxnResponse};

/// The first version of `EndTxn` and `AddPartitionsToTxn` whose clients know `PRODUCER_FENCED`.
pub(super) const FIRST_WITH_FENCED: i16 = 2;

pub(super) fn answer(broker: &Broker, version: i16, request: &EndTxnRequest) -> EndTxnResponse {
    let kind = if request.committed { MarkerKind::Commit } else { MarkerKind::Abort };
    let producer = Producer { id: *request.producer_id, epoch: request.producer_epoch };
    let ended = broker.transactions.end(broker, &request.transactional_id, producer, kind);
    let error = ended.err().unwrap_or(ErrorCode::None);
    EndTxnResponse::default()
        .with_error_code(told_to_client(error, version, FIRST_WITH_FENCED).code())
}

/// What a client of this version is told for `PRODUCER_FENCED`, which it knows from another version on.
pub(super) fn told_to_client(error: ErrorCode, version: i16, first_with_fenced: i16) -> ErrorCode {
    if error == ErrorCode::ProducerFenced && version < first_with_fenced {
        return ErrorCode::InvalidProducerEpoch;
    }
    error
}
