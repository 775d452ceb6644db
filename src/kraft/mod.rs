//! The metadata quorum (KIP-595, KIP-853): who votes in it.

mod change;
mod epoch;
mod timer;
mod voters;

pub use change::{
    Acknowledge, AddVoter, AppendId, ChangeConfig, ChangeEffect, ChangeError, Connection,
    CurrentLeader, LogVoters, PendingChange, ProbeId, ProbeOutcome, Progress, Receiver,
    ReceiverRole, RemoveVoter, RequestId, Situation, UpdateVoter, UpdatedVoters, UpgradeDecision,
    UpgradeError, UpgradeMode, VoterChanges, admit_add, admit_remove, admit_update, check_add,
    check_update, decide_add, decide_remove, decide_update, decide_upgrade,
};
pub use epoch::{
    CAUGHT_UP_WITHIN_MS, DescribeVersion, Election, EpochStart, Leader, LeaderError,
    NodeDescription, OBSERVER_SESSION_MS, OBSERVERS_MAX, QuorumDescription, ReplicaDescription,
    ReplicaState, Upgrade, end_quorum_backoff_ms, majority_end_offset,
};
pub use voters::{
    BlankListenerName, DirectoryId, Endpoint, Endpoints, HistoryError, InvalidVersionRange,
    KRaftVersion, ListenerName, LogHistory, ParseDirectoryIdError, ReplicaKey, SupportedVersions,
    UnknownKRaftVersion, VoterChangeError, VoterHistory, VoterNode, VoterSet,
};
