//! `Fetch`: how a broker embeds the session cache.
//!
//! 1. [`FetchCache::begin`] classifies the request: a new session, one to go on with, none, or an error.
//! 2. [`FetchCache::visit`] says which partitions to read; of an idle session only those that have been marked.
//! 3. The host reads its logs ([`read`]), and waits if the client wants to ([`waiting`]); then it visits and reads again.
//! 4. [`FetchCache::finish`] decides what the response carries ([`respond`]) and commits it.
//!
//! The cache is behind a mutex that is held for each of these calls and never while the broker reads or waits. Between
//! them the request owns a [`FetchContext`]; dropping it, as when the client hangs up, leaves the session as it was.

mod fault;
mod read;
mod respond;
mod waiting;

use crate::broker::{Broker, lock};
use crate::server::Peer;
use crate::topics::{MAX_NAME, Topics};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{ContextKind, FetchCache, FetchContext};
use kafka_coordination::wire::fetch::{Sender, replica_id, with_request};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use read::{Limits, Pass, Reader, Wanted};
use std::time::Duration;
use tokio::time::Instant;
use waiting::Waiter;
pub(crate) use waiting::Waiting;

/// Answers one fetch request.
pub(crate) async fn answer(
    broker: &Broker,
    peer: &Peer,
    version: i16,
    mut request: FetchRequest,
) -> FetchResponse {
    // A session keeps the names of its topics, and a topic with such a name cannot be.
    if request.topics.iter().any(|topic| topic.topic.len() > MAX_NAME) {
        return respond::refuse(broker, peer, ErrorCode::InvalidRequest);
    }
    fault::inject(broker, &peer.client, version, &mut request);
    let deadline =
        Instant::now() + Duration::from_millis(request.max_wait_ms.max(0).unsigned_abs().into());
    let reader = Reader {
        is_follower: replica_id(&request, version) >= 0,
        isolation: request.isolation_level.into(),
        limits: Limits::of(&request),
    };
    let (context, visit) = begin(broker, version, &request);
    drop(request);
    let pass = wait(broker, &context, visit, &reader, deadline).await;
    respond::finish(broker, peer, version, context, pass)
}

/// The partitions to read, and the topics in which to find them.
struct Visit {
    topics: Topics,
    wanted: Vec<Wanted>,
}

fn begin(broker: &Broker, version: i16, request: &FetchRequest) -> (FetchContext, Visit) {
    // What a read here depends on beside its partition: whether a consumer or which follower asks.
    let sender =
        Sender { profile: i64::from(replica_id(request, version)).cast_unsigned(), principal: 0 };
    with_request(request, version, sender, |request| {
        let mut cache = lock(&broker.cache);
        let topics = broker.topics();
        let context = cache.begin(request, &topics, broker.now());
        if request.metadata.is_full() {
            // It has closed the session that it names.
            broker.waiting.end_session(request.metadata.session_id);
        }
        let visit = visit(&mut cache, &context, topics);
        (context, visit)
    })
}

/// Lists what to read, under the lock under which `topics` was taken: topics change first and are marked afterwards, so a
/// visit that has consumed a mark must see the change.
fn visit(cache: &mut FetchCache, context: &FetchContext, topics: Topics) -> Visit {
    let wanted = cache.visit(context).map(Wanted::from).collect();
    Visit { topics, wanted }
}

fn visit_again(broker: &Broker, context: &FetchContext) -> Visit {
    let mut cache = lock(&broker.cache);
    let topics = broker.topics();
    visit(&mut cache, context, topics)
}

/// Reads, and reads again whenever something has changed, until there is enough to answer or the time is up.
async fn wait(
    broker: &Broker,
    context: &FetchContext,
    mut visit: Visit,
    reader: &Reader,
    deadline: Instant,
) -> Pass {
    let mut waiter: Option<Waiter<'_>> = None;
    let mut missing = None;
    loop {
        let pass = reader.read(&visit.topics, &visit.wanted);
        broker.stats.partitions_read.add(pass.reads.len());
        let is_over = waiter.as_ref().is_some_and(Waiter::is_over)
            // A partition that is missing from the start is no news; one that has gone meanwhile is.
            || *missing.get_or_insert(pass.missing) < pass.missing;
        let is_due =
            context.kind() == ContextKind::Error || pass.is_due(reader, context.partition_count());
        if is_due || is_over || Instant::now() >= deadline {
            return pass;
        }
        match &waiter {
            // What changes from here on wakes the waiter; what changed just before is found by reading once more.
            None => waiter = Some(broker.waiting.register(context, &visit.wanted)),
            Some(waiter) => {
                // A wait may be long, and keeps neither records nor topics alive that are deleted meanwhile.
                drop((pass, visit));
                tokio::select! {
                    () = waiter.woken() => {}
                    () = tokio::time::sleep_until(deadline) => {}
                }
            }
        }
        visit = visit_again(broker, context);
    }
}
