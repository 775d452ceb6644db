//! The metadata quorum (KIP-595, KIP-853): who votes in it.

mod election;
mod epoch;
mod quorum;
mod timer;
mod voters;

pub use voters::{
    BlankListenerName, DirectoryId, Endpoint, Endpoints, HistoryError, InvalidVersionRange,
    KRaftVersion, ListenerName, LogHistory, ParseDirectoryIdError, ReplicaKey, SupportedVersions,
    UnknownKRaftVersion, VoterChangeError, VoterHistory, VoterNode, VoterSet,
};

#[cfg(feature = "std")]
pub use election::QuorumStateError;
pub use election::{ElectionState, NegativeNodeId};
pub use epoch::{
    CAUGHT_UP_WITHIN_MS, Candidate, DescribeVersion, Election, EpochStart, EpochState, EpochStateKind, Follower, HighWatermarkRegression, Leader, LeaderError, NodeDescription,
    OBSERVER_SESSION_MS, OBSERVERS_MAX, Prospective, QuorumDescription,
    RecordVoteError, ReplicaDescription, ReplicaState, Resigned, Unattached, UnknownVoter, Upgrade, Verdict, VoteTally,
    end_quorum_backoff_ms, majority_end_offset,
};
pub use quorum::{
    LatestVoters, Persist, QuorumConfig, QuorumState, StaleTransition, StartError, Started,
    Transition, TransitionError,
};
