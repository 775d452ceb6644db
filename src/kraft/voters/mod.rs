//! Who votes: replicas by key, their endpoints, and the sets that they form along a log.

mod directory_id;
mod endpoints;
mod host;
mod listener;
mod log_history;
mod replica_key;
mod version;
mod voter_change_error;
mod voter_history;
mod voter_node;
mod voter_set;

pub use directory_id::{DirectoryId, ParseDirectoryIdError};
pub use endpoints::{Endpoint, Endpoints};
pub use host::Host;
pub use listener::{BlankListenerName, ListenerName};
pub use log_history::{HistoryError, LogHistory};
pub use replica_key::ReplicaKey;
pub use version::{InvalidVersionRange, KRaftVersion, SupportedVersions, UnknownKRaftVersion};
pub use voter_change_error::VoterChangeError;
pub use voter_history::VoterHistory;
pub use voter_node::VoterNode;
pub use voter_set::VoterSet;
