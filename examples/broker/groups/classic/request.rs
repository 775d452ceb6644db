//! What members ask of a classic group, and what they are told.

use bytes::Bytes;
use kafka_coordination::ErrorCode;
use tokio::sync::oneshot::Sender;

/// A `JoinGroup` request.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    /// Empty for a member that has no id yet.
    pub(crate) member_id: String,
    /// The id that such a member gets.
    pub(crate) new_member_id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) protocol_type: String,
    /// By preference.
    pub(crate) protocols: Vec<Protocol>,
    /// Whether a dynamic member without an id is told one and has to come again (KIP-394).
    pub(crate) must_know_id: bool,
    /// Whether the leader can be told that it need not assign anything (KIP-814).
    pub(crate) can_skip_assignment: bool,
}

/// A way of assigning partitions that a member supports, and what it tells the leader for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Protocol {
    pub(crate) name: String,
    pub(crate) metadata: Bytes,
}

/// The answer to a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) error: ErrorCode,
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol_name: Option<String>,
    pub(crate) leader: String,
    pub(crate) skip_assignment: bool,
    pub(crate) member_id: String,
    /// Everybody, for the leader; nobody, for the others.
    pub(crate) members: Vec<JoinedMember>,
}

/// A member as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinedMember {
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) metadata: Bytes,
}

impl Joined {
    pub(crate) fn refused(error: ErrorCode, member_id: impl Into<String>) -> Self {
        Self {
            error,
            generation: -1,
            protocol_type: None,
            protocol_name: None,
            leader: String::new(),
            skip_assignment: false,
            member_id: member_id.into(),
            members: Vec::new(),
        }
    }
}

/// A `SyncGroup` request.
#[derive(Debug)]
pub(crate) struct Sync {
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol_name: Option<String>,
    /// Member id and assignment, from the leader only.
    pub(crate) assignments: Vec<(String, Bytes)>,
}

/// The answer to a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Synced {
    pub(crate) error: ErrorCode,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol_name: Option<String>,
    pub(crate) assignment: Bytes,
}

impl Synced {
    pub(crate) fn refused(error: ErrorCode) -> Self {
        Self { error, protocol_type: None, protocol_name: None, assignment: Bytes::new() }
    }
}

/// A member that leaves, or that an administrator removes by its instance id alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
}

/// Who a request says that it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) instance_id: Option<&'a str>,
    pub(crate) generation: i32,
}

/// Gives an answer. A client that has gone meanwhile misses it.
pub(super) fn answer<T>(reply: Sender<T>, answer: T) {
    let _gone = reply.send(answer);
}
