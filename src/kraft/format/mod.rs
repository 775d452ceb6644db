//! Formatting the storage of a node.

mod dynamic_voters;

pub use dynamic_voters::{DynamicVoter, DynamicVoters, ParseVoterError, ParseVotersError};
