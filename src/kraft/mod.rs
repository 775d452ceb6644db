//! The metadata quorum (KIP-595, KIP-853): who votes in it.

mod voters;

pub use voters::{
    BlankListenerName, DirectoryId, Endpoint, Endpoints, HistoryError, InvalidVersionRange,
    KRaftVersion, ListenerName, LogHistory, ParseDirectoryIdError, ReplicaKey, SupportedVersions,
    UnknownKRaftVersion, VoterChangeError, VoterHistory, VoterNode, VoterSet,
};
