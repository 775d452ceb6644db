//! One live session.

use alloc::boxed::Box;

use super::change::Changes;
use super::eviction::Standing;
use super::inclusion::{inclusion, retention};
use super::partition::Entry;
use super::request::{FetchMetadata, FetchRequest, FetcherKind, Profile};
use super::response::{PartitionRead, Slot};
use super::size::ResponseSize;
use super::state::SessionState;
use super::table::{NIL, PartitionTable, Put, TableDelta};
use crate::metadata::TopicNames;
use crate::time::Monotonic;

/// A session: what it remembers of its partitions and where it stands in its shard.
///
/// An idle request touches what comes first and neither the principal nor the table.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Session {
    pub(super) id: i32,
    /// The epoch that the next request must carry: 1 and above.
    pub(super) epoch: i32,
    pub(super) last_used: Monotonic,
    pub(super) created: Monotonic,
    pub(super) standing: Standing,
    /// The profile of its last request.
    pub(super) profile: Profile,
    /// How many partitions it had when it was last used.
    pub(super) cached_size: u32,
    pub(super) uses_topic_ids: bool,
    /// A request was accepted and not answered since.
    pub(super) is_waiting: bool,
    /// Whether there may be topics whose name is not known.
    pub(super) has_nameless_topics: bool,
    /// Who created it; a follower's sessions are privileged.
    pub(super) fetcher: FetcherKind,
    /// Who sent its last request. A session is bound to nothing but its id.
    pub(super) asked_by: FetcherKind,
    /// `None` if the host does not mark changes.
    pub(super) changes: Option<Changes>,
    pub(super) table: Box<PartitionTable>,
    pub(super) principal: u64,
}

impl Session {
    /// Applies the lists of an incremental request: what it forgets goes after what it adds.
    pub(super) fn update(
        &mut self,
        request: &FetchRequest<'_>,
        names: &impl TopicNames,
        delta: &mut TableDelta,
    ) {
        let changes = &mut self.changes;
        self.table.put_all(request, names, |table, slot, put| {
            if put == Put::Added {
                delta.added.push(slot);
            }
            if let Some((changes, entry)) = changes.as_mut().zip(table.entry_mut(Slot(slot))) {
                changes.mark(Slot(slot), entry);
            }
        });
        self.table.remove_all(request, delta);
        self.table.pack();
        self.has_nameless_topics = self.table.has_nameless_topics();
    }

    /// The session as exported, given how often all sessions have been marked.
    pub(super) fn state(&self, marked_all: u64) -> SessionState {
        let changes = self.changes.as_ref();
        SessionState {
            id: self.id,
            epoch: self.epoch,
            uses_topic_ids: self.uses_topic_ids,
            fetcher: self.fetcher,
            asked_by: self.asked_by,
            principal: self.principal,
            profile: self.profile,
            created: self.created,
            last_used: self.last_used,
            visits_all: changes.is_none_or(|changes| changes.is_all(marked_all)),
            quiet_at: changes.and_then(Changes::quiet_at),
            partitions: self.table.states().collect(),
        }
    }

    /// Takes note of an accepted request.
    pub(super) fn accept(&mut self, request: &FetchRequest<'_>, now: Monotonic) {
        self.last_used = now;
        if (self.asked_by, self.profile) != (request.fetcher, request.profile) {
            self.asked_by = request.fetcher;
            self.profile = request.profile;
            if let Some(changes) = &mut self.changes {
                changes.mark_all();
            }
        }
        self.epoch = FetchMetadata::next_epoch(self.epoch);
        self.is_waiting = true;
    }

    /// Generates an answer: marks the reads that it carries, remembers what they report, and
    /// moves the partitions whose records it returns to the end.
    pub(super) fn answer(&mut self, reads: &mut [PartitionRead], marked_all: u64) {
        self.is_waiting = false;
        let Some(changes) = &mut self.changes else {
            answer(&mut self.table, reads, |_, _| {});
            return;
        };
        changes.observe(marked_all);
        let may_be_quiet = changes.begin_commit(&mut self.table);
        answer(&mut self.table, reads, |entry, read| {
            if !may_be_quiet {
                return;
            }
            if retention(entry.reported(), read).is_some() {
                changes.keep(read.slot(), entry);
            } else if !entry.is_changed_since_visit() {
                entry.set_settled();
            }
        });
        changes.end_commit(&mut self.table);
    }
}

/// Marks which of the reads an incremental answer carries and commits what it tells.
pub(super) fn answer(
    table: &mut PartitionTable,
    reads: &mut [PartitionRead],
    mut told: impl FnMut(&mut Entry, &PartitionRead),
) {
    table.answer(reads, |read, entry| {
        let Some(entry) = entry else {
            read.set_included(false);
            return;
        };
        let (is_included, reported) = inclusion(entry.reported(), read);
        read.set_included(is_included);
        if is_included {
            entry.set_reported(reported);
        }
        told(entry, read);
    });
}

/// The size of an incremental answer.
pub(super) fn incremental_size(
    table: &PartitionTable,
    version: i16,
    reads: &[PartitionRead],
) -> u64 {
    response_size(table, version, reads, |entry, read| inclusion(entry.reported(), read).0)
}

/// The size of an answer that carries all reads.
pub(super) fn full_size(table: &PartitionTable, version: i16, reads: &[PartitionRead]) -> u64 {
    response_size(table, version, reads, |_, _| true)
}

/// The size of an answer with those reads that `is_carried` says.
fn response_size(
    table: &PartitionTable,
    version: i16,
    reads: &[PartitionRead],
    is_carried: impl Fn(&Entry, &PartitionRead) -> bool,
) -> u64 {
    let size = ResponseSize::new(version);
    let (mut bytes, mut topics, mut partitions) = (0, 0, 0);
    // The topic whose element is open.
    let mut open = NIL;
    let entries = table.entries();
    for read in reads {
        let entry = entries.get(read.slot().as_usize());
        let Some(entry) = entry.filter(|entry| is_carried(entry, read)) else { continue };
        let topic = entry.topic();
        if open != topic {
            if !entry.is_live() {
                continue;
            }
            if !table.is_same_topic(open, topic) {
                bytes += size.partitions(partitions) + size.topic(|| table.name_len(topic));
                topics += 1;
                partitions = 0;
            }
            open = topic;
        }
        partitions += 1;
        bytes += size.content(read);
    }
    size.total(topics, bytes + size.partitions(partitions))
}
