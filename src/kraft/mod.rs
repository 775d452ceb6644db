//! The metadata quorum (KIP-595, KIP-853): who votes in it, who leads it, and how its voters change.

mod change;
mod control_log;
mod epoch;
mod format;
mod offset_and_epoch;
mod records;
mod timer;
mod voters;

pub use change::{
    Acknowledge, AddVoter, AppendId, ChangeConfig, ChangeEffect, ChangeError, Connection,
    CurrentLeader, LogVoters, PendingChange, ProbeId, ProbeOutcome, Progress, Receiver,
    ReceiverRole, RemoveVoter, RequestId, Situation, UpdateVoter, UpdatedVoters, UpgradeDecision,
    UpgradeError, UpgradeMode, VoterChanges, admit_add, admit_remove, admit_update, check_add,
    check_update, decide_add, decide_remove, decide_update, decide_upgrade,
};
pub use control_log::{ControlLog, ControlLogError, EpochStartError, NextRead, NotReadError};
pub use epoch::{
    CAUGHT_UP_WITHIN_MS, DescribeVersion, Election, Leader, LeaderError, NodeDescription,
    OBSERVER_SESSION_MS, OBSERVERS_MAX, QuorumDescription, ReplicaDescription, ReplicaState,
    Upgrade, end_quorum_backoff_ms, majority_end_offset,
};
pub use format::{
    Address, AddressError, BootstrapServers, DirectoryKind, DynamicVoter, DynamicVoters,
    FormatError, FormatPlan, FormatRequest, Formatted, InitialQuorum, LogDirectory, NewDirectory,
    NodeConfig, NodeConfigError, ParseVoterError, ParseVotersError, ProcessRoles, StaticVoters,
};
pub use offset_and_epoch::OffsetAndEpoch;
#[cfg(feature = "wire")]
pub(crate) use records::Reader;
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
pub use voters::{
    BlankListenerName, DirectoryId, Endpoint, Endpoints, HistoryError, Host, InvalidVersionRange,
    KRaftVersion, ListenerName, LogHistory, ParseDirectoryIdError, ReplicaKey, SupportedVersions,
    UnknownKRaftVersion, VoterChangeError, VoterHistory, VoterNode, VoterSet,
};
