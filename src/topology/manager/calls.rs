//! Plugin calls that were not answered yet.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::time::Monotonic;
use crate::topology::call::Token;
use crate::topology::operation::OperationId;

/// A plugin call that was not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::topology) struct PendingCall {
    pub(in crate::topology) operation: OperationId,
    /// Its place among the groups of a deletion.
    pub(in crate::topology) index: usize,
    pub(in crate::topology) ends: Monotonic,
}

/// Calls by token, and by the time at which they are given up. All is O(log n).
#[derive(Clone, Debug, Default)]
pub(in crate::topology) struct Calls {
    calls: BTreeMap<Token, PendingCall>,
    ends: BTreeSet<(Monotonic, Token)>,
}

impl Calls {
    pub(in crate::topology) fn insert(&mut self, token: Token, call: PendingCall) {
        self.ends.insert((call.ends, token));
        self.calls.insert(token, call);
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<PendingCall> {
        let call = self.calls.remove(&token)?;
        self.ends.remove(&(call.ends, token));
        Some(call)
    }

    pub(super) fn get(&self, token: Token) -> Option<&PendingCall> {
        self.calls.get(&token)
    }

    /// When the first of them is given up.
    pub(super) fn next_end(&self) -> Option<Monotonic> {
        self.ends.first().map(|(ends, _)| *ends)
    }

    /// The first of those that are to be given up by now.
    pub(super) fn overdue(&self, now: Monotonic) -> Option<Token> {
        self.ends.first().filter(|(ends, _)| *ends <= now).map(|(_, token)| *token)
    }

    /// All, by ascending token.
    pub(in crate::topology) fn iter(&self) -> impl Iterator<Item = (Token, PendingCall)> {
        self.calls.iter().map(|(&token, &call)| (token, call))
    }
}
