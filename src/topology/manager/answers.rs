//! What the host reports: ends of writes and of plugin calls.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::TopologyManager;
use crate::error_code::ErrorCode;
use crate::random::Random;
use crate::time::Monotonic;
use crate::topology::call::{DeleteCall, SetCall, Token};
use crate::topology::ending::Ending;
use crate::topology::group::Groups;
use crate::topology::operation::{Deletion, DeletionStep, Kind, Operation, OperationId};

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
        let Some(Operation { group_ids, kind, is_lost }) = self.operations.remove(&operation)
        else {
            return;
        };
        let next = match kind {
            Kind::Doubt => None,
            Kind::Push(push) => {
                self.push_written(operation, push, result, groups, random, now).map(Kind::Push)
            }
            Kind::Deletion(deletion) => {
                self.deletion_written(operation, deletion, result, now).map(Kind::Deletion)
            }
        };
        self.go_on(operation, next.map(|kind| (kind, is_lost)), group_ids);
    }

    /// The plugin's set ended. O(1). If the call was given up meanwhile, nothing happens.
    pub fn set_ended(
        &mut self,
        call: &SetCall,
        ending: Ending,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        self.ended(call.token(), ending, groups, random, now);
    }

    /// The plugin's delete ended. O(1), and O(groups) for the last of an operation. If the call was
    /// given up meanwhile, nothing happens.
    pub fn delete_ended(
        &mut self,
        call: &DeleteCall,
        ending: Ending,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        self.ended(call.token(), ending, groups, random, now);
    }

    pub(super) fn ended(
        &mut self,
        token: Token,
        ending: Ending,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) {
        let Some(call) = self.calls.remove(&token) else {
            return;
        };
        let id = call.operation;
        let Some(Operation { group_ids, kind, is_lost }) = self.operations.remove(&id) else {
            return;
        };
        let next = match kind {
            Kind::Push(push) => {
                let outcome = ending.of_set();
                self.counters.set_ended(&outcome);
                if is_lost {
                    self.answer_lost_push(id, outcome);
                    None
                } else {
                    self.set_answered(id, push, outcome, groups, random, now).map(Kind::Push)
                }
            }
            Kind::Deletion(Deletion { trigger, step: DeletionStep::Calling(mut deleting) }) => {
                let is_done = ending.is_done();
                self.counters.delete_ended(is_done);
                if let Some(it) = deleting.get_mut(call.index) {
                    it.is_deleted = Some(is_done);
                }
                let deletion = if deleting.iter().any(|it| it.is_deleted.is_none()) {
                    Some(Deletion { trigger, step: DeletionStep::Calling(deleting) })
                } else if is_lost {
                    self.end_deletion(id, trigger, &deleting);
                    None
                } else {
                    self.deletes_answered(id, trigger, deleting, groups, random, now)
                };
                deletion.map(Kind::Deletion)
            }
            other => Some(other),
        };
        self.go_on(id, next.map(|kind| (kind, is_lost)), group_ids);
    }

    /// Keeps an operation that goes on, ends one that does not.
    fn go_on(&mut self, id: OperationId, next: Option<(Kind, bool)>, group_ids: Vec<Arc<str>>) {
        match next {
            Some((kind, is_lost)) => {
                self.operations.insert(id, Operation { group_ids, kind, is_lost });
            }
            None => self.finish(id, &group_ids),
        }
    }
}
