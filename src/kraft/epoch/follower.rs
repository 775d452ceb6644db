//! A replica that fetches from its epoch's leader.

use crate::kraft::election::ElectionState;
use crate::kraft::timer::Timer;
use crate::kraft::voters::{Endpoints, ReplicaKey};
use crate::time::Monotonic;
use alloc::vec::Vec;
use thiserror::Error;

/// A follower that knows what is committed was told of less: committed records do not become uncommitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("high watermark {new:?} does not follow on the known {known}")]
pub struct HighWatermarkRegression {
    /// What the follower knows.
    pub known: i64,
    /// What it was told; none is below all.
    pub new: Option<i64>,
}

/// A replica whose leader is known, and where to find it.
///
/// A voter whose fetch time-out expires becomes [`Prospective`](super::Prospective).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follower {
    pub(in crate::kraft) epoch: i32,
    pub(in crate::kraft) leader_id: i32,
    pub(in crate::kraft) leader_endpoints: Endpoints,
    pub(in crate::kraft) voted_key: Option<ReplicaKey>,
    pub(in crate::kraft) voters: Vec<i32>,
    pub(in crate::kraft) high_watermark: Option<i64>,
    pub(in crate::kraft) has_fetched_from_leader: bool,
    pub(in crate::kraft) has_leader_resigned: bool,
    pub(in crate::kraft) has_updated_leader: bool,
    pub(in crate::kraft) fetch_timeout_ms: i64,
    pub(in crate::kraft) fetch_timer: Timer,
    pub(in crate::kraft) update_voter_timer: Timer,
}

impl Follower {
    /// Fetch time-outs between two times at which the follower considers telling the leader what it supports.
    const UPDATE_VOTER_PERIOD: i64 = 2;

    #[allow(clippy::too_many_arguments, reason = "each is a field, named by the caller's variable")]
    pub(in crate::kraft) fn new(
        epoch: i32,
        leader_id: i32,
        leader_endpoints: Endpoints,
        voted_key: Option<ReplicaKey>,
        voters: Vec<i32>,
        high_watermark: Option<i64>,
        fetch_timeout_ms: i64,
        now: Monotonic,
    ) -> Self {
        Self {
            epoch,
            leader_id,
            leader_endpoints,
            voted_key,
            voters,
            high_watermark,
            has_fetched_from_leader: false,
            has_leader_resigned: false,
            has_updated_leader: false,
            fetch_timeout_ms,
            fetch_timer: Timer::new(fetch_timeout_ms, now),
            update_voter_timer: Timer::new(
                fetch_timeout_ms.saturating_mul(Self::UPDATE_VOTER_PERIOD),
                now,
            ),
        }
    }

    /// The leader's id.
    pub const fn leader_id(&self) -> i32 {
        self.leader_id
    }

    /// Where the leader listens; never empty.
    pub const fn leader_endpoints(&self) -> &Endpoints {
        &self.leader_endpoints
    }

    /// Milliseconds until a voter gives its leader up.
    pub fn remaining_fetch_ms(&self, now: Monotonic) -> i64 {
        self.fetch_timer.remaining_ms(now)
    }

    /// Whether the leader has answered a fetch since this state was entered.
    pub const fn has_fetched_from_leader(&self) -> bool {
        self.has_fetched_from_leader
    }

    /// Notes that the leader has answered a fetch: its time starts anew, and the follower defends it against
    /// pre-votes.
    pub fn fetch_succeeded(&mut self, now: Monotonic) {
        self.fetch_timer.reset(self.fetch_timeout_ms, now);
        self.has_fetched_from_leader = true;
    }

    /// Sets the time until the leader is given up: a fetch it is not.
    pub fn override_fetch_timeout(&mut self, timeout_ms: u32, now: Monotonic) {
        self.fetch_timer.reset(i64::from(timeout_ms), now);
    }

    /// The leader has resigned, and is given up after this time. It is not defended against pre-votes any more
    /// (KAFKA-20895).
    pub(in crate::kraft) fn leader_resigned(&mut self, backoff_ms: i64, now: Monotonic) {
        self.fetch_timer.reset(backoff_ms, now);
        self.has_leader_resigned = true;
    }

    /// Whether it is time to consider telling the leader this voter's endpoints and versions.
    pub fn update_voter_due(&self, now: Monotonic) -> bool {
        self.update_voter_timer.remaining_ms(now) == 0
    }

    /// Starts the time to the next such consideration anew.
    pub fn restart_update_voter(&mut self, now: Monotonic) {
        let period = self.fetch_timeout_ms.saturating_mul(Self::UPDATE_VOTER_PERIOD);
        self.update_voter_timer.reset(period, now);
    }

    /// Whether this leader knows this voter's endpoints and versions.
    pub const fn has_updated_leader(&self) -> bool {
        self.has_updated_leader
    }

    /// Notes that this leader knows them.
    pub const fn set_updated_leader(&mut self) {
        self.has_updated_leader = true;
    }

    /// Up to where the log is known to be committed, exclusive.
    pub const fn high_watermark(&self) -> Option<i64> {
        self.high_watermark
    }

    /// Takes over what the leader says is committed; none is "not known". Gives whether it differs from a known one.
    ///
    /// # Errors
    ///
    /// One is known, and the new one is below it, negative or none; nothing changes.
    pub fn update_high_watermark(
        &mut self,
        new: Option<i64>,
    ) -> Result<bool, HighWatermarkRegression> {
        if let Some(known) = self.high_watermark {
            match new {
                Some(new) if new == known => return Ok(false),
                Some(new) if new > known && new >= 0 => {}
                _ => return Err(HighWatermarkRegression { known, new }),
            }
        }
        self.high_watermark = new;
        Ok(true)
    }

    pub(super) fn election(&self) -> ElectionState {
        ElectionState::new(
            self.epoch,
            Some(self.leader_id),
            self.voted_key,
            self.voters.iter().copied(),
        )
    }
}
