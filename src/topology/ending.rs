//! How plugin calls and writes end, and what that is taken for.

use alloc::boxed::Box;

use super::backoff::Backoff;
use super::epoch::TopologyEpoch;
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;

/// How a call of the plugin that changes it ended.
///
/// Without fencing tokens, a call must not take effect after its end was reported. With them, one that
/// was reported failed still may: the next call of the group fences it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "Kafka tells these apart")]
pub enum Ending {
    /// It took effect.
    Done,
    /// The plugin refuses this description for good, and says why.
    Refused(Option<Box<str>>),
    /// It failed in any other way, with or without a message.
    Failed(Option<Box<str>>),
    /// It failed, but only the wrapper of a failure arrived.
    FailedWithoutCause,
    /// The plugin could not be called, or gave nothing to wait for.
    NotCalled,
}

/// What the end of a set is taken for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "each case has its final write")]
pub enum SetOutcome {
    /// The plugin holds the description.
    Stored,
    /// It never will: not asked for again at this epoch. With the message for the client.
    Permanent(Option<Box<str>>),
    /// It may some time. With the message for the client.
    Transient(Option<Box<str>>),
}

const NO_CAUSE: &str = "Plugin failure (no cause).";
const NO_CALL: &str = "Topology description plugin failed.";

/// What clients are told of a failed delete; what the plugin says is not passed on.
pub const DELETE_FAILED: &str = "Topology description plugin failed to delete the topology.";

impl Ending {
    /// The end of a set, as Kafka classes it.
    pub fn of_set(self) -> SetOutcome {
        match self {
            Self::Done => SetOutcome::Stored,
            Self::Refused(message) => SetOutcome::Permanent(message),
            Self::Failed(message) => SetOutcome::Transient(message),
            Self::FailedWithoutCause => SetOutcome::Transient(Some(NO_CAUSE.into())),
            Self::NotCalled => SetOutcome::Permanent(Some(NO_CALL.into())),
        }
    }

    /// Whether a delete took effect; if not, the code for `DeleteGroups` is
    /// [`ErrorCode::GroupDeletionFailed`] with the message [`DELETE_FAILED`].
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}

/// The error of a write or read of the shard, as clients are told it. Kafka:
/// `GroupCoordinatorService.handleOperationException`.
pub const fn answered(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::UnknownTopicOrPartition
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::RequestTimedOut => ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => ErrorCode::NotCoordinator,
        ErrorCode::NetworkException => ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::MessageTooLarge
        | ErrorCode::RecordListTooLarge
        | ErrorCode::InvalidFetchSize => ErrorCode::UnknownServerError,
        other => other,
    }
}

/// What becomes of a group's window once the outcome of a push is written, or could not be: an error
/// is one of the log, as it came.
pub fn settle(
    backoff: &mut Backoff,
    group_id: &str,
    pushed: TopologyEpoch,
    written: Result<(), ErrorCode>,
    random: &mut (impl Random + ?Sized),
    now: Monotonic,
) {
    match written {
        Ok(()) => backoff.clear(group_id, pushed.get()),
        Err(ErrorCode::GroupIdNotFound) => backoff.clear_group(group_id),
        // Another broker coordinates the group, and may ask at once.
        Err(
            ErrorCode::NotCoordinator
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable,
        ) => {}
        Err(_) => backoff.arm_or_extend(group_id, pushed.get(), random, now),
    }
}
