//! Fetches that wait for records, or for news of what is committed.

use super::{Context, Replica, RequestHeader};
use crate::error_code::ErrorCode;
use crate::kraft::change::RequestId;
use crate::kraft::effect::Reply;
use crate::kraft::rpc::FetchRecordsRequest;
use crate::kraft::voters::ListenerName;
use crate::time::Monotonic;
use alloc::vec::Vec;

/// A fetch that waits.
#[derive(Clone, Debug)]
pub(super) struct ParkedFetch {
    pub(super) id: RequestId,
    pub(super) version: i16,
    pub(super) listener: ListenerName,
    pub(super) request: FetchRecordsRequest,
    pub(super) deadline: Monotonic,
}

impl ParkedFetch {
    fn header(&self) -> RequestHeader<'static> {
        RequestHeader {
            cluster_id: None,
            is_metadata_partition: true,
            version: self.version,
            listener: self.listener.clone(),
        }
    }
}

/// The fetches that wait, by the offset that they wait at and then in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct ParkedFetches(Vec<ParkedFetch>);

impl ParkedFetches {
    /// Fetches that may wait at a time; more are answered at once. Every replica has one.
    const MAX: usize = 10_000;

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= Self::MAX
    }

    pub(super) fn park(&mut self, fetch: ParkedFetch) {
        let offset = fetch.request.log_end.offset;
        let place = self.0.partition_point(|parked| parked.request.log_end.offset <= offset);
        self.0.insert(place, fetch);
    }

    /// Milliseconds until one has waited long enough.
    pub(super) fn wait_ms(&self, now: Monotonic) -> Option<i64> {
        self.0.iter().map(|parked| parked.deadline.millis_since(now)).min()
    }
}

impl Replica {
    /// Answers those that wait at offsets up to this one.
    pub(super) fn answer_parked(&mut self, offset: i64, context: &mut Context<'_>) {
        let count = self.parked.0.partition_point(|parked| parked.request.log_end.offset <= offset);
        let ready: Vec<_> = self.parked.0.drain(..count).collect();
        for parked in ready {
            // One that waits ends where the log did, which is where a batch starts.
            self.answer_fetch(&parked, Some(parked.request.log_end.offset), context);
        }
    }

    /// Answers those that have waited long enough, with what is known now. That their time is over is no sign of life of
    /// who sent them.
    pub(super) fn expire_parked(&mut self, context: &mut Context<'_>) {
        if self.parked.wait_ms(context.now) != Some(0) {
            return;
        }
        let is_due = |parked: &ParkedFetch| parked.deadline.millis_since(context.now) == 0;
        let (due, waiting) = core::mem::take(&mut self.parked.0).into_iter().partition(is_due);
        self.parked.0 = waiting;
        let due: Vec<ParkedFetch> = due;
        for parked in due {
            self.answer_fetch(&parked, None, context);
        }
    }

    fn answer_fetch(
        &mut self,
        parked: &ParkedFetch,
        batch_base: Option<i64>,
        context: &mut Context<'_>,
    ) {
        let (error, body) = self.serve_fetch(&parked.request, batch_base, context);
        let answer = self.answer_from(&parked.header(), Self::FETCH_WITH_NODES, error, body);
        self.reply(parked.id, Reply::Fetch(answer));
    }

    /// Sends all away.
    pub(super) fn fail_parked(&mut self, error: ErrorCode) {
        for parked in core::mem::take(&mut self.parked.0) {
            let body = self.no_records();
            let answer = self.answer_from(&parked.header(), Self::FETCH_WITH_NODES, error, body);
            self.reply(parked.id, Reply::Fetch(answer));
        }
    }
}
