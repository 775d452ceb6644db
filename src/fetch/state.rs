//! The exact state of a cache, to leave and to enter.

use alloc::boxed::Box;
use alloc::vec::Vec;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use thiserror::Error;

use super::inclusion::Reported;
use super::request::{FetchParams, FetcherKind, Profile};
use super::table::PartitionTable;
use crate::time::Monotonic;
use crate::topic::{TopicId, TopicName};

/// Everything that a cache remembers between fetches, but for its counters and the contexts that
/// are open on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "constructed by hosts that keep sessions elsewhere")]
pub struct CacheState {
    /// The live sessions, by ascending id.
    pub sessions: Vec<SessionState>,
    /// The counter that deals sessions out to shards.
    pub next_shard: i32,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "constructed by hosts that keep sessions elsewhere")]
pub struct SessionState {
    /// The session's id, 1 and above, in the range of a shard.
    pub id: i32,
    /// The epoch that the next request must carry, 1 and above.
    pub epoch: i32,
    /// Whether topics are named by id.
    pub uses_topic_ids: bool,
    /// Who created it.
    pub fetcher: FetcherKind,
    /// Who sent its last request: a session is bound to nothing but its id.
    pub asked_by: FetcherKind,
    /// The principal that created it.
    pub principal: u64,
    /// The profile of its last request.
    pub profile: Profile,
    /// When it was created.
    pub created: Monotonic,
    /// When a request of it was last accepted.
    pub last_used: Monotonic,
    /// Whether the next fetch visits every partition, changed or not. Of meaning under change
    /// tracking.
    pub visits_all: bool,
    /// When a request was last accepted in whose time every partition had nothing to answer that
    /// is not changed, or was not until the last answer; `None` if there is no such time.
    pub quiet_at: Option<Monotonic>,
    /// The partitions in the order of the session.
    pub partitions: Vec<PartitionState>,
}

/// One partition of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "constructed by hosts that keep sessions elsewhere")]
pub struct PartitionState {
    /// The topic's id; zero in a session by name.
    pub topic_id: TopicId,
    /// The topic's name; `None` while the id is unresolved.
    pub topic: Option<TopicName>,
    /// The partition's index.
    pub partition: i32,
    /// What is asked of it.
    pub params: FetchParams,
    /// What the fetcher was last told.
    pub reported: Reported,
    /// Whether the next fetch visits it even if nothing marks it. Of meaning under change tracking.
    pub is_changed: bool,
}

/// Why a state cannot be entered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StateError {
    /// There is no shard of that number.
    #[error("there is no shard {shard} of {shards}")]
    NoShard {
        /// The number.
        shard: u32,
        /// How many shards there are, numbered from 0.
        shards: u32,
    },
    /// No shard of the cache issues this id.
    #[error("no shard issues session id {session_id}")]
    SessionId {
        /// The id.
        session_id: i32,
    },
    /// Two sessions have one id.
    #[error("session id {session_id} occurs twice")]
    DuplicateSession {
        /// The id.
        session_id: i32,
    },
    /// An epoch that no live session expects.
    #[error("session {session_id} expects epoch {epoch}, below 1")]
    Epoch {
        /// The session.
        session_id: i32,
        /// The epoch.
        epoch: i32,
    },
    /// A session by name has a partition with a topic id or without a name.
    #[error("session {session_id} is by name, and its partition {partition} is not")]
    NotByName {
        /// The session.
        session_id: i32,
        /// The partition's index.
        partition: i32,
    },
    /// Two partitions of a session are one.
    #[error("session {session_id} has partition {partition} of one topic twice")]
    DuplicatePartition {
        /// The session.
        session_id: i32,
        /// The partition's index.
        partition: i32,
    },
    /// A shard has more sessions than room.
    #[error("shard {shard} has room for {capacity} sessions, not for {sessions}")]
    ShardFull {
        /// The shard's number.
        shard: usize,
        /// How many sessions it may have.
        capacity: usize,
        /// How many there are.
        sessions: usize,
    },
    /// A session has more partitions than the limit.
    #[error("session {session_id} has {partitions} partitions, over the limit of {max}")]
    SessionPartitions {
        /// The session.
        session_id: i32,
        /// How many partitions it has.
        partitions: usize,
        /// The limit.
        max: u32,
    },
    /// All sessions together have more partitions than the limit.
    #[error("the sessions have {partitions} partitions, over the limit of {max}")]
    CachedPartitions {
        /// How many partitions they have.
        partitions: u64,
        /// The limit.
        max: u64,
    },
    /// A principal has more sessions than the limit.
    #[error("principal {principal} has {sessions} sessions, over the limit of {max}")]
    PrincipalSessions {
        /// The principal.
        principal: u64,
        /// How many sessions it has.
        sessions: u32,
        /// The limit.
        max: u32,
    },
}

impl SessionState {
    /// Checks what can be seen of this session alone.
    pub(super) fn check(&self, partitions_max: u32, seed: u64) -> Result<(), StateError> {
        let session_id = self.id;
        if self.epoch < 1 {
            return Err(StateError::Epoch { session_id, epoch: self.epoch });
        }
        if self.partitions.len() > partitions_max as usize {
            let (partitions, max) = (self.partitions.len(), partitions_max);
            return Err(StateError::SessionPartitions { session_id, partitions, max });
        }
        let mut known =
            HashSet::with_capacity_and_hasher(self.partitions.len(), FixedState::with_seed(seed));
        for state in &self.partitions {
            let partition = state.partition;
            if !self.uses_topic_ids && (state.topic.is_none() || !state.topic_id.is_zero()) {
                return Err(StateError::NotByName { session_id, partition });
            }
            let name = if self.uses_topic_ids { None } else { state.topic.as_ref() };
            if !known.insert((state.topic_id, name, partition)) {
                return Err(StateError::DuplicatePartition { session_id, partition });
            }
        }
        Ok(())
    }

    /// The session's partitions as a table.
    pub(super) fn table(&self, seed: u64) -> Box<PartitionTable> {
        let mut table = PartitionTable::new(self.uses_topic_ids, self.partitions.len(), 0, seed);
        for partition in &self.partitions {
            table.push_state(partition);
        }
        Box::new(table)
    }
}
