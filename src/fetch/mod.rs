//! Fetch sessions (KIP-227, KIP-516, KAFKA-13111).

mod cache;
mod change;
mod config;
mod context;
mod counters;
mod detached;
mod eviction;
mod fetcher;
mod inclusion;
mod order;
mod partition;
mod request;
mod response;
mod router;
mod session;
mod shard;
mod size;
mod state;
mod table;
mod topics;
mod visit;
mod watch;

pub use cache::FetchCache;
pub use change::{Change, Marked};
pub use config::{CacheConfig, ChangeTracking, ConfigError};
pub use context::{ContextKind, FetchContext};
pub use counters::CacheStats;
pub use fetcher::{
    AnsweredTopic, FetchPlan, FetcherSession, ForgottenPartition, ForgottenPartitions,
    LeakedSession, Mismatch, PlannedPartitions, PlannedTopic, ResponseHead, RestoreError,
    SessionPartition, Verdict, WishList,
};
pub use inclusion::{Reported, Retention, inclusion, retention};
pub use partition::FetchPartition;
pub use request::{
    FetchMetadata, FetchParams, FetchRequest, FetcherKind, ForgottenTopic, PartitionRequest,
    Profile, RequestTopic,
};
pub use response::{Evicted, EvictionReason, FetchAnswer, PartitionRead, Slot};
pub use router::ShardRouter;
pub use state::{CacheState, PartitionState, SessionState, StateError};
pub use visit::{SlotFinder, Visit};
