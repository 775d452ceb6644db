//! How far a follower is, as its leader keeps it to decide who is in sync.

/// One follower of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// When it last fetched.
    pub(crate) fetched_at: i64,
    /// When it last had all that the leader had.
    pub(crate) caught_up_at: i64,
    /// The leader's log end at the last fetch.
    pub(crate) end: i64,
}

impl Progress {
    /// Takes note of a fetch.
    pub(crate) fn fetched(&mut self, offset: i64, end: i64, now: i64) {
        if offset >= end {
            self.caught_up_at = self.caught_up_at.max(now);
        } else if offset >= self.end {
            self.caught_up_at = self.caught_up_at.max(self.fetched_at);
        }
        self.fetched_at = now;
        self.end = self.end.max(end);
    }

    /// Takes note of a fetch that did not visit the partition, because there was nothing new.
    pub(crate) fn was_quiet(&mut self, end: i64, at: i64) {
        self.fetched_at = self.fetched_at.max(at);
        self.caught_up_at = self.caught_up_at.max(at);
        self.end = self.end.max(end);
    }

    /// Of a replica that starts to follow: one in sync counts as caught up.
    pub(crate) const fn reset(is_in_sync: bool, now: i64) -> Self {
        Self { fetched_at: 0, caught_up_at: if is_in_sync { now } else { 0 }, end: -1 }
    }
}
