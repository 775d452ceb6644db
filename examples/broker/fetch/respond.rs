//! The response: what the cache decided to send, and the counters of it.

use super::read::{Found, Pass};
use crate::broker::{Broker, lock};
use crate::log::Aborted;
use crate::server::Peer;
use crate::stats::{Client, Fetches};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{ContextKind, FetchContext};
use kafka_coordination::wire::fetch::ResponseBuilder;
use kafka_protocol::messages::FetchResponse;
use kafka_protocol::messages::fetch_response::{AbortedTransaction, PartitionData};

/// The first version that names topics by id.
const FIRST_WITH_IDS: i16 = 13;

/// Answers a request that does not get as far as the cache.
pub(super) fn refuse(broker: &Broker, peer: &Peer, error: ErrorCode) -> FetchResponse {
    broker.stats.fetches.error.add(1);
    peer.client.fetches.error.add(1);
    FetchResponse::default().with_error_code(error.code())
}

/// Commits the answer and builds the response.
pub(super) fn finish(
    broker: &Broker,
    peer: &Peer,
    version: i16,
    context: FetchContext,
    mut pass: Pass,
) -> FetchResponse {
    let kind = context.kind();
    let answer = {
        let mut cache = lock(&broker.cache);
        let mut random = lock(&broker.random);
        cache.finish(context, &mut pass.reads, &mut *random, broker.now())
    };
    if let Some(evicted) = answer.evicted {
        broker.waiting.end_session(evicted.session_id);
    }
    let mut response = ResponseBuilder::of(version, &answer);
    let mut returned = 0;
    for (_, found) in pass.reads.iter().zip(pass.found).filter(|(read, _)| read.is_included()) {
        returned += 1;
        let name = found.topic.clone();
        response.push(found.topic_id, name.as_deref().unwrap_or_default(), data(found));
    }
    let is_error = answer.error != ErrorCode::None;
    for fetches in [&broker.stats.fetches, &peer.client.fetches] {
        count(fetches, kind, is_error);
    }
    broker.stats.partitions_returned.add(returned);
    peer.client.partitions_returned.add(returned);
    if kind == ContextKind::Full && answer.session_id != 0 {
        opened(&peer.client, version);
    }
    response.finish()
}

fn data(found: Found) -> PartitionData {
    PartitionData::default()
        .with_partition_index(found.partition)
        .with_error_code(found.error.code())
        .with_high_watermark(found.high_watermark)
        .with_last_stable_offset(found.last_stable_offset)
        .with_log_start_offset(found.log_start)
        .with_aborted_transactions(found.aborted.map(aborted))
        .with_records(Some(join(found.batches)))
}

fn aborted(transactions: Vec<Aborted>) -> Vec<AbortedTransaction> {
    let transaction = |aborted: Aborted| {
        AbortedTransaction::default()
            .with_producer_id(aborted.producer_id.into())
            .with_first_offset(aborted.first_offset)
    };
    transactions.into_iter().map(transaction).collect()
}

/// The batches as one run of bytes, which is copied only if there are several.
fn join(mut batches: Vec<Bytes>) -> Bytes {
    match batches.len() {
        0 | 1 => batches.pop().unwrap_or_default(),
        _ => batches.concat().into(),
    }
}

fn count(fetches: &Fetches, kind: ContextKind, is_error: bool) {
    let counter = match kind {
        _ if is_error => &fetches.error,
        ContextKind::Full => &fetches.full,
        ContextKind::Incremental => &fetches.incremental,
        ContextKind::Sessionless => &fetches.sessionless,
        _ => &fetches.error,
    };
    counter.add(1);
}

fn opened(client: &Client, version: i16) {
    let sessions =
        if version >= FIRST_WITH_IDS { &client.sessions_by_id } else { &client.sessions_by_name };
    sessions.add(1);
}
