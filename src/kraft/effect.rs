//! What the host carries out for a replica.

use super::change::{ChangeError, CurrentLeader, RequestId};
use super::offset_and_epoch::OffsetAndEpoch;
use super::quorum::Persist;
use super::requests::Correlation;
use super::rpc::{Answer, FetchedRecords, FetchedSnapshot, LogBatch, Node, Request};
use bytes::Bytes;

/// The records that an answer to `Fetch` carries: whole batches from the one on that holds `from`, up to `max_bytes`,
/// at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadRecords {
    /// An offset of the first batch.
    pub from: i64,
    /// How many bytes at most; one batch in any case. A last batch may be cut.
    pub max_bytes: i32,
}

/// The bytes that an answer to `FetchSnapshot` carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSnapshot {
    /// The snapshot.
    pub snapshot: OffsetAndEpoch,
    /// The first byte.
    pub position: i64,
    /// How many.
    pub length: usize,
}

/// An answer to a peer's request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// To `Vote`: whether the vote is granted.
    Vote(Answer<bool>),
    /// To `BeginQuorumEpoch`.
    BeginQuorumEpoch(Answer<()>),
    /// To `EndQuorumEpoch`.
    EndQuorumEpoch(Answer<()>),
    /// To `Fetch`; the host reads the records when it carries this out.
    Fetch(Answer<FetchedRecords<Option<ReadRecords>>>),
    /// To `FetchSnapshot`; the host reads the bytes when it carries this out.
    FetchSnapshot(Answer<FetchedSnapshot<Option<ReadSnapshot>>>),
    /// To `AddRaftVoter`, `RemoveRaftVoter` or `UpdateRaftVoter`.
    VoterChange {
        /// Success, or why not.
        result: Result<(), ChangeError>,
        /// The leader, for `UpdateRaftVoter` alone.
        leader: Option<CurrentLeader>,
    },
}

/// What the host does for the replica, each after the one before it has taken effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an effect is to be carried out"]
#[non_exhaustive]
pub enum Effect {
    /// Make this election state durable. Until it is, nothing that follows may be carried out.
    Persist(Persist),
    /// Send a request; what comes of it goes to [`Replica::handle_response`](super::Replica::handle_response).
    Send {
        /// The request's name.
        correlation: Correlation,
        /// To whom.
        to: Node,
        /// The request.
        request: Request,
    },
    /// Answer a request.
    Reply {
        /// Which.
        request: RequestId,
        /// The answer.
        reply: Reply,
    },
    /// Append a batch to the log, at its end.
    Append(LogBatch),
    /// Note in the log's history of epochs that this one starts at its end.
    StartEpoch {
        /// The epoch.
        epoch: i32,
    },
    /// Make the log durable, then call [`Replica::flushed`](super::Replica::flushed).
    Flush {
        /// Up to here, exclusive.
        end_offset: i64,
    },
    /// Cut the log off, then call [`Replica::truncated`](super::Replica::truncated).
    Truncate {
        /// Where it is to end. A log that drops whole batches may end before that.
        end_offset: i64,
    },
    /// The log is committed up to here, exclusive; never less than the last time.
    HighWatermark(i64),
    /// Begin to receive a snapshot, in place of any unfinished one.
    OpenSnapshot(OffsetAndEpoch),
    /// Add bytes to the snapshot that is being received.
    WriteSnapshot(Bytes),
    /// The snapshot that is being received is complete and ahead of the whole log: read it to its end, for a damaged one must
    /// not take the log's place; make it durable, let the log start at its end, empty, then call
    /// [`Replica::snapshot_installed`](super::Replica::snapshot_installed) with its control records.
    InstallSnapshot(OffsetAndEpoch),
    /// The snapshot that is being received is not wanted any more.
    DropSnapshot,
    /// Hand the committed records from `from` up to `to`, exclusive, to the state machine, then call
    /// [`Replica::applied`](super::Replica::applied).
    Deliver {
        /// The first offset.
        from: i64,
        /// The end.
        to: i64,
    },
    /// Replace what the state machine holds by this snapshot, then call [`Replica::applied`](super::Replica::applied).
    /// The bootstrap checkpoint is one that was never committed.
    LoadSnapshot(OffsetAndEpoch),
    /// Tell the state machine who leads. Of its own leadership it hears once it has caught up.
    LeaderChanged {
        /// The leader, if it is known.
        leader_id: Option<i32>,
        /// The epoch.
        epoch: i32,
    },
    /// The shutdown that was asked for is over.
    ShutdownCompleted {
        /// Whether leadership was handed on, if there was any, before the time was over.
        is_graceful: bool,
    },
}
