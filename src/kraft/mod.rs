//! The metadata quorum (KIP-595, KIP-853): who votes in it, who leads it, and how that changes.
//!
//! # Vocabulary
//!
//! | term | meaning |
//! | --- | --- |
//! | replica key | a replica's id and the id of its metadata directory: with another disk it is another replica |
//! | voter, observer | who votes and counts for commits; any other replica that fetches |
//! | static voters | those of the configuration, without directory ids, in force while the log has none |
//! | voters in force | those of the last record of the log, committed or not |
//! | `kraft.version` | 0: voters are static; 1: they are in the log and can change |
//! | bootstrap checkpoint | the snapshot that formatting writes, with id (0, 0): what it says holds at offset -1 |
//!
//! # From formatting to the log
//!
//! ```
//! # #[cfg(feature = "std")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use kafka_coordination::Timestamp;
//! use kafka_coordination::kraft::{
//!     ControlLog, DynamicVoters, KRaftVersion, ListenerName, NextRead, OffsetAndEpoch,
//!     SnapshotHeader, SnapshotReader, VoterSet, encode_control_batch, encode_snapshot_footer,
//!     encode_snapshot_header,
//! };
//!
//! // The operator formats the nodes of a new quorum with its first voters.
//! let first: DynamicVoters = "1@a:9093:AAAAAAAAAAcAAAAAAAAAZQ,2@b:9093:AAAAAAAAAAcAAAAAAAAAyQ".parse()?;
//! let voters = first.to_voter_set(&ListenerName::new("CONTROLLER"));
//! let now = Timestamp::from_millis(1_000);
//! let header = SnapshotHeader {
//!     last_contained_log_timestamp: now,
//!     kraft_version: KRaftVersion::V1,
//!     voters: Some(voters.clone()),
//! };
//! let mut checkpoint = Vec::new();
//! let next = encode_snapshot_header(&header, 0, now, &mut checkpoint)?;
//! encode_snapshot_footer(next, 0, now, &mut checkpoint)?;
//!
//! // A node starts: it reads what there is to be read.
//! let mut log = ControlLog::new(VoterSet::empty());
//! let bootstrap = OffsetAndEpoch::BOOTSTRAP;
//! assert_eq!(log.next_read(Some(bootstrap), 0, 0), NextRead::Snapshot(bootstrap));
//! log.load_snapshot(0, SnapshotReader::open(&checkpoint)?.control_records()?)?;
//! assert_eq!(log.voters(), &voters);
//!
//! // It is elected, and replicates what nobody is ever handed out as a snapshot.
//! let local = voters.get(1).ok_or("not a voter")?;
//! let records = log.epoch_start(local, [1, 2])?;
//! let mut batch = Vec::new();
//! encode_control_batch(0, 1, now, &records, &mut batch)?;
//! log.on_control_batch(0, &records)?;
//! assert_eq!((log.voters_offset(), log.next_offset()), (Some(2), 3));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "std"))]
//! # fn main() {}
//! ```
//!
//! # Invariants of voters and of what the log says of them
//!
//! - KV-1: a voter set with upper-case listener names is read back from its record as it was.
//! - KV-2: adding a voter and removing it leaves the set as it was, and so does removing one and
//!   adding it.
//! - KV-3: an addition adds one voter, a removal takes one and leaves one, an update keeps the ids.
//! - KV-4: majorities before and after an addition or a removal overlap, both ways.
//! - KV-5: who is a voter has the id of one; an only voter is the only one.
//! - KV-6: first voters are read back from their text as they were.
//! - KV-7: a history equals a list of offsets and values that is searched from its end, whatever is
//!   added, truncated and trimmed.
//! - KV-8: trimming at an offset changes nothing from that offset on.
//! - KV-9: after appends, truncations and installs of snapshots the log is known as to one who reads it
//!   for the first time, and read to its end.
//! - KV-10: how a log is cut into pieces to be read plays no part.
//! - KV-11: what holds at an offset is what the last record at or before it says.
//! - KV-12: along a log that leaders have written the level of `kraft.version` never goes down.
//!
//! What holds of a leader's books and of changes of voters stands at [`Leader`] (KL-1 to KL-6) and
//! [`VoterChanges`] (KC-1 to KC-5).

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
#[cfg(feature = "wire")]
pub(crate) use records::Reader;
#[cfg(feature = "std")]
pub use records::{
    Batch, BatchError, Batches, ControlBatch, SnapshotError, SnapshotReader, encode_control_batch,
    encode_data_batch, encode_log_batch, encode_snapshot_footer, encode_snapshot_header,
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
