//! Sessions that were removed while a fetch of theirs waited.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::config::Limits;
use super::context::Ticket;
use super::table::PartitionTable;
use super::visit::Visit;

/// What is left of such a session: enough to answer the fetch as if it still lived.
#[derive(Debug)]
pub(super) struct Detached {
    pub(super) place: u32,
    pub(super) generation: u32,
    pub(super) session_id: i32,
    pub(super) epoch: i32,
    pub(super) table: Box<PartitionTable>,
}

impl Detached {
    const fn is_of(&self, ticket: &Ticket) -> bool {
        self.place == ticket.place
            && self.generation == ticket.generation
            && self.session_id == ticket.session_id
            && self.epoch == ticket.epoch
    }
}

/// A bounded number of them. A fetch may never come back (its connection was lost), so the oldest
/// go when the bound is reached.
#[derive(Debug)]
pub(super) struct DetachedSessions {
    sessions: VecDeque<Detached>,
    partitions: usize,
    sessions_max: usize,
    partitions_max: usize,
}

impl DetachedSessions {
    pub(super) const fn new(limits: &Limits) -> Self {
        Self {
            sessions: VecDeque::new(),
            partitions: 0,
            sessions_max: limits.detached_sessions as usize,
            partitions_max: limits.detached_partitions as usize,
        }
    }

    pub(super) fn push(&mut self, detached: Detached) {
        if self.sessions_max == 0 || detached.table.len() > self.partitions_max {
            return;
        }
        self.partitions += detached.table.len();
        self.sessions.push_back(detached);
        while self.sessions.len() > self.sessions_max || self.partitions > self.partitions_max {
            let Some(oldest) = self.sessions.pop_front() else { break };
            self.partitions -= oldest.table.len();
        }
    }

    /// What an accepted request visits if its session was removed; nothing if a later request has
    /// overtaken it.
    #[cold]
    pub(super) fn visit(&self, ticket: &Ticket) -> Visit<'_> {
        self.find(ticket).map_or_else(Visit::nothing, |it| Visit::all(&it.table))
    }

    pub(super) fn find(&self, ticket: &Ticket) -> Option<&Detached> {
        self.sessions.iter().find(|detached| detached.is_of(ticket))
    }

    pub(super) fn take(&mut self, ticket: &Ticket) -> Option<Detached> {
        let at = self.sessions.iter().position(|detached| detached.is_of(ticket))?;
        let detached = self.sessions.remove(at)?;
        self.partitions -= detached.table.len();
        Some(detached)
    }
}
