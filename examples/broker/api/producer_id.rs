//! `InitProducerId`: a new id for each idempotent producer; for a transactional one its id, with a new epoch.

use super::end_txn::told_to_client;
use crate::broker::Broker;
use crate::transactions::Producer;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse};

/// The first version whose clients know `PRODUCER_FENCED`.
const FIRST_WITH_FENCED: i16 = 4;

pub(super) fn answer(
    broker: &Broker,
    version: i16,
    request: &InitProducerIdRequest,
) -> InitProducerIdResponse {
    let (error, producer) = match init(broker, request) {
        Ok(producer) => (ErrorCode::None, producer),
        Err(error) => {
            (told_to_client(error, version, FIRST_WITH_FENCED), Producer { id: -1, epoch: -1 })
        }
    };
    InitProducerIdResponse::default()
        .with_error_code(error.code())
        .with_producer_id(producer.id.into())
        .with_producer_epoch(producer.epoch)
}

fn init(broker: &Broker, request: &InitProducerIdRequest) -> Result<Producer, ErrorCode> {
    let Some(id) = &request.transactional_id else {
        return Ok(Producer { id: broker.new_producer_id()?, epoch: 0 });
    };
    let expected = match (*request.producer_id, request.producer_epoch) {
        (-1, -1) => None,
        (-1, _) | (_, -1) => return Err(ErrorCode::InvalidRequest),
        (id, epoch) => Some(Producer { id, epoch }),
    };
    broker.transactions.init_producer(broker, id, request.transaction_timeout_ms, expected)
}
