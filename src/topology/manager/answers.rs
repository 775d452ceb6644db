//! What the host reports: ends of writes and of plugin calls.

use alloc::sync::Arc;

use super::TopologyManager;
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topology::call::{DeleteCall, SetCall, Token};
use crate::topology::ending::Ending;
use crate::topology::group::Groups;
use crate::topology::operation::{Deletion, DeletionStep, Kind, Operation, OperationId, Progress};

impl TopologyManager {
    /// A write or wait ended: `Ok` when it is committed, with all that was appended before; else the
    /// log's error. O(groups of the operation).
    ///
    /// A write that failed may still be in the log, in part too: whatever is, is safe. What the host
    /// takes back of it, it takes back before it calls this. Of operations that are through, nothing
    /// happens.
    pub fn written(
        &mut self,
        operation: OperationId,
        result: Result<(), ErrorCode>,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let Some(whole) = self.operations.remove(&operation) else {
            return;
        };
        let (held, is_lost) = (whole.held(), whole.is_lost);
        let next = match whole.kind {
            Kind::Doubt(_) => None,
            Kind::Push(push) => {
                self.push_written(operation, push, result, groups, random, now).map(Kind::Push)
            }
            Kind::Deletion(deletion) => self
                .deletion_written(operation, deletion, result, groups, random, now)
                .map(Kind::Deletion),
        };
        let next = next.map(|kind| Operation { kind, is_lost });
        self.go_on(operation, next, &held);
    }

    /// The plugin's set ended. O(log n), where n is what is under way. If the call was given up
    /// meanwhile, or is that of another manager, nothing happens.
    pub fn set_ended(
        &mut self,
        call: &SetCall,
        ending: Ending,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let waits = self.waits_for(call.token());
        if waits.is_some_and(|(operation, _)| operation.awaits_set(call.group_id(), call.epoch())) {
            self.ended(call.token(), ending, groups, random, now);
        }
    }

    /// The plugin's delete ended. O(log n), where n is what is under way, and O(groups log groups) for
    /// the last of an operation. If the call was given up meanwhile, or is that of another manager,
    /// nothing happens.
    pub fn delete_ended(
        &mut self,
        call: &DeleteCall,
        ending: Ending,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let waits = self.waits_for(call.token());
        if waits.is_some_and(|(operation, index)| operation.awaits_delete(call.group_id(), index)) {
            self.ended(call.token(), ending, groups, random, now);
        }
    }

    /// The operation that waits for a call, and the call's place in it. The managers of other shards
    /// give out the same tokens.
    fn waits_for(&self, token: Token) -> Option<(&Operation, usize)> {
        let call = self.calls.get(token)?;
        Some((self.operations.get(&call.operation)?, call.index))
    }

    pub(super) fn ended(
        &mut self,
        token: Token,
        ending: Ending,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let Some(call) = self.calls.remove(token) else {
            return;
        };
        let id = call.operation;
        let Some(Operation { kind, is_lost }) = self.operations.remove(&id) else {
            return;
        };
        match kind {
            Kind::Push(push) => {
                let outcome = ending.of_set();
                self.counters.set_ended(&outcome);
                if is_lost {
                    self.answer_lost_push(id, outcome);
                } else {
                    let held = push.group_id.clone();
                    let next = self.set_answered(id, push, outcome, groups, random, now);
                    let next = next.map(|push| Operation { kind: Kind::Push(push), is_lost });
                    self.go_on(id, next, &[held]);
                }
            }
            Kind::Deletion(deletion) => {
                self.counters.delete_ended(ending.is_done());
                let progress = if ending.is_done() { Progress::Deleted } else { Progress::Failed };
                match self.delete_answered(id, deletion, call.index, progress) {
                    Deletion {
                        trigger,
                        step: DeletionStep::Calling { groups: called, awaited: 0 },
                    } => {
                        if is_lost {
                            self.end_deletion(id, trigger, &called);
                        } else {
                            let next =
                                self.deletes_answered(id, trigger, called, groups, random, now);
                            let next =
                                next.map(|it| Operation { kind: Kind::Deletion(it), is_lost });
                            self.go_on(id, next, &[]);
                        }
                    }
                    more => {
                        let operation = Operation { kind: Kind::Deletion(more), is_lost };
                        self.operations.insert(id, operation);
                    }
                }
            }
            // It waits for no call.
            Kind::Doubt(_) => {}
        }
    }

    /// Keeps an operation that goes on; of one that does not, the groups are free.
    fn go_on(&mut self, id: OperationId, next: Option<Operation>, held: &[Arc<str>]) {
        match next {
            Some(operation) => {
                self.operations.insert(id, operation);
            }
            None => self.finish(id, held),
        }
    }
}
