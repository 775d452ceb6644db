//! The metadata quorum (KIP-595, KIP-853): who votes in it.

mod control_log;
mod format;
mod offset_and_epoch;
mod records;
mod voters;

pub use control_log::{ControlLog, ControlLogError, NextRead, NotReadError};
pub use format::{
    Address, AddressError, BootstrapServers, DirectoryKind, DynamicVoter, DynamicVoters,
    FormatError, FormatPlan, FormatRequest, Formatted, InitialQuorum, LogDirectory, NewDirectory,
    NodeConfig, NodeConfigError, ParseVoterError, ParseVotersError, ProcessRoles, StaticVoters,
};
pub use offset_and_epoch::OffsetAndEpoch;
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
