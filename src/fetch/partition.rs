//! One partition as a session remembers it.

use super::inclusion::Reported;
use super::request::FetchParams;
use super::response::Slot;
use crate::topic::{TopicId, TopicName};

/// How an absent epoch is stored.
const NO_EPOCH: i32 = -1;

/// The topic number of an entry that is on the free list.
const FREE: u32 = TOPIC_MASK;
const TOPIC_MASK: u32 = (1 << 30) - 1;
/// The session's next fetch visits the entry.
const CHANGED: u32 = 1 << 30;
/// If it is changed, it was so after the visit that the next answer will report on. If not, the
/// last answer left it quiet, and no request was accepted since.
const SINCE_LAST: u32 = 1 << 31;

/// One cached partition: 56 bytes, the name elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    fetch_offset: i64,
    fetcher_log_start_offset: i64,
    reported: Reported,
    /// The topic's number in the table, below 2^30, and two flags above.
    topic: u32,
    pub(super) partition: i32,
    // Not side by side with the other epoch: the two would be stored as one vector, which takes
    // longer to put together than to store them.
    leader_epoch: i32,
    max_bytes: i32,
    last_fetched_epoch: i32,
    /// The entry's index in the table's order; on the free list the next free entry.
    pub(super) position: u32,
}

impl Entry {
    pub(super) fn new(topic: u32, partition: i32, params: &FetchParams, position: u32) -> Self {
        Self {
            fetch_offset: params.fetch_offset,
            fetcher_log_start_offset: params.log_start_offset,
            reported: Reported::NOTHING,
            topic: topic & TOPIC_MASK,
            partition,
            max_bytes: params.max_bytes,
            leader_epoch: stored_epoch(params.leader_epoch),
            last_fetched_epoch: stored_epoch(params.last_fetched_epoch),
            position,
        }
    }

    pub(super) fn set_params(&mut self, params: &FetchParams) {
        self.fetch_offset = params.fetch_offset;
        self.fetcher_log_start_offset = params.log_start_offset;
        self.max_bytes = params.max_bytes;
        self.leader_epoch = stored_epoch(params.leader_epoch);
        self.last_fetched_epoch = stored_epoch(params.last_fetched_epoch);
    }

    pub(super) fn params(&self) -> FetchParams {
        FetchParams {
            fetch_offset: self.fetch_offset,
            log_start_offset: self.fetcher_log_start_offset,
            max_bytes: self.max_bytes,
            leader_epoch: shown_epoch(self.leader_epoch),
            last_fetched_epoch: shown_epoch(self.last_fetched_epoch),
        }
    }

    pub(super) const fn reported(&self) -> Reported {
        self.reported
    }

    pub(super) const fn set_reported(&mut self, reported: Reported) {
        self.reported = reported;
    }

    pub(super) const fn topic(&self) -> u32 {
        self.topic & TOPIC_MASK
    }

    pub(super) const fn is_live(&self) -> bool {
        self.topic() != FREE
    }

    /// Takes the entry out of use. It stays in the list of changed partitions if it is there.
    pub(super) const fn free(&mut self, next_free: u32) {
        self.topic |= FREE;
        self.position = next_free;
    }

    /// Puts the entry to new use; the flags stay, because the list of changed partitions does.
    pub(super) fn reuse(&mut self, new: Self) {
        let flags = self.topic & !TOPIC_MASK;
        *self = new;
        self.topic |= flags;
    }

    pub(super) const fn is_changed(&self) -> bool {
        self.topic & CHANGED != 0
    }

    pub(super) const fn is_changed_since_visit(&self) -> bool {
        self.topic & (CHANGED | SINCE_LAST) == CHANGED | SINCE_LAST
    }

    /// Whether the entry is in its session's list of changed partitions: it is, or it was until
    /// the last answer.
    pub(super) const fn is_listed(&self) -> bool {
        self.topic & (CHANGED | SINCE_LAST) != 0
    }

    pub(super) const fn set_changed(&mut self) {
        self.topic |= CHANGED | SINCE_LAST;
    }

    /// Keeps the entry in the list of changed partitions without calling it newly changed.
    pub(super) const fn keep_changed(&mut self) {
        if !self.is_changed() {
            self.topic = self.topic & !SINCE_LAST | CHANGED;
        }
    }

    pub(super) const fn set_visited(&mut self) {
        self.topic &= !SINCE_LAST;
    }

    /// Takes note that an answer left a changed entry quiet.
    pub(super) const fn set_settled(&mut self) {
        if self.is_changed() {
            self.topic = self.topic & !CHANGED | SINCE_LAST;
        }
    }

    pub(super) const fn set_unchanged(&mut self) {
        self.topic &= !(CHANGED | SINCE_LAST);
    }
}

fn stored_epoch(epoch: Option<i32>) -> i32 {
    epoch.unwrap_or(NO_EPOCH).max(NO_EPOCH)
}

const fn shown_epoch(epoch: i32) -> Option<i32> {
    if epoch == NO_EPOCH { None } else { Some(epoch) }
}

/// One partition that a fetch asks for, as a context enumerates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchPartition<'a> {
    /// The partition's place, under which its read comes back.
    pub slot: Slot,
    /// The topic's id; zero in name mode.
    pub topic_id: TopicId,
    /// The topic's name; `None` if the metadata did not know the id, which is answered with
    /// `UNKNOWN_TOPIC_ID` (100).
    pub topic: Option<&'a TopicName>,
    /// The partition's index.
    pub partition: i32,
    /// What is asked of it.
    pub params: FetchParams,
}
