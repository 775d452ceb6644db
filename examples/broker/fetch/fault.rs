//! Faults on demand: session errors that a client must get over. The cache itself is brought to answer with them.

use crate::broker::{Broker, lock};
use crate::stats::Client;
use kafka_coordination::fetch::FetchMetadata;
use kafka_coordination::wire::fetch::{Sender, with_request};
use kafka_protocol::messages::FetchRequest;

/// How many incremental fetches a client has made when it gets a wrong epoch's error.
const BEFORE_71: u64 = 3;
/// How many it has made when its session is lost.
const BEFORE_70: u64 = 6;

/// Does what the command line asks for to this request, once for each client program.
pub(super) fn inject(broker: &Broker, client: &Client, version: i16, request: &mut FetchRequest) {
    if request.session_id == 0 || request.session_epoch <= 0 {
        return;
    }
    let so_far = client.fetches.incremental.value();
    if broker.args.answer_71_once && so_far >= BEFORE_71 && client.given_71.add(1) == 0 {
        request.session_epoch = FetchMetadata::next_epoch(request.session_epoch);
    } else if broker.args.answer_70_once && so_far >= BEFORE_70 && client.given_70.add(1) == 0 {
        close_session(broker, version, request.session_id);
    }
}

fn close_session(broker: &Broker, version: i16, session_id: i32) {
    let close = FetchRequest::default()
        .with_replica_id((-1).into())
        .with_session_id(session_id)
        .with_session_epoch(FetchMetadata::FINAL_EPOCH);
    with_request(&close, version, Sender::default(), |close| {
        let mut cache = lock(&broker.cache);
        drop(cache.begin(close, &broker.topics(), broker.now()));
    });
}
