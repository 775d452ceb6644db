//! The roles of a replica in an epoch.

mod leader;

pub use leader::{
    CAUGHT_UP_WITHIN_MS, DescribeVersion, Election, Leader, LeaderError, NodeDescription,
    OBSERVER_SESSION_MS, OBSERVERS_MAX, QuorumDescription, ReplicaDescription, ReplicaState,
    Upgrade, end_quorum_backoff_ms, majority_end_offset,
};
