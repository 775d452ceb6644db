//! When the regular expressions of a consumer group are resolved again.

use crate::time::Timestamp;
use thiserror::Error;

/// A group's regular expressions are resolved once in so many milliseconds at most.
const LEAST_INTERVAL_MS: i64 = 10_000;

/// The last image that brought topics, for each shard of a group coordinator: resolutions that did not see it are out of
/// date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewTopics {
    /// `None` before the first image.
    offset: Option<i64>,
}

impl NewTopics {
    /// No image yet: a shard that is loaded anew, which then gets the current image. Groups that it loads resolve again
    /// if they did so on an older one.
    pub const fn new() -> Self {
        Self { offset: None }
    }

    /// Follows a change to the image at `offset`; `created` is how many topics it created.
    pub const fn on_image(&mut self, offset: i64, created: usize) {
        if created > 0 || self.offset.is_none() {
            self.offset = Some(offset);
        }
    }
}

/// What decides on a refresh of a group's regular expressions, with the member's heartbeat taken into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a kernel's inputs")]
pub struct GroupRegexes {
    /// How many different ones its members have, with what the member sent.
    pub subscribed: usize,
    /// How many have a resolution.
    pub resolved: usize,
    /// The image that the last resolution saw and when it began; `None` if there is none.
    pub last_resolution: Option<(i64, Timestamp)>,
    /// Whether the member sent one that no member had.
    pub has_new: bool,
    /// Whether a resolution for this group runs.
    pub is_running: bool,
}

/// How often regular expressions are resolved again without a new topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegexRefresh {
    interval_ms: i64,
}

/// An interval below 10000 ms. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("regular expressions cannot be resolved every {interval_ms} ms")]
#[non_exhaustive]
pub struct RegexRefreshError {
    /// The interval.
    pub interval_ms: i64,
}

impl Default for RegexRefresh {
    fn default() -> Self {
        Self { interval_ms: 600_000 }
    }
}

impl RegexRefresh {
    /// Resolves every so many milliseconds: `group.consumer.regex.refresh.interval.ms`, default 600000, at least 10000.
    ///
    /// # Errors
    /// [`RegexRefreshError`].
    pub const fn with_interval_ms(self, interval_ms: i64) -> Result<Self, RegexRefreshError> {
        if interval_ms < LEAST_INTERVAL_MS {
            return Err(RegexRefreshError { interval_ms });
        }
        Ok(Self { interval_ms })
    }

    /// Whether a heartbeat starts a resolution of all the group's regular expressions against the current image: some
    /// are not resolved, topics were created since, or the interval is over; never while one runs, nor within 10000 ms
    /// after the last began. A clock that goes back delays it. O(1).
    pub fn is_due(self, group: GroupRegexes, topics: NewTopics, now: Timestamp) -> bool {
        if group.subscribed == 0 || group.is_running {
            return false;
        }
        let Some((offset, began)) = group.last_resolution else { return true };
        if now <= began.saturating_add(LEAST_INTERVAL_MS) {
            return false;
        }
        group.has_new
            || group.subscribed != group.resolved
            || topics.offset.is_some_and(|newest| offset < newest)
            || now > began.saturating_add(self.interval_ms)
    }
}
