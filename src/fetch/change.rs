//! What the host tells of partitions that change, and what a session remembers of it.

use alloc::vec::Vec;

use super::partition::Entry;
use super::request::{FetcherKind, Profile};
use super::response::Slot;
use super::state::SessionState;
use super::table::{PartitionTable, as_number};
use super::visit::Visit;
use crate::time::Monotonic;

/// What happened to a partition.
///
/// Marking more than happened costs a visit and changes no answer; a change that is not marked
/// may not be answered. Where several things happened, mark each, or mark
/// [`Change::Unspecified`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// Records were appended: the log's end moved. Of interest to followers.
    Appended,
    /// The high watermark moved, up or down.
    HighWatermark,
    /// The last stable offset moved. Of interest to consumers that read committed records.
    LastStableOffset,
    /// The log start offset moved: retention, deleted records, tiering.
    LogStartOffset,
    /// The log was truncated, replaced or moved to another directory.
    Truncated,
    /// The leader, its epoch, the replicas, or whether they are online changed.
    Leadership,
    /// The topic or partition was created, deleted or created again.
    Metadata,
    /// In-sync replicas, replicas' log ranges or racks changed, by which a consumer may be sent to
    /// another replica.
    ReplicaSelection,
    /// The follower's standing in the partition changed: in-sync replicas, broker epoch, fencing.
    FollowerState,
    /// Anything: every session that holds the partition visits it.
    Unspecified,
}

impl Change {
    /// Whether a fetch of this kind may be answered otherwise after the change.
    pub(super) const fn concerns(self, fetcher: FetcherKind, profile: Profile) -> bool {
        match (self, fetcher) {
            (Self::Appended | Self::FollowerState, FetcherKind::Consumer)
            | (Self::LastStableOffset | Self::ReplicaSelection, FetcherKind::Follower) => false,
            (Self::LastStableOffset, FetcherKind::Consumer) => profile.read_committed,
            _ => true,
        }
    }
}

/// A session that a marked partition is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marked {
    /// The session's id.
    pub session_id: i32,
    /// Who fetches with it.
    pub fetcher: FetcherKind,
    /// If the partition had nothing to answer until this mark: when the last request was accepted
    /// that would have been told. A follower was caught up on the partition at that time, though
    /// the host, which did not visit it, may have recorded an earlier one.
    pub quiet_at: Option<Monotonic>,
    /// Whether a request of the session has been accepted and not been answered: the host may
    /// want to look at the partition again on its behalf.
    pub is_waiting: bool,
}

/// The partitions of a session that its next answer may have to carry.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Slots, each once: those whose entry is flagged as listed. Those of changed entries, and in
    /// the order of the session, after [`visit`](Self::visit). Some may have been
    /// removed from the session since.
    slots: Vec<u32>,
    /// All partitions are to be visited, listed or not.
    all: bool,
    /// That was so, or became so again, after the last visit.
    all_since_visit: bool,
    /// When a request was last accepted in whose time every entry that is not listed was quiet and
    /// not visited.
    quiet_at: Option<Monotonic>,
    /// How many times all sessions had been marked when this one last looked.
    marked_all: u64,
}

impl Changes {
    /// Of a new session, which has to visit everything once.
    pub(super) const fn new(marked_all: u64) -> Self {
        Self { slots: Vec::new(), all: true, all_since_visit: true, quiet_at: None, marked_all }
    }

    /// As exported; the entries of the table are flagged.
    pub(super) fn of_state(state: &SessionState, table: &PartitionTable, marked_all: u64) -> Self {
        Self {
            slots: flagged(table),
            all: state.visits_all,
            all_since_visit: state.visits_all,
            quiet_at: state.quiet_at,
            marked_all,
        }
    }

    /// Whether every partition is to be visited, given how often all sessions have been marked.
    pub(super) const fn is_all(&self, marked_all: u64) -> bool {
        self.all || self.marked_all != marked_all
    }

    pub(super) const fn quiet_at(&self) -> Option<Monotonic> {
        self.quiet_at
    }

    pub(super) const fn mark_all(&mut self) {
        self.all = true;
        self.all_since_visit = true;
    }

    /// Takes note that the entries of the table have other slots now. None may have been visited
    /// for a request that is still to be answered.
    pub(super) fn renumber(&mut self, table: &PartitionTable) {
        self.slots = flagged(table);
    }

    /// Takes note of how often all sessions have been marked.
    pub(super) fn observe(&mut self, marked_all: u64) {
        if self.marked_all != marked_all {
            self.marked_all = marked_all;
            self.mark_all();
        }
    }

    /// Marks one entry; answers when it was last known to be quiet, if it was so until now.
    pub(super) fn mark(&mut self, slot: Slot, entry: &mut Entry) -> Option<Monotonic> {
        let was_listed = entry.is_listed();
        entry.set_changed();
        if was_listed {
            return None;
        }
        self.slots.push(slot.0);
        self.quiet_at
    }

    /// Takes note of an entry that was not found quiet: the next request visits it, even if this one
    /// did not.
    #[inline]
    pub(super) fn keep(&mut self, slot: Slot, entry: &mut Entry) {
        if !entry.is_listed() {
            self.slots.push(slot.0);
        }
        entry.keep_changed();
    }

    /// What a request accepted at that time visits, in the order of the session, given how often
    /// all sessions have been marked. A mark that comes after this call outlives the answer.
    #[inline(never)]
    pub(super) fn visit<'a>(
        &'a mut self,
        table: &'a mut PartitionTable,
        accepted: Monotonic,
        marked_all: u64,
    ) -> Visit<'a> {
        self.observe(marked_all);
        self.begin_visit(table, accepted);
        if self.all { Visit::all(table) } else { Visit::of_slots(table, &self.slots) }
    }

    /// Settles what that is.
    fn begin_visit(&mut self, table: &mut PartitionTable, accepted: Monotonic) {
        // If all are visited, none that is settled comes to be known as quiet.
        let all = self.all;
        let mut is_sorted = true;
        let mut last = 0;
        self.slots.retain(|&slot| {
            let Some(entry) = table.entries_mut().get_mut(slot as usize) else { return false };
            if !entry.is_live() || !(entry.is_changed() || all) {
                entry.set_unchanged();
                return false;
            }
            if entry.is_changed() {
                entry.set_visited();
            }
            let rank = table.rank(Slot(slot));
            is_sorted &= last <= rank;
            last = rank;
            true
        });
        self.all_since_visit = false;
        if self.all {
            return;
        }
        self.quiet_at = Some(accepted);
        if !is_sorted {
            self.slots.sort_unstable_by_key(|&slot| table.rank(Slot(slot)));
        }
    }

    /// Before an answer is generated: the entries that may be found quiet are those flagged. `false`
    /// if none may be, because all have been marked since the visit.
    pub(super) fn begin_commit(&self, table: &mut PartitionTable) -> bool {
        if self.all_since_visit {
            return false;
        }
        if self.all {
            let entries = table.entries_mut().iter_mut();
            entries.filter(|entry| entry.is_live()).for_each(Entry::keep_changed);
        }
        true
    }

    /// After an answer was generated and quiet entries were settled.
    pub(super) fn end_commit(&mut self, table: &mut PartitionTable) {
        if !self.all || self.all_since_visit {
            return;
        }
        self.all = false;
        // All have been visited, and none was quiet without that.
        self.quiet_at = None;
        self.slots.clear();
        for (slot, entry) in table.entries_mut().iter_mut().enumerate() {
            if entry.is_live() && entry.is_changed() {
                self.slots.push(as_number(slot));
            } else {
                entry.set_unchanged();
            }
        }
    }
}

/// The slots of the entries that are flagged as changed.
fn flagged(table: &PartitionTable) -> Vec<u32> {
    let is_changed = |&slot: &u32| table.entry(Slot(slot)).is_some_and(Entry::is_changed);
    (0..table.slot_count()).filter(is_changed).collect()
}
