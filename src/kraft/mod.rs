//! The metadata quorum (KIP-595, KIP-853): who votes in it, who leads it, and how that changes.

mod accumulator;
mod change;
mod config;
mod control_log;
mod effect;
mod election;
mod epoch;
mod format;
mod log_index;
mod offset_and_epoch;
mod quorum;
mod records;
mod replica;
mod requests;
mod rpc;
mod timer;
mod voters;

pub use accumulator::AppendError;
pub use change::{
    Acknowledge, AddVoter, AppendId, ChangeConfig, ChangeEffect, ChangeError, Connection,
    CurrentLeader, LogVoters, PendingChange, ProbeId, ProbeOutcome, Progress, Receiver,
    ReceiverRole, RemoveVoter, RequestId, Situation, UpdateVoter, UpdatedVoters, UpgradeDecision,
    UpgradeError, UpgradeMode, VoterChanges, admit_add, admit_remove, admit_update, check_add,
    check_update, decide_add, decide_remove, decide_update, decide_upgrade,
};
pub use config::ReplicaConfig;
pub use control_log::{ControlLog, ControlLogError, EpochStartError, NextRead, NotReadError};
pub use effect::{Effect, ReadRecords, ReadSnapshot, Reply};
#[cfg(feature = "std")]
pub use election::QuorumStateError;
pub use election::{ElectionState, NegativeNodeId};
pub use epoch::{
    CAUGHT_UP_WITHIN_MS, Candidate, DescribeVersion, Election, EpochState, EpochStateKind,
    Follower, HighWatermarkRegression, Leader, LeaderError, NodeDescription, OBSERVER_SESSION_MS,
    OBSERVERS_MAX, Prospective, QuorumDescription, RecordVoteError, ReplicaDescription,
    ReplicaState, Resigned, Unattached, UnknownVoter, Upgrade, Verdict, VoteTally,
    end_quorum_backoff_ms, majority_end_offset,
};
pub use format::{
    Address, AddressError, BootstrapServers, DirectoryKind, DynamicVoter, DynamicVoters,
    FormatError, FormatPlan, FormatRequest, Formatted, InitialQuorum, LogDirectory, NewDirectory,
    NodeConfig, NodeConfigError, ParseVoterError, ParseVotersError, ProcessRoles, StaticVoters,
};
pub use log_index::{BelowHighWatermark, LogIndex, LogPosition};
pub use offset_and_epoch::OffsetAndEpoch;
pub use quorum::{
    Persist, QuorumConfig, QuorumState, StaleTransition, StartError, Started, Transition,
    TransitionError,
};
#[cfg(feature = "std")]
pub use records::{
    Batch, BatchError, Batches, ControlBatch, SnapshotError, SnapshotReader, encode_control_batch,
    encode_snapshot_footer, encode_snapshot_header,
};
pub use records::{
    ControlMessage, ControlRecord, ControlRecordType, EncodeError, InvalidControlRecord,
    InvalidVoter, KRaftVersionRecord, LeaderChange, LeaderChangeMessage, RecordEndpoint,
    RecordEndpoints, RecordError, RecordVoter, SnapshotFooterRecord, SnapshotHeader,
    SnapshotHeaderRecord, VotersRecord, encode_voters,
};
pub use replica::{Fatal, Replica, RequestHeader, ResignError, StartReplicaError, Storage};
pub use requests::Correlation;
pub use rpc::{
    AddVoterRequest, Answer, BatchContent, BeginQuorumEpochRequest, EndQuorumEpochRequest,
    FetchRecordsRequest, FetchSnapshotRequest, FetchedRecords, FetchedSnapshot, KnownHighWatermark,
    LogBatch, Node, PartitionAnswer, Request, Response, UpdateVoterRequest, VoteRequest,
};
pub use voters::{
    BlankListenerName, DirectoryId, Endpoint, Endpoints, HistoryError, Host, InvalidVersionRange,
    KRaftVersion, ListenerName, LogHistory, ParseDirectoryIdError, ReplicaKey, SupportedVersions,
    UnknownKRaftVersion, VoterChangeError, VoterHistory, VoterNode, VoterSet,
};
