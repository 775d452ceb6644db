//! What `DescribeQuorum` tells.

use alloc::vec::Vec;

use super::Leader;
use super::replica::ReplicaState;
use crate::kraft::voters::{DirectoryId, Endpoints};
use crate::time::{Monotonic, Timestamp};

/// A version of `DescribeQuorum` (KIP-595, KIP-836, KIP-853).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::exhaustive_enums, reason = "another version is another decision")]
pub enum DescribeVersion {
    /// Ids and offsets.
    V0,
    /// And when replicas fetched and caught up.
    V1,
    /// And directory ids, and the endpoints of voters.
    V2,
}

/// A leader's answer to `DescribeQuorum`. What a version does not have is at its default in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuorumDescription {
    /// Who leads.
    pub leader_id: i32,
    /// Since which epoch.
    pub leader_epoch: i32,
    /// The high watermark; -1: not known yet.
    pub high_watermark: i64,
    /// The voters, by id.
    pub voters: Vec<ReplicaDescription>,
    /// The observers, by key.
    pub observers: Vec<ReplicaDescription>,
    /// Each voter's endpoints, by id; from version 2 on.
    pub nodes: Vec<NodeDescription>,
}

/// A replica in a [`QuorumDescription`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReplicaDescription {
    /// Its id.
    pub replica_id: i32,
    /// Its directory id, if it has one; from version 2 on.
    pub directory_id: Option<DirectoryId>,
    /// Where its log ends as far as the leader knows; -1: unknown.
    pub log_end_offset: i64,
    /// When it last fetched, in milliseconds since the Unix epoch; -1: never. From version 1 on.
    pub last_fetch_timestamp: i64,
    /// When it was last known to have all that the leader had; -1: never. From version 1 on.
    pub last_caught_up_timestamp: i64,
}

/// A voter's endpoints in a [`QuorumDescription`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NodeDescription {
    /// Its id.
    pub node_id: i32,
    /// Where its listeners are.
    pub endpoints: Endpoints,
}

impl Leader {
    /// What `DescribeQuorum` answers; drops observers whose session is over. O(voters + observers).
    ///
    /// Replicas are remembered with times of the monotonic clock. `timestamp` is the wall clock's time
    /// at `now`; a time that is told is as long before it as it was before `now`.
    pub fn describe_quorum(
        &mut self,
        version: DescribeVersion,
        now: Monotonic,
        timestamp: Timestamp,
    ) -> QuorumDescription {
        self.replicas.observers.expire(now);
        let describe = |state| self.describe(state, version, now, timestamp);
        QuorumDescription {
            leader_id: self.id(),
            leader_epoch: self.epoch(),
            high_watermark: self.high_watermark().unwrap_or(-1),
            voters: self.voter_states().map(describe).collect(),
            observers: self.observer_states().map(describe).collect(),
            nodes: if version < DescribeVersion::V2 { Vec::new() } else { self.nodes() },
        }
    }

    fn nodes(&self) -> Vec<NodeDescription> {
        let nodes = self.voter_states().map(|state| NodeDescription {
            node_id: state.key.id,
            endpoints: state.endpoints.clone(),
        });
        nodes.collect()
    }

    fn describe(
        &self,
        state: &ReplicaState,
        version: DescribeVersion,
        now: Monotonic,
        timestamp: Timestamp,
    ) -> ReplicaDescription {
        let told = |time: Option<Monotonic>| match time {
            _ if version < DescribeVersion::V1 => -1,
            _ if state.key.id == self.id() => timestamp.as_millis(),
            Some(time) => {
                let (past, future) = (now.millis_since(time), time.millis_since(now));
                timestamp.saturating_add(-past).saturating_add(future).as_millis()
            }
            None => -1,
        };
        let directory_id = state.key.directory_id.filter(|_| version >= DescribeVersion::V2);
        ReplicaDescription {
            replica_id: state.key.id,
            directory_id,
            log_end_offset: state.end_offset.unwrap_or(-1),
            last_fetch_timestamp: told(state.last_fetch),
            last_caught_up_timestamp: told(state.last_caught_up),
        }
    }
}
