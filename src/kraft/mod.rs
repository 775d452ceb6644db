//! The metadata quorum (KIP-595, KIP-853): who votes in it.

mod election;
mod epoch;
mod quorum;
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
    Candidate, EpochState, EpochStateKind, Follower, HighWatermarkRegression, Leader, Prospective,
    RecordVoteError, Resigned, Unattached, UnknownVoter, Verdict, VoteTally,
};
pub use quorum::{
    LatestVoters, Persist, QuorumConfig, QuorumState, StaleTransition, StartError, Started,
    Transition, TransitionError,
};
