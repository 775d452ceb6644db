//! A shard comes and goes, and time goes by.

use alloc::vec::Vec;
use thiserror::Error;
use tracing::debug;

use super::{Shard, TopologyManager};
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topology::call::Token;
use crate::topology::ending::Ending;
use crate::topology::group::Groups;
use crate::topology::operation::{
    Deletion, DeletionStep, Effect, Kind, Operation, Progress, PushStep,
};

/// When no clock goes on.
const END_OF_TIME: Monotonic = Monotonic::from_millis(i64::MAX);

/// Why a shard was not taken as loaded. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It is loaded already.
    #[error("the shard is loaded already")]
    Loaded,
    /// The leader epoch is lower than one that was known.
    #[error("leader epoch {given} comes after {known}")]
    LeaderEpoch {
        /// The highest known.
        known: i32,
        /// What was given.
        given: i32,
    },
}

impl TopologyManager {
    /// The shard is loaded, in this leader epoch, 0 and above, of its partition. Then
    /// [`observe`](Self::observe) each streams group. O(1).
    ///
    /// Tokens are ordered by leader epochs: a process that does not know what an earlier one gave out
    /// loads with a higher epoch than that.
    ///
    /// # Errors
    /// - [`LoadError::Loaded`] if it was loaded before and not unloaded.
    /// - [`LoadError::LeaderEpoch`] if the epoch is negative or goes back.
    pub fn loaded(&mut self, leader_epoch: i32, now: Monotonic) -> Result<(), LoadError> {
        if self.shard.is_some() {
            return Err(LoadError::Loaded);
        }
        let known = self.next_token.leader_epoch();
        if leader_epoch < known.max(0) {
            return Err(LoadError::LeaderEpoch { known, given: leader_epoch });
        }
        if leader_epoch > known {
            self.next_token = Token::new(leader_epoch, 0);
        }
        self.shard = Some(Shard {
            calls_from: now.saturating_add(i64::from(self.config.quarantine_ms())),
            cleanup_due: now.saturating_add(i64::from(self.config.cleanup_interval_ms)),
        });
        Ok(())
    }

    /// The shard moves away, or the broker shuts down. O(n log n), where n is what is kept: what is under
    /// way, windows, and groups that may need cleanup.
    ///
    /// Effects that were not polled are dropped, but for answers; nobody waits for calls among them.
    /// Operations that wait for a write fail with [`ErrorCode::NotCoordinator`]; those that wait for
    /// the plugin end when it answers, and write nothing more: what they leave is uncertain on disk,
    /// for the next coordinator to heal. A `DeleteGroups` or join that goes on after that is the host's
    /// to refuse, as are all writes of a shard that is not there.
    pub fn unloaded(&mut self) {
        self.shard = None;
        let dropped: Vec<_> = self.effects.iter().filter_map(Effect::call).collect();
        self.effects.retain(Effect::is_answer);
        // Their memory goes, too.
        self.busy.clear();
        self.busy.shrink_to_fit();
        self.yielded.clear();
        self.yielded.shrink_to_fit();
        self.uncleaned.clear();
        self.uncleaned.shrink_to_fit();
        self.pushes.clear_all();
        self.conversions.clear_all();
        self.cycle = None;
        for token in dropped {
            self.withdraw(token);
        }
        let ids: Vec<_> = self.operations.keys().copied().collect();
        for id in ids {
            let Some(operation) = self.operations.get_mut(&id) else { continue };
            operation.is_lost = true;
            if operation.awaited_calls() == 0
                && let Some(operation) = self.operations.remove(&id)
            {
                debug!(operation = id.0, "topology description operation lost its shard");
                self.lose(id, operation.kind);
            }
        }
    }

    /// Nobody will make this call: nobody waits for it either.
    fn withdraw(&mut self, token: Token) {
        let Some(call) = self.calls.remove(token) else { return };
        let id = call.operation;
        match self.operations.remove(&id).map(|it| it.kind) {
            Some(Kind::Push(_)) => self.refuse_push(id, ErrorCode::NotCoordinator),
            Some(Kind::Deletion(deletion)) => {
                let deletion = self.delete_answered(id, deletion, call.index, Progress::Uncalled);
                let operation = Operation { kind: Kind::Deletion(deletion), is_lost: true };
                self.operations.insert(id, operation);
            }
            // It waits for no call.
            Some(Kind::Doubt(_)) | None => {}
        }
    }

    /// Ends an operation that waited for a write of a shard that left.
    fn lose(&mut self, id: super::OperationId, kind: Kind) {
        let code = ErrorCode::NotCoordinator;
        match kind {
            Kind::Doubt(_) => {}
            Kind::Push(push) => {
                debug_assert!(push.step != PushStep::Calling, "the plugin owes an answer");
                self.refuse_push(id, code);
            }
            Kind::Deletion(Deletion { trigger, step: DeletionStep::Marking(_) }) => {
                self.refuse_deletion(id, &trigger, code);
            }
            Kind::Deletion(Deletion {
                trigger,
                step: DeletionStep::Calling { groups, .. } | DeletionStep::Finalizing(groups),
            }) => self.end_deletion(id, trigger, &groups),
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called next; `None` while the shard is
    /// not loaded and nothing is awaited. O(log n).
    pub fn next_deadline(&self) -> Option<Monotonic> {
        let cleanup = match self.shard {
            // One that is due when the clock ends would be due for ever.
            Some(shard) if self.config.has_plugin() && shard.cleanup_due < END_OF_TIME => {
                Some(shard.cleanup_due)
            }
            _ => None,
        };
        [cleanup, self.calls.next_end()].into_iter().flatten().min()
    }

    /// Does what is due: gives up calls that take too long, and starts a cleanup cycle, unless one is
    /// under way still. Calling it early or twice is harmless. O(what is due), and for a cycle as
    /// [`start_cleanup`](Self::start_cleanup).
    pub fn handle_timeout(
        &mut self,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let mut gives_up = false;
        while let Some(token) = self.calls.overdue(now) {
            debug!(token = token.number(), "topology description plugin did not answer");
            let ending = Ending::Failed(Some("Topology description plugin did not answer.".into()));
            self.ended(token, ending, groups, random, now);
            gives_up = true;
        }
        if gives_up {
            // A call must not be made after its end.
            let calls = &self.calls;
            let is_awaited =
                |effect: &Effect| effect.call().is_none_or(|it| calls.get(it).is_some());
            self.effects.retain(is_awaited);
        }
        let interval = i64::from(self.config.cleanup_interval_ms);
        let is_active = self.is_active();
        if let Some(shard) = &mut self.shard
            && is_active
            && shard.cleanup_due < END_OF_TIME
            && now >= shard.cleanup_due
        {
            shard.cleanup_due = now.saturating_add(interval);
            let _ = self.start_cleanup(groups, now);
        }
    }
}
