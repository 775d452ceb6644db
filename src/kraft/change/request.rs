//! What is asked of a leader.

use crate::kraft::voters::{Endpoints, ListenerName, ReplicaKey};

/// The host's name for a request that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::exhaustive_structs, reason = "a name")]
pub struct RequestId(pub u64);

/// When an added voter is reported as added (KIP-1186).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the two that Kafka has")]
pub enum Acknowledge {
    /// When the new voters are committed.
    #[default]
    Committed,
    /// When they are appended; a replica that adds itself could not fetch while it waits.
    Appended,
}

/// `AddRaftVoter`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct AddVoter<'a> {
    /// The cluster that the sender means; `None`: any. Empty text is a cluster id, and a wrong one.
    pub cluster_id: Option<&'a str>,
    /// The new voter.
    pub voter: ReplicaKey,
    /// Where it is reached.
    pub endpoints: Endpoints,
    /// When to answer.
    pub acknowledge: Acknowledge,
}

/// `RemoveRaftVoter`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct RemoveVoter<'a> {
    /// As in [`AddVoter`].
    pub cluster_id: Option<&'a str>,
    /// The voter to remove.
    pub voter: ReplicaKey,
}

/// `UpdateRaftVoter`: a voter tells of its endpoints and of the levels that it supports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct UpdateVoter<'a> {
    /// As in [`AddVoter`].
    pub cluster_id: Option<&'a str>,
    /// The epoch in which the sender knows the leader; -1: none.
    pub leader_epoch: i32,
    /// The sender.
    pub voter: ReplicaKey,
    /// Where it is reached.
    pub endpoints: Endpoints,
    /// The lowest level of `kraft.version` that it supports.
    pub min_version: i16,
    /// The highest one.
    pub max_version: i16,
    /// The listener at which the request came in: the answer tells where the leader is there.
    pub listener: ListenerName,
}
