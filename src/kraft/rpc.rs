//! What replicas say to each other, without its form on the wire.

use super::offset_and_epoch::OffsetAndEpoch;
use super::records::ControlRecord;
use super::voters::{Endpoint, Endpoints, Host, ReplicaKey, SupportedVersions};
use crate::error_code::ErrorCode;
use alloc::vec::Vec;
use bytes::Bytes;

/// Somebody to talk to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "plain data")]
pub struct Node {
    /// Its node id; below 0 for a bootstrap server, of which only the address is known.
    pub id: i32,
    /// Its host.
    pub host: Host,
    /// Its port.
    pub port: u16,
}

impl Node {
    /// The node with this id at this endpoint.
    pub fn at(id: i32, endpoint: &Endpoint) -> Self {
        Self { id, host: endpoint.host.clone(), port: endpoint.port }
    }
}

/// `Vote`: may the sender lead?
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct VoteRequest {
    /// Whom the sender means; none in version 0.
    pub voter: Option<ReplicaKey>,
    /// The sender.
    pub candidate: ReplicaKey,
    /// The epoch in which it would lead, or in which it asks in advance.
    pub epoch: i32,
    /// Where its log ends.
    pub log_end: OffsetAndEpoch,
    /// Whether the vote binds nobody (KIP-996).
    pub is_pre_vote: bool,
}

/// `BeginQuorumEpoch`: the sender leads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct BeginQuorumEpochRequest {
    /// Whom the sender means; none in version 0.
    pub voter: Option<ReplicaKey>,
    /// The sender.
    pub leader_id: i32,
    /// The epoch that it leads.
    pub epoch: i32,
    /// Where it listens; none in version 0.
    pub leader_endpoints: Endpoints,
}

/// `EndQuorumEpoch`: the sender does not lead any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct EndQuorumEpochRequest {
    /// The sender.
    pub leader_id: i32,
    /// The epoch that it has led.
    pub epoch: i32,
    /// Who should lead next, the best first; without directory ids in version 0.
    pub preferred_candidates: Vec<ReplicaKey>,
    /// Where the sender listens; none in version 0.
    pub leader_endpoints: Endpoints,
}

/// What a fetcher knows to be committed (KIP-1166).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the values of the field")]
pub enum KnownHighWatermark {
    /// The sender does not say: it is not told of a new one before its time is over.
    Unsupported,
    /// Nothing yet.
    Unknown,
    /// Up to this offset.
    At(i64),
}

/// `Fetch`: what comes after the end of the sender's log?
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct FetchRecordsRequest {
    /// The sender; a negative id is a tool's, and leaves no trace.
    pub replica: ReplicaKey,
    /// The epoch in which it takes the receiver for the leader.
    pub leader_epoch: i32,
    /// Where its log ends.
    pub log_end: OffsetAndEpoch,
    /// How long it waits for records, in milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes of records it takes; a whole batch in any case.
    pub max_bytes: i32,
    /// What it knows to be committed.
    pub high_watermark: KnownHighWatermark,
}

/// `FetchSnapshot`: a part of a snapshot, please.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct FetchSnapshotRequest {
    /// The sender.
    pub replica: ReplicaKey,
    /// The epoch in which it takes the receiver for the leader.
    pub leader_epoch: i32,
    /// The snapshot.
    pub snapshot: OffsetAndEpoch,
    /// From which byte on.
    pub position: i64,
    /// How many bytes at most.
    pub max_bytes: i32,
}

/// `UpdateRaftVoter`, as a voter sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct UpdateVoterRequest {
    /// The epoch in which it takes the receiver for the leader.
    pub leader_epoch: i32,
    /// The sender.
    pub voter: ReplicaKey,
    /// Where it listens.
    pub endpoints: Endpoints,
    /// The levels of `kraft.version` that it supports.
    pub supported_versions: SupportedVersions,
}

/// `AddRaftVoter`, as a replica sends it that wants to be a voter (KIP-1186).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct AddVoterRequest {
    /// How long the answer may take, in milliseconds.
    pub timeout_ms: i32,
    /// The sender.
    pub voter: ReplicaKey,
    /// Where it listens.
    pub endpoints: Endpoints,
}

/// A request that the replica sends. The host adds the cluster's id and the names of topic and partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// `Vote`.
    Vote(VoteRequest),
    /// `BeginQuorumEpoch`.
    BeginQuorumEpoch(BeginQuorumEpochRequest),
    /// `EndQuorumEpoch`.
    EndQuorumEpoch(EndQuorumEpochRequest),
    /// `Fetch`.
    Fetch(FetchRecordsRequest),
    /// `FetchSnapshot`.
    FetchSnapshot(FetchSnapshotRequest),
    /// `UpdateRaftVoter`.
    UpdateVoter(UpdateVoterRequest),
    /// `AddRaftVoter`, to be acknowledged when it is appended.
    AddVoter(AddVoterRequest),
    /// `RemoveRaftVoter`.
    RemoveVoter(ReplicaKey),
    /// `ApiVersions`.
    ApiVersions,
}

/// What every answer about the metadata partition says beside its own matter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the response")]
pub struct PartitionAnswer<T> {
    /// Success, or why not.
    pub error: ErrorCode,
    /// The leader that the sender knows.
    pub leader_id: Option<i32>,
    /// The sender's epoch.
    pub epoch: i32,
    /// The answer's own matter.
    pub body: T,
}

/// A response about the metadata partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the response")]
pub struct Answer<T> {
    /// Why there is no answer for the partition.
    pub error: ErrorCode,
    /// The answer for the partition, if there is one, and only one.
    pub partition: Option<PartitionAnswer<T>>,
    /// Where the leader is reached at the listener by which the request came.
    pub nodes: Vec<Node>,
}

impl<T> Answer<T> {
    /// An answer to a request that cannot be looked at.
    pub const fn failed(error: ErrorCode) -> Self {
        Self { error, partition: None, nodes: Vec::new() }
    }
}

/// What an answer to `Fetch` holds; `R` stands for the records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the response")]
pub struct FetchedRecords<R> {
    /// Up to where the leader's log is committed, if it knows.
    pub high_watermark: Option<i64>,
    /// The first offset that the leader has.
    pub log_start_offset: i64,
    /// The fetcher's log parts from the leader's, here at the latest.
    pub diverging: Option<OffsetAndEpoch>,
    /// The fetcher must take this snapshot first.
    pub snapshot: Option<OffsetAndEpoch>,
    /// The records.
    pub records: R,
}

/// What an answer to `FetchSnapshot` holds; `R` stands for the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the response")]
pub struct FetchedSnapshot<R> {
    /// The snapshot.
    pub snapshot: OffsetAndEpoch,
    /// How many bytes it has in all.
    pub size: i64,
    /// The place of the first byte.
    pub position: i64,
    /// The bytes.
    pub bytes: R,
}

/// A batch of the log: where it goes and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "plain data")]
pub struct LogBatch {
    /// The offset of its first record.
    pub base_offset: i64,
    /// The offset of its last record.
    pub last_offset: i64,
    /// The epoch of the leader that wrote it.
    pub epoch: i32,
    /// What is in it.
    pub content: BatchContent,
}

/// What is in a [`LogBatch`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "all that there is")]
pub enum BatchContent {
    /// Values of the host's state machine, one a record, to be encoded.
    Records(Vec<Bytes>),
    /// Control records, to be encoded.
    Control(Vec<ControlRecord>),
    /// A batch that came from the leader, to be written as it is; its control records, if it is a control batch, are
    /// beside it.
    Encoded {
        /// The batch.
        bytes: Bytes,
        /// Its control records, read by the host.
        control: Option<Vec<ControlRecord>>,
    },
}

/// An answer to a request of the replica.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response {
    /// To `Vote`: whether the vote is granted.
    Vote(Answer<bool>),
    /// To `BeginQuorumEpoch`.
    BeginQuorumEpoch(Answer<()>),
    /// To `EndQuorumEpoch`.
    EndQuorumEpoch(Answer<()>),
    /// To `Fetch`: whole batches, whose checksums the host has verified.
    Fetch(Answer<FetchedRecords<Vec<LogBatch>>>),
    /// To `FetchSnapshot`.
    FetchSnapshot(Answer<FetchedSnapshot<Bytes>>),
    /// To `UpdateRaftVoter`.
    UpdateVoter {
        /// Success, or why not.
        error: ErrorCode,
        /// The leader that the sender knows.
        leader_id: Option<i32>,
        /// The sender's epoch.
        epoch: i32,
        /// Where the leader is.
        leader_endpoints: Endpoints,
    },
    /// To `AddRaftVoter`.
    AddVoter(ErrorCode),
    /// To `RemoveRaftVoter`.
    RemoveVoter(ErrorCode),
    /// To `ApiVersions`.
    ApiVersions {
        /// Success, or why not.
        error: ErrorCode,
        /// The levels of `kraft.version` that the sender supports, if it says.
        supported_versions: Option<SupportedVersions>,
    },
    /// No answer: the connection broke (`BROKER_NOT_AVAILABLE`), authentication failed (`NETWORK_EXCEPTION`), or there
    /// is no version in common (`UNSUPPORTED_VERSION`).
    Failed(ErrorCode),
}
