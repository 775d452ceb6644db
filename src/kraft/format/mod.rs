//! Formatting the storage of a node, and the configuration that it must fit.

mod addresses;
mod dynamic_voters;
mod error;
mod node_config;
mod storage;

pub use addresses::{Address, AddressError, BootstrapServers, StaticVoters};
pub use dynamic_voters::{DynamicVoter, DynamicVoters, ParseVoterError, ParseVotersError};
pub use error::FormatError;
pub use node_config::{NodeConfig, NodeConfigError, ProcessRoles};
pub use storage::{
    DirectoryKind, FormatPlan, FormatRequest, Formatted, InitialQuorum, LogDirectory, NewDirectory,
};
