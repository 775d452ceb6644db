//! What a fetch request was classified as, between its acceptance and its answer.

use super::request::{FetchMetadata, FetchRequest, FetcherKind, Profile};
use super::table::PartitionTable;
use crate::error_code::ErrorCode;
use crate::metadata::TopicNames;
use alloc::boxed::Box;

/// A fetch request on its way to its answer.
///
/// It owns what it needs and borrows nothing: it can wait with the host for data to arrive. Give
/// it to [`FetchCache::finish`](super::FetchCache::finish) or
/// [`FetchCache::throttle`](super::FetchCache::throttle), or drop it: what the request changed of
/// its session stays, what its answer would have told stays untold.
#[derive(Debug)]
#[must_use = "a fetch is answered by `finish` or `throttle`"]
pub struct FetchContext {
    version: i16,
    pub(super) state: State,
}

#[derive(Debug)]
pub(super) enum State {
    /// A request of a session that is in the cache.
    Incremental(Ticket),
    /// Any other.
    Own(Own),
}

/// A request whose partitions, if there are any, belong to no session in the cache.
#[derive(Debug)]
pub(super) enum Own {
    Error(ErrorCode),
    Sessionless(Box<PartitionTable>),
    Full(FullFetch),
    Outgrown(Outgrown),
}

/// A full request that asks for a session.
#[derive(Debug)]
pub(super) struct FullFetch {
    pub(super) table: Box<PartitionTable>,
    pub(super) fetcher: FetcherKind,
    pub(super) profile: Profile,
    pub(super) principal: u64,
}

/// A request by which its session outgrew a limit. The session is gone; its partitions are answered
/// here one last time.
#[derive(Debug)]
pub(super) struct Outgrown {
    pub(super) session_id: i32,
    pub(super) table: Box<PartitionTable>,
}

/// An accepted request of a session, which may be gone by the time it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    /// Which of the cache's shards the session is, or was, in.
    pub(super) shard: u32,
    /// Where in that shard.
    pub(super) place: u32,
    /// Which of the sessions that have been there it is.
    pub(super) generation: u32,
    pub(super) session_id: i32,
    /// The session's epoch after this request was accepted. If it has another one now, a later
    /// request was accepted and this one is answered with an error.
    pub(super) epoch: i32,
    pub(super) partitions: u32,
}

/// The kinds of contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContextKind {
    /// The request names a session that cannot take it: the answer is an error.
    Error,
    /// A request of a live session: visits the session's partitions, answers those that changed.
    Incremental,
    /// A request for the partitions it lists, which asks for a session.
    Full,
    /// A request for the partitions it lists, without a session.
    Sessionless,
}

impl FetchContext {
    /// The context of a full request. The session that it names has been closed; its table serves
    /// again.
    ///
    /// O(partitions in the request).
    pub(super) fn full(
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        seed: u64,
        closed: Option<Box<PartitionTable>>,
    ) -> Self {
        let table = PartitionTable::of_request(request, names, seed, closed);
        let own = if request.metadata.epoch == FetchMetadata::INITIAL_EPOCH {
            let &FetchRequest { fetcher, profile, principal, .. } = request;
            Own::Full(FullFetch { table, fetcher, profile, principal })
        } else {
            Own::Sessionless(table)
        };
        Self { version: request.version, state: State::Own(own) }
    }

    /// The context of a request that its session's last partition left with.
    pub(super) fn sessionless(
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        seed: u64,
        closed: Option<Box<PartitionTable>>,
    ) -> Self {
        let table = PartitionTable::of_request(request, names, seed, closed);
        Self { version: request.version, state: State::Own(Own::Sessionless(table)) }
    }

    pub(super) const fn error_of(version: i16, error: ErrorCode) -> Self {
        Self { version, state: State::Own(Own::Error(error)) }
    }

    pub(super) const fn incremental(version: i16, ticket: Ticket) -> Self {
        Self { version, state: State::Incremental(ticket) }
    }

    pub(super) const fn outgrown(
        version: i16,
        session_id: i32,
        table: Box<PartitionTable>,
    ) -> Self {
        let own = Own::Outgrown(Outgrown { session_id, table });
        Self { version, state: State::Own(own) }
    }

    /// What the request was classified as.
    pub const fn kind(&self) -> ContextKind {
        match self.state {
            State::Own(Own::Error(_)) => ContextKind::Error,
            State::Own(Own::Sessionless(_)) => ContextKind::Sessionless,
            State::Own(Own::Full(_)) => ContextKind::Full,
            State::Incremental(_) | State::Own(Own::Outgrown(_)) => ContextKind::Incremental,
        }
    }

    /// The error of an error context, otherwise [`ErrorCode::None`].
    pub const fn error(&self) -> ErrorCode {
        match self.state {
            State::Own(Own::Error(error)) => error,
            _ => ErrorCode::None,
        }
    }

    /// The id of the session whose request this is; 0 if there is none, or none yet.
    pub const fn session_id(&self) -> i32 {
        match &self.state {
            State::Incremental(ticket) => ticket.session_id,
            State::Own(Own::Outgrown(last)) => last.session_id,
            State::Own(_) => FetchMetadata::INVALID_SESSION_ID,
        }
    }

    /// The request's version of the Fetch API.
    pub const fn version(&self) -> i16 {
        self.version
    }

    /// How many partitions the request asks for, those of its session included that a visit may
    /// leave out because they did not change.
    ///
    /// Whether there is anything to wait for is decided by this number less the partitions that
    /// cannot be read, not by how many are visited.
    pub fn partition_count(&self) -> usize {
        match &self.state {
            State::Incremental(ticket) => ticket.partitions as usize,
            State::Own(own) => own.table().map_or(0, PartitionTable::len),
        }
    }
}

impl Own {
    /// The partitions.
    #[inline(never)]
    pub(super) fn table(&self) -> Option<&PartitionTable> {
        match self {
            Self::Error(_) => None,
            Self::Sessionless(table) => Some(table),
            Self::Full(full) => Some(&full.table),
            Self::Outgrown(last) => Some(&last.table),
        }
    }
}
