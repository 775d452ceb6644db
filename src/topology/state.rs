//! The whole of a manager, as it leaves and enters.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use thiserror::Error;

use super::backoff::{Backoff, Window};
use super::call::Token;
use super::config::TopologyConfig;
use super::counters::TopologyCounters;
use super::manager::{PendingCall, Shard, TopologyManager};
use super::operation::{Operation, OperationId};
use crate::time::Monotonic;

/// Everything that a [`TopologyManager`] knows, in an order of its own: two managers that answer alike
/// export alike.
///
/// It is for hosts that move a shard within a process, and for tests. Nothing of it need survive a
/// restart: what was under way is uncertain on disk, and heals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the whole of it")]
pub struct TopologyState {
    /// The shard, if it is loaded.
    pub shard: Option<ShardState>,
    /// The token of the next call.
    pub next_token: Token,
    /// The number of the next operation.
    pub next_operation: u64,
    /// The windows of pushes, by ascending group id.
    pub push_windows: Vec<(Box<str>, Window)>,
    /// The windows of conversions, by ascending group id.
    pub conversion_windows: Vec<(Box<str>, Window)>,
    /// The groups that may need cleanup, ascending.
    pub uncleaned: Vec<Arc<str>>,
    /// What is under way, in the order in which it began.
    pub operations: Vec<(OperationId, Operation)>,
    /// The plugin calls that were not answered, in the order in which they were made.
    pub calls: Vec<CallState>,
    /// The cleanup cycle under way.
    pub cycle: Option<OperationId>,
    /// What was counted.
    pub counters: TopologyCounters,
}

/// A loaded shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the whole of it")]
pub struct ShardState {
    /// From when on the plugin may be called.
    pub calls_from: Monotonic,
    /// When the next cleanup is due.
    pub cleanup_due: Monotonic,
}

/// A plugin call that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the whole of it")]
pub struct CallState {
    /// Its token.
    pub token: Token,
    /// Whose it is.
    pub operation: OperationId,
    /// Its place among the groups of that operation.
    pub index: usize,
    /// When it is given up.
    pub ends: Monotonic,
}

/// Why a state cannot be that of a manager.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopologyStateError {
    /// A list is not in its order, or has something twice.
    #[error("{list} are not in ascending order")]
    Order {
        /// The list.
        list: &'static str,
    },
    /// Something is kept of a shard that is not loaded.
    #[error("{list} are kept, but the shard is not loaded")]
    NotLoaded {
        /// The list.
        list: &'static str,
    },
    /// Windows are counted from 0.
    #[error("window of {group_id} has number {attempts}")]
    Attempts {
        /// The group.
        group_id: Box<str>,
        /// The number.
        attempts: i32,
    },
    /// Two operations have one group to themselves.
    #[error("two operations work on group {0}")]
    TwoOperations(Arc<str>),
    /// An operation or a call is numbered as one that is to come, or the next ones would have numbers that
    /// are never reached: those from 2^63 on, and leader epochs below 0 while the shard is loaded.
    #[error("{list} are not numbered as they can be")]
    Numbers {
        /// The list.
        list: &'static str,
    },
    /// The calls are not those for which the operations wait.
    #[error("operation {} waits for other calls", .0.number())]
    Calls(OperationId),
    /// The cleanup cycle is not one of the operations.
    #[error("operation {} is no cleanup", .0.number())]
    Cycle(OperationId),
}

impl TopologyManager {
    /// The whole state; `None` while effects wait to be polled. O(n log n).
    pub fn export(&self) -> Option<TopologyState> {
        if self.has_effects() {
            return None;
        }
        let mut uncleaned: Vec<_> = self.uncleaned.iter().cloned().collect();
        uncleaned.sort_unstable();
        let call = |(token, call): (Token, PendingCall)| {
            let PendingCall { operation, index, ends } = call;
            CallState { token, operation, index, ends }
        };
        let shard = |Shard { calls_from, cleanup_due }| ShardState { calls_from, cleanup_due };
        Some(TopologyState {
            shard: self.shard.map(shard),
            next_token: self.next_token,
            next_operation: self.next_operation,
            push_windows: self.pushes.export(),
            conversion_windows: self.conversions.export(),
            uncleaned,
            operations: self.operations.iter().map(|(&id, it)| (id, it.clone())).collect(),
            calls: self.calls.iter().map(call).collect(),
            cycle: self.cycle,
            counters: self.counters,
        })
    }

    /// A manager in this state. O(n log n).
    ///
    /// Times enter as they are: calls that are under way keep theirs, whatever the config says of time-outs
    /// and [fencing](super::Fencing).
    ///
    /// # Errors
    /// [`TopologyStateError`] for each invariant that it breaks.
    pub fn import(
        config: TopologyConfig,
        state: &TopologyState,
    ) -> Result<Self, TopologyStateError> {
        state.check()?;
        let mut manager = Self::new(config);
        manager.shard = state
            .shard
            .map(|ShardState { calls_from, cleanup_due }| Shard { calls_from, cleanup_due });
        manager.next_token = state.next_token;
        manager.next_operation = state.next_operation;
        enter(&mut manager.pushes, &state.push_windows);
        enter(&mut manager.conversions, &state.conversion_windows);
        manager.uncleaned.extend(state.uncleaned.iter().cloned());
        for (id, operation) in &state.operations {
            if !operation.is_lost {
                manager.busy.extend(operation.held().into_iter().map(|group_id| (group_id, *id)));
                let yielded = operation.yielded();
                manager.yielded.extend(yielded.map(|(at, group_id)| (group_id.clone(), (*id, at))));
            }
            manager.operations.insert(*id, operation.clone());
        }
        for &CallState { token, operation, index, ends } in &state.calls {
            manager.calls.insert(token, PendingCall { operation, index, ends });
        }
        manager.cycle = state.cycle;
        manager.counters = state.counters;
        Ok(manager)
    }
}

fn enter(backoff: &mut Backoff, windows: &[(Box<str>, Window)]) {
    for (group_id, window) in windows {
        backoff.insert(group_id.clone(), *window);
    }
}

/// The highest number of what comes next. As many again are never counted up to.
const NUMBERS_MAX: u64 = u64::MAX / 2;

impl TopologyState {
    fn check(&self) -> Result<(), TopologyStateError> {
        ascending("push windows", self.push_windows.iter().map(|it| &it.0))?;
        ascending("conversion windows", self.conversion_windows.iter().map(|it| &it.0))?;
        ascending("uncleaned groups", self.uncleaned.iter())?;
        ascending("operations", self.operations.iter().map(|it| it.0))?;
        ascending("calls", self.calls.iter().map(|it| it.token))?;
        for (group_id, window) in self.push_windows.iter().chain(&self.conversion_windows) {
            let (group_id, attempts) = (group_id.clone(), window.attempts);
            if attempts < 0 {
                return Err(TopologyStateError::Attempts { group_id, attempts });
            }
        }
        self.check_unloaded()?;
        self.check_operations()?;
        self.check_calls()
    }

    fn check_unloaded(&self) -> Result<(), TopologyStateError> {
        if self.shard.is_some() {
            return Ok(());
        }
        let operates = self.operations.iter().any(|(_, it)| !it.is_lost);
        for (list, is_kept) in [
            ("push windows", !self.push_windows.is_empty()),
            ("conversion windows", !self.conversion_windows.is_empty()),
            ("uncleaned groups", !self.uncleaned.is_empty()),
            ("operations", operates || self.cycle.is_some()),
        ] {
            if is_kept {
                return Err(TopologyStateError::NotLoaded { list });
            }
        }
        Ok(())
    }

    fn check_operations(&self) -> Result<(), TopologyStateError> {
        let is_past = |(id, _): &(OperationId, _)| id.number() < self.next_operation;
        if self.next_operation > NUMBERS_MAX || !self.operations.last().is_none_or(is_past) {
            return Err(TopologyStateError::Numbers { list: "operations" });
        }
        let mut taken = BTreeSet::new();
        for (_, operation) in self.operations.iter().filter(|(_, it)| !it.is_lost) {
            for group_id in operation.held() {
                if !taken.insert(group_id.clone()) {
                    return Err(TopologyStateError::TwoOperations(group_id));
                }
            }
        }
        for (_, operation) in self.operations.iter().filter(|(_, it)| !it.is_lost) {
            for (_, group_id) in operation.yielded() {
                // What is overtaken has given up its last word.
                if !taken.insert(group_id.clone()) {
                    return Err(TopologyStateError::TwoOperations(group_id.clone()));
                }
            }
        }
        for (id, operation) in &self.operations {
            let is_cycle = operation.is_cleanup() && !operation.is_lost;
            if is_cycle != (self.cycle == Some(*id)) {
                return Err(TopologyStateError::Cycle(*id));
            }
        }
        match self.cycle {
            Some(id) if self.operation(id).is_none() => Err(TopologyStateError::Cycle(id)),
            _ => Ok(()),
        }
    }

    fn check_calls(&self) -> Result<(), TopologyStateError> {
        let next = self.next_token;
        let is_numbered = self.shard.is_none() || next.leader_epoch() >= 0;
        let is_past = |call: &CallState| call.token < next;
        if !is_numbered || next.number() > NUMBERS_MAX || !self.calls.last().is_none_or(is_past) {
            return Err(TopologyStateError::Numbers { list: "calls" });
        }
        let mut awaited = BTreeSet::new();
        let mut calls = BTreeMap::<_, usize>::new();
        for call in &self.calls {
            *calls.entry(call.operation).or_default() += 1;
            let operation = self.operation(call.operation);
            let is_awaited = operation.is_some_and(|it| it.awaits(call.index));
            if !is_awaited || !awaited.insert((call.operation, call.index)) {
                return Err(TopologyStateError::Calls(call.operation));
            }
        }
        for (id, operation) in &self.operations {
            let calls = calls.get(id).copied().unwrap_or_default();
            if calls != operation.awaited_calls() || (operation.is_lost && calls == 0) {
                return Err(TopologyStateError::Calls(*id));
            }
        }
        Ok(())
    }

    fn operation(&self, id: OperationId) -> Option<&Operation> {
        let place = self.operations.binary_search_by_key(&id, |it| it.0).ok()?;
        self.operations.get(place).map(|it| &it.1)
    }
}

fn ascending<T: Ord>(
    list: &'static str,
    items: impl Iterator<Item = T>,
) -> Result<(), TopologyStateError> {
    if items.is_sorted_by(|one, other| one < other) {
        Ok(())
    } else {
        Err(TopologyStateError::Order { list })
    }
}
