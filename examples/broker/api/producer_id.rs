//! `InitProducerId`: a new id for each producer that is not transactional.

use crate::broker::Broker;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId};

pub(super) fn answer(broker: &Broker, request: &InitProducerIdRequest) -> InitProducerIdResponse {
    if request.transactional_id.is_some() {
        // Fatal to every client; "unsupported version" is asked again for ever by some.
        return InitProducerIdResponse::default()
            .with_error_code(ErrorCode::TransactionalIdAuthorizationFailed.code())
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
    }
    InitProducerIdResponse::default()
        .with_producer_id(ProducerId(broker.new_producer_id()))
        .with_producer_epoch(0)
}
