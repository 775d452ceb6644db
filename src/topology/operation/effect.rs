//! What the host is asked to do.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::OperationId;
use crate::error_code::ErrorCode;
use crate::topology::call::{DeleteCall, SetCall, Token};
use crate::topology::epoch::Belief;
use crate::topology::push::PushError;

/// A metadata record to append: that of the group as it is, with this belief.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "what a record needs beside what the host has")]
pub struct BeliefWrite {
    /// The group.
    pub group_id: Arc<str>,
    /// What its record says from now on.
    pub belief: Belief,
}

/// Whether the records of a write must be in one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "they must or need not")]
pub enum Atomicity {
    /// They must.
    Atomic,
    /// They may be spread over several batches, some of which are written though others fail: each
    /// record stands for itself, and one batch of all would be too large for a shard of many groups.
    Split,
}

/// What the host does next, in the order in which it comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "an effect that is not carried out leaves its operation waiting"]
pub enum Effect {
    /// Append these records, and report to [`written`](crate::topology::TopologyManager::written) when
    /// they are committed, or failed.
    Write {
        /// Under which to report.
        operation: OperationId,
        /// The records, not empty.
        beliefs: Vec<BeliefWrite>,
        /// Whether they may be spread.
        atomicity: Atomicity,
    },
    /// Nothing needs to be appended, but report to
    /// [`written`](crate::topology::TopologyManager::written) when all that was appended before is
    /// committed, or failed.
    AwaitCommit {
        /// Under which to report.
        operation: OperationId,
    },
    /// Call the plugin, and report to [`set_ended`](crate::topology::TopologyManager::set_ended).
    Set {
        /// The push, whose description is to be set.
        operation: OperationId,
        /// The call.
        call: SetCall,
    },
    /// Call the plugin, and report to
    /// [`delete_ended`](crate::topology::TopologyManager::delete_ended).
    Delete(DeleteCall),
    /// Answer the push.
    AnswerPush {
        /// The push.
        operation: OperationId,
        /// What to answer.
        result: Result<(), PushError>,
    },
    /// Go on with `DeleteGroups`: write the tombstones of each of the groups that
    /// [may be removed](crate::topology::TopologyManager::may_remove), and answer.
    DeleteGroups {
        /// The request.
        operation: OperationId,
        /// To be answered with [`ErrorCode::GroupDeletionFailed`] and
        /// [`DELETE_FAILED`](crate::topology::DELETE_FAILED), which clients of versions below 3 are told
        /// as [`ErrorCode::UnknownServerError`] without message.
        failed: Vec<Arc<str>>,
        /// To be deleted now.
        remaining: Vec<Arc<str>>,
    },
    /// Answer `DeleteGroups`: no group was deleted, all have this error.
    RefuseDeleteGroups {
        /// The request.
        operation: OperationId,
        /// The error.
        code: ErrorCode,
    },
    /// Run the classic join: convert the group if it is empty and
    /// [may be removed](crate::topology::TopologyManager::may_remove); if it is empty and may not,
    /// answer [`ErrorCode::RebalanceInProgress`], on which clients join again.
    Join {
        /// The join.
        operation: OperationId,
        /// Its group.
        group_id: Arc<str>,
    },
    /// Answer the classic join with an error.
    RefuseJoin {
        /// The join.
        operation: OperationId,
        /// The error.
        code: ErrorCode,
    },
    /// The cleanup cycle is through.
    CleanupEnded {
        /// The cycle.
        operation: OperationId,
    },
}

impl Effect {
    /// The token of the plugin call that it is, if it is one.
    pub(in crate::topology) const fn call(&self) -> Option<Token> {
        match self {
            Self::Set { call, .. } => Some(call.token()),
            Self::Delete(call) => Some(call.token()),
            _ => None,
        }
    }

    /// Whether it ends an operation: it is neither a write, nor a wait, nor a call.
    pub(in crate::topology) const fn is_answer(&self) -> bool {
        !matches!(self, Self::Write { .. } | Self::AwaitCommit { .. }) && self.call().is_none()
    }
}
