//! Why voters do not change.

use alloc::boxed::Box;

use thiserror::Error;

use crate::error_code::ErrorCode;
use crate::kraft::voters::{
    KRaftVersion, ListenerName, ReplicaKey, SupportedVersions, VoterChangeError,
};

/// Why a change of voters is refused or given up. [`code`](Self::code) is what is answered; the text,
/// which is the crate's own, goes with it where the answer has a field for it.
///
/// `REQUEST_TIMED_OUT` is Kafka's "try again later".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The request is meant for another cluster.
    #[error("cluster id is {expected:?}, not {received:?}")]
    InconsistentClusterId {
        /// The cluster's.
        expected: Box<str>,
        /// The request's.
        received: Box<str>,
    },
    /// The replica does not lead.
    #[error("this replica does not lead")]
    NotLeader,
    /// The leader is about to shut down.
    #[error("the leader is shutting down")]
    ShuttingDown,
    /// The sender knows an older epoch.
    #[error("the epoch is {epoch}, later than {received}")]
    StaleEpoch {
        /// The replica's epoch.
        epoch: i32,
        /// The sender's.
        received: i32,
    },
    /// The sender knows a newer epoch.
    #[error("the epoch is {epoch}, earlier than {received}")]
    FutureEpoch {
        /// The replica's epoch.
        epoch: i32,
        /// The sender's.
        received: i32,
    },
    /// A voter has an id from 0 and a directory id.
    #[error("{voter} is no key of a voter")]
    InvalidVoter {
        /// The key.
        voter: ReplicaKey,
    },
    /// The levels are no range of levels.
    #[error("levels {min} to {max} of kraft.version are no range")]
    InvalidVersions {
        /// The lowest level.
        min: i16,
        /// The highest level.
        max: i16,
    },
    /// The voter does not have the listener by which replicas talk to each other.
    #[error("there is no endpoint for listener {listener}")]
    NoDefaultListener {
        /// The listener.
        listener: ListenerName,
    },
    /// The leader is asked to update its own entry.
    #[error("replica {id} is the leader, and writes its own entry when it is elected")]
    VoterIsLeader {
        /// The id.
        id: i32,
    },
    /// Another change is under way.
    #[error("another change of voters is under way")]
    ChangePending,
    /// The leader has not committed a record of its own epoch yet.
    #[error("the leader has not committed a record of its epoch yet")]
    HighWatermarkUnknown,
    /// The level of `kraft.version` does not allow it.
    #[error("kraft.version is {}, which has no changes of voters", .level.level())]
    UnsupportedVersion {
        /// The level.
        level: KRaftVersion,
    },
    /// The voters are static ones, which the log does not hold.
    #[error("the log does not hold the voters")]
    VotersNotInLog,
    /// The last change is not committed.
    #[error("voters at offset {offset} are not committed: the high watermark is {high_watermark}")]
    UncommittedVoters {
        /// Where it is.
        offset: i64,
        /// The high watermark.
        high_watermark: i64,
    },
    /// The voter set cannot change so.
    #[error(transparent)]
    Voters(#[from] VoterChangeError),
    /// The voter cannot be asked now which levels it supports.
    #[error("replica {id} cannot be asked now for what it supports")]
    Unreachable {
        /// The voter's id.
        id: i32,
    },
    /// The voter did not tell which levels it supports.
    #[error("replica {id} does not tell what it supports: {error}")]
    ProbeFailed {
        /// The voter's id.
        id: i32,
        /// What it answered, or what became of the request.
        error: ErrorCode,
    },
    /// The voter does not support the level of `kraft.version`.
    #[error("replica {id} does not support level {} of kraft.version", .level.level())]
    LevelUnsupported {
        /// The voter's id.
        id: i32,
        /// The level.
        level: KRaftVersion,
        /// What it supports; `None`: nothing that it tells.
        supported: Option<SupportedVersions>,
    },
    /// The voter supports other levels than it said.
    #[error("replica {id} supports other levels of kraft.version than it said")]
    OtherVersions {
        /// The voter's id.
        id: i32,
        /// What it said.
        claimed: SupportedVersions,
        /// What it supports; `None`: nothing that it tells.
        supported: Option<SupportedVersions>,
    },
    /// The new voter lacks too much of the log.
    #[error("{voter} has not caught up with the leader")]
    NotCaughtUp {
        /// The new voter.
        voter: ReplicaKey,
    },
    /// An upgrade of `kraft.version` is being written.
    #[error("an upgrade of kraft.version is being written")]
    UpgradeUnderWay,
    /// The change was not done in time. If its record was written it may still be committed.
    #[error("the change was not done in time")]
    TimedOut,
    /// The leader stepped down. If the change's record was written it may still be committed.
    #[error("the leader stepped down")]
    LeadershipLost,
}

impl ChangeError {
    /// What Kafka answers.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::InconsistentClusterId { .. } => ErrorCode::InconsistentClusterId,
            Self::NotLeader | Self::LeadershipLost => ErrorCode::NotLeaderOrFollower,
            Self::ShuttingDown => ErrorCode::BrokerNotAvailable,
            Self::StaleEpoch { .. } => ErrorCode::FencedLeaderEpoch,
            Self::FutureEpoch { .. } => ErrorCode::UnknownLeaderEpoch,
            Self::UnsupportedVersion { .. } => ErrorCode::UnsupportedVersion,
            Self::Voters(error) => error.code(),
            Self::InvalidVoter { .. }
            | Self::InvalidVersions { .. }
            | Self::NoDefaultListener { .. }
            | Self::VoterIsLeader { .. }
            | Self::LevelUnsupported { .. }
            | Self::OtherVersions { .. } => ErrorCode::InvalidRequest,
            Self::ChangePending
            | Self::HighWatermarkUnknown
            | Self::VotersNotInLog
            | Self::UncommittedVoters { .. }
            | Self::Unreachable { .. }
            | Self::ProbeFailed { .. }
            | Self::NotCaughtUp { .. }
            | Self::UpgradeUnderWay
            | Self::TimedOut => ErrorCode::RequestTimedOut,
        }
    }
}
