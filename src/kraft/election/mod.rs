//! What a replica remembers of elections across restarts.

#[cfg(feature = "std")]
mod file;

use super::voters::ReplicaKey;
use alloc::vec::Vec;
#[cfg(feature = "std")]
pub use file::QuorumStateError;
use thiserror::Error;

/// A replica's persisted opinion of its epoch: who leads it, and for whom the replica has voted (KIP-595, KIP-853).
///
/// It is durable before anything that follows from it becomes visible: a vote before its answer, an epoch before a
/// request that carries it, leadership before the epoch's first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionState {
    epoch: i32,
    leader_id: Option<i32>,
    voted_key: Option<ReplicaKey>,
    voters: Vec<i32>,
}

/// A node id that has to name a node is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("node id {id} is negative")]
pub struct NegativeNodeId {
    /// The id.
    pub id: i32,
}

/// Fails for an id that stands for "none" or for a bootstrap server.
const fn node(id: i32) -> Result<i32, NegativeNodeId> {
    if id < 0 { Err(NegativeNodeId { id }) } else { Ok(id) }
}

impl ElectionState {
    /// An epoch without a known leader in which the replica has voted for `voted_key`.
    ///
    /// # Errors
    ///
    /// The key's id is negative.
    pub fn with_voted_candidate(
        epoch: i32,
        voted_key: ReplicaKey,
        voters: impl IntoIterator<Item = i32>,
    ) -> Result<Self, NegativeNodeId> {
        node(voted_key.id)?;
        Ok(Self::new(epoch, None, Some(voted_key), voters))
    }

    /// An epoch led by `leader_id`. A vote of the same epoch, whoever it was for, is kept beside it.
    ///
    /// # Errors
    ///
    /// The leader's id is negative.
    pub fn with_elected_leader(
        epoch: i32,
        leader_id: i32,
        voted_key: Option<ReplicaKey>,
        voters: impl IntoIterator<Item = i32>,
    ) -> Result<Self, NegativeNodeId> {
        Ok(Self::new(epoch, Some(node(leader_id)?), voted_key, voters))
    }

    /// An epoch of which nothing is known.
    pub fn with_unknown_leader(epoch: i32, voters: impl IntoIterator<Item = i32>) -> Self {
        Self::new(epoch, None, None, voters)
    }

    pub(super) fn new(
        epoch: i32,
        leader_id: Option<i32>,
        voted_key: Option<ReplicaKey>,
        voters: impl IntoIterator<Item = i32>,
    ) -> Self {
        let mut voters: Vec<_> = voters.into_iter().collect();
        voters.sort_unstable();
        voters.dedup();
        Self { epoch, leader_id, voted_key, voters }
    }

    /// The epoch.
    pub const fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The epoch's leader, if it is known.
    pub const fn leader_id(&self) -> Option<i32> {
        self.leader_id
    }

    /// Whom the replica has voted for in this epoch.
    pub const fn voted_key(&self) -> Option<ReplicaKey> {
        self.voted_key
    }

    /// Ids of the voters, ascending and distinct. Only files of version 0 hold them.
    pub fn voters(&self) -> &[i32] {
        &self.voters
    }

    /// Whether `id` leads this epoch.
    ///
    /// # Errors
    ///
    /// The id is negative.
    pub fn is_leader(&self, id: i32) -> Result<bool, NegativeNodeId> {
        Ok(self.leader_id == Some(node(id)?))
    }

    /// Whether the replica has voted for `key`. A vote that was stored without a directory id is for every directory of
    /// its node.
    ///
    /// # Errors
    ///
    /// The key's id is negative.
    pub fn is_voted_candidate(&self, key: ReplicaKey) -> Result<bool, NegativeNodeId> {
        node(key.id)?;
        Ok(self.voted_key.is_some_and(|voted| voted.matches(&key)))
    }
}
