//! A plugin that does what it is told, when it is told.

use super::group::Group;
use kafka_coordination::topology::{DeleteCall, Ending, SetCall, StoredEpoch, Token};
use std::collections::BTreeMap;

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Later.
    Pending,
    Success,
    PermanentFailure,
    TransientFailure,
    NotCalled,
}

impl Behaviour {
    pub(crate) fn ending(self) -> Ending {
        match self {
            Self::Success => Ending::Done,
            Self::PermanentFailure => Ending::Refused(Some("too large".into())),
            Self::Pending | Self::TransientFailure => Ending::Failed(Some("try later".into())),
            Self::NotCalled => Ending::NotCalled,
        }
    }
}

/// Calls are counted from 0.
pub(crate) type CallNumber = u32;

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Set(SetCall),
    Delete(DeleteCall),
}

#[derive(Clone, Debug)]
pub(crate) struct ScriptedPlugin {
    held: BTreeMap<String, i32>,
    fences: BTreeMap<String, Token>,
    pending: BTreeMap<CallNumber, Call>,
    /// Calls of processes that died, which may still take effect.
    zombies: Vec<Call>,
    next: CallNumber,
    pub(crate) on_set: Behaviour,
    pub(crate) on_delete: Behaviour,
}

impl ScriptedPlugin {
    /// A plugin that holds what these groups say.
    pub(crate) fn holding(groups: &BTreeMap<String, Group>) -> Self {
        let held = groups.iter().filter_map(|(id, group)| match group.belief.stored {
            StoredEpoch::Held(epoch) => Some((id.clone(), epoch.get())),
            _ => None,
        });
        Self {
            held: held.collect(),
            fences: BTreeMap::new(),
            pending: BTreeMap::new(),
            zombies: Vec::new(),
            next: 0,
            on_set: Behaviour::Pending,
            on_delete: Behaviour::Pending,
        }
    }

    /// The epoch that it holds of a group.
    pub(crate) fn held(&self, group_id: &str) -> Option<i32> {
        self.held.get(group_id).copied()
    }

    /// The groups of which it holds something.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.held.keys().map(String::as_str)
    }

    /// The calls that wait.
    pub(crate) fn pending(&self) -> Vec<CallNumber> {
        self.pending.keys().copied().collect()
    }

    pub(super) fn set(&mut self, call: SetCall) -> (CallNumber, Behaviour, Option<Call>) {
        self.call(Call::Set(call), self.on_set)
    }

    pub(super) fn delete(&mut self, call: DeleteCall) -> (CallNumber, Behaviour, Option<Call>) {
        self.call(Call::Delete(call), self.on_delete)
    }

    fn call(&mut self, call: Call, behaviour: Behaviour) -> (CallNumber, Behaviour, Option<Call>) {
        let number = self.next;
        self.next += 1;
        self.pending.insert(number, call);
        let ended = match behaviour {
            Behaviour::Pending => None,
            ended => self.end(number, ended),
        };
        (number, behaviour, ended)
    }

    /// Ends a call, which takes effect if it succeeds and nothing later came before it.
    pub(super) fn end(&mut self, number: CallNumber, behaviour: Behaviour) -> Option<Call> {
        let call = self.pending.remove(&number)?;
        if behaviour == Behaviour::Success {
            self.land(&call);
        }
        Some(call)
    }

    fn land(&mut self, call: &Call) {
        let (group_id, token, held) = match call {
            Call::Set(call) => (call.group_id(), call.token(), Some(call.epoch().get())),
            Call::Delete(call) => (call.group_id(), call.token(), None),
        };
        let fence = self.fences.entry(group_id.to_string()).or_insert(token);
        if *fence <= token {
            *fence = token;
            match held {
                Some(epoch) => drop(self.held.insert(group_id.to_string(), epoch)),
                None => drop(self.held.remove(&**group_id)),
            }
        }
    }

    /// Nobody waits any more for the calls of a process that died.
    pub(super) fn lose_calls(&mut self) {
        self.zombies.extend(std::mem::take(&mut self.pending).into_values());
    }

    /// A call of a process that died takes effect after all.
    pub(crate) fn land_zombie(&mut self, at: usize) {
        if at < self.zombies.len() {
            let call = self.zombies.remove(at);
            self.land(&call);
        }
    }

    /// Calls of a group that may still take effect: the epoch that each sets, or none for a delete.
    pub(crate) fn outstanding(&self, group_id: &str) -> Vec<Option<i32>> {
        let fence = self.fences.get(group_id);
        let calls = self.pending.values().chain(&self.zombies).filter_map(|call| {
            let (group, token, sets) = match call {
                Call::Set(call) => (call.group_id(), call.token(), Some(call.epoch().get())),
                Call::Delete(call) => (call.group_id(), call.token(), None),
            };
            let is_let_in = fence.is_none_or(|fence| *fence <= token);
            (&**group == group_id && is_let_in).then_some(sets)
        });
        calls.collect()
    }
}
