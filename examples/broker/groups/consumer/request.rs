//! What members say in their heartbeats, and what they are told.

use super::regexes;
use kafka_coordination::{ErrorCode, TopicId};
use std::collections::{BTreeMap, BTreeSet};

/// Partitions by topic. Invariant: no topic without a partition.
pub(crate) type Assignment = BTreeMap<TopicId, BTreeSet<i32>>;

/// The epoch with which a member joins.
pub(crate) const JOIN: i32 = 0;
/// The epoch with which a member leaves.
pub(crate) const LEAVE: i32 = -1;
/// The epoch with which a static member leaves for a while.
pub(crate) const LEAVE_FOR_NOW: i32 = -2;

/// A `ConsumerGroupHeartbeat` request. What is none has not changed.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) member_id: String,
    pub(crate) member_epoch: i32,
    pub(crate) instance_id: Option<String>,
    pub(crate) rack_id: Option<String>,
    pub(crate) rebalance_timeout_ms: Option<i32>,
    pub(crate) topics: Option<BTreeSet<String>>,
    /// A regular expression whose topics the member wants too; none if it is empty.
    pub(crate) regex: Option<String>,
    pub(crate) server_assignor: Option<String>,
    /// The partitions that the member has.
    pub(crate) owned: Option<Assignment>,
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) member_id: String,
    pub(crate) member_epoch: i32,
    /// None if it is what the member was told before.
    pub(crate) assignment: Option<Assignment>,
}

/// Why a heartbeat is refused.
pub(crate) type Refusal = (ErrorCode, &'static str);

impl Heartbeat {
    /// Whether the heartbeat says what Kafka requires of it.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let invalid = |text| Err((ErrorCode::InvalidRequest, text));
        let is_empty = |text: &Option<String>| text.as_ref().is_some_and(String::is_empty);
        if self.member_id.is_empty() {
            return invalid("the member has no id");
        }
        if is_empty(&self.instance_id) || is_empty(&self.rack_id) {
            return invalid("an instance id or a rack cannot be empty");
        }
        if self.server_assignor.as_ref().is_some_and(|name| name != super::ASSIGNOR) {
            return Err((ErrorCode::UnsupportedAssignor, "the only assignor here is uniform"));
        }
        if self.regex.as_ref().is_some_and(|regex| !regexes::is_valid(regex)) {
            let text = "this is no regular expression, or too long";
            return Err((ErrorCode::InvalidRegularExpression, text));
        }
        match self.member_epoch {
            JOIN if self.rebalance_timeout_ms.is_none() => {
                invalid("who joins brings a rebalance time-out")
            }
            JOIN if !self.owned.as_ref().is_some_and(BTreeMap::is_empty) => {
                invalid("who joins has no partitions")
            }
            JOIN if self.topics.as_ref().is_none_or(BTreeSet::is_empty)
                && self.regex.as_ref().is_none_or(String::is_empty) =>
            {
                invalid("who joins subscribes to something")
            }
            LEAVE_FOR_NOW if self.instance_id.is_none() => {
                invalid("only static members leave for a while")
            }
            LEAVE_FOR_NOW.. => Ok(()),
            _ => invalid("there is no such epoch"),
        }
    }

    /// Whether the member says everything, as when it joins or has missed an answer; then it is told everything.
    pub(super) fn is_full(&self) -> bool {
        self.member_epoch == JOIN
            || (self.rebalance_timeout_ms.is_some()
                && (self.topics.is_some() || self.regex.is_some())
                && self.owned.is_some())
    }
}
