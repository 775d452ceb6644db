//! Whether the answer to a heartbeat asks for the description.

use super::epoch::{Belief, TopologyEpoch};
use crate::error_code::ErrorCode;

/// A heartbeat of a streams group, answered and committed.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "plain values, made by the host")]
pub struct Heartbeat<'a> {
    /// The group.
    pub group_id: &'a str,
    /// The version of the request: 0 has no place for the question.
    pub version: i16,
    /// The member epoch of the request: negative if the member leaves.
    pub member_epoch: i32,
    /// The error of the response.
    pub error: ErrorCode,
    /// The codes of the status list of the response.
    pub statuses: &'a [i8],
    /// The epoch of the group's topology after this heartbeat.
    pub current: Option<TopologyEpoch>,
    /// What the group's record said of its description when the heartbeat was written.
    pub belief: Belief,
}

impl Heartbeat<'_> {
    const FIRST_VERSION: i16 = 1;
    const STALE_TOPOLOGY: i8 = 0;

    /// The epoch whose description the member may be asked for, unless a window of the group is in
    /// effect: step 7 of Kafka's gate is [`Backoff::arm_if_not_active`](super::Backoff::arm_if_not_active).
    ///
    /// A stale belief does no harm: one push too many.
    #[inline]
    pub fn wanted(&self) -> Option<TopologyEpoch> {
        if self.version < Self::FIRST_VERSION || self.member_epoch < 0 || !self.error.is_none() {
            return None;
        }
        let current = self.current?;
        let is_open = self.belief.stored.wants_push(current)
            && self.belief.failed != Some(current)
            && !self.statuses.contains(&Self::STALE_TOPOLOGY);
        is_open.then_some(current)
    }
}
