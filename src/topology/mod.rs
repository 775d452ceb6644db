//! The stored-description-topology-epoch barrier (KIP-1331, KAFKA-20748): what a broker believes that a plugin
//! stores for a streams group stays true through crashes, errors and races.

mod backoff;
mod barrier;
mod call;
mod config;
mod counters;
mod describe;
mod ending;
mod epoch;
mod gate;
mod group;
mod manager;
mod operation;
mod plugin;
mod push;
mod state;

pub use backoff::{Backoff, BackoffConfig, BackoffConfigError, Window};
pub use barrier::{Caller, Mark, after_delete, after_refusal, after_set, mark};
pub use call::{DeleteCall, SetCall, Token};
pub use config::{Fencing, Plugin, TopologyConfig};
pub use counters::TopologyCounters;
pub use describe::{Describe, Described, DescriptionStatus, GetEnding};
pub use ending::{DELETE_FAILED, Ending, SetOutcome, answered, settle};
pub use epoch::{Belief, EpochError, StoredEpoch, TopologyEpoch};
pub use gate::Heartbeat;
pub use group::{Groups, Life, StreamsGroup};
pub use manager::{ClassicJoin, Cleanup, LoadError, TopologyManager};
pub use operation::{Atomicity, BeliefWrite, Effect, Operation, OperationId};
pub use plugin::InMemoryPlugin;
pub use push::{Description, PushError, PushRequest};
pub use state::{CallState, ShardState, TopologyState, TopologyStateError};
