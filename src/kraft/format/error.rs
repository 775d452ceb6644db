//! Why a node's storage is not formatted.

use alloc::string::String;

use thiserror::Error;

use super::dynamic_voters::{ParseVoterError, ParseVotersError};

/// Why a node's storage is not formatted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The node is neither broker nor controller.
    #[error("process.roles is empty: only nodes of a KRaft cluster are formatted")]
    NoRoles,
    /// There would be two sets of voters (KAFKA-19489).
    #[error("initial controllers are given, but controller.quorum.voters has static voters")]
    StaticVoters,
    /// A broker cannot be the only voter.
    #[error("a standalone quorum is asked for, but the node is no controller")]
    StandaloneBroker,
    /// The only voter cannot be reached.
    #[error("a standalone quorum is asked for, but the node has no controller listener")]
    NoControllerListener,
    /// The only voter is none.
    #[error("the node cannot be the only voter: {0}")]
    Standalone(#[from] ParseVoterError),
    /// The first voters are none.
    #[error("initial controllers: {0}")]
    Controllers(#[from] ParseVotersError),
    /// It is not said who votes first in a dynamic quorum.
    #[error(
        "the node is a controller without static voters: say whether it is standalone, which the \
         initial controllers are, or that it has none"
    )]
    QuorumUnspecified,
    /// The node's id is negative.
    #[error("node.id {node_id} is negative")]
    NegativeNodeId {
        /// The id.
        node_id: i32,
    },
    /// No cluster id is given.
    #[error("no cluster id")]
    NoClusterId,
    /// The node has no directory.
    #[error("no directory to format")]
    NoDirectories,
    /// It is not said by which listener controllers are reached.
    #[error("controller.listener.names is empty, or its first name blank")]
    NoControllerListenerName,
    /// The metadata log's directory is not among the others.
    #[error("the metadata log directory {path} is not one of the directories")]
    MetadataDirectory {
        /// The directory.
        path: String,
    },
    /// There is no such level of `kraft.version`.
    #[error("kraft.version {level} is not known")]
    UnknownKRaftVersion {
        /// The level.
        level: i16,
    },
    /// A dynamic quorum has its voters in the log, which level 0 has not.
    #[error("kraft.version 0 with a dynamic quorum: set controller.quorum.voters, or level 1")]
    LevelZeroOfDynamicQuorum,
    /// Static voters belong to level 0.
    #[error("kraft.version {level} with the static voters of controller.quorum.voters")]
    LevelOfStaticQuorum {
        /// The level.
        level: i16,
    },
    /// A directory is formatted already.
    #[error("{path} is formatted already")]
    AlreadyFormatted {
        /// The directory.
        path: String,
    },
}
