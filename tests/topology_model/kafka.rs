//! Kafka's rules: its decision tables, one step after the other, with nothing that keeps operations apart.

use crate::coordinator::{Call, Coordinator, End, Group, Ranks, View, Wish};
use kafka_coordination::topology::{
    Caller, Mark, Token, TopologyEpoch, after_delete, after_refusal, after_set, mark,
};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Push(TopologyEpoch),
    Cleanup,
    DeleteGroups,
    Conversion,
}

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    /// Its barrier waits for its turn.
    ToMark,
    Marking,
    Calling,
    /// Its final write waits for its turn.
    ToFinish(End),
    Finishing,
    /// Tombstone or conversion wait for their turn.
    ToRemove,
    /// The finalize of a conversion comes after the join.
    ToFinalizeLast,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Kafka {
    operations: BTreeMap<u64, (Kind, At)>,
    calls: BTreeMap<Token, u64>,
    begun: u64,
    called: u64,
    leader_epoch: i32,
    wishes: VecDeque<Wish>,
}

impl Kafka {
    fn begin(&mut self, kind: Kind, at: At) {
        self.operations.insert(self.begun, (kind, at));
        self.begun += 1;
    }

    fn put(&mut self, operation: u64, kind: Kind, at: At) {
        self.operations.insert(operation, (kind, at));
    }

    /// The barrier, on the latest state.
    fn mark(&mut self, operation: u64, kind: Kind, view: View) {
        let caller = if matches!(kind, Kind::Push(_)) { Caller::Push } else { Caller::Delete };
        match (mark(view.latest.streams().as_ref(), caller), kind) {
            (Mark::Refused, Kind::DeleteGroups) => self.put(operation, kind, At::ToRemove),
            (Mark::Refused, _) => {}
            (Mark::Covered, _) => {
                self.put(operation, kind, At::Marking);
                self.wishes.push_back(Wish::Await { operation });
            }
            (Mark::Write(belief), _) => {
                self.put(operation, kind, At::Marking);
                self.wishes.push_back(Wish::Write { operation, belief });
            }
        }
    }

    /// The final write, on the latest state.
    fn finish(&mut self, operation: u64, kind: Kind, end: End, view: View) {
        let group = view.latest.streams();
        let belief = match (group, kind, end) {
            (Some(group), Kind::Push(epoch), End::Done) => Some(after_set(group.belief, epoch)),
            (Some(group), Kind::Push(epoch), _) => Some(after_refusal(group.belief, epoch)),
            (Some(group), _, _) => after_delete(group.belief),
            (None, Kind::Push(_), _) => return,
            (None, _, _) => None,
        };
        self.put(operation, kind, At::Finishing);
        self.wishes.push_back(match belief {
            Some(belief) => Wish::Write { operation, belief },
            None => Wish::Await { operation },
        });
    }
}

impl Coordinator for Kafka {
    fn new(leader_epoch: i32, _: View) -> Self {
        Self { leader_epoch, ..Self::default() }
    }

    fn moves(&mut self, leader_epoch: i32, view: View) {
        // What goes on in the process goes on, and its writes may be let in again.
        *self = Self::new(leader_epoch, view);
    }

    fn push(&mut self, view: View) {
        if let Some(epoch) = view.latest.streams().and_then(|group| group.current) {
            self.begin(Kind::Push(epoch), At::ToMark);
        }
    }

    fn cleanup(&mut self, view: View) {
        if view.committed.streams().is_some_and(|group| group.wants_cleanup()) {
            self.begin(Kind::Cleanup, At::ToMark);
        }
    }

    fn delete_groups(&mut self, view: View) {
        let is_stored =
            view.committed.streams().is_some_and(|group| group.belief.stored.wants_delete());
        self.begin(Kind::DeleteGroups, if is_stored { At::ToMark } else { At::ToRemove });
    }

    fn classic_join(&mut self, view: View) {
        match view.latest {
            Group::Streams(group) if group.wants_cleanup() => {
                self.begin(Kind::Conversion, At::ToMark);
            }
            _ => self.wishes.push_back(Wish::Convert),
        }
    }

    fn scheduled(&self) -> Vec<u64> {
        let is_scheduled = |at: &At| !matches!(at, At::Marking | At::Calling | At::Finishing);
        let scheduled = self.operations.iter().filter(|(_, (_, at))| is_scheduled(at));
        scheduled.map(|(operation, _)| *operation).collect()
    }

    fn step(&mut self, operation: u64, view: View) {
        let Some((kind, at)) = self.operations.remove(&operation) else { return };
        match at {
            At::ToMark => self.mark(operation, kind, view),
            At::ToFinish(end) => self.finish(operation, kind, end, view),
            At::ToRemove if kind == Kind::Conversion => {
                self.wishes.push_back(Wish::Convert);
                self.put(operation, kind, At::ToFinalizeLast);
            }
            At::ToRemove => self.wishes.push_back(Wish::Tombstone),
            At::ToFinalizeLast => self.finish(operation, kind, End::Done, view),
            At::Marking | At::Calling | At::Finishing => self.put(operation, kind, at),
        }
    }

    fn written(&mut self, operation: u64, is_committed: bool, _: View) {
        let Some((kind, at)) = self.operations.remove(&operation) else { return };
        match (at, kind, is_committed) {
            (At::Marking, _, true) => {
                let token = Token::new(self.leader_epoch, self.called);
                self.called += 1;
                self.calls.insert(token, operation);
                let sets = if let Kind::Push(epoch) = kind { Some(epoch) } else { None };
                self.put(operation, kind, At::Calling);
                self.wishes.push_back(Wish::Call(Call { token, sets }));
            }
            // Whether it was finalized or not.
            (At::Finishing, Kind::DeleteGroups, _) => self.put(operation, kind, At::ToRemove),
            _ => {}
        }
    }

    fn ended(&mut self, call: Call, end: End, _: View) {
        let Some(operation) = self.calls.remove(&call.token) else { return };
        let Some((kind, _)) = self.operations.remove(&operation) else { return };
        match (kind, end) {
            (Kind::Conversion, End::Done) => self.put(operation, kind, At::ToRemove),
            (Kind::Push(_), End::Done | End::Refused) | (_, End::Done) => {
                self.put(operation, kind, At::ToFinish(end));
            }
            _ => {}
        }
    }

    fn observe(&mut self, _: View) {}

    fn poll(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    fn may_remove(&self, _: View) -> bool {
        true
    }

    fn may_expire(&self, view: View) -> bool {
        view.latest.streams().is_none_or(|group| !group.belief.stored.blocks_expiry())
    }

    fn operations(&self) -> usize {
        self.operations.len()
    }

    fn identify(
        &self,
        mut operations: Vec<u64>,
        mut tokens: Vec<Token>,
        state: &mut impl Hasher,
    ) -> Ranks {
        operations.extend(self.operations.keys().chain(self.calls.values()));
        tokens.extend(self.calls.keys());
        let ranks = Ranks::new(operations, tokens);
        for (operation, known) in &self.operations {
            (ranks.operation(*operation), known).hash(state);
        }
        for (token, operation) in &self.calls {
            (ranks.token(*token), ranks.operation(*operation)).hash(state);
        }
        ranks
    }
}
