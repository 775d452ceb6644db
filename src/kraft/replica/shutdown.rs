//! Leaving: a leader hands on first.

use super::{Context, Replica};
use crate::error_code::ErrorCode;
use crate::kraft::effect::Effect;
use crate::kraft::epoch::EpochState;
use crate::time::Monotonic;
use thiserror::Error;

/// A shutdown that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shutdown {
    deadline: Monotonic,
    is_completed: bool,
}

/// A replica cannot resign from this epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResignError {
    /// The epoch is still to come.
    #[error("epoch {epoch} is above {current}")]
    FutureEpoch {
        /// The epoch.
        epoch: i32,
        /// The replica's epoch.
        current: i32,
    },
    /// Another replica leads it, or none is known to.
    #[error("the replica does not lead epoch {epoch}")]
    NotLeader {
        /// The epoch.
        epoch: i32,
    },
}

impl Replica {
    /// Gives up the leadership of `epoch` soon; of one that is over there is nothing to give up.
    ///
    /// # Errors
    ///
    /// The replica does not lead that epoch.
    pub fn resign(&mut self, epoch: i32, now: Monotonic) -> Result<(), ResignError> {
        let current = self.quorum.epoch();
        if epoch > current {
            return Err(ResignError::FutureEpoch { epoch, current });
        }
        if epoch < current {
            return Ok(());
        }
        match self.quorum.state_mut() {
            EpochState::Leader(leader) => leader.request_resignation(),
            EpochState::Resigned(_) => return Ok(()),
            _ => return Err(ResignError::NotLeader { epoch }),
        }
        self.wake = Some(now);
        Ok(())
    }

    /// Leaves within `timeout_ms` milliseconds: a leader resigns, and a voter waits until it knows of another leader.
    /// [`Effect::ShutdownCompleted`] tells of the end.
    pub fn shut_down(&mut self, timeout_ms: u32, now: Monotonic) {
        if self.shutdown.is_none() {
            let deadline = now.saturating_add(timeout_ms.into());
            self.shutdown = Some(Shutdown { deadline, is_completed: false });
            if let Some(changes) = &mut self.changes {
                changes.shut_down();
            }
            self.wake = Some(now);
        }
    }

    pub(super) fn shutdown_wait_ms(&self, now: Monotonic) -> Option<i64> {
        self.shutdown.map(|shutdown| shutdown.deadline.millis_since(now))
    }

    /// Gives whether a shutdown is over.
    pub(super) fn complete_shutdown(&mut self, context: &Context<'_>) -> bool {
        let Some(Shutdown { deadline, is_completed }) = self.shutdown else { return false };
        let has_time = deadline.millis_since(context.now) > 0;
        let is_free = self.is_observer()
            || self.quorum.is_only_voter(self.latest_voters())
            || self.quorum.has_remote_leader();
        let is_over = is_completed || !has_time || is_free;
        if is_over && !is_completed {
            self.shutdown = Some(Shutdown { deadline, is_completed: true });
            // The only voter does not resign first.
            self.fail_parked(ErrorCode::BrokerNotAvailable);
            self.end_changes();
            self.effect(Effect::ShutdownCompleted { is_graceful: has_time });
        }
        is_over
    }
}
