//! How far a follower is, as its leader keeps it to decide who is in sync.

/// One follower of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// When it last fetched.
    pub(crate) last_fetch: i64,
    /// When it last had all that the leader had.
    pub(crate) last_caught_up: i64,
    /// The leader's log end at the last fetch.
    pub(crate) last_end: i64,
}

impl Progress {
    /// Takes note of a fetch.
    pub(crate) fn fetched(&mut self, offset: i64, end: i64, now: i64) {
        if offset >= end {
            self.last_caught_up = self.last_caught_up.max(now);
        } else if offset >= self.last_end {
            self.last_caught_up = self.last_caught_up.max(self.last_fetch);
        }
        self.last_fetch = now;
        self.last_end = self.last_end.max(end);
    }

    /// Takes note of a fetch that did not visit the partition, because there was nothing new.
    pub(crate) fn was_quiet(&mut self, end: i64, at: i64) {
        self.last_fetch = self.last_fetch.max(at);
        self.last_caught_up = self.last_caught_up.max(at);
        self.last_end = self.last_end.max(end);
    }

    /// Of a replica that starts to follow: one in sync counts as caught up.
    pub(crate) const fn reset(is_in_sync: bool, now: i64) -> Self {
        Self { last_fetch: 0, last_caught_up: if is_in_sync { now } else { 0 }, last_end: -1 }
    }
}
